//! What apiservers promise those who read, and read and then write: checked against what writers tell and what etcd
//! has committed. What informers are promised is in `wavetank_client::monitors`.

mod readable;
mod swaps;

use wavetank_engine::Property;

/// A monitor of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
pub enum Name {
    KnownRevisionIsReadable,
    NoLostUpdate,
    RefusedSwapIsOutdated,
}

/// What there is to know of a monitor.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The monitor.
    pub monitor: Name,
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
}

impl Name {
    /// All of them.
    pub const TABLE: [Info; 3] = [
        Info {
            monitor: Name::KnownRevisionIsReadable,
            name: "known-revision-is-readable",
            about: "some time after calm each server soon answers who reads at a revision that he knows of",
        },
        Info {
            monitor: Name::NoLostUpdate,
            name: "no-lost-update",
            about: "an update or a deletion that names a resourceVersion is of that one, and of none that came after it",
        },
        Info {
            monitor: Name::RefusedSwapIsOutdated,
            name: "refused-swap-is-outdated",
            about: "who is told that an object has changed since he read it is told the truth",
        },
    ];

    /// The monitor itself.
    pub fn property(self) -> Box<dyn Property> {
        match self {
            Name::KnownRevisionIsReadable => Box::new(readable::known_revision()),
            Name::NoLostUpdate => Box::new(swaps::NoLostUpdate::default()),
            Name::RefusedSwapIsOutdated => Box::new(swaps::RefusedSwapIsOutdated::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_the_monitors_say() {
        for (at, info) in Name::TABLE.iter().enumerate() {
            assert_eq!(info.monitor as usize, at, "{}", info.name);
            assert_eq!(info.monitor.property().name(), info.name);
        }
    }
}
