//! The load balancer in front of the apiservers, one on the machine of each client: health checks, and the address that
//! apiservers may advertise instead of their own.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_api::Resource;
use wavetank_client::HealthChecks;
use wavetank_component::values::{Choices, Duration as Written};
use wavetank_component::{
    Component, Draw, Drawn, Focus, Hit, Keys, Mistakes, Part, Path, Section, Setup, Spec,
};
use wavetank_engine::FaultKind;
use wavetank_version::Version;

use crate::{clients, kube_apiserver, rollout};

/// Its name.
pub const NAME: &str = "load-balancer";

/// Load balancers: a part of clients.
#[derive(Clone, Copy, Debug)]
pub struct LoadBalancer;

/// Of `topology`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Topology {
    /// Health checks of the load balancer between clients and apiservers; without them it sees breaks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<Balancer>,
}

/// The load balancer in front of the apiservers, one on the machine of each client, with health checks as HAProxy
/// has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Balancer {
    /// From the end of a check to the next one.
    pub every: Written,
    /// How long an answer to a check may take.
    pub timeout: Written,
    /// An apiserver is out after so many failures in a row; new connections go to others.
    #[schemars(range(min = 1))]
    pub fall: u32,
    /// It is in again after so many successes in a row.
    #[schemars(range(min = 1))]
    pub rise: u32,
    /// What becomes of connections to an apiserver that is out.
    #[serde(default)]
    pub existing: Choices<Existing>,
    /// Whether all apiservers advertise the address of the load balancer, and not each its own.
    #[serde(default)]
    pub advertised: Choices<bool>,
}

/// What becomes of connections to an apiserver that is out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// They stay while they live.
    #[default]
    Keep,
    /// They are cut.
    Cut,
}

/// What a seed decides.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Decided {
    balancer_cuts: bool,
    balancer_is_advertised: bool,
}

impl Part for Topology {
    const SECTION: Section = Section::Topology;

    fn draw(&self, draw: &mut Draw) {
        let own = self.load_balancer.as_ref();
        let cuts = own.is_some_and(|own| draw.pick(&own.existing) == Existing::Cut);
        draw.set("balancer-cuts", cuts);
        let advertised = own.map(|own| &own.advertised);
        draw.choose_or("balancer-is-advertised", advertised, false);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

/// Do all apiservers advertise its address?
pub fn is_advertised(setup: &Setup) -> bool {
    let decided: Decided = setup.decided();
    decided.balancer_is_advertised
}

/// How it checks apiservers, if it does.
pub fn checks(setup: &Setup) -> Option<HealthChecks> {
    let own = setup.part::<Topology>().load_balancer?;
    let running = kube_apiserver::running(setup).into_iter();
    let all = running.flat_map(|release| [Some(release), rollout::before(setup, release)]);
    // One path for all: the one that the oldest of them knows.
    let oldest = all.flatten().min().unwrap_or(Version::LATEST);
    let decided: Decided = setup.decided();
    Some(HealthChecks {
        path: kube_apiserver::ready_probe(oldest),
        every: Duration::from_nanos(own.every.nanos()),
        timeout: Duration::from_nanos(own.timeout.nanos()),
        fall: own.fall,
        rise: own.rise,
        cuts: decided.balancer_cuts,
    })
}

impl Component for LoadBalancer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "load balancers with health checks, between clients and apiservers"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Topology>()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let Some(balancer) = spec.part::<Topology>().load_balancer else {
            return;
        };
        kube_apiserver::needed_for(NAME, spec, mistakes);
        if clients::count(&spec.given) == 0 {
            let message = "there are no clients that have one";
            let help = "add `clients: 2` to `topology`, or remove `load-balancer`";
            mistakes.key(Section::Topology, NAME, message, help);
        }
        let (every, timeout) = (balancer.every, balancer.timeout);
        let some = [
            ("every", every > Written::ZERO, "more than 0s"),
            ("timeout", timeout > Written::ZERO, "more than 0s"),
            ("fall", balancer.fall > 0, "at least 1"),
            ("rise", balancer.rise > 0, "at least 1"),
        ];
        for (key, _, least) in some.into_iter().filter(|(_, enough, _)| !enough) {
            let message = format!("health checks with a `{key}` of 0 are not possible");
            let path = Path::of("topology").key(NAME).key(key);
            mistakes.at(path, Focus::Value, message, format!("give {least}"));
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
