//! The library of properties of the control plane. This is their table; each kind has a file.
//!
//! Bounds are derived from the algorithms' own timers, see [`settling`]; a bare hope would raise
//! false alarms.

mod caches;
mod converge;
mod departed;
mod emptied;
mod identity;
mod ready;
mod removal;
mod services;
mod sometimes;

use std::time::Duration;

use wavetank_controllers::Reconciler;
use wavetank_controllers::gates::ENDPOINT_SLICES;
use wavetank_engine::{Always, Check, Class, Note, Property, Violation, World};
use wavetank_version::Version;

/// A property of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
pub enum Name {
    StoppedAddressIsRemoved,
    NoLeaseWriteAfterRemoval,
    DepartedAddressStaysAway,
    EndpointsAreNotEmptied,
    NoIdentityAfterStop,
    OnlyReadyAreListed,
    ShutdownEnds,
    EndpointsConverge,
    SliceAgrees,
    MasterLeasesExpire,
    QuietWhenStable,
    ClientsReachAnApiserver,
    LeaderlessCachesEnd,
    LastApiserverStopped,
    RemovalConflicted,
    LeaseExpired,
    RoundFailed,
    TwoReleasesAtOnce,
    ClusterIpsAreUnique,
    NodePortsAreUnique,
    AllocationsAreInRange,
    ServiceKeepsItsAddress,
    KubernetesKeepsTheFirstAddress,
    KubernetesGetsTheFirstAddress,
    UsedIsAllocated,
    RefusedLeavesNoTrace,
    ServiceGivesUpAll,
    LeaksAreRepaired,
    TakenMeansTaken,
    AllocationSucceedsWhileFree,
    TroubleIsNotInvalid,
    StartCompletes,
    RangeWasFull,
    LeakWasCleanedUp,
    RepairGaveUp,
}

/// What there is to know of a property.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The property.
    pub property: Name,
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// `sometimes` properties are to be reached, not to be kept.
    pub sometimes: bool,
}

impl Name {
    /// All of them.
    pub const TABLE: [Info; 35] = [
        Info {
            property: Name::StoppedAddressIsRemoved,
            name: "stopped-address-is-removed",
            about: "when a stopping apiserver has removed its address in time and without \
                    trouble from etcd or the network, the Endpoints do not list it",
            sometimes: false,
        },
        Info {
            property: Name::NoLeaseWriteAfterRemoval,
            name: "no-lease-write-after-removal",
            about: "an apiserver that has removed its master lease does not write it again",
            sometimes: false,
        },
        Info {
            property: Name::DepartedAddressStaysAway,
            name: "departed-address-stays-away",
            about: "some time after calm the Endpoints list nobody who has removed itself and is gone, \
                    unless others went without doing so",
            sometimes: false,
        },
        Info {
            property: Name::EndpointsAreNotEmptied,
            name: "endpoints-are-not-emptied",
            about: "a stopping apiserver does not empty the Endpoints while another one serves and keeps its lease",
            sometimes: false,
        },
        Info {
            property: Name::NoIdentityAfterStop,
            name: "no-identity-after-stop",
            about: "an apiserver that has deleted the Lease of its identity because it stops does not write it again",
            sometimes: false,
        },
        Info {
            property: Name::OnlyReadyAreListed,
            name: "only-ready-are-listed",
            about: "an apiserver that starts is not listed before it is ready",
            sometimes: false,
        },
        Info {
            property: Name::ShutdownEnds,
            name: "shutdown-ends",
            about: "the PreShutdown hooks end within their bounds, whatever etcd does",
            sometimes: false,
        },
        Info {
            property: Name::EndpointsConverge,
            name: "endpoints-converge",
            about: "some time after calm the Endpoints list the apiservers that run, and no other",
            sometimes: false,
        },
        Info {
            property: Name::SliceAgrees,
            name: "slice-agrees",
            about: "some time after calm the EndpointSlice lists what the Endpoints list",
            sometimes: false,
        },
        Info {
            property: Name::MasterLeasesExpire,
            name: "master-leases-expire",
            about: "some time after calm every master lease belongs to an apiserver that runs",
            sometimes: false,
        },
        Info {
            property: Name::QuietWhenStable,
            name: "quiet-when-stable",
            about: "some time after calm nobody writes Endpoints or EndpointSlice any more",
            sometimes: false,
        },
        Info {
            property: Name::ClientsReachAnApiserver,
            name: "clients-reach-an-apiserver",
            about: "some time after calm every attempt through the Endpoints reaches an apiserver",
            sometimes: false,
        },
        Info {
            property: Name::LeaderlessCachesEnd,
            name: "leaderless-caches-end",
            about: "the watch caches of an apiserver are not filled while its etcd has no leader for long",
            sometimes: false,
        },
        Info {
            property: Name::LastApiserverStopped,
            name: "last-apiserver-stopped",
            about: "the last apiserver removed its address while no other ran",
            sometimes: true,
        },
        Info {
            property: Name::RemovalConflicted,
            name: "removal-conflicted",
            about: "a removal found that somebody else had changed the Endpoints",
            sometimes: true,
        },
        Info {
            property: Name::LeaseExpired,
            name: "lease-expired",
            about: "etcd deleted a master lease because its time was over",
            sometimes: true,
        },
        Info {
            property: Name::RoundFailed,
            name: "round-failed",
            about: "a round of the reconciler ended with an error",
            sometimes: true,
        },
        Info {
            property: Name::TwoReleasesAtOnce,
            name: "two-releases-at-once",
            about: "an apiserver was replaced while one of another release served",
            sometimes: true,
        },
        Info {
            property: Name::ClusterIpsAreUnique,
            name: "cluster-ips-are-unique",
            about: "no two Services have the same cluster address",
            sometimes: false,
        },
        Info {
            property: Name::NodePortsAreUnique,
            name: "node-ports-are-unique",
            about: "no two Services have the same node port; one may use it for two protocols",
            sometimes: false,
        },
        Info {
            property: Name::AllocationsAreInRange,
            name: "allocations-are-in-range",
            about: "addresses and ports of Services are in the ranges of the servers",
            sometimes: false,
        },
        Info {
            property: Name::ServiceKeepsItsAddress,
            name: "service-keeps-its-address",
            about: "a Service keeps the address that its client was told until it is deleted or gives it up",
            sometimes: false,
        },
        Info {
            property: Name::KubernetesKeepsTheFirstAddress,
            name: "kubernetes-keeps-the-first-address",
            about: "the Service default/kubernetes has the first address, and no other has",
            sometimes: false,
        },
        Info {
            property: Name::KubernetesGetsTheFirstAddress,
            name: "kubernetes-gets-the-first-address",
            about: "some time after calm the Service default/kubernetes is there",
            sometimes: false,
        },
        Info {
            property: Name::UsedIsAllocated,
            name: "used-is-allocated",
            about: "between requests all that Services have is allocated",
            sometimes: false,
        },
        Info {
            property: Name::RefusedLeavesNoTrace,
            name: "refused-leaves-no-trace",
            about: "a request that is refused leaves nothing allocated, unless etcd or a server had trouble",
            sometimes: false,
        },
        Info {
            property: Name::ServiceGivesUpAll,
            name: "service-gives-up-all",
            about: "what a Service loses or leaves behind is free, unless etcd or a server had trouble",
            sometimes: false,
        },
        Info {
            property: Name::LeaksAreRepaired,
            name: "leaks-are-repaired",
            about: "some time after calm nothing is allocated that no Service has",
            sometimes: false,
        },
        Info {
            property: Name::TakenMeansTaken,
            name: "taken-means-taken",
            about: "what a server calls allocated was allocated at some time since it was asked for",
            sometimes: false,
        },
        Info {
            property: Name::AllocationSucceedsWhileFree,
            name: "allocation-succeeds-while-free",
            about: "who is told that the range is full was told so while nothing stayed free",
            sometimes: false,
        },
        Info {
            property: Name::TroubleIsNotInvalid,
            name: "trouble-is-not-invalid",
            about: "a request that fails because of etcd is not refused as invalid",
            sometimes: false,
        },
        Info {
            property: Name::StartCompletes,
            name: "start-completes",
            about: "an apiserver gets through its start, however busy others are",
            sometimes: false,
        },
        Info {
            property: Name::RangeWasFull,
            name: "range-was-full",
            about: "a Service was refused because everything was taken",
            sometimes: true,
        },
        Info {
            property: Name::LeakWasCleanedUp,
            name: "leak-was-cleaned-up",
            about: "a repair loop freed what had leaked",
            sometimes: true,
        },
        Info {
            property: Name::RepairGaveUp,
            name: "repair-gave-up",
            about: "a repair loop met other writers until it gave a round up",
            sometimes: true,
        },
    ];

    /// What there is to know of it.
    pub fn info(self) -> &'static Info {
        &Name::TABLE[self as usize]
    }

    /// The property with this name.
    pub fn named(name: &str) -> Option<Name> {
        let found = Name::TABLE.iter().find(|info| info.name == name)?;
        Some(found.property)
    }

    /// Is it about watch caches? Then there must be some.
    pub fn is_about_caches(self) -> bool {
        self == Name::LeaderlessCachesEnd
    }

    /// Is it about a rollout? Then there must be one.
    pub fn is_about_rollouts(self) -> bool {
        self == Name::TwoReleasesAtOnce
    }

    /// Is it about identities of apiservers? Then they must have them.
    pub fn is_about_identities(self) -> bool {
        self == Name::NoIdentityAfterStop
    }

    /// Is it about Services? Then there must be something to give to them.
    pub fn is_about_services(self) -> bool {
        self as usize >= Name::ClusterIpsAreUnique as usize
    }

    /// The properties that a scenario with this reconciler and these releases is held to if it names
    /// none.
    pub fn fitting(reconciler: Reconciler, releases: &[Version]) -> Vec<Name> {
        let all = Name::TABLE.iter().map(|info| info.property);
        let keeps_slices = releases.iter().any(|release| release.has(ENDPOINT_SLICES));
        let fits = |name: &Name| match reconciler {
            // It needs everybody who is down to have left in order, which storms seldom see to.
            _ if *name == Name::DepartedAddressStaysAway => false,
            _ if *name == Name::SliceAgrees && !keeps_slices => false,
            Reconciler::Lease => true,
            Reconciler::MasterCount => {
                *name != Name::MasterLeasesExpire && *name != Name::EndpointsAreNotEmptied
            }
            Reconciler::None => {
                *name == Name::ShutdownEnds || name.is_about_caches() || name.is_about_services()
            }
        };
        all.filter(fits).collect()
    }

    /// The property itself.
    pub fn property(self, shutdown_delay: Duration) -> Box<dyn Property> {
        let settled = settling(shutdown_delay);
        match self {
            Name::StoppedAddressIsRemoved => Box::new(removal::StoppedAddressIsRemoved::default()),
            Name::NoLeaseWriteAfterRemoval => Box::new(removal::NoLeaseWriteAfter::default()),
            Name::DepartedAddressStaysAway => Box::new(departed::DepartedStaysAway::new(settled)),
            Name::EndpointsAreNotEmptied => Box::new(emptied::NotEmptied::default()),
            Name::NoIdentityAfterStop => Box::new(identity::NoIdentityAfterStop::default()),
            Name::OnlyReadyAreListed => Box::new(Always {
                name: "only-ready-are-listed",
                class: Class::Guarantee,
                check: ready::only_ready_are_listed,
            }),
            Name::ShutdownEnds => Box::new(removal::shutdown_ends()),
            Name::EndpointsConverge => Box::new(converge::endpoints(settled)),
            Name::SliceAgrees => Box::new(converge::slice(settled)),
            Name::MasterLeasesExpire => Box::new(converge::master_leases(settled)),
            Name::QuietWhenStable => Box::new(converge::quiet(settled)),
            Name::ClientsReachAnApiserver => Box::new(converge::clients(settled + CLIENTS_NEED)),
            Name::LeaderlessCachesEnd => Box::new(caches::LeaderlessCachesEnd::default()),
            Name::LastApiserverStopped => Box::new(sometimes::last_apiserver_stopped()),
            Name::RemovalConflicted => Box::new(sometimes::removal_conflicted()),
            Name::LeaseExpired => Box::new(sometimes::lease_expired()),
            Name::RoundFailed => Box::new(sometimes::round_failed()),
            Name::TwoReleasesAtOnce => Box::new(sometimes::two_releases_at_once()),
            Name::ClusterIpsAreUnique => Box::new(services::Unique::addresses()),
            Name::NodePortsAreUnique => Box::new(services::Unique::ports()),
            Name::AllocationsAreInRange => {
                Box::new(always("allocations-are-in-range", services::in_range))
            }
            Name::ServiceKeepsItsAddress => Box::new(services::KeepsItsAddress::default()),
            Name::KubernetesKeepsTheFirstAddress => Box::new(always(
                "kubernetes-keeps-the-first-address",
                services::kubernetes_is_first,
            )),
            Name::KubernetesGetsTheFirstAddress => Box::new(services::kubernetes_is_there()),
            Name::UsedIsAllocated => Box::new(services::UsedIsAllocated::default()),
            Name::RefusedLeavesNoTrace => Box::new(services::NothingIsLeft::by_refused()),
            Name::ServiceGivesUpAll => Box::new(services::NothingIsLeft::by_services()),
            Name::LeaksAreRepaired => Box::new(services::StrandedAllocations::default()),
            Name::TakenMeansTaken => Box::new(services::TakenMeansTaken::default()),
            Name::AllocationSucceedsWhileFree => Box::new(services::FullMeansFull::default()),
            Name::TroubleIsNotInvalid => Box::new(always(
                "trouble-is-not-invalid",
                services::trouble_is_not_invalid,
            )),
            Name::StartCompletes => Box::new(services::StartCompletes::default()),
            Name::RangeWasFull => Box::new(services::range_full()),
            Name::LeakWasCleanedUp => Box::new(services::repair_found_leak()),
            Name::RepairGaveUp => Box::new(services::repair_conflicted()),
        }
    }
}

/// How long after calm the control plane has settled, at the latest.
///
/// - A connection that died in the storm is noticed after 30 + 10 s (etcd's keep-alive) or 45 s
///   (HTTP/2), and dialled again after at most 43 s: the gap of grpc's back-off (1 s × 1.6ⁿ) that
///   is open at the end of a storm of 120 s. The two do not add up: 45 s.
/// - A master lease of a dead server is gone 1 + 15 + 0.5 s after that (extension at etcd's
///   restart, TTL, expiry loop), and the next round is 10 s later; a round that conflicts is
///   repeated after another 10 s; the way there takes a few seconds more: 45 s.
/// - An apiserver that is still stopping when calm begins needs the delay, 20 s for its hook, 60 s
///   to drain, and is only then started again, with a first round at once: delay + 85 s.
pub fn settling(shutdown_delay: Duration) -> Duration {
    Duration::from_secs(45 + 45 + 85) + shutdown_delay
}

/// A client that talks to a server which has gone notices after 45 s, and reads the Endpoints anew
/// within another 10 s.
const CLIENTS_NEED: Duration = Duration::from_secs(55);

fn always(name: &'static str, check: fn(&World, &Note) -> Check) -> Always {
    Always {
        name,
        class: Class::Guarantee,
        check,
    }
}

fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_the_properties_say() {
        for (at, info) in Name::TABLE.iter().enumerate() {
            assert_eq!(info.property as usize, at, "{}", info.name);
            let property = info.property.property(Duration::ZERO);
            assert_eq!(property.name(), info.name);
            let sometimes = property.class() == wavetank_engine::Class::Sometimes;
            assert_eq!(sometimes, info.sometimes, "{}", info.name);
        }
    }
}
