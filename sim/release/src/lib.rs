//! What a release is: the algorithms as that Kubernetes has them, and the set of defects that it
//! shipped with. Every known bug is a switch with one place in the code; every fix of a finding is
//! one too. This is the one table of them. How an algorithm works does not belong here.

mod any;
mod etcd;
mod switches;
mod table;

pub use any::AnyRelease;
pub use etcd::{EtcdRelease, Line};
pub use switches::{Composition, Switches, Unfit, passed};
pub use table::{Kind, Place, Reconciler, Switch, SwitchInfo};

use std::fmt;

/// A release of Kubernetes: selects the algorithms of its kube-apiserver. Pinned to a patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Release {
    /// v1.16.15
    V1_16,
    /// v1.20.2
    V1_20,
    /// v1.36.2
    V1_36,
}

impl Release {
    /// All of them.
    pub const ALL: [Release; 3] = [Release::V1_16, Release::V1_20, Release::V1_36];

    /// The name in scenario files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Release::V1_16 => "v1.16",
            Release::V1_20 => "v1.20",
            Release::V1_36 => "v1.36",
        }
    }

    /// The release with this name.
    pub fn named(name: &str) -> Option<Release> {
        Release::ALL.into_iter().find(|r| r.name() == name)
    }

    /// The one before it here; the oldest is its own.
    pub fn previous(self) -> Release {
        match self {
            Release::V1_16 | Release::V1_20 => Release::V1_16,
            Release::V1_36 => Release::V1_20,
        }
    }

    /// Does its reconciler keep the EndpointSlice default/kubernetes as well as the Endpoints?
    pub fn keeps_slices(self) -> bool {
        self >= Release::V1_20
    }

    /// The etcd that it is run with here: kubeadm's default, or the nearest that is modelled
    /// (v1.16 had 3.3.15).
    pub fn etcd(self) -> EtcdRelease {
        match self {
            Release::V1_16 | Release::V1_20 => EtcdRelease::named("v3.4.13"),
            Release::V1_36 => Some(EtcdRelease::LATEST),
        }
        .expect("it is in the list")
    }

    /// What sets it apart here, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Release::V1_16 => "v1.16.15: Endpoints only; the loop begins when /healthz answers",
            Release::V1_20 => "v1.20.2: Endpoints and EndpointSlice (v1beta1), /readyz",
            Release::V1_36 => "v1.36.2: atomic stop flag, listener closed last, client retries",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
