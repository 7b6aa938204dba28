//! What stands in front of the apiservers, and who replaces them.

use wavetank_release::{Release, Switches};

use crate::topology::{Apiserver, Topology};

/// A rollout: there is somebody, `r1`, who replaces the apiservers one after another.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rollout {
    /// What each of them is before. Where there is none it is what it will be.
    pub before: Vec<Apiserver>,
}

/// What stands in front of the apiservers, and who replaces them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Front {
    /// A rollout.
    pub rollout: Option<Rollout>,
}

impl Front {
    /// What this apiserver is before its rollout, if that is something else.
    pub(crate) fn before(&self, at: usize, own: &Apiserver) -> Option<(Release, Switches)> {
        let before = self.rollout.as_ref()?.before.get(at)?;
        (before != own).then_some((before.release, before.switches))
    }
}

impl Topology {
    /// The name of whoever replaces apiservers.
    pub fn roller_names(&self) -> Vec<String> {
        let rollout = self.watching.front.rollout.iter();
        rollout.map(|_| "r1".to_owned()).collect()
    }
}

/// What says of an apiserver of this release that it is ready.
pub(crate) fn ready_probe(release: Release) -> &'static str {
    match release {
        Release::V1_16 => "/healthz",
        Release::V1_20 | Release::V1_36 => "/readyz",
    }
}
