//! The library of monitors of informers: what client-go promises those who build on it, checked against what
//! clients tell and what etcd has committed. This is their table; each kind has a file.
//!
//! `matching` says which changes of etcd an informer is about. How a scenario names its properties does not
//! belong here.

pub mod converge;
pub mod list;
pub mod matching;
pub mod missed;
pub mod order;
pub mod regress;
mod resyncs;
pub mod sometimes;
pub mod synced;
#[cfg(test)]
mod testing;

use std::time::Duration;

use wavetank_engine::{Check, ProcId, Property, Violation, World};
use wavetank_version::Version;

use crate::gates;

/// Informers and handlers have caught up so long after calm: a connection that died in the storm is noticed
/// after 45 s (in v1.16 after 300 s, as TCP does), the reflector waits up to 60 s, a list that is refused
/// is repeated for 40 s, and what came is processed.
pub fn settling(release: Version) -> Duration {
    Duration::from_secs(match release.has(gates::HTTP2_IS_CHECKED) {
        true => 200,
        false => 450,
    })
}

/// A monitor of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
pub enum Name {
    InformerWatchOrdered,
    ListShowsAMoment,
    ListSettlesTheStore,
    InformerMissesNothing,
    StoreNeverGoesBack,
    NoTimeTravelAfterRestart,
    InformersConverge,
    HandlersAgree,
    HandlersHearResyncs,
    WorkBeginsWhenHandlersSawAll,
    TooLargeFallsBack,
    InformerRelisted,
    InformerWatchExpired,
    ListWasTooLarge,
    ListWasStreamed,
    DeletionWasUnseen,
    ClientChangedServers,
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
    pub const TABLE: [Info; 17] = [
        Info {
            monitor: Name::InformerWatchOrdered,
            name: "informer-watch-ordered",
            about: "a watch delivers events in order, and none that a bookmark has covered",
        },
        Info {
            monitor: Name::ListShowsAMoment,
            name: "list-shows-a-moment",
            about: "a list shows what etcd held at its revision, no more and no less",
        },
        Info {
            monitor: Name::ListSettlesTheStore,
            name: "list-settles-the-store",
            about: "once all that a list brought is taken, the store is what etcd held",
        },
        Info {
            monitor: Name::InformerMissesNothing,
            name: "informer-misses-nothing",
            about: "a watch passes by no event between where it began and what it brought",
        },
        Info {
            monitor: Name::StoreNeverGoesBack,
            name: "store-never-goes-back",
            about: "within one life of its process a store gets no older",
        },
        Info {
            monitor: Name::NoTimeTravelAfterRestart,
            name: "no-time-travel-after-restart",
            about: "a process that was restarted sees nothing older than it saw before",
        },
        Info {
            monitor: Name::InformersConverge,
            name: "informers-converge",
            about: "some time after calm the store of each informer is what etcd holds",
        },
        Info {
            monitor: Name::HandlersAgree,
            name: "handlers-agree",
            about: "some time after calm what handlers were told amounts to the store",
        },
        Info {
            monitor: Name::HandlersHearResyncs,
            name: "handlers-hear-resyncs",
            about: "in calm a handler with a resync hears of each object once per period",
        },
        Info {
            monitor: Name::WorkBeginsWhenHandlersSawAll,
            name: "work-begins-when-handlers-saw-all",
            about: "a process waits until its handlers have seen all objects of the first lists",
        },
        Info {
            monitor: Name::TooLargeFallsBack,
            name: "too-large-falls-back",
            about: "an informer whose list is refused as too large asks for another revision, or for none",
        },
        Info {
            monitor: Name::InformerRelisted,
            name: "informer-relisted",
            about: "an informer listed again in one life",
        },
        Info {
            monitor: Name::InformerWatchExpired,
            name: "informer-watch-expired",
            about: "a watch of an informer ended as expired",
        },
        Info {
            monitor: Name::ListWasTooLarge,
            name: "list-was-too-large",
            about: "a server was behind the revision that an informer asked for",
        },
        Info {
            monitor: Name::ListWasStreamed,
            name: "list-was-streamed",
            about: "a list came as the first events of a watch",
        },
        Info {
            monitor: Name::DeletionWasUnseen,
            name: "deletion-was-unseen",
            about: "a handler was told of a deletion that nobody saw",
        },
        Info {
            monitor: Name::ClientChangedServers,
            name: "client-changed-servers",
            about: "an informer went on at another server",
        },
    ];

    /// May a client or a server of these releases put it to the test?
    pub fn fits(self, releases: &[Version]) -> bool {
        let has = |gate| releases.iter().any(|release| release.has(gate));
        match self {
            Name::TooLargeFallsBack | Name::ListWasTooLarge => has(gates::RELISTS_AT_LAST_SEEN),
            Name::ListWasStreamed => has(gates::WATCH_LIST_CLIENT),
            // Before that informers take so long to settle that a calm has no room for it.
            Name::HandlersHearResyncs => has(gates::HTTP2_IS_CHECKED),
            _ => true,
        }
    }

    /// What there is to know of it.
    pub fn info(self) -> &'static Info {
        &Name::TABLE[self as usize]
    }

    /// The monitor with this name.
    pub fn named(name: &str) -> Option<Name> {
        let found = Name::TABLE.iter().find(|info| info.name == name)?;
        Some(found.monitor)
    }

    /// The monitor itself; what has to be true in the end is looked at `settled` after calm.
    pub fn property(self, settled: Duration) -> Box<dyn Property> {
        match self {
            Name::InformerWatchOrdered => Box::new(order::WatchOrdered::default()),
            Name::ListShowsAMoment => Box::new(list::ListShowsAMoment::default()),
            Name::ListSettlesTheStore => Box::new(list::ListSettlesTheStore::default()),
            Name::InformerMissesNothing => Box::new(missed::MissesNothing::default()),
            Name::StoreNeverGoesBack => Box::new(regress::StoreNeverGoesBack::default()),
            Name::NoTimeTravelAfterRestart => Box::new(regress::NoTimeTravel::default()),
            Name::InformersConverge => Box::new(converge::InformersConverge::new(settled)),
            Name::HandlersAgree => Box::new(converge::HandlersAgree::new(settled)),
            Name::HandlersHearResyncs => Box::new(resyncs::HandlersHearResyncs::new(settled)),
            Name::WorkBeginsWhenHandlersSawAll => Box::new(synced::HandlersSawAll::default()),
            Name::TooLargeFallsBack => Box::new(list::TooLargeFallsBack::default()),
            Name::InformerRelisted => Box::new(sometimes::Relisted::default()),
            Name::InformerWatchExpired => Box::new(sometimes::watch_expired()),
            Name::ListWasTooLarge => Box::new(sometimes::list_too_large()),
            Name::ListWasStreamed => Box::new(sometimes::list_streamed()),
            Name::DeletionWasUnseen => Box::new(sometimes::deletion_unseen()),
            Name::ClientChangedServers => Box::new(sometimes::ChangedServers::default()),
        }
    }
}

/// An informer: its process, and its number there.
type Who = (ProcId, u32);

fn violated(world: &World, (process, informer): Who, message: String) -> Check {
    let object = format!("informer {informer} of {}", world.name(process));
    Check::Violated(Violation {
        kind: "informer",
        message: format!("{object}: {message}"),
        object,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::V1_36;

    #[test]
    fn the_table_is_in_order_and_says_what_the_monitors_say() {
        for (at, info) in Name::TABLE.iter().enumerate() {
            assert_eq!(info.monitor as usize, at, "{}", info.name);
            assert_eq!(Name::named(info.name), Some(info.monitor));
            let settled = settling(V1_36);
            assert_eq!(info.monitor.property(settled).name(), info.name);
        }
    }
}
