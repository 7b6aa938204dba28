//! A round of a repair loop, without its reads and its write: what is to be stored, and what there is
//! to say about it.

use std::collections::BTreeMap;
use wavetank_engine::mutant;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::service_families::family_of;
use wavetank_client::{EventType, Report};
use wavetank_version::{Defect, Set, Version};

use crate::services::allocators::range_allocation::Snapshot;
use crate::services::allocators::{Bitmap, ItemRange};
use crate::services::{RepairDefect, gates};

/// `numRepairsBeforeLeakCleanup`
const ROUNDS: u8 = 3;

/// What seems to be leaked, and how often it may still be seen before it is free again. It is gone
/// with the process.
pub(super) type Leaks = BTreeMap<String, u8>;

/// How a loop wording what it has found.
pub(super) enum Wording {
    ClusterIps(Version),
    NodePorts,
}

impl Wording {
    fn item(&self, item: &str) -> String {
        match self {
            Wording::ClusterIps(release) if release.has(gates::CLUSTER_IPS) => {
                format!("cluster IP [{}]:{item}", family_of(item))
            }
            Wording::ClusterIps(_) => format!("cluster IP {item}"),
            Wording::NodePorts => format!("node port {item}"),
        }
    }

    fn leak(&self, item: &str) -> String {
        match self {
            Wording::ClusterIps(_) => format!("cluster IP {item}"),
            Wording::NodePorts => format!("node port {item}"),
        }
    }

    /// How an item is named in an Event.
    fn shown(&self, item: &str) -> String {
        match self {
            Wording::ClusterIps(release) if release.has(gates::CLUSTER_IPS) => {
                format!("Cluster IP [{}]:{item}", family_of(item))
            }
            Wording::ClusterIps(_) => format!("Cluster IP {item}"),
            Wording::NodePorts => format!("Port {item}"),
        }
    }

    fn report(&self, of_ips: &'static str, of_ports: &'static str, note: String) -> Report {
        let (reason, action) = match self {
            Wording::ClusterIps(_) => (of_ips, "ClusterIPAllocation"),
            Wording::NodePorts => (of_ports, "PortAllocation"),
        };
        Report {
            event_type: EventType::Warning,
            reason,
            action,
            note,
        }
    }

    fn outside(&self, of: &InUse<'_>, items: &ItemRange) -> Said {
        let (item, service, range) = (&of.item, of.service_name(), &items.spec);
        let family = family_of(item);
        match self {
            Wording::ClusterIps(release)
                if release.has(gates::CLUSTER_IPS) && (family == "IPv6") != items.is_six() => Said::with(
                format!(
                    "the cluster IP {item}({family}) for service {service} is of ip family that is \
                     no longer configured on cluster; please recreate"
                ),
                self.report(
                    "ClusterIPNotValid",
                    "PortOutOfRange",
                    format!(
                        "Cluster IP {item}({family}) is of ip family that is no longer configured on \
                         cluster; please recreate service"
                    ),
                ),
            ),
            _ => {
                let (shown, within) = match self {
                    Wording::ClusterIps(_) => (self.item(item), "service CIDR"),
                    Wording::NodePorts => (format!("port {item}"), "port range"),
                };
                Said::with(
                    format!(
                        "the {shown} for service {service} is not within the {within} {range}; please \
                         recreate"
                    ),
                    self.report(
                        "ClusterIPOutOfRange",
                        "PortOutOfRange",
                        format!(
                            "{} is not within the {within} {range}; please recreate service",
                            self.shown(item)
                        ),
                    ),
                )
            }
        }
    }

    fn used_twice(&self, of: &InUse<'_>) -> Said {
        let (item, service) = (self.item(&of.item), of.service_name());
        let shown = self.shown(&of.item);
        Said::with(
            format!(
                "the {item} for service {service} was assigned to multiple services; please recreate"
            ),
            self.report(
                "ClusterIPAlreadyAllocated",
                "PortAlreadyAllocated",
                format!("{shown} was assigned to multiple services; please recreate service"),
            ),
        )
    }

    fn not_allocated(&self, of: &InUse<'_>) -> Said {
        let (item, service) = (self.item(&of.item), of.service_name());
        let shown = self.shown(&of.item);
        Said::with(
            format!("the {item} for service {service} is not allocated; repairing"),
            self.report(
                "ClusterIPNotAllocated",
                "PortNotAllocated",
                format!("{shown} is not allocated; repairing"),
            ),
        )
    }
}

/// An item that a Service uses.
#[derive(Clone, Debug)]
pub(super) struct InUse<'a> {
    pub service: &'a Json,
    pub item: String,
}

impl InUse<'_> {
    fn service_name(&self) -> String {
        let text = |field| json::text(self.service, &["metadata", field]);
        format!("{}/{}", text("name"), text("namespace"))
    }
}

/// What a round has to say: in the log, and of the Service that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub message: String,
    pub event: Option<Report>,
    /// Which of the items in use it is about.
    pub about: usize,
}

impl Said {
    fn with(message: String, event: Report) -> Said {
        Said {
            message,
            event: Some(event),
            about: 0,
        }
    }

    fn logged(message: String) -> Said {
        Said {
            message,
            event: None,
            about: 0,
        }
    }

    fn about(self, about: usize) -> Said {
        Said { about, ..self }
    }
}

pub(crate) const LEAK_IS_FREED_AT_ONCE: Defect = Defect::known(
    "leak-is-freed-at-once",
    "k/k#37488, PR #39206 (1.6)",
    "a repair loop frees what has no owner when it first sees it",
)
.until(gates::LEAKS_ARE_COUNTED);

pub(crate) const FIX_FORGET_CLEANED: Defect = Defect::fix(
    "fix-forget-cleaned",
    "FINDINGS.md, 8",
    "what a repair loop has freed is no longer suspected",
);

/// Rebuilds a bitmap from the items that Services use. What is
/// stored without an owner stays for a while: its Service may be about to be written.
pub(super) fn rebuild(
    wording: &Wording,
    stored: &Snapshot,
    items: &ItemRange,
    used: &[InUse<'_>],
    leaks: &mut Leaks,
    defects: Set<RepairDefect>,
) -> (Bitmap, Vec<Said>) {
    let mut messages = Vec::new();
    let mut rebuilt = Bitmap::default();
    // What is stored may be of the range of another configuration.
    let before = match (&*stored.range, wording) {
        ("", _) => None,
        (range, Wording::ClusterIps(release)) => ItemRange::of_addresses(range, *release),
        (_, Wording::NodePorts) => Some(items.clone()),
    };
    let before = before.unwrap_or_else(|| items.clone());
    let mut left = stored.taken.clone();
    for (at, of) in used.iter().enumerate() {
        let item = &of.item;
        let Some(offset) = items.offset(item) else {
            messages.push(wording.outside(of, items).about(at));
            continue;
        };
        if !rebuilt.allocate(offset) {
            messages.push(wording.used_twice(of).about(at));
            continue;
        }
        let known = before.offset(item).filter(|offset| left.has(*offset));
        match known.filter(|_| {
            !mutant!(
                "repair-doubts-all",
                "a repair says of each item in use that it is not allocated"
            )
        }) {
            Some(offset) => left.release(offset),
            None => messages.push(wording.not_allocated(of).about(at)),
        }
        if !mutant!(
            "suspicion-stays",
            "an item that is in use again stays suspected of having leaked"
        ) {
            leaks.remove(item);
        }
    }
    let mut suspected = Leaks::default();
    for offset in left.taken() {
        let item = before.item(offset);
        let shown = wording.leak(&item);
        let count = leaks.get(&item).copied();
        if count.is_none() {
            messages.push(Said::logged(format!(
                "the {shown} may have leaked: flagging for later clean up"
            )));
        }
        let at_first = || match defects.has(RepairDefect::LeakIsFreedAtOnce) {
            true => 0,
            false if mutant!("leak-is-freed-early", "a leak is freed a round too early") => {
                ROUNDS - 2
            }
            false
                if mutant!(
                    "leak-is-freed-late",
                    "a leak is freed after four rounds instead of three"
                ) =>
            {
                ROUNDS
            }
            false => ROUNDS - 1,
        };
        match count.unwrap_or_else(at_first) {
            0 => {
                messages.push(Said::logged(format!(
                    "the {shown} appears to have leaked: cleaning up"
                )));
            }
            count => {
                leaks.insert(item.clone(), count - 1);
                suspected.insert(item.clone(), count - 1);
                if !items.offset(&item).is_some_and(|offset| {
                    !mutant!(
                        "suspected-is-freed",
                        "what may have leaked is not kept until the rounds are over"
                    ) && rebuilt.allocate(offset)
                }) {
                    messages.push(Said::logged(format!(
                        "the {shown} may have leaked, but can not be allocated"
                    )));
                }
            }
        }
    }
    // Upstream goes on to suspect what was cleaned, and what another server has freed since: if it seems to be
    // leaked once more, it is free at once.
    if *leaks != suspected && defects.has(RepairDefect::FixForgetCleaned) {
        *leaks = suspected;
    }
    (rebuilt, messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::V1_20;

    fn items() -> ItemRange {
        ItemRange::of_addresses("10.0.0.0/28", V1_20).expect("a range")
    }

    fn stored(offsets: &[u32]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.range = "10.0.0.0/28".into();
        for offset in offsets {
            snapshot.taken.allocate(*offset);
        }
        snapshot
    }

    fn round(at: &Snapshot, used: &[&str], leaks: &mut Leaks) -> (Vec<u32>, Vec<String>) {
        let service = serde_json::json!({"metadata": {"name": "s", "namespace": "n"}});
        let in_use = |item: &&str| InUse {
            service: &service,
            item: (*item).to_owned(),
        };
        let used: Vec<InUse<'_>> = used.iter().map(in_use).collect();
        let wording = Wording::ClusterIps(V1_20);
        let (taken, messages) = rebuild(&wording, at, &items(), &used, leaks, Set::NONE);
        let messages = messages.into_iter().map(|said| said.message);
        (taken.taken().collect(), messages.collect())
    }

    #[test]
    fn a_leak_is_seen_three_times() {
        let mut leaks = Leaks::new();
        let at = stored(&[0, 4]);
        for flagged in [1, 0] {
            let (taken, messages) = round(&at, &["10.0.0.1"], &mut leaks);
            assert_eq!((taken, messages.len()), (vec![0, 4], flagged));
        }
        let (taken, messages) = round(&at, &["10.0.0.1"], &mut leaks);
        assert_eq!(taken, [0]);
        assert_eq!(
            messages,
            ["the cluster IP 10.0.0.5 appears to have leaked: cleaning up"]
        );
    }

    /// FINDINGS.md, 8.
    #[test]
    fn what_was_freed_is_suspected_for_ever_unless_it_is_forgotten() {
        let at = stored(&[4]);
        let wording = Wording::ClusterIps(V1_20);
        for (fix, kept) in [(false, 0), (true, 1)] {
            let defects = Set::NONE.with(RepairDefect::FixForgetCleaned, fix);
            let mut leaks = Leaks::new();
            let mut round = || rebuild(&wording, &at, &items(), &[], &mut leaks, defects).0;
            let freed = [round(), round(), round()].map(|taken| taken.count());
            assert_eq!(freed, [1, 1, 0]);
            // It was taken again, and its Service is not written yet.
            assert_eq!(round().count(), kept, "with the fix: {fix}");
        }
    }

    /// FINDINGS.md, 8: the same where another server has freed it.
    #[test]
    fn what_another_freed_is_suspected_for_ever_unless_it_is_forgotten() {
        let (leaked, free) = (stored(&[4]), stored(&[]));
        let wording = Wording::ClusterIps(V1_20);
        for (fix, kept) in [(false, 0), (true, 1)] {
            let defects = Set::NONE.with(RepairDefect::FixForgetCleaned, fix);
            let mut leaks = Leaks::new();
            let mut round = |at| rebuild(&wording, at, &items(), &[], &mut leaks, defects).0;
            let allocated = [&leaked, &leaked, &free].map(|at| round(at).count());
            assert_eq!(allocated, [1, 1, 0]);
            assert_eq!(round(&leaked).count(), kept, "with the fix: {fix}");
        }
    }

    #[test]
    fn who_uses_it_again_clears_the_suspicion() {
        let mut leaks = Leaks::new();
        let at = stored(&[4]);
        round(&at, &[], &mut leaks);
        assert_eq!(round(&at, &["10.0.0.5"], &mut leaks), (vec![4], vec![]));
        let (taken, messages) = round(&at, &[], &mut leaks);
        assert_eq!(taken, [4]);
        assert!(
            messages[0].contains("flagging"),
            "it begins anew: {messages:?}"
        );
    }

    #[test]
    fn what_is_used_is_allocated_once() {
        let used = ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.1.0.1"];
        let (taken, messages) = round(&stored(&[0]), &used, &mut Leaks::new());
        assert_eq!(taken, [0, 1]);
        let begins = [
            "assigned to multiple",
            "is not allocated; repairing",
            "is not within",
        ];
        assert_eq!(messages.len(), begins.len());
        for (message, part) in messages.iter().zip(begins) {
            assert!(message.contains(part), "{message}");
        }
    }
}
