//! A round of a repair loop, without its reads and its write: what is to be stored, and what there is
//! to say about it.

use std::collections::BTreeMap;

use wavetank_api::kinds::service_families::family_of;
use wavetank_apiserver::services::ledger::Snapshot;
use wavetank_apiserver::services::{Bitmap, Block};
use wavetank_release::{Release, Switch, Switches};

/// `numRepairsBeforeLeakCleanup`
const ROUNDS: u8 = 3;

/// What seems to be leaked, and how often it may still be seen before it is free again. It is gone
/// with the process.
pub(super) type Leaks = BTreeMap<String, u8>;

/// How a loop words what it has found.
pub(super) enum Words {
    ClusterIps(Release),
    NodePorts,
}

impl Words {
    fn item(&self, item: &str) -> String {
        match self {
            Words::ClusterIps(Release::V1_16) => format!("cluster IP {item}"),
            Words::ClusterIps(_) => format!("cluster IP [{}]:{item}", family_of(item)),
            Words::NodePorts => format!("node port {item}"),
        }
    }

    fn leak(&self, item: &str) -> String {
        match self {
            Words::ClusterIps(_) => format!("cluster IP {item}"),
            Words::NodePorts => format!("node port {item}"),
        }
    }

    fn outside(&self, item: &str, service: &str, block: &Block) -> String {
        let range = &block.spec;
        match self {
            Words::ClusterIps(Release::V1_20) if (family_of(item) == "IPv6") != block.is_six() => {
                let family = family_of(item);
                format!(
                    "the cluster IP {item}({family}) for service {service} is of ip family that is \
                     no longer configured on cluster; please recreate"
                )
            }
            Words::ClusterIps(_) => format!(
                "the {} for service {service} is not within the service CIDR {range}; please \
                 recreate",
                self.item(item)
            ),
            Words::NodePorts => format!(
                "the port {item} for service {service} is not within the port range {range}; \
                 please recreate"
            ),
        }
    }
}

/// Rebuilds a bitmap from the items that Services use (`used`: the Service and the item). What is
/// stored without an owner stays for a while: its Service may be about to be written.
pub(super) fn rebuild(
    words: &Words,
    stored: &Snapshot,
    block: &Block,
    used: &[(String, String)],
    leaks: &mut Leaks,
    switches: Switches,
) -> (Bitmap, Vec<String>) {
    let rounds = match switches.has(Switch::LeakIsFreedAtOnce) {
        true => 1,
        false => ROUNDS,
    };
    let mut messages = Vec::new();
    let mut rebuilt = Bitmap::default();
    // What is stored may be of the range of another configuration.
    let before = match (&*stored.range, words) {
        ("", _) => None,
        (range, Words::ClusterIps(release)) => Block::of_addresses(range, *release),
        (_, Words::NodePorts) => Some(block.clone()),
    };
    let before = before.unwrap_or_else(|| block.clone());
    let mut left = stored.taken.clone();
    for (service, item) in used {
        let Some(offset) = block.offset(item) else {
            messages.push(words.outside(item, service, block));
            continue;
        };
        let shown = words.item(item);
        if !rebuilt.take(offset) {
            messages.push(format!(
                "the {shown} for service {service} was assigned to multiple services; please \
                 recreate"
            ));
            continue;
        }
        match before.offset(item).filter(|offset| left.has(*offset)) {
            Some(offset) => left.release(offset),
            None => messages.push(format!(
                "the {shown} for service {service} is not allocated; repairing"
            )),
        }
        leaks.remove(item);
    }
    for offset in left.taken() {
        let item = before.item(offset);
        let shown = words.leak(&item);
        let count = leaks.get(&item).copied();
        if count.is_none() {
            messages.push(format!(
                "the {shown} may have leaked: flagging for later clean up"
            ));
        }
        match count.unwrap_or(rounds - 1) {
            0 => {
                messages.push(format!("the {shown} appears to have leaked: cleaning up"));
                // Upstream goes on to suspect it: if it seems to be leaked once more, it is free at once.
                if switches.has(Switch::FixForgetCleaned) {
                    leaks.remove(&item);
                }
            }
            count => {
                leaks.insert(item.clone(), count - 1);
                if !block
                    .offset(&item)
                    .is_some_and(|offset| rebuilt.take(offset))
                {
                    messages.push(format!(
                        "the {shown} may have leaked, but can not be allocated"
                    ));
                }
            }
        }
    }
    (rebuilt, messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Block {
        Block::of_addresses("10.0.0.0/28", Release::V1_20).expect("a range")
    }

    fn stored(offsets: &[u32]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.range = "10.0.0.0/28".into();
        for offset in offsets {
            snapshot.taken.take(*offset);
        }
        snapshot
    }

    fn round(at: &Snapshot, used: &[&str], leaks: &mut Leaks) -> (Vec<u32>, Vec<String>) {
        let used: Vec<(String, String)> = used
            .iter()
            .map(|ip| ("s/n".to_owned(), (*ip).to_owned()))
            .collect();
        let words = Words::ClusterIps(Release::V1_20);
        let (taken, messages) = rebuild(&words, at, &block(), &used, leaks, Switches::NONE);
        (taken.taken().collect(), messages)
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
        let words = Words::ClusterIps(Release::V1_20);
        for (fix, kept) in [(false, 0), (true, 1)] {
            let switches = Switches::NONE.with(Switch::FixForgetCleaned, fix);
            let mut leaks = Leaks::new();
            let mut round = || rebuild(&words, &at, &block(), &[], &mut leaks, switches).0;
            let freed = [round(), round(), round()].map(|taken| taken.count());
            assert_eq!(freed, [1, 1, 0]);
            // It was taken again, and its Service is not written yet.
            assert_eq!(round().count(), kept, "with the fix: {fix}");
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
