//! The search against the naive one, over the first worlds of those that `wavetank soundness` compares, and
//! over the smallest ones on which the two once disagreed.

use std::sync::Once;

use wavetank_models::soundness::description::{Description, Lie};
use wavetank_models::soundness::{Compared, Figures, Worlds, compare};

use crate::worlds;

/// So many worlds are compared here; the command compares any number.
const WORLDS: u64 = 300;

/// Worlds that panic are caught by who searches them, on threads of its own.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info
                .location()
                .is_none_or(|place| place.file().contains("tests"))
            {
                loud(info);
            }
        }));
    });
}

#[test]
fn both_searches_agree_on_random_worlds() {
    quietly();
    let worlds = Worlds::default();
    let mut figures = Figures::default();
    for number in 0..WORLDS {
        let Some(Compared {
            figures: more,
            disagreements,
        }) = worlds.compare(number)
        else {
            continue;
        };
        figures += more;
        let wrong: Vec<_> = disagreements
            .iter()
            .filter(|found| found.is_wrong())
            .collect();
        assert!(
            wrong.is_empty(),
            "world {number}: {wrong:?}\n{}",
            worlds.draw(number).as_rust()
        );
    }
    println!("{figures}");
    // A suite that compares nothing would agree as well.
    assert!(figures.worlds * 10 > WORLDS * 9, "{figures}");
    assert!(figures.known * 4 > figures.steps, "{figures}");
    let each = [
        figures.twins,
        figures.violated,
        figures.healed,
        figures.unhealed,
    ];
    assert!(
        figures.replayed > 0 && each.iter().all(|count| *count > 0),
        "{figures}"
    );
}

#[test]
fn a_world_is_a_function_of_its_number() {
    let worlds = Worlds::default();
    for number in [0, 7, 123_456] {
        assert_eq!(worlds.draw(number), Worlds::default().draw(number));
    }
    assert_ne!(worlds.draw(1), worlds.draw(11), "of one taste");
}

/// What is compared of a world on which both searches agree.
fn agreed(description: &Description) -> Figures {
    quietly();
    let compared = compare(description).expect("it is small");
    let wrong: Vec<_> = compared.disagreements.iter().collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    compared.figures
}

#[test]
fn two_values_of_the_same_words_are_told_apart_by_their_types() {
    let figures = agreed(&worlds::types());
    assert_eq!(figures.violated, 1, "the second of them is taken, too");
}

#[test]
fn who_waits_for_a_moment_only_is_in_no_deadlock() {
    assert_eq!(agreed(&worlds::no_deadlock()).violated, 0);
}

#[test]
fn the_order_of_what_is_parked_is_a_part_of_the_state() {
    let figures = agreed(&worlds::parked());
    assert!(figures.twins > 0, "states meet again: {figures}");
}

#[test]
fn what_goes_on_while_no_time_passes_is_a_livelock() {
    assert_eq!(agreed(&worlds::restarts()).violated, 1);
    assert_eq!(agreed(&worlds::circle()).violated, 1);
    assert_eq!(agreed(&worlds::circle_later()).violated, 1);
    assert_eq!(agreed(&worlds::drawn()).violated, 1);
}

#[test]
fn it_is_as_long_to_never_from_any_time() {
    let figures = agreed(&worlds::for_ever());
    assert!(figures.known > 0, "{figures}");
}

#[test]
fn who_panics_on_the_way_to_recovery_does_so_again() {
    let figures = agreed(&worlds::panics());
    assert_eq!((figures.violated, figures.unhealed), (1, 1), "{figures}");
}

#[test]
fn whoever_lies_in_a_hash_or_an_equality_is_caught() {
    assert_eq!(agreed(&worlds::lies(Lie::None)).violated, 1);
    for lie in [Lie::Hash, Lie::Equality] {
        let figures = agreed(&worlds::lies(lie));
        let Figures {
            liars,
            hiding,
            caught,
            ..
        } = figures;
        assert_eq!((liars, hiding, caught), (1, 1, 1), "{lie:?}");
    }
}

#[test]
fn worlds_that_were_made_smaller_are_searched_alike() {
    agreed(&worlds::go_away());
    assert_eq!(agreed(&worlds::late()).unhealed, 1);
}

#[test]
fn a_memory_of_recovery_knows_times_instants_and_who_still_stops() {
    for world in [worlds::ages(), worlds::instants(), worlds::stopping()] {
        assert_eq!(agreed(&world).unhealed, 1);
    }
    let stopped = agreed(&worlds::stopped());
    assert!(stopped.unhealed == 0 && stopped.healed > 1, "{stopped}");
}

#[test]
fn what_is_more_than_a_grain_apart_is_so_for_the_reduced_search() {
    for world in [worlds::race(), worlds::clock()] {
        assert_eq!(agreed(&world).violated, 1);
    }
}

#[test]
fn a_world_as_it_is_written_can_be_pasted() {
    let bare = |text: &str| -> String {
        let text: String = text.split_whitespace().collect();
        ["}", "]", ")"]
            .iter()
            .fold(text, |text, end| text.replace(&format!(",{end}"), end))
    };
    let here = bare(include_str!("worlds.rs"));
    for world in [worlds::go_away(), worlds::late()] {
        let written = bare(&world.as_rust());
        assert!(here.contains(&written), "{written}");
    }
}
