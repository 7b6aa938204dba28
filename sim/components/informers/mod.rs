//! Clients with informers and nothing else: what they see is what informers promise.

mod specs;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kube_apiserver::bootstrap::Bootstrap;
use wavetank_actors::InformerClient;
use wavetank_api::{Resource, Stored};
use wavetank_apiserver::ApiServer;
use wavetank_client::informer::{INFORMERS, Informer};
use wavetank_client::monitors::{self, Name};
use wavetank_client::{InformerDefect, LoadBalancer, Policy, RestClient, Servers};
use wavetank_component::{
    Component, Description, Entry, Held, Hit, Holds, Keys, Load, Mistakes, Need, Part,
    PropertyInfo, Replicas, Section, Setup, Spec, View, Wiring,
};
use wavetank_engine::{FaultKind, Note, ProcId, World};
use wavetank_version::{List, Listed};

use crate::{custom_resources, kube_apiserver, watch_cache, writers};

/// Its name.
pub const NAME: &str = "informers";

/// Clients with informers, of the newest release that there is.
#[derive(Clone, Copy, Debug)]
pub struct InformerClients;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// How many events of a watch may come before a client with informers takes one (as many as 4 MB hold if it is not
    /// said, which no scenario has). With less, apiservers find clients that stand still for long too slow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_window: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// What properties of informers need.
pub const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "informers, and there are none",
    add: "`informers: 2` to `topology`",
};

/// What they are held to are those in users of custom resources, too.
const WATCHED: Need = Need {
    met: |spec| (NEEDED.met)(spec) || custom_resources::is_on(spec),
    ..NEEDED
};

/// What an informer sees takes somebody who writes.
const WRITES: [Entry; 2] = [
    Entry::new("topology", "writers", "1"),
    Entry::new("workload", "write", "{every: 1s}"),
];

/// Behind a load balancer: each connection goes to any apiserver.
fn balancer(wiring: &Wiring) -> LoadBalancer {
    LoadBalancer {
        servers: wiring.ids(kube_apiserver::NAME),
        policy: Policy::Drawn,
        window: None,
    }
}

/// A client of the apiservers, of the newest release that there is.
pub fn rest(spec: &Spec, wiring: &Wiring) -> Option<RestClient> {
    let release = kube_apiserver::newest(spec)?;
    let servers = Servers::Balanced(balancer(wiring));
    Some(RestClient::new(release, servers))
}

fn key_of(resource: &Resource, stored: &Stored) -> String {
    let object = &stored.object;
    resource.key(object.namespace(), object.name()).to_string()
}

impl Component for InformerClients {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients with informers"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients with informers, named i1, i2 and so on; their release is that of the \
                     newest apiserver.";
        Some(Replicas::counted(NAME, "i", about))
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            lacking: "there are no informers to move",
            ..NEEDED
        };
        let about = "Until the storm ends, the load balancer moves clients with informers to another apiserver.";
        vec![Load::command("move-informers", "move", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
        let window = spec.part::<Options>().watch_window;
        if window.is_some() && spec.count(NAME) == 0 {
            let message = "there are no clients with informers";
            let help = "add `informers: 2` to `topology`, or remove it";
            mistakes.key(Section::Options, "watch-window", message, help);
        } else if window == Some(0) {
            let message = "nothing would ever come";
            mistakes.key(Section::Options, "watch-window", message, "give at least 1");
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(release) = kube_apiserver::newest(setup) else {
            return;
        };
        let window = setup.part::<Options>().watch_window;
        for name in wiring.names(NAME) {
            let defects = setup.set(release);
            let balancer = LoadBalancer {
                window,
                ..balancer(wiring)
            };
            let client = InformerClient::new(release, defects, balancer, specs::specs());
            wiring.process(name, client);
        }
    }

    /// They are not stopped gracefully: they have nothing to give up.
    fn hit(&self, _: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        match kind {
            FaultKind::Stop => None,
            FaultKind::Crash | FaultKind::PowerLoss => Some(Hit::at_most(max).in_turn(3)),
            _ => Some(Hit::at_most(max).in_turn(1)),
        }
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match spec.count(NAME) {
            0 => Vec::new(),
            _ => specs::INFORMED.to_vec(),
        }
    }

    fn holds(&self, _: &Spec) -> Vec<(&'static str, String)> {
        let all = specs::INFORMED.iter();
        all.map(|resource| (NAME, resource.qualified())).collect()
    }

    fn defects(&self) -> Vec<List> {
        vec![InformerDefect::LIST]
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![NAME, watch_cache::NAME, writers::NAME]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        let all = Name::TABLE.iter();
        all.map(|info| {
            PropertyInfo::new(info.name, info.about, WATCHED, |settled| {
                info.monitor.property(settled)
            })
            .tested_by(&WRITES)
            .fits(|spec| info.monitor.fits(&kube_apiserver::all_releases(spec)))
        })
        .collect()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        match (setup.count(NAME), kube_apiserver::newest(setup)) {
            (0, _) | (_, None) => Duration::ZERO,
            (_, Some(release)) => monitors::settling(release),
        }
    }

    /// The informers inside of an apiserver are its own business.
    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        let described = wavetank_client::describe(world, note)?;
        let inside = world.process::<ApiServer<Bootstrap>>(note.process);
        Some(described).filter(|_| inside.is_none())
    }

    /// The stores of informers, whoever has them: clients, controllers, operators, apiservers.
    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        let all = world.cell(process, &INFORMERS);
        let view = |informer: &Informer| {
            let resource = *informer.resource;
            let objects = informer.indexer.iter().map(|(_, object)| Held {
                key: key_of(resource, object),
                object: object.clone(),
            });
            View {
                name: "informer",
                holds: Holds::Known,
                resource: Some(resource),
                revision: informer.indexer.revision(),
                objects: objects.collect(),
            }
        };
        all.iter().map(view).collect()
    }
}
