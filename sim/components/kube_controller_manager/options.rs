//! Keys of scenario files: what controller managers lock, and whether they give it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_client::leader_election::LockKind;
use wavetank_component::values::Choices;
use wavetank_component::{Draw, Drawn, Part, Section};

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// What controller managers lock; without it what their release does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_resource_lock: Option<Choices<ResourceLock>>,
    /// Whether a controller manager gives up its lock when it stops (`ReleaseOnCancel` of client-go);
    /// without it none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_release_on_cancel: Option<Choices<bool>>,
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
