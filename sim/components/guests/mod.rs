//! Clients from outside of the world (`wavetank serve --writes`). They are no processes of it: each comes with one request.
//! Nobody knows what they will ask for, so apiservers are made ready for all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_api::Resource;
use wavetank_component::{Component, Hit, Keys, Mistakes, Part, Section, Setup, Spec};
use wavetank_engine::FaultKind;

use crate::kube_apiserver;

/// Its name, and its key.
pub const NAME: &str = "guests";

/// Clients from outside.
#[derive(Clone, Copy, Debug)]
pub struct Guests;

/// Of `topology`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Topology {
    /// Whether clients from outside come, such as kubectl (`wavetank serve --writes`). For them apiservers serve every kind
    /// and custom resources, keep managedFields and have the admission plugins of a real server.
    #[serde(skip_serializing_if = "is_off")]
    pub guests: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl Part for Topology {
    const SECTION: Section = Section::Topology;
}

/// Do any come?
pub fn come(spec: &Spec) -> bool {
    spec.part::<Topology>().guests
}

impl Component for Guests {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients from outside, such as kubectl, for which apiservers serve everything"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Topology>()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if come(spec) {
            kube_apiserver::needed_for(NAME, spec, mistakes);
        }
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match come(spec) {
            true => Resource::ALL.to_vec(),
            false => Vec::new(),
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
