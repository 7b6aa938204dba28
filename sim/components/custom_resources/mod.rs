//! Custom resources in a scenario: apiservers that serve definitions, and those who use them. How definitions are served
//! is in `wavetank_apiserver`.
//!
//! - `definition`: the definition that users make and change;
//! - `users`: who changes it, and who writes, applies, watches and looks at its objects;
//! - `properties`: what is promised to them.

mod definition;
mod own;
mod properties;
mod users;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_apiserver::CustomDefect;
use wavetank_apiserver::gates::CUSTOM_RESOURCES;
use wavetank_client::{InformerDefect, monitors};
use wavetank_component::{
    Component, Hit, Load, Mistakes, Need, PropertyInfo, Replicas, Section, Setup, Spec, Stored,
    Wiring,
};
use wavetank_engine::FaultKind;
use wavetank_version::{List, Listed, Version};

use crate::{conversion_webhooks, guests, informers, kube_apiserver};
use users::User;

/// Its name.
pub const NAME: &str = "custom-resources";
/// The key of the number of those who use them.
const USERS: &str = "custom-resource-users";

/// Custom resources and their users.
#[derive(Clone, Copy, Debug)]
pub struct CustomResources;

/// What its properties need.
const NEEDED: Need = Need {
    met: is_on,
    lacking: "custom resources, which nobody uses",
    add: "`custom-resource-users: 2` to `topology`",
};

/// Has a scenario users of them?
pub fn is_on(spec: &Spec) -> bool {
    spec.count(USERS) > 0
}

/// Do apiservers serve custom resources?
pub fn are_served(spec: &Spec) -> bool {
    is_on(spec) || guests::come(spec)
}

/// The release of an apiserver that users of custom resources may come to, and that does not serve them here.
fn unserved(spec: &Spec) -> Option<Version> {
    let mut all = kube_apiserver::all_releases(spec).into_iter();
    all.find(|release| is_on(spec) && !release.has(CUSTOM_RESOURCES))
}

/// How apiservers of this release serve them.
pub fn served(
    setup: &Setup,
    wiring: &Wiring,
    release: Version,
) -> wavetank_apiserver::CustomResources {
    match are_served(setup) {
        false => wavetank_apiserver::CustomResources::Unserved,
        true => wavetank_apiserver::CustomResources::Served {
            apiserver_count: kube_apiserver::running(setup).len() as u32,
            aggregated: guests::come(setup),
            webhooks: conversion_webhooks::hosts(wiring),
            defects: setup.set(release),
        },
    }
}

impl Component for CustomResources {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "definitions of custom resources, and clients that change them, write, apply and watch their objects"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that define a custom resource, change its definition and use its objects, \
                     named d1, d2 and so on; with them apiservers serve custom resources and keep managedFields.";
        Some(Replicas::counted(USERS, "d", about))
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            lacking: "there is nobody to use custom resources",
            ..NEEDED
        };
        let define = "Until the storm ends, users make a definition, change it or delete it.";
        let write =
            "Until the storm ends, users make, change and delete custom objects in any version.";
        let apply =
            "Until the storm ends, users apply their own fields of custom objects in any version.";
        let look = "Users look at all custom objects in any version, at any apiserver.";
        vec![
            Load::command("change-definitions", "define", define, need).until_calm(),
            Load::command("write-custom-objects", "write", write, need).until_calm(),
            Load::command("apply-custom-objects", "apply", apply, need).until_calm(),
            Load::command("look-at-custom-objects", "look", look, need),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        if let Some(release) = unserved(spec) {
            let message = format!(
                "`{USERS}` need apiservers that serve definitions, and those of {release} do not here: upstream serves \
                 `apiextensions.k8s.io/v1` since v1.16, but it is modelled as v1.36 has it, and in no release before"
            );
            let help = format!("write `release: v1.36`, or remove `{USERS}`");
            mistakes.key(Section::Topology, USERS, message, help);
        }
    }

    fn hints(&self, spec: &Spec) -> Vec<String> {
        let hint = unserved(spec).map(|release| {
            format!(
                "apiservers of {release} serve no custom resources here, as upstream's do: they are modelled as v1.36 has \
                 them. So nothing is shown of them"
            )
        });
        hint.into_iter().collect()
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        let servers = Arc::new(wiring.ids(kube_apiserver::NAME));
        for (n, name) in wiring.names(NAME).iter().enumerate() {
            let defects = setup.set(rest.release);
            let webhook = conversion_webhooks::url(wiring, n);
            let user = User::new(name, servers.clone(), rest.clone(), defects, webhook);
            wiring.process(name, user);
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects_of_parts(&self, spec: &Spec) -> Vec<List> {
        match is_on(spec) {
            true => vec![InformerDefect::LIST],
            false => Vec::new(),
        }
    }

    fn defects(&self) -> Vec<List> {
        vec![CustomDefect::LIST]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        match (is_on(setup), kube_apiserver::newest(setup)) {
            (true, Some(release)) => monitors::settling(release),
            _ => Duration::ZERO,
        }
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let about = |name: &str| vec![name.to_owned()];
        if let Some(name) = key.strip_prefix(&*CUSTOM_RESOURCE_DEFINITIONS.key("", "")) {
            let text = value.map(|crd| {
                let is = |condition| is_crd_condition_true(crd, condition);
                let state = match (is("Terminating"), is("Established")) {
                    (true, _) => "on its way out",
                    (false, true) => "established",
                    (false, false) => "not established",
                };
                format!("{state}, {}", definition::versions(crd))
            });
            return Some(Stored {
                text,
                about: about(name),
            });
        }
        let name = key.strip_prefix(definition::THINGS[0].registry)?;
        Some(Stored {
            text: value.map(|thing| format!("{} with {}", thing["apiVersion"], thing["spec"])),
            about: about(name.strip_prefix('/')?),
        })
    }
}
