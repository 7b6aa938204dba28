//! The simulated controllers against the recordings of real ones that come with the sources.

use std::sync::LazyLock;

use serde_json::Value as Json;
use wavetank_oracle::controllers::{
    self, Conformed, ControllerScore, bundled, replay, replay_while,
};
use wavetank_oracle::{Known, Replayed};

static CONFORMED: LazyLock<Vec<Conformed>> = LazyLock::new(|| {
    let all = bundled().expect("the recordings");
    let played = all
        .iter()
        .map(|own| replay(own).expect("a cluster of ours"));
    played.collect()
});

#[test]
fn what_controllers_write_otherwise_is_listed_and_what_is_listed_differs() {
    let topics = CONFORMED.clone();
    let score = ControllerScore {
        topics,
        verbose: true,
    };
    println!("{score}");
    let known = Known::parse(controllers::KNOWN).expect("the list");
    let replayed: Vec<Replayed> = CONFORMED.iter().map(Conformed::replayed).collect();
    let disagreements = known.disagreements(&replayed);
    assert!(disagreements.is_empty(), "{disagreements:#?}");
}

#[test]
fn at_least_95_of_100_writes_of_each_topic_are_equal() {
    // These are short: so many are in the steps in which the real one agrees with itself.
    const SHORT: [(&str, u64); 2] = [("g-nodes", 18), ("i-resource-quota", 16)];
    assert!(!CONFORMED.is_empty());
    for topic in &*CONFORMED {
        let (_, all) = topic.writes();
        let short = SHORT.iter().find(|own| own.0 == topic.name);
        let fewest = short.map_or(20, |own| own.1);
        assert!(
            all >= fewest && topic.percent() >= 95.0,
            "{}: {}",
            topic.name,
            topic.percent()
        );
    }
}

/// Changes the bodies of all writes, or their verbs where there is none to be compared.
fn altered(lines: &mut [Json]) {
    for line in lines {
        let agree = line["agree"].clone();
        let writes = line.get_mut("writes").and_then(Json::as_array_mut);
        for write in writes.into_iter().flatten() {
            match (agree.as_str(), write.get_mut("body")) {
                (Some("brief"), _) | (_, None) => write["code"] = 299.into(),
                (_, Some(body)) => body["other"] = "other".into(),
            }
        }
    }
}

#[test]
fn a_recording_with_every_write_altered_scores_nothing() {
    for mut recording in bundled().expect("the recordings") {
        altered(&mut recording.lines);
        // With other draws it would score as little.
        let played = replay_while(&recording, |_| true).expect("a cluster of ours");
        let (equal, all) = played.writes();
        assert_eq!(equal, 0, "{} of {all} in {}", equal, recording.name);
    }
}

#[test]
fn a_topic_that_is_not_there_is_refused_with_those_that_are() {
    let refused = controllers::topic("z").expect_err("there is none");
    assert!(refused.contains("c-deployment"), "{refused}");
}
