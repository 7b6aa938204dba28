//! The defects and fixes of a component.

use wavetank_release::{Place, Switch, SwitchInfo};

/// Defects and fixes that have their places in one component.
#[derive(Clone, Debug, Default)]
pub struct Defects {
    /// They.
    pub all: Vec<&'static SwitchInfo>,
    /// What of a cluster has their places, as it is said where there is none: `watch caches of apiservers`.
    pub place: &'static str,
}

impl Defects {
    /// Those of the table that have this place.
    pub fn of(place: Place, words: &'static str) -> Defects {
        let all = Switch::TABLE.iter().filter(|info| info.place == place);
        Defects {
            all: all.collect(),
            place: words,
        }
    }
}
