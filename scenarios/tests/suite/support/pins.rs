//! Seeds that tests are pinned to: one table says which seed shows which defect. Whoever changes what is drawn, or what a
//! world is made of, has them looked for again by one command.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

use super::root;

const TABLE: &str = "scenarios/tests/pins.txt";
/// Among these another one is looked for.
const SEEDS: Range<u64> = 0..3000;

/// A line of the table.
#[derive(Clone, Debug)]
struct Pin {
    scenario: String,
    release: String,
    /// A defect that is on, or a fix that is off. Everything else is fixed.
    switch: String,
    seed: u64,
    property: String,
}

impl Pin {
    fn of(line: &str) -> Pin {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [scenario, release, switch, seed, property] = columns[..] else {
            panic!("{TABLE}: `{line}` is not: scenario, release, defect or fix, seed, property");
        };
        Pin {
            scenario: scenario.to_owned(),
            release: release.to_owned(),
            switch: switch.to_owned(),
            seed: seed.parse().expect("a seed is a number"),
            property: property.to_owned(),
        }
    }

    /// Which property this seed violates with the switch, or when all is fixed.
    fn violated(&self, seed: u64, switched: bool) -> Option<String> {
        let own = vec![self.switch.clone()];
        let (defects, without) = match (switched, self.switch.starts_with("fix-")) {
            (false, _) => (vec![], vec![]),
            (true, false) => (own, vec![]),
            (true, true) => (vec![], own),
        };
        let composition = Composition {
            fixed: true,
            release: Some(self.release.clone()),
            defects,
            without,
        };
        let case = Kube::default()
            .open(&self.scenario, &composition)
            .expect("it opens");
        match run_seed(case.as_ref(), seed, None, Record::default()).ending {
            Ending::Clean => None,
            Ending::Violated(found) => Some(found.property),
        }
    }

    fn is_shown_by(&self, seed: u64) -> bool {
        self.violated(seed, true).as_ref() == Some(&self.property)
            && self.violated(seed, false).is_none()
    }

    /// Its line with its seed, if that still shows it, or with another; as it is, if there is none.
    fn found(self) -> Result<String, String> {
        let mut all = [self.seed].into_iter().chain(SEEDS);
        let seed = all.find(|seed| self.is_shown_by(*seed));
        println!("{}: {seed:?} instead of {}", self.switch, self.seed);
        match seed {
            Some(seed) => Ok(Pin { seed, ..self }.line()),
            None => Err(self.line()),
        }
    }

    fn line(&self) -> String {
        let Pin {
            scenario,
            release,
            switch,
            seed,
            property,
        } = self;
        format!("{scenario:15} {release} {switch:30} {seed:>4} {property}")
    }
}

fn path() -> PathBuf {
    root().join(TABLE)
}

fn is_pin(line: &str) -> bool {
    !line.starts_with('#') && !line.trim().is_empty()
}

fn pin(switch: &str) -> Pin {
    let text = fs::read_to_string(path()).expect("the table");
    let mut pins = text.lines().filter(|line| is_pin(line)).map(Pin::of);
    let found = pins.find(|pin| pin.switch == switch);
    found.unwrap_or_else(|| panic!("{TABLE} has no line for `{switch}`"))
}

/// With the defect, or without the fix, its seed violates its property; and none when all is fixed.
pub fn check(switch: &str) {
    let pin = pin(switch);
    let found = pin.violated(pin.seed, true);
    let help = "if draws have changed, have other seeds looked for, as the table says";
    assert_eq!(found.as_ref(), Some(&pin.property), "{help}");
    assert_eq!(pin.violated(pin.seed, false), None, "when all is fixed");
}

/// Looks for seeds that show what those of the table no longer do, and writes these down.
#[test]
#[ignore = "minutes; for whoever has changed what is drawn"]
fn pins_are_found() {
    let text = fs::read_to_string(path()).expect("the table");
    let lines: Vec<&str> = text.lines().collect();
    let look = |line: &&str| match is_pin(line) {
        true => Pin::of(line).found(),
        false => Ok((*line).to_owned()),
    };
    let parts = lines.chunks(lines.len().div_ceil(2));
    let found = thread::scope(|scope| {
        let all = parts.map(|part| scope.spawn(move || part.iter().map(look).collect::<Vec<_>>()));
        let all: Vec<_> = all.collect();
        let all = all.into_iter().map(|part| part.join().expect("a search"));
        all.flatten().collect::<Vec<_>>()
    });
    let table = found.iter().map(|line| match line {
        Ok(line) | Err(line) => format!("{line}\n"),
    });
    fs::write(path(), table.collect::<String>()).expect("the table can be written");
    let missing: Vec<_> = found.iter().filter(|line| line.is_err()).collect();
    assert!(
        missing.is_empty(),
        "no seed of {SEEDS:?} shows {missing:#?}"
    );
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
