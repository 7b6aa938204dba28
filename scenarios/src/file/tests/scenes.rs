//! Scenes: what is written reads as what it was, and each mistake is shown where it is.

use wavetank_cluster::Components;

use super::super::{Scenario, from_json, parse};
use super::snapshot;

const SCENE: &str = include_str!("scene.yaml");

/// Puts mistakes into a scene that is right, and looks at the report.
fn mistakes(name: &str, changes: &[(&str, &str)]) {
    let text = changes
        .iter()
        .fold(SCENE.to_owned(), |text, (right, wrong)| {
            assert_eq!(text.matches(right).count(), 1, "{right:?} is there once");
            text.replace(right, wrong)
        });
    match parse("scenarios/scene.yaml", &text, &Components::default()) {
        Ok(_) => panic!("{name}: the mistakes went unnoticed"),
        Err(report) => snapshot(name, &report.to_string()),
    }
}

fn right() -> Scenario {
    let read = parse("scenarios/scene.yaml", SCENE, &Components::default());
    read.unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn a_scene_survives_json() {
    let scene = right();
    let again = from_json(&scene.to_json(), &Components::default());
    assert_eq!(again.expect("what was written can be read"), scene);
}

#[test]
fn a_scene_survives_yaml() {
    let scene = right();
    let text = crate::scene::to_yaml(&scene.to_json());
    let again = parse("scenarios/scene.yaml", &text, &Components::default());
    assert_eq!(again.unwrap_or_else(|report| panic!("{report}")), scene);
}

#[test]
fn a_scene_that_was_edited_in_a_hurry() {
    mistakes(
        "scene-edited-in-a-hurry",
        &[
            ("down: [s2]", "down: [s3]"),
            ("[fix-finish-after-write]", "[fix-finish-after-writ]"),
            ("of 2\", answer: 1", "of 2\", answer: 2"),
            ("\"answer a1.1/serve", "\"answers a1.1/serve"),
            ("\"request s1.1/ask", "\"request s9.1/ask"),
            (
                "key: /registry/masterleases/10.0.0.1",
                "key: masterleases/10.0.0.1",
            ),
            ("lease: 15", "lease: 1"),
            ("        kind: Service\n", ""),
            ("{at: 20s,", "{at: 5s,"),
        ],
    );
}

#[test]
fn a_scene_of_no_choice() {
    mistakes(
        "scene-of-no-choice",
        &[(
            "\"choose s1.1/ask#0.0 of 2\"",
            "\"request s1.1/ask#0.0 a1\"",
        )],
    );
}

#[test]
fn a_scene_that_begins_too_late() {
    mistakes("scene-begins-too-late", &[("from: 30s", "from: 50s")]);
}

#[test]
fn a_scene_that_begins_before_anybody_starts() {
    mistakes("scene-begins-too-early", &[("begin: 10s", "begin: 30s")]);
}

#[test]
fn a_scene_with_a_storm_that_is_drawn() {
    mistakes(
        "scene-with-a-budget",
        &[(
            "storm: 40s",
            "storm: 40s\nfaults: {crash: {max: 1, lasts: 1s}}",
        )],
    );
}

#[test]
fn what_waits_for_an_event_outside_of_a_scene() {
    let scene = SCENE.find("scene:\n").expect("it has one");
    let plan = SCENE.find("plan:\n").expect("it has one");
    let scene = &SCENE[scene..plan];
    mistakes("waits-outside-of-a-scene", &[(scene, "")]);
}
