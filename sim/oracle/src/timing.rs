//! How long a server that is gone stays in the Endpoints: the measured times of the recording
//! `11-endpoint-timing`, each case set up again. What was known of a case is how much of its lease the
//! server had left, and when the others had their rounds.

use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_apiserver::AuditLog;
use wavetank_components::kube_apiserver::bootstrap::{MASTER_LEASES, Reconciler};
use wavetank_components::services::ServiceRanges;
use wavetank_engine::Time;
use wavetank_releases::{Release, etcd};

use crate::corpus::Recording;
use crate::endpoints::lists;
use crate::lab::{Cluster, Lab};

/// The one that was killed and stopped.
const GONE: &str = "192.0.2.13";
/// The one whose round found it gone.
const OTHER: &str = "192.0.2.11";
const THIRD: &str = "192.0.2.12";
const ROUND: Duration = Duration::from_secs(10);
const LEASE: Duration = Duration::from_secs(15);
/// Longer than all that is waited for.
const LONG: Duration = Duration::from_secs(60);
/// etcd looks for leases that are over every 500 ms: half of that goes by until it finds one.
const NOTICED: Duration = Duration::from_millis(250);

/// How long after the end of a server its lease and its address were gone, and itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Times {
    /// Its key under `/registry/masterleases`.
    pub lease: Duration,
    /// Its address in Endpoints and EndpointSlice.
    pub address: Duration,
    /// Its process, if it was asked to stop.
    pub exit: Option<Duration>,
}

/// One case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The step of the recording.
    pub step: u64,
    /// What was measured.
    pub recorded: Times,
    /// What it is here.
    pub simulated: Times,
}

/// What was measured, and how the times are distributed here.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// The cases of the recording.
    pub cases: Vec<Measured>,
    /// When the address of a killed server was gone, over many moments at which it was killed; sorted.
    pub addresses: Vec<Duration>,
}

/// Until the lessor finds the lease, the leader revokes it, the next round of another server begins, and
/// that has written what it found. A lost compare-and-swap or a change of etcd's leader would add a round
/// and a lease: neither happens here.
pub const BOUND: Duration = LEASE
    .saturating_add(Duration::from_millis(500))
    .saturating_add(ROUND)
    .saturating_add(Duration::from_millis(100));

impl Timing {
    /// Does a recording hold measured times?
    pub fn is_told_by(recording: &Recording) -> bool {
        let killed = |line: &Json| line["fact"]["note"] == "SIGKILL";
        recording.lines.iter().any(killed)
    }

    /// Sets up each case of the recording, and kills a server at so many moments.
    pub fn of(recording: &Recording, kills: u32) -> Timing {
        let mut base = three_servers();
        base.crash(&name(GONE));
        base.crash(&name(THIRD));
        base.run(LONG);
        let phase = |number: u32| ROUND * (number % kills) / kills;
        let address = |number| {
            // The rounds of each may be anywhere between those of the others, and its end between two of its own.
            let mut lab = base.clone();
            lab.run(phase(number * 13));
            lab.start(&name(THIRD));
            lab.run(phase(number));
            lab.start(&name(GONE));
            lab.run(LONG + phase(number * 7));
            lab.crash(&name(GONE));
            gone(&mut lab).address
        };
        let mut addresses: Vec<Duration> = (0..kills).map(address).collect();
        addresses.sort();
        Timing {
            cases: measure(recording),
            addresses,
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "how long a server stays in the Endpoints that is gone, in seconds, real in brackets"
        )?;
        for case in &self.cases {
            let Measured {
                step,
                recorded,
                simulated,
            } = case;
            let what = match recorded.exit {
                None => "killed ",
                Some(_) => "stopped",
            };
            let pair = |recorded: Duration, simulated: Duration| {
                format!(
                    "{:5.2} ({:5.2})",
                    simulated.as_secs_f64(),
                    recorded.as_secs_f64()
                )
            };
            let lease = pair(recorded.lease, simulated.lease);
            let address = pair(recorded.address, simulated.address);
            write!(
                f,
                "  step {step:>2}, {what}: lease {lease}, address {address}"
            )?;
            if let Some((recorded, simulated)) = recorded.exit.zip(simulated.exit) {
                write!(f, ", exit {}", pair(recorded, simulated))?;
            }
            writeln!(f)?;
        }
        let seconds = |at: usize| self.addresses[at * (self.addresses.len() - 1) / 4].as_secs_f64();
        let quartiles: Vec<String> = (0..=4).map(|at| format!("{:.2}", seconds(at))).collect();
        writeln!(
            f,
            "  killed at {} moments: {} (least, quarters, most), bound {:.2}",
            self.addresses.len(),
            quartiles.join(" "),
            BOUND.as_secs_f64()
        )
    }
}

/// All cases of a recording.
fn measure(recording: &Recording) -> Vec<Measured> {
    let case = |line: &Json| {
        let fact = &line["fact"];
        let seconds = |value: &Json| value.as_f64().map(Duration::from_secs_f64);
        let (recorded, simulated) = match fact["note"].as_str()? {
            "SIGKILL" => {
                let left = fact["remaining_ttl_at_kill"].as_str()?.parse().ok()?;
                let recorded = Times {
                    lease: seconds(&fact["lease_key_gone_after_s"])?,
                    address: seconds(&fact["endpoints_and_slice_updated_after_s"])?,
                    exit: None,
                };
                (recorded, killed(left, &recorded))
            }
            "SIGTERM" => {
                let until = &fact["seconds_until"];
                let slice = seconds(&until["endpointslice"])?;
                let recorded = Times {
                    lease: seconds(&until["lease_key"])?,
                    address: seconds(&until["endpoints"])?.max(slice),
                    exit: seconds(&until["process_exit"]),
                };
                (recorded, stopped())
            }
            _ => return None,
        };
        Some(Measured {
            step: line["step"].as_u64()?,
            recorded,
            simulated,
        })
    };
    recording.lines.iter().filter_map(case).collect()
}

fn three_servers() -> Lab {
    Lab::new(&Cluster {
        release: Release::DEFAULT.version,
        etcd: etcd::OF_RECORDINGS,
        ranges: ServiceRanges::of(&["10.96.0.0/24"]),
        servers: 3,
        reconciler: Reconciler::Lease,
        service_accounts: false,
        watch_cache: true,
        identity: false,
        asked_for: Vec::new(),
        audit: AuditLog::Off,
        manager: None,
    })
}

fn name(address: &str) -> String {
    Lab::server_at(address).expect("one of the three")
}

fn key() -> String {
    format!("{MASTER_LEASES}{GONE}")
}

/// Time passes until a server renews its lease.
fn renewed(lab: &mut Lab, address: &str) -> Time {
    let key = format!("{MASTER_LEASES}{address}");
    let revision = |lab: &Lab| lab.stored(&key).map(|(_, revision, _)| revision);
    let before = revision(lab);
    lab.run_until(LONG, |lab| {
        revision(lab).is_some() && revision(lab) != before
    });
    lab.now()
}

fn run_to(lab: &mut Lab, at: Time) {
    lab.run(at.since(lab.now()));
}

/// The server is killed with so many seconds left of its lease, when the next round but one of another
/// server, that which found the lease gone, was as far away as it was.
fn killed(left: u64, recorded: &Times) -> Times {
    let mut lab = three_servers();
    // Of the seconds that the recorder saw it knew the whole part.
    let least = Duration::from_secs(left);
    let most = least + Duration::from_millis(999);
    let left = recorded.lease.saturating_sub(NOTICED).clamp(least, most);
    // How long a server takes from its start to its first renewal.
    lab.crash(&name(GONE));
    lab.run(LONG);
    let started = lab.now();
    lab.start(&name(GONE));
    let takes = renewed(&mut lab, GONE).since(started);
    lab.crash(&name(GONE));
    let mut round = renewed(&mut lab, OTHER);
    while round < lab.now() + LONG + recorded.address {
        round = round + ROUND;
    }
    let kill = round - recorded.address;
    let mut start = kill - (LEASE - left) - takes;
    while start - ROUND > lab.now() {
        start = start - ROUND;
    }
    run_to(&mut lab, start);
    lab.start(&name(GONE));
    run_to(&mut lab, kill);
    lab.crash(&name(GONE));
    gone(&mut lab)
}

fn stopped() -> Times {
    let mut lab = three_servers();
    lab.run(LONG);
    lab.begin_stop(&name(GONE));
    gone(&mut lab)
}

/// From now until nothing is left of it.
fn gone(lab: &mut Lab) -> Times {
    let begin = lab.now();
    let was_up = lab.is_up(&name(GONE));
    let mut after = |holds: &dyn Fn(&Lab) -> bool| {
        lab.run_until(LONG, holds);
        lab.now().since(begin)
    };
    let lease = after(&|lab| lab.stored(&key()).is_none());
    let address = after(&|lab| !lists(lab, GONE));
    let exit = after(&|lab| !lab.is_up(&name(GONE)));
    Times {
        lease,
        address,
        exit: was_up.then_some(exit),
    }
}
