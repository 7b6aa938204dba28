//! The head of a recording: which servers it is of, and with which flags they ran. A flag is honoured, or the recording
//! is refused: a server that runs with another one answers otherwise, and that would be no difference of ours.

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_apiserver::AuditLog;
use wavetank_component::values::Written;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_components::services::{Cidrs, PortRange, ServiceRanges};
use wavetank_releases::VERSIONS;
use wavetank_version::{EtcdVersion, Version};

use crate::lab::{Cluster, Lab};

/// The flags of all servers of recordings, unless the head says otherwise. A live comparison starts its servers with them.
pub const FLAGS: [(&str, &str); 10] = [
    ("service-account-issuer", "https://kubernetes.default.svc"),
    ("authorization-mode", "AlwaysAllow"),
    ("advertise-address", "192.0.2.11"),
    ("service-cluster-ip-range", "10.96.0.0/24"),
    ("enable-priority-and-fairness", "false"),
    (
        "feature-gates",
        "APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
    ),
    ("etcd-compaction-interval", "0"),
    ("endpoint-reconciler-type", "none"),
    ("disable-admission-plugins", "ServiceAccount"),
    ("storage-media-type", "application/json"),
];

/// Flags that have one value here, as what they change is not simulated.
const FIXED: [&str; 6] = [
    "service-account-issuer",
    "authorization-mode",
    "advertise-address",
    "enable-priority-and-fairness",
    "etcd-compaction-interval",
    "storage-media-type",
];

/// The servers that the head of a recording describes, for which these resources are asked.
///
/// # Errors
/// What of it is not simulated, and what would be.
pub(crate) fn cluster(head: &Json, asked_for: Vec<&'static Resource>) -> Result<Cluster, String> {
    let release = apiserver(head["apiserver"].as_str().unwrap_or_default())?;
    let servers = head["servers"].as_u64().unwrap_or(1) as usize;
    if !(1..=Lab::MOST).contains(&servers) {
        return Err(format!(
            "`servers` is {servers}: 1 to {} are simulated",
            Lab::MOST
        ));
    }
    let mut cluster = Cluster {
        release,
        etcd: etcd(head["etcd"].as_str().unwrap_or_default())?,
        ranges: ServiceRanges::of(&["10.96.0.0/24"]),
        servers,
        reconciler: Reconciler::None,
        service_accounts: true,
        watch_cache: true,
        identity: false,
        asked_for,
        audit: AuditLog::Off,
        manager: None,
    };
    for (flag, value) in head["flags"].as_object().into_iter().flatten() {
        let value = value
            .as_str()
            .ok_or_else(|| format!("the value of `--{flag}` has to be a text"))?;
        honour(flag, value, &mut cluster)
            .map_err(|wrong| format!("`--{flag}={value}`: {wrong}"))?;
    }
    Ok(cluster)
}

/// One flag.
fn honour(flag: &str, value: &str, cluster: &mut Cluster) -> Result<(), String> {
    if FIXED.contains(&flag) {
        let only = FLAGS.iter().find(|(name, _)| *name == flag);
        let only = only.map_or("", |(_, value)| value);
        return match value == only {
            true => Ok(()),
            false => Err(format!("only `{only}` is simulated")),
        };
    }
    match flag {
        "service-cluster-ip-range" => {
            let ranges = Cidrs::read(value).map_err(explained)?;
            cluster.ranges.cluster_ips = ranges.0.iter().map(|range| (**range).into()).collect();
        }
        "service-node-port-range" => {
            let PortRange { first, last } = PortRange::read(value).map_err(explained)?;
            cluster.ranges.node_ports = (first, last - first + 1);
        }
        "endpoint-reconciler-type" => {
            cluster.reconciler = match value {
                "lease" => Reconciler::Lease,
                "master-count" => Reconciler::MasterCount,
                "none" => Reconciler::None,
                _ => return Err("write `lease`, `master-count` or `none`".to_owned()),
            };
        }
        "watch-cache" => cluster.watch_cache = switch(value)?,
        "disable-admission-plugins" => {
            cluster.service_accounts = match value {
                "" => true,
                "ServiceAccount" => false,
                _ => return Err("no plugin but `ServiceAccount` can be off here".to_owned()),
            };
        }
        "feature-gates" => gates(value, cluster)?,
        _ => {
            let known = ["service-node-port-range", "watch-cache"];
            let mut known: Vec<&str> = FLAGS
                .map(|(name, _)| name)
                .into_iter()
                .chain(known)
                .collect();
            known.sort_unstable();
            return Err(format!(
                "this flag is not simulated; those are: {}",
                known.join(", ")
            ));
        }
    }
    Ok(())
}

/// `--feature-gates`
fn gates(value: &str, cluster: &mut Cluster) -> Result<(), String> {
    for gate in value.split(',').filter(|gate| !gate.is_empty()) {
        match gate.split_once('=') {
            Some(("APIServerIdentity", value)) => cluster.identity = switch(value)?,
            Some(("UnknownVersionInteroperabilityProxy", "false")) => {}
            _ => {
                return Err(format!(
                    "`{gate}` is not simulated; `APIServerIdentity=true` or `=false`, and \
                     `UnknownVersionInteroperabilityProxy=false` are"
                ));
            }
        }
    }
    Ok(())
}

fn switch(value: &str) -> Result<bool, String> {
    value
        .parse()
        .map_err(|_| "write `true` or `false`".to_owned())
}

fn explained(wrong: wavetank_component::values::Wrong) -> String {
    format!("{}: {}", wrong.message, wrong.help)
}

/// The modelled release of a kube-apiserver, as `v1.36.2`.
///
/// # Errors
/// It is not simulated; which are.
pub fn apiserver(version: &str) -> Result<Version, String> {
    let is_of = |release: &Version| {
        let rest = version.strip_prefix(&release.to_string());
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    VERSIONS.into_iter().find(is_of).ok_or_else(|| {
        let known = VERSIONS.map(|release| release.to_string());
        format!(
            "kube-apiserver {version} is not simulated; {} are",
            known.join(", ")
        )
    })
}

/// The release of an etcd, as `3.4.23`.
fn etcd(version: &str) -> Result<EtcdVersion, String> {
    let numbers: Vec<Option<u8>> = version.split('.').map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [Some(3), Some(minor @ 4..=6), Some(patch)] => Ok(EtcdVersion::new(minor, patch)),
        _ => Err(format!(
            "etcd {version} is not simulated; 3.4.0 to 3.6 are, written as `3.5.21`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn head(flag: &str, value: &str) -> Result<Cluster, String> {
        let mut head = json!({"apiserver": "v1.36.2", "etcd": "3.6.13", "servers": 1, "flags": {}});
        for (name, usual) in FLAGS {
            head["flags"][name] = usual.into();
        }
        head["flags"][flag] = value.into();
        cluster(&head, Vec::new())
    }

    #[test]
    fn each_flag_is_honoured() {
        for (flag, value) in FLAGS {
            let cluster = head(flag, value).expect(flag);
            assert_eq!(&*cluster.ranges.cluster_ips, ["10.96.0.0/24".into()]);
            assert_eq!(cluster.ranges.node_ports, (30000, 2768));
            assert!(cluster.watch_cache && !cluster.service_accounts && !cluster.identity);
        }
        let of = |flag, value| head(flag, value).expect(flag);
        let ranges = of("service-cluster-ip-range", "10.0.0.0/29,fd00::/120").ranges;
        assert_eq!(
            &*ranges.cluster_ips,
            ["10.0.0.0/29".into(), "fd00::/120".into()]
        );
        let ranges = of("service-node-port-range", "30100-30107").ranges;
        assert_eq!(ranges.node_ports, (30100, 8));
        assert!(!of("watch-cache", "false").watch_cache);
        assert!(of("disable-admission-plugins", "").service_accounts);
        assert!(of("feature-gates", "APIServerIdentity=true").identity);
        let lease = of("endpoint-reconciler-type", "lease").reconciler;
        assert_eq!(lease, Reconciler::Lease);
        let count = of("endpoint-reconciler-type", "master-count").reconciler;
        assert_eq!(count, Reconciler::MasterCount);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_with_what_could_be() {
        for (flag, value, why) in [
            (
                "max-requests-inflight",
                "10",
                "this flag is not simulated; those are: advertise-address",
            ),
            (
                "authorization-mode",
                "RBAC",
                "only `AlwaysAllow` is simulated",
            ),
            ("advertise-address", "192.0.2.1", "only `192.0.2.11`"),
            ("enable-priority-and-fairness", "true", "only `false`"),
            ("etcd-compaction-interval", "5m", "only `0`"),
            (
                "storage-media-type",
                "application/vnd.kubernetes.protobuf",
                "only `application/json`",
            ),
            (
                "service-account-issuer",
                "https://x",
                "only `https://kubernetes.default.svc`",
            ),
            (
                "feature-gates",
                "WatchList=false",
                "`WatchList=false` is not simulated",
            ),
            (
                "feature-gates",
                "UnknownVersionInteroperabilityProxy=true",
                "is not simulated",
            ),
            (
                "feature-gates",
                "APIServerIdentity=maybe",
                "write `true` or `false`",
            ),
            (
                "disable-admission-plugins",
                "PodSecurity",
                "no plugin but `ServiceAccount`",
            ),
            ("endpoint-reconciler-type", "best", "write `lease`"),
            (
                "service-cluster-ip-range",
                "10.96.0.0",
                "is not a range of addresses",
            ),
            (
                "service-node-port-range",
                "30007-30000",
                "did you mean `30000-30007`?",
            ),
            ("watch-cache", "perhaps", "write `true` or `false`"),
        ] {
            let wrong = head(flag, value).expect_err(flag);
            assert!(
                wrong.starts_with(&format!("`--{flag}={value}`: ")),
                "{wrong}"
            );
            assert!(wrong.contains(why), "{wrong}");
        }
    }

    #[test]
    fn releases_and_numbers_of_servers_are_told_too() {
        let of = |apiserver: &str, etcd: &str, servers: u64| {
            let head = json!({"apiserver": apiserver, "etcd": etcd, "servers": servers});
            cluster(&head, Vec::new()).map(|cluster| (cluster.release, cluster.etcd))
        };
        let (_, etcd) = of("v1.36.2", "3.5.17", 1).expect("all is simulated");
        assert_eq!(etcd, EtcdVersion::new(5, 17));
        for (apiserver, etcd, servers, why) in [
            (
                "v1.3.6",
                "3.6.13",
                1,
                "kube-apiserver v1.3.6 is not simulated; ",
            ),
            ("v1.36.2", "3.3.15", 1, "etcd 3.3.15 is not simulated"),
            ("v1.36.2", "3.6.13", 9, "`servers` is 9: 1 to 3"),
        ] {
            let wrong = of(apiserver, etcd, servers).expect_err(why);
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}
