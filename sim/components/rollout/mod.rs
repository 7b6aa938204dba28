//! An operator who rolls a release out over the apiservers, one after another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_actors::RolloutOperator as Operator;
use wavetank_api::Resource;
use wavetank_apiserver::ServerNote;
use wavetank_component::values::Choices;
use wavetank_component::{
    Component, Draw, Drawn, Given, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Section,
    Setup, Spec, Wiring,
};
use wavetank_engine::{FaultKind, Reached};
use wavetank_releases::Release;
use wavetank_version::Version;

use crate::kube_apiserver;
use crate::view::ClusterView;

/// Its name.
pub const NAME: &str = "rollout";
/// The only one.
const OPERATOR: &str = "r1";

/// Who replaces apiservers.
#[derive(Clone, Copy, Debug)]
pub struct RolloutOperator;

/// Of `topology`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Topology {
    /// A rollout over the apiservers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// Who rolls a release out over the apiservers: a process named r1. The apiservers begin with another release than
/// their own, and have their own when they were replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rollout {
    /// The release that the apiservers begin with.
    pub from: Choices<BeforeRollout>,
}

/// What apiservers are before a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeforeRollout {
    /// Of the release before their own (of v1.16, the oldest, if that is their own): an upgrade.
    #[default]
    Previous,
    /// Of their own release: a rolling restart.
    Same,
}

impl BeforeRollout {
    /// What an apiserver of this release is before its rollout.
    fn of(self, release: Version) -> Version {
        match self {
            BeforeRollout::Previous => Release::before(release).version,
            BeforeRollout::Same => release,
        }
    }
}

impl Part for Topology {
    const SECTION: Section = Section::Topology;

    fn draw(&self, draw: &mut Draw) {
        let from = self
            .rollout
            .as_ref()
            .map(|rollout| draw.pick(&rollout.from));
        draw.set("rollout-from", from);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

/// What a seed decides.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Decided {
    rollout_from: Option<BeforeRollout>,
}

/// What an apiserver of this release is before its rollout, if there is one.
pub fn before(setup: &Setup, release: Version) -> Option<Version> {
    let decided: Decided = setup.decided();
    decided.rollout_from.map(|from| from.of(release))
}

fn is_planned(given: &Given) -> bool {
    given.part::<Topology>().rollout.is_some()
}

const NEEDED: Need = Need {
    met: |spec| is_planned(&spec.given),
    lacking: "there is nobody to roll anything out",
    add: "`rollout: {from: previous}` to `topology`",
};

impl Component for RolloutOperator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "an operator who replaces the apiservers one after another"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Topology>()]
    }

    fn count(&self, given: &Given) -> u32 {
        is_planned(given).into()
    }

    fn added_by(&self) -> String {
        NEEDED.add.to_owned()
    }

    fn workload(&self) -> Vec<Load> {
        let about = "Until the storm ends, whoever rolls a release out takes the next step when the last one is \
                     done: an apiserver is stopped gracefully, and its node starts it again.";
        vec![Load::command("roll", "roll", about, NEEDED).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if !is_planned(&spec.given) {
            return;
        }
        kube_apiserver::needed_for(NAME, spec, mistakes);
        if !spec.given.has_load("roll") {
            let help = "add `roll: {every: 20s}` to `workload`, or remove `rollout`";
            let message = "no step of the rollout is ever taken";
            mistakes.key(Section::Topology, NAME, message, help);
        }
    }

    fn processes(&self, spec: &Spec, _: Option<&Drawn>) -> Result<Vec<String>, String> {
        let planned = is_planned(&spec.given);
        Ok(planned.then(|| OPERATOR.to_owned()).into_iter().collect())
    }

    fn releases(&self, spec: &Spec) -> Vec<Version> {
        let rollout = spec.part::<Topology>().rollout;
        let from = rollout.iter().flat_map(|rollout| rollout.from.values());
        let own = kube_apiserver::releases(spec);
        from.flat_map(|from| own.iter().map(|release| from.of(*release)))
            .collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        for name in wiring.names(NAME) {
            let probes = kube_apiserver::running(setup).into_iter();
            let probes = probes.map(kube_apiserver::ready_probe);
            let servers = wiring.ids(kube_apiserver::NAME).into_iter().zip(probes);
            let servers = servers.collect();
            wiring.process(name, Operator { servers });
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        vec![
            PropertyInfo::new(
                "two-releases-at-once",
                "an apiserver was replaced while one of another release served",
                kube_apiserver::NEEDED,
                |_| Box::new(two_releases_at_once()),
            )
            .fits(|spec| is_planned(&spec.given) && kube_apiserver::keeps_endpoints(spec)),
        ]
    }
}

/// An apiserver of one release took its place beside one of another.
fn two_releases_at_once() -> Reached {
    Reached {
        name: "two-releases-at-once",
        here: |world, note| {
            let Some(ServerNote::Replaced(release)) = note.body.get() else {
                return false;
            };
            let view = ClusterView(world);
            let mut all = view.apiservers();
            all.any(|(p, other)| view.is_serving(p) && other.config().release != *release)
        },
    }
}
