//! The controller of namespaces: one that is being deleted is emptied, and then let go. `controller` says when it is looked
//! at, `deleter` how it is emptied, `conditions` what it says meanwhile; `users` are who makes namespaces and what is in
//! them, `properties` what is promised to them, `defects` what may be wrong.

mod conditions;
mod controller;
mod defects;
mod deleter;
mod notes;
mod properties;
mod users;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES, PODS};
use wavetank_api::{Resource, json};
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Replicas, Section,
    Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{Gate, List, Listed};

use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::kube_controller_manager::gates;
use crate::users::User;
use crate::{informers, kube_apiserver, kube_controller_manager};
use controller::NamespaceController;
use defects::NamespaceDefect;
use notes::{Empties, Finalizes};
use users::UsesNamespaces;

const NAME: &str = "namespace";
/// Its name in `--controllers`.
const CONTROLLER: &str = "namespace-controller";
/// The key of the number of those who use namespaces.
const USERS: &str = "namespace-users";

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Namespaces;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of namespaces that their controller empties at once (`--concurrent-namespace-syncs`); without it 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_namespace_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

fn is_run(spec: &Spec) -> bool {
    kube_controller_manager::runs(spec, CONTROLLER)
}

const NEEDED: Need = Need {
    met: is_run,
    lacking: "the controller of namespaces, which does not run",
    add: "`controllers: [namespace-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

impl Component for Namespaces {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that empties namespaces that are deleted, and who makes namespaces for it"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make namespaces and objects in them, take finalizers from these, and delete \
                     namespaces, named n1, n2 and so on.";
        Some(Replicas::counted(USERS, "n", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use namespaces",
            add: "`namespace-users: 2` to `topology`",
        };
        let about = "Until the storm ends, users make a namespace or an object in one, take a finalizer, or delete one.";
        vec![Load::command("use-namespaces", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        let syncs = spec.part::<Options>().concurrent_namespace_syncs;
        let key = "concurrent-namespace-syncs";
        kube_controller_manager::check_syncs(spec, mistakes, CONTROLLER, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = is_run(spec) || spec.count(USERS) > 0;
        match used {
            true => vec![&NAMESPACES, &CONFIG_MAPS, &PODS],
            false => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, User::new(rest.clone(), UsesNamespaces));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        vec![NamespaceDefect::LIST]
    }

    fn exists(&self, spec: &Spec) -> bool {
        is_run(spec)
    }

    fn added_by(&self) -> String {
        NEEDED.add.to_owned()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        kube_controller_manager::settles(setup) + properties::SETTLES_WITHIN
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        if let Some(Finalizes { namespace }) = note.body.get() {
            return Some(Description {
                text: format!("lets the namespace {namespace} go"),
                about: vec![namespace.to_string()],
            });
        }
        let Empties {
            namespace,
            remaining,
        } = note.body.get()?;
        let left: Vec<String> = remaining
            .0
            .iter()
            .map(|(of, n)| format!("{n} {of}"))
            .collect();
        let left = match left.is_empty() {
            true => "nothing".to_owned(),
            false => left.join(", "),
        };
        Some(Description {
            text: format!("has emptied the namespace {namespace}; {left} is left"),
            about: vec![namespace.to_string()],
        })
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let name = key.strip_prefix(NAMESPACES.registry)?.strip_prefix('/')?;
        let text = value.map(|namespace| {
            let phase = json::text(namespace, &["status", "phase"]);
            let deleted = json::at(namespace, &["metadata", "deletionTimestamp"]).is_some();
            match deleted {
                true => format!("{phase}, being deleted"),
                false => phase.to_owned(),
            }
        });
        Some(Stored {
            text,
            about: vec![name.to_owned()],
        })
    }
}

impl ControllerDescriptor for Namespaces {
    fn controller_name(&self) -> &'static str {
        CONTROLLER
    }

    fn releases_with_it(&self) -> Gate {
        gates::NAMESPACE_CONTROLLER
    }

    /// It empties namespaces of the resources that somebody uses: of others there are no objects.
    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let used = setup.kinds.used().filter(|own| !own.is_custom());
        let syncs = setup.part::<Options>().concurrent_namespace_syncs;
        Arc::new(NamespaceController::new(cx, used, syncs.unwrap_or(10)))
    }
}
