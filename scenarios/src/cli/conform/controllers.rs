//! `wavetank conform controllers`.

use std::sync::atomic::Ordering::Relaxed;

use wavetank_oracle::controllers::{self, ControllerScore};
use wavetank_oracle::{Known, Replayed};

use super::super::exit::{Exit, Problem};
use super::super::{human, interrupt, print};
use super::ControllersArgs;

pub(super) fn controllers(args: &ControllersArgs) -> Result<Exit, Problem> {
    let recordings = match &args.topic[..] {
        [] => controllers::bundled(),
        topics => topics
            .iter()
            .map(|topic| controllers::topic(topic))
            .collect(),
    };
    let recordings = recordings.map_err(Problem::new)?;
    let mut score = ControllerScore {
        topics: Vec::new(),
        verbose: args.verbose,
    };
    let stop = interrupt::listen();
    let all = recordings.len();
    for recording in recordings {
        if stop.load(Relaxed) {
            break;
        }
        let played = controllers::replay(&recording).map_err(Problem::new)?;
        score.topics.push(played);
    }
    let known = Known::parse(controllers::KNOWN).map_err(Problem::new)?;
    let replayed: Vec<Replayed> = score.topics.iter().map(|own| own.replayed()).collect();
    let unlisted = known.unlisted(&replayed);
    let differ = replayed.iter().map(|own| own.differences.len()).sum();
    let list = "known-differences-of-controllers.txt";
    print(&super::differences(differ, list, &unlisted))?;
    print(&score.to_string())?;
    let done = score.topics.len();
    if done < all && unlisted.is_empty() {
        let all = human::count(all as u64, "topic");
        eprintln!("interrupted after {done} of {all}");
        return Ok(Exit::Interrupted);
    }
    Ok(match unlisted.is_empty() {
        true => Exit::Clean,
        false => Exit::Violation,
    })
}
