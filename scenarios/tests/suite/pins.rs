//! The search for seeds to which tests are pinned (`examples/pins`).

use std::sync::Mutex;

use crate::support::pin::{Pin, read, violated};
use crate::support::pin_search::{Group, News};

const FEW: u64 = 8;

/// Those of leaders: their seeds take little time.
fn pins() -> Vec<Pin> {
    let all = read().into_iter().flatten();
    let ours = |pin: &Pin| pin.scenario == "leader-election" && pin.release == "v1.36";
    all.filter(ours).collect()
}

/// The lowest seed that shows it, by simulating both cases under each.
fn lowest(pin: &Pin) -> Option<u64> {
    let (fixed, switched) = (pin.fixed(), pin.switched());
    (0..FEW).find(|seed| {
        violated(switched.as_ref(), *seed).as_ref() == Some(&pin.property)
            && violated(fixed.as_ref(), *seed).is_none()
    })
}

/// It simulates a defect only where its place is passed, and on several threads.
#[test]
fn the_search_finds_the_lowest_seed_that_shows_a_defect() {
    let pins = pins();
    let group = Group::of(pins.clone());
    let found = Mutex::new(Vec::new());
    let hear = |news| match news {
        News::Found(pin) => found.lock().expect("nobody panicked").push(pin),
        News::Otherwise(_) => {}
        News::NotClean(seed, property) => panic!("seed {seed} violates {property}"),
    };
    let left = group.find(pins.clone(), 0..FEW, 2, &hear);
    let found = found.into_inner().expect("nobody panicked");
    for pin in &pins {
        let last = found.iter().rfind(|own| own.switch == pin.switch);
        let seed = last.map(|pin| pin.seed);
        assert_eq!(seed, lowest(pin), "{}", pin.line());
        assert_eq!(seed.is_none(), left.contains(pin));
    }
    assert!(left.len() < pins.len());
}

#[test]
fn a_seed_that_shows_nothing_is_stale() {
    let fresh = pins();
    let (first, rest) = fresh.split_first().expect("there are some");
    let late = (0..).find(|seed| violated(first.switched().as_ref(), *seed).is_none());
    let late = late.expect("it does not always show");
    let stale = Pin {
        seed: late,
        ..first.clone()
    };
    let all = [vec![stale.clone()], rest.to_vec()].concat();
    assert_eq!(Group::of(all).stale(2), [stale]);
}

#[test]
fn a_line_of_the_table_is_read_as_it_is_written() {
    let pins: Vec<Pin> = read().into_iter().flatten().collect();
    assert!(pins.len() > 40);
    for pin in pins {
        assert_eq!(Pin::parse(&pin.line()), pin);
    }
}
