//! The identity of each apiserver: a Lease that says that it is there.

pub(crate) mod controller;
mod defects;
pub mod gates;
mod stopped;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_api::Resource;
use wavetank_api::kinds::LEASES;
use wavetank_component::{Component, Entry, Hit, Keys, Part, PropertyInfo, Section, Setup, Spec};
use wavetank_engine::FaultKind;
use wavetank_version::{List, Listed};

use crate::kube_apiserver;
use gates::IDENTITY;

pub use controller::{DELETE_LIMIT as IDENTITY_LIMIT, IdentityStopped};
pub use defects::IdentityDefect;

/// Its name.
pub const NAME: &str = "identity";

/// Identities: a part of apiservers.
#[derive(Clone, Copy, Debug)]
pub struct Identity;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// Whether apiservers of v1.36 have identities (the gate `APIServerIdentity`, on there by default).
    #[serde(skip_serializing_if = "is_off")]
    pub apiserver_identity: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// Do apiservers have identities, where their release knows of them?
pub fn is_on(spec: &Spec) -> bool {
    spec.part::<Options>().apiserver_identity
}

impl Component for Identity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Leases that say which apiservers there are"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        is_on(spec).then_some(&LEASES).into_iter().collect()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn exists(&self, spec: &Spec) -> bool {
        is_on(spec)
    }

    fn added_by(&self) -> String {
        "`apiserver-identity: true` to `options`".to_owned()
    }

    fn defects(&self) -> Vec<List> {
        vec![IdentityDefect::LIST]
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![NAME, kube_apiserver::NAME]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        let about = "an apiserver that has deleted the Lease of its identity because it stops does not write it again";
        let fits = |spec: &Spec| {
            let releases = kube_apiserver::all_releases(spec);
            let known = releases.iter().any(|release| release.has(IDENTITY));
            is_on(spec) && known && kube_apiserver::keeps_endpoints(spec)
        };
        vec![
            PropertyInfo::new(
                "no-identity-after-stop",
                about,
                kube_apiserver::NEEDED,
                |_| Box::new(stopped::NoIdentityAfterStop::default()),
            )
            .tested_by(&[Entry::STOP])
            .fits(fits),
        ]
    }
}
