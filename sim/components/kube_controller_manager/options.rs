//! Keys of scenario files: what controller managers lock, whether they give it up, and which controllers they run.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_client::leader_election::LockKind;
use wavetank_component::file::suggest;
use wavetank_component::values::{Choices, Duration as Written};
use wavetank_component::{Draw, Drawn, Part, Section};

use super::controller::ControllerDescriptor;
use super::controllers::new_controller_descriptors;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// Whether controller managers elect a leader (`--leader-elect`), as they do without it. Where they do not, each of them
    /// runs the controllers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect: Option<bool>,
    /// What controller managers lock; without it what their release does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_resource_lock: Option<Choices<ResourceLock>>,
    /// Whether a controller manager gives up its lock when it stops (`ReleaseOnCancel` of client-go);
    /// without it none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_release_on_cancel: Option<Choices<bool>>,
    /// How long the lock is a controller manager's own after a renewal (`--leader-elect-lease-duration`): for the first of
    /// them, the second and so on, and again from the first. At least 15s, which it is for all without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leader_elect_lease_durations: Vec<Written>,
    /// The controllers that controller managers run (`--controllers`); without it those that are on by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers: Option<Vec<String>>,
}

/// Values of `--leader-elect-resource-lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResourceLock {
    /// An annotation of Endpoints, until v1.20.
    Endpoints,
    /// An annotation of a ConfigMap, until v1.20.
    ConfigMaps,
    /// A Lease.
    Leases,
    /// Endpoints and a Lease, v1.20.
    EndpointsLeases,
    /// A ConfigMap and a Lease, v1.20.
    ConfigMapsLeases,
}

impl From<ResourceLock> for LockKind {
    fn from(of: ResourceLock) -> LockKind {
        match of {
            ResourceLock::Endpoints => LockKind::Endpoints,
            ResourceLock::ConfigMaps => LockKind::ConfigMaps,
            ResourceLock::Leases => LockKind::Leases,
            ResourceLock::EndpointsLeases => LockKind::EndpointsLeases,
            ResourceLock::ConfigMapsLeases => LockKind::ConfigMapsLeases,
        }
    }
}

/// The shortest lease that is longer than a leader may take to renew it.
pub(super) const SHORTEST_LEASE: Written = Written::from_secs(15);

impl Options {
    /// Do controller managers elect a leader?
    pub(super) fn elects(&self) -> bool {
        self.leader_elect != Some(false)
    }

    /// How long the lock is the own of the manager with this number.
    pub(super) fn lease_duration(&self, number: usize) -> Duration {
        let all = &self.leader_elect_lease_durations;
        let own = all.get(number % all.len().max(1)).copied();
        Duration::from_nanos(own.unwrap_or(SHORTEST_LEASE).nanos())
    }

    /// The longest of them.
    pub(super) fn longest_lease(&self) -> Duration {
        let all = 0..self.leader_elect_lease_durations.len().max(1);
        all.map(|number| self.lease_duration(number))
            .max()
            .unwrap_or_default()
    }

    fn selects(&self, descriptor: &Arc<dyn ControllerDescriptor>) -> bool {
        match &self.controllers {
            None => !descriptor.is_disabled_by_default(),
            Some(named) => {
                let name = descriptor.controller_name();
                named.iter().any(|own| own == name)
            }
        }
    }

    /// The controllers that controller managers run.
    pub(super) fn descriptors(&self) -> Vec<Arc<dyn ControllerDescriptor>> {
        let all = new_controller_descriptors().iter();
        all.filter(|own| self.selects(own)).cloned().collect()
    }

    /// Do controller managers run the controller of this name?
    pub(super) fn runs(&self, controller: &str) -> bool {
        let mut all = new_controller_descriptors().iter();
        let found = all.find(|own| own.controller_name() == controller);
        found.is_some_and(|own| self.selects(own) || self.misspells(controller))
    }

    /// Is it meant by a name that nobody knows? Such options are refused for that name, and not for what needs the controller.
    fn misspells(&self, controller: &str) -> bool {
        self.unknown()
            .any(|(_, unknown)| suggest::nearest(unknown, &controller_names()) == Some(controller))
    }

    /// Names of controllers that nobody knows.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (usize, &str)> {
        let named = self.controllers.iter().flatten().map(String::as_str);
        named.enumerate().filter(|(_, name)| {
            let mut all = new_controller_descriptors().iter();
            !all.any(|descriptor| descriptor.controller_name() == *name)
        })
    }
}

/// What controllers can be called.
pub(super) fn controller_names() -> Vec<&'static str> {
    let all = new_controller_descriptors().iter();
    all.map(|own| own.controller_name()).collect()
}

/// What a seed decides.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Decided {
    pub leader_elect_resource_lock: Option<ResourceLock>,
    pub leader_elect_release_on_cancel: bool,
}

impl Part for Options {
    const SECTION: Section = Section::Options;

    fn draw(&self, draw: &mut Draw) {
        let lock = self.leader_elect_resource_lock.as_ref();
        let lock = lock.map(|locks| draw.pick(locks));
        draw.set("leader-elect-resource-lock", lock);
        let releases = self.leader_elect_release_on_cancel.as_ref();
        draw.choose_or("leader-elect-release-on-cancel", releases, false);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}
