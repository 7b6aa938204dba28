//! Clients in the cluster, which connect through the Endpoints `kubernetes`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_actors::{Attempt, Follower};
use wavetank_api::Resource;
use wavetank_api::kinds::ENDPOINTS;
use wavetank_client::Checked;
use wavetank_component::values::{Choices, Duration as Written};
use wavetank_component::{
    Component, Description, Draw, Drawn, Given, Hit, Keys, Load, Mistakes, Need, Part,
    PropertyInfo, Replicas, Section, Setup, Spec, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};

use crate::{kube_apiserver, load_balancer};

/// Its name.
pub const NAME: &str = "clients";

/// Clients that follow the Endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Clients;

/// Of `workload`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Work {
    /// Clients open connections through the endpoints of the `kubernetes` service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Connect>,
}

/// Opening connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Connect {
    /// How often each client opens one, on average.
    pub every: Written,
    /// Whether it keeps its connection until that breaks, and uses it again; without it none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Choices<bool>>,
}

/// What a seed decides.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Decided {
    connections_are_kept: bool,
}

impl Part for Work {
    const SECTION: Section = Section::Workload;

    fn draw(&self, draw: &mut Draw) {
        let keep = self.connect.as_ref().and_then(|own| own.keep.as_ref());
        draw.choose_or("connections-are-kept", keep, false);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

/// A client that talks to a server which has gone notices after 45 s, and reads the Endpoints anew
/// within another 10 s.
const CLIENTS_NEED: Duration = Duration::from_secs(55);

/// How many there are.
pub fn count(given: &Given) -> u32 {
    given.count(NAME)
}

/// What its property needs.
const NEEDED: Need = Need {
    met: |spec| count(&spec.given) > 0,
    lacking: "clients, and there are none",
    add: "`clients: 2` to `topology`",
};

impl Component for Clients {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients in the cluster, which connect through the Endpoints `kubernetes`"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Work>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients, named c1, c2 and so on.";
        Some(Replicas::counted(NAME, "c", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| count(&spec.given) > 0,
            lacking: "there are no clients to connect",
            add: "`clients: 2` to `topology`",
        };
        vec![Load {
            never: "clients cannot connect every 0s",
            own_key: true,
            ..Load::command("connect", "connect", "", need)
        }]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if count(&spec.given) > 0 && kube_apiserver::count(&spec.given) == 0 {
            let message = "there are no apiservers for clients to connect to";
            let help = "add `apiservers: 3`, or remove `clients`; clients of etcd itself are \
                        `etcd-clients`";
            mistakes.key(Section::Topology, NAME, message, help);
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let servers = Arc::new(kube_apiserver::addresses(setup, wiring));
        let decided: Decided = setup.decided();
        for name in wiring.names(NAME) {
            let client = Follower {
                servers: servers.clone(),
                checks: load_balancer::checks(setup),
                keeps: decided.connections_are_kept,
            };
            wiring.process(name, client);
        }
    }

    /// The Endpoints that they follow.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = count(&spec.given) > 0;
        used.then_some(&ENDPOINTS).into_iter().collect()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        vec![
            PropertyInfo::new(
                "clients-reach-an-apiserver",
                "some time after calm every attempt through the Endpoints reaches an apiserver",
                NEEDED,
                |settled| Box::new(kube_apiserver::clients_reach_an_apiserver(settled)),
            )
            .fits(kube_apiserver::keeps_endpoints),
        ]
    }

    fn settles(&self, setup: &Setup) -> Duration {
        kube_apiserver::settles(setup) + CLIENTS_NEED
    }

    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        if let Some(Checked { server, healthy }) = note.body.get() {
            let what = match healthy {
                true => "in again",
                false => "out",
            };
            let server = world.name(*server);
            return Some(plain(format!("its load balancer takes {server} {what}")));
        }
        let attempt = note.body.get::<Attempt>().filter(|a| !a.reached)?;
        Some(plain(match &attempt.address {
            None => "knows no address of an apiserver".to_owned(),
            Some(address) => format!("gets no answer at {address}"),
        }))
    }
}

fn plain(text: String) -> Description {
    let about = Vec::new();
    Description { text, about }
}
