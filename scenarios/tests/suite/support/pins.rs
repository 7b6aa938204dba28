//! Seeds that tests are pinned to: one table says which seed shows which defect. Whoever changes what is drawn, or what a
//! world is made of, has them looked for again by the example `pins`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use wavetank::case::run_seed;
use wavetank_engine::Class;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

use crate::support::pin::{Pin, read, violated};

/// A seed of a scenario when all is fixed.
#[derive(Clone)]
pub struct WhenFixed {
    /// The property that it violates.
    pub violated: Option<String>,
    /// Guarantees that it did not put to the test.
    pub untested: BTreeSet<String>,
}

/// By scenario, release and seed.
type Known = BTreeMap<(String, String, u64), Arc<OnceLock<WhenFixed>>>;

static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());

/// Several pins have the same, and whoever asks whether a scenario is clean has them, too: each is simulated once.
fn when_fixed(pin: &Pin) -> WhenFixed {
    let key = (pin.scenario.clone(), pin.release.clone(), pin.seed);
    let own = {
        let mut all = KNOWN.lock().expect("nobody panics with it");
        all.entry(key).or_default().clone()
    };
    own.get_or_init(|| run_when_fixed(pin)).clone()
}

fn run_when_fixed(pin: &Pin) -> WhenFixed {
    let outcome = run_seed(pin.fixed().as_ref(), pin.seed, None, Record::default());
    let properties = outcome.world.properties().zip(&outcome.tallies.tested);
    let untested =
        properties.filter(|(own, times)| own.class() == Class::Guarantee && **times == 0);
    WhenFixed {
        untested: untested.map(|(own, _)| own.name().to_owned()).collect(),
        violated: match outcome.ending {
            Ending::Clean => None,
            Ending::Violated(found) => Some(found.property),
        },
    }
}

/// The seeds to which tests of a scenario are pinned, and the first others until there are so many, each when all is
/// fixed.
pub fn when_all_is_fixed(scenario: &str, release: &str, at_least: usize) -> Vec<(u64, WhenFixed)> {
    let pins = read().into_iter().flatten();
    let ours = pins.filter(|pin| pin.scenario == scenario && pin.release == release);
    let mut seeds: BTreeSet<u64> = ours.map(|pin| pin.seed).collect();
    let mut others = 0..;
    while seeds.len() < at_least {
        seeds.extend(others.next());
    }
    let when_fixed = |seed| {
        let pin = Pin {
            scenario: scenario.to_owned(),
            release: release.to_owned(),
            switch: String::new(),
            property: String::new(),
            seed,
        };
        (seed, when_fixed(&pin))
    };
    seeds.into_iter().map(when_fixed).collect()
}

fn pin(switch: &str) -> Pin {
    let mut pins = read().into_iter().flatten();
    let found = pins.find(|pin| pin.switch == switch);
    found.unwrap_or_else(|| panic!("tests/pins.txt has no line for `{switch}`"))
}

/// With the defect, or without the fix, its seed violates its property; and none when all is fixed.
pub fn check(switch: &str) {
    let pin = pin(switch);
    let found = violated(pin.switched().as_ref(), pin.seed);
    let help = "if draws have changed, have other seeds looked for, as the table says";
    assert_eq!(found.as_ref(), Some(&pin.property), "{help}");
    assert_eq!(when_fixed(&pin).violated, None, "when all is fixed");
}

/// Tests that are pinned to a seed: the name of each, and the defect or fix.
macro_rules! pins {
    ($($name:ident: $switch:literal,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::support::pins::check($switch);
            }
        )*
    };
}
pub(crate) use pins;
