//! What stands in front of the apiservers, who replaces them, and how they know each other.

use std::sync::Arc;
use std::time::Duration;

use wavetank_actors::Follower;
use wavetank_client::HealthChecks;
use wavetank_controllers::Published;
use wavetank_controllers::gates::BEGINS_WHEN_READY;
use wavetank_engine::ProcId;
use wavetank_version::Version;

use crate::topology::{Apiserver, Topology};

/// A rollout: there is somebody, `r1`, who replaces the apiservers one after another.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rollout {
    /// What each of them is before. Where there is none it is what it will be.
    pub before: Vec<Apiserver>,
}

/// What stands in front of the apiservers, who replaces them, and how they know each other.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Front {
    /// A rollout.
    pub rollout: Option<Rollout>,
    /// How the load balancer of each client checks apiservers; without it it sees breaks only.
    pub checks: Option<Checks>,
    /// Do all apiservers advertise the address of the load balancer?
    pub advertised: bool,
    /// Do clients keep their connections?
    pub keeps: bool,
    /// Do apiservers have identities, where their release knows of them?
    pub identity: bool,
    /// As what the apiservers are published.
    pub published: Arc<Published>,
    /// Are their addresses those of IPv6?
    pub six: bool,
}

/// How a load balancer checks apiservers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// From the end of a check to the next one.
    pub every: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// A server is out after so many failures in a row,
    pub fall: u32,
    /// and in again after so many successes in a row.
    pub rise: u32,
    /// Are connections to a server that is out cut?
    pub cuts: bool,
}

impl Front {
    /// The address that the `n`-th apiserver (from 1) advertises.
    pub(crate) fn address(&self, n: usize) -> Arc<str> {
        // The load balancer is the hundredth of them.
        let n = if self.advertised { 100 } else { n };
        match self.six {
            true => format!("fd00::{n}").into(),
            false => Topology::address(n),
        }
    }

    /// What this apiserver is before its rollout, if that is something else.
    pub(crate) fn before(&self, at: usize, own: &Apiserver) -> Option<&Apiserver> {
        let before = self.rollout.as_ref()?.before.get(at)?;
        (before != own).then_some(before)
    }
}

impl Topology {
    /// The client that follows the Endpoints of these servers.
    pub(crate) fn follower(&self, servers: Arc<Vec<(Arc<str>, ProcId)>>) -> Follower {
        let front = &self.watching.front;
        let before = front.rollout.iter().flat_map(|rollout| &rollout.before);
        let all = before.chain(&self.apiservers).map(|server| server.release);
        // One path for all: the one that the oldest of them knows.
        let oldest = all.min().unwrap_or(Version::LATEST);
        let checks = front.checks.map(|checks| HealthChecks {
            path: ready_probe(oldest),
            every: checks.every,
            timeout: checks.timeout,
            fall: checks.fall,
            rise: checks.rise,
            cuts: checks.cuts,
        });
        Follower {
            servers,
            checks,
            keeps: front.keeps,
        }
    }

    /// The name of whoever replaces apiservers.
    pub fn roller_names(&self) -> Vec<String> {
        let rollout = self.watching.front.rollout.iter();
        rollout.map(|_| "r1".to_owned()).collect()
    }
}

/// What says of an apiserver of this release that it is ready.
pub(crate) fn ready_probe(release: Version) -> &'static str {
    match release.has(BEGINS_WHEN_READY) {
        true => "/readyz",
        false => "/healthz",
    }
}
