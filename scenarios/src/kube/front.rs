//! What stands in front of the apiservers of a job, who replaces them, and what they are before.

use std::sync::Arc;
use std::time::Duration;

use wavetank_cluster::{AdditionalPort, Apiserver, Checks, Front, Published, Rollout};
use wavetank_releases::Release;
use wavetank_version::Version;

use super::job::{Derived, Job};
use crate::file::{BeforeRollout, Family};

impl Job {
    /// With those that apiservers may have before a rollout.
    pub(super) fn all_releases(&self) -> Vec<Version> {
        let own = self.releases();
        let rollout = self.scenario.topology.rollout.as_ref();
        let from = rollout.map_or(&[][..], |rollout| rollout.from.values());
        let before = from
            .iter()
            .flat_map(|from| own.iter().map(|release| before(*release, *from)))
            .collect::<Vec<_>>();
        own.into_iter().chain(before).collect()
    }

    /// An apiserver of this release.
    pub(super) fn apiserver(&self, release: Version) -> Apiserver {
        Apiserver {
            release,
            defects: self.selection(release),
        }
    }

    fn checks(&self, derived: &Derived) -> Option<Checks> {
        let balancer = self.scenario.topology.load_balancer.as_ref()?;
        Some(Checks {
            every: Duration::from_nanos(balancer.every.nanos()),
            timeout: Duration::from_nanos(balancer.timeout.nanos()),
            fall: balancer.fall,
            rise: balancer.rise,
            cuts: derived.balancer_cuts,
        })
    }

    /// As what the apiservers are published.
    fn published(&self) -> Published {
        let options = &self.scenario.options;
        let additional = options.additional_ports.iter();
        let additional = additional.map(|own| AdditionalPort {
            name: own.name.as_str().into(),
            port: own.port,
            target: own.target_port,
        });
        Published {
            node_port: options.kubernetes_service_node_port.unwrap_or(0),
            additional: additional.collect(),
        }
    }

    /// What is in front of the apiservers.
    pub(super) fn front(&self, derived: &Derived) -> Front {
        let before = |from| {
            let own = self.releases().into_iter();
            own.map(|release| self.apiserver(before(release, from)))
                .collect()
        };
        Front {
            rollout: derived.rollout_from.map(|from| Rollout {
                before: before(from),
            }),
            checks: self.checks(derived),
            advertised: derived.balancer_is_advertised,
            keeps: derived.connections_are_kept,
            identity: self.scenario.options.apiserver_identity,
            published: Arc::new(self.published()),
            six: self.scenario.options.advertise_address_family == Family::IPv6,
        }
    }
}

/// What an apiserver of this release is before its rollout.
fn before(release: Version, from: BeforeRollout) -> Version {
    match from {
        BeforeRollout::Previous => Release::before(release).version,
        BeforeRollout::Same => release,
    }
}
