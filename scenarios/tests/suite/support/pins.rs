//! Seeds that tests are pinned to: one table says which seed shows which defect. Whoever changes what is drawn, or what a
//! world is made of, has them looked for again by the example `pins`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::support::pin::{Pin, read, violated};

/// What a seed of a scenario violates when all is fixed, by scenario, release and seed: several pins have the same.
type WhenFixed = BTreeMap<(String, String, u64), Arc<OnceLock<Option<String>>>>;

static WHEN_FIXED: Mutex<WhenFixed> = Mutex::new(BTreeMap::new());

fn when_fixed(pin: &Pin) -> Option<String> {
    let key = (pin.scenario.clone(), pin.release.clone(), pin.seed);
    let own = {
        let mut all = WHEN_FIXED.lock().expect("nobody panics with it");
        all.entry(key).or_default().clone()
    };
    own.get_or_init(|| violated(pin.fixed().as_ref(), pin.seed))
        .clone()
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
    assert_eq!(when_fixed(&pin), None, "when all is fixed");
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
