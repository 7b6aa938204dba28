//! What a world is composed for.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use wavetank_release::{Composition, EtcdRelease, Release, Switches};

use crate::drawn::Drawn;
use crate::given::Given;
use crate::part::Part;
use crate::values;

/// What a scenario and the flags of the command ask for.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// What the file says.
    pub given: Given,
    /// The release of Kubernetes that it says.
    pub release: values::Release,
    /// The release of Kubernetes, if it is not the scenario's own.
    pub kubernetes: Option<Release>,
    /// The release of etcd, if it is not the scenario's own.
    pub etcd: Option<EtcdRelease>,
    /// Which defects and fixes are on.
    pub composition: Composition,
}

impl Spec {
    /// Keys of a component, as their type.
    pub fn part<P: Part>(&self) -> P {
        self.given.part()
    }

    /// How many processes there are of a kind that only says so many.
    pub fn count(&self, key: &str) -> u32 {
        self.given.count(key)
    }

    /// The defects and fixes that are on in a process of this release.
    pub fn switches(&self, release: Release) -> Switches {
        self.composition.switches(release)
    }
}

/// The same, and what a seed has decided.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// What is asked for.
    pub spec: Spec,
    /// What is decided.
    pub drawn: Drawn,
}

impl Setup {
    /// What a seed has decided of some keys.
    ///
    /// # Panics
    /// If they are not of this type: a world is composed only of what was looked at.
    pub fn decided<T: DeserializeOwned>(&self) -> T {
        self.drawn.read().unwrap_or_else(|why| panic!("{why}"))
    }
}

impl Deref for Setup {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        &self.spec
    }
}
