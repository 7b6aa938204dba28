//! What apiservers are held to. This is the list; each kind has a file.
//!
//! Bounds are derived from the algorithms' own timers, see [`settling`]; a bare hope would raise
//! false alarms.

pub(crate) mod converge;
mod departed;
mod endpoints_not_emptied;
mod namespaces;
mod readable;
mod ready;
pub(crate) mod removal;
mod sometimes;

use std::time::Duration;

use crate::kube_apiserver::bootstrap::Reconciler;
use crate::kube_apiserver::gates::ENDPOINT_SLICES;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Always, Class};

use super::{NEEDED, admission, all_releases, keeps_endpoints, reconciler_of, releases};
use crate::promises::always;
use crate::writers;
use wavetank_api::kinds::ENDPOINT_SLICES as ENDPOINT_SLICE_OBJECTS;
use wavetank_api::versions::stored;

fn lease(spec: &Spec) -> bool {
    reconciler_of(spec) == Reconciler::Lease
}

fn slice(spec: &Spec) -> bool {
    let releases = releases(spec);
    keeps_endpoints(spec) && releases.iter().any(|release| release.has(ENDPOINT_SLICES))
}

/// Do servers meet whose releases store in different versions?
fn meet(spec: &Spec) -> bool {
    let knows = |release| stored::knows_hub(&ENDPOINT_SLICE_OBJECTS, release) == Some(true);
    let all = all_releases(spec);
    slice(spec)
        && all.iter().any(|release| knows(*release))
        && !all.iter().all(|release| knows(*release))
}

/// What is promised of a graceful stop takes one.
const STOP: &[Entry] = &[Entry::STOP];

/// All of them.
pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "stopped-address-is-removed",
            "when a stopping apiserver has removed its address in time and without trouble from etcd \
             or the network, the Endpoints do not list it",
            NEEDED,
            |_| Box::new(removal::StoppedAddressIsRemoved::default()),
        )
        .tested_by(STOP)
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "no-lease-write-after-removal",
            "an apiserver that has removed its master lease does not write it again",
            NEEDED,
            |_| Box::new(removal::NoLeaseWriteAfter::default()),
        )
        .tested_by(STOP)
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "departed-address-stays-away",
            "some time after calm the Endpoints list nobody who has removed itself and is gone, unless \
             others went without doing so",
            NEEDED,
            |settled| Box::new(departed::DepartedStaysAway::new(settled)),
        )
        // It needs everybody who is down to have left in order, which storms seldom see to.
        .fits(|_| false),
        PropertyInfo::new(
            "endpoints-are-not-emptied",
            "a stopping apiserver does not empty the Endpoints while another one serves and keeps its lease, and one that does not stop never does",
            NEEDED,
            |_| Box::new(endpoints_not_emptied::NotEmptied::default()),
        )
        .tested_by(STOP)
        .fits(lease),
        PropertyInfo::new(
            "only-ready-are-listed",
            "an apiserver that starts is not listed before it is ready",
            NEEDED,
            |_| Box::new(Always {
                name: "only-ready-are-listed",
                class: Class::Guarantee,
                check: ready::only_ready_are_listed,
            }),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "namespace-is-found",
            "whoever makes an object in a namespace that is there is not told that it is not",
            NEEDED,
            |_| Box::new(namespaces::NamespaceIsFound::default()),
        )
        .fits(|spec| admission(spec).look_at_namespaces() && spec.count(writers::NAME) > 0),
        PropertyInfo::new(
            "stored-objects-can-be-read",
            "each apiserver that runs can read what is stored, be it of an older release than that which has stored it",
            NEEDED,
            |_| Box::new(always("stored-objects-can-be-read", readable::stored_objects_can_be_read)),
        )
        .fits(meet),
        PropertyInfo::new(
            "shutdown-ends",
            "the PreShutdown hooks end within their bounds, whatever etcd does",
            NEEDED,
            |_| Box::new(removal::shutdown_ends()),
        )
        .tested_by(STOP),
        PropertyInfo::new(
            "endpoints-converge",
            "some time after calm the Endpoints list the apiservers that run, and no other",
            NEEDED,
            |settled| Box::new(converge::endpoints(settled)),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "slice-agrees",
            "some time after calm the EndpointSlice lists what the Endpoints list",
            NEEDED,
            |settled| Box::new(converge::slice(settled)),
        )
        .fits(slice),
        PropertyInfo::new(
            "master-leases-expire",
            "some time after calm every master lease belongs to an apiserver that runs",
            NEEDED,
            |settled| Box::new(converge::master_leases(settled)),
        )
        .fits(lease),
        PropertyInfo::new(
            "quiet-when-stable",
            "some time after calm nobody writes Endpoints or EndpointSlice any more",
            NEEDED,
            |settled| Box::new(converge::quiet(settled)),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "last-apiserver-stopped",
            "the last apiserver removed its address while no other ran",
            NEEDED,
            |_| Box::new(sometimes::last_apiserver_stopped()),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "removal-conflicted",
            "a removal found that somebody else had changed the Endpoints",
            NEEDED,
            |_| Box::new(sometimes::removal_conflicted()),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "lease-expired",
            "etcd deleted a master lease because its time was over",
            NEEDED,
            |_| Box::new(sometimes::lease_expired()),
        )
        .fits(keeps_endpoints),
        PropertyInfo::new(
            "round-failed",
            "a round of the reconciler ended with an error",
            NEEDED,
            |_| Box::new(sometimes::round_failed()),
        )
        .fits(keeps_endpoints),
    ]
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
