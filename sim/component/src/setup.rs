//! What a world is composed for.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use wavetank_api::kinds::Kinds;
use wavetank_releases::Release;
use wavetank_version::{
    AnyVersion, Composition, EtcdVersion, List, Listed, OptionIs, Selection, Set, Version,
};

use crate::drawn::Drawn;
use crate::given::Given;
use crate::part::{Part, Section};
use crate::values;

/// What a scenario and the flags of the command ask for.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// What the file says.
    pub given: Given,
    /// The release of Kubernetes that it says.
    pub release: values::Release,
    /// The release of Kubernetes, if it is not the scenario's own.
    pub kubernetes: Option<&'static Release>,
    /// The release of etcd, if it is not the scenario's own.
    pub etcd: Option<EtcdVersion>,
    /// Which defects and fixes are on.
    pub composition: Composition,
    /// What processes are told in its plan, or may be told during a search: what, and with what.
    pub told: Vec<(String, Json)>,
    /// The kinds that apiservers serve, also those that its components declare, and which of them these use.
    pub kinds: Kinds,
    /// Are there processes that elect a leader?
    pub elects: bool,
    /// Are there processes that may apply?
    pub applies: bool,
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

    /// The version of Kubernetes that a process has of which the scenario says that it is of this release.
    pub fn version(&self, of: values::Release) -> Version {
        self.kubernetes.unwrap_or(of.0).version
    }

    /// The defects and fixes of these lists that are on in a process of this version.
    pub fn selection(&self, version: impl Into<AnyVersion>, lists: &[List]) -> Selection {
        let all = lists.iter().flat_map(|list| list.defects.iter().copied());
        self.composition.selection(version, all)
    }

    /// Those of one component that are on in a process of this version.
    pub fn set<E: Listed>(&self, version: impl Into<AnyVersion>) -> Set<E> {
        self.selection(version, &[E::LIST]).of()
    }

    /// May the option have one of these values?
    pub fn may_be(&self, wanted: OptionIs) -> bool {
        let is_wanted = |value: &Json| value.as_str().is_some_and(|v| wanted.one_of.contains(&v));
        match self.given.section(Section::Options).get(wanted.option) {
            Some(Json::Array(choices)) => choices.iter().any(is_wanted),
            one => one.is_some_and(is_wanted),
        }
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
