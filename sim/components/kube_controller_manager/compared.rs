//! Sieve's patterns, of which controller managers are told, and what a run of them is compared by with one without faults: all
//! that they have made, and the status of what they were asked for. It is a component, since all controllers are judged
//! by it.
//!
//! Controllers see what there is and not what has been: who missed a template that came and went has kept no revision of it.
//! So what they keep of the past is left out, and with it what others draw: the node of a pod, and its address.

use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::{Resource, json};
use wavetank_component::{Component, Load, Need, PropertyInfo, Setup, Spec};
use wavetank_components::sieve;
use wavetank_components::sieve::alike::{self, Replicas};
use wavetank_engine::{Check, World};

use super::manager::ControllerManager;
use super::{INFORMERS_NEEDED, KEY, NAME, Options};

/// Its name.
pub(super) const SIEVE: &str = "sieve";

/// What Sieve does to controller managers.
#[derive(Clone, Copy, Debug)]
pub struct Sieve;

/// Only where they are told one of the patterns it is known what they ask.
const TOLD: Need = Need {
    met: |spec| (INFORMERS_NEEDED.met)(spec) && sieve::is_asked(KEY, spec),
    lacking: "one of Sieve's patterns, and there is none",
    add: "`controller-managers-intermediate-state: {every: 10s}` to `workload`",
};

const COMPARED: Replicas = Replicas {
    key: KEY,
    asks: alike::asks::<ControllerManager>,
    can_work: alike::can_work::<ControllerManager>,
    compared: |object, normal| {
        let kind = json::text(object.json(), &["kind"]);
        let is_past = match kind {
            // A revision is kept, and a claim that nobody uses any more.
            "ControllerRevision" | "PersistentVolumeClaim" => true,
            "ReplicaSet" => json::number(object.json(), &["spec", "replicas"]) == Some(0),
            // They have addresses of pods, which are drawn.
            "EndpointSlice" | "Endpoints" => true,
            _ => false,
        };
        (!is_past).then(|| without_what_differs(kind, normal))
    },
    all_along: true,
};

fn without_what_differs(kind: &str, mut normal: Json) -> Json {
    if kind == "Pod" {
        json::remove(&mut normal, &["spec", "nodeName"]);
    }
    // A condition that stays keeps the words of the step in which it came.
    let conditions = normal["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        json::remove(condition, &["message"]);
    }
    // How often a hash was taken depends on what was there.
    json::remove(&mut normal, &["status", "collisionCount"]);
    normal
}

impl Component for Sieve {
    fn name(&self) -> &'static str {
        SIEVE
    }

    fn about(&self) -> &'static str {
        "controller managers that end after a write, see the past, or miss what was in between"
    }

    fn exists(&self, spec: &Spec) -> bool {
        (INFORMERS_NEEDED.met)(spec)
    }

    fn added_by(&self) -> String {
        INFORMERS_NEEDED.add.to_owned()
    }

    /// Nothing itself.
    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn workload(&self) -> Vec<Load> {
        let all = sieve::loads(KEY, INFORMERS_NEEDED).into_iter();
        let to = |load: Load| load.to.unwrap_or(NAME);
        all.map(|load| load.to(to(load))).collect()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        vec![alike::ends_alike(COMPARED, TOLD)]
    }

    /// When the last of the controllers has.
    fn settles(&self, setup: &Setup) -> Duration {
        let running = setup.part::<Options>().descriptors();
        let all = running.iter().map(|own| own.settles(setup));
        all.max().unwrap_or_default()
    }

    fn ending(&self, world: &World) -> Option<Json> {
        alike::ending(world, KEY)
    }

    fn compare(&self, undisturbed: &Json, run: &Json) -> Option<(&'static str, Check)> {
        Some(alike::compare(KEY, undisturbed, run))
    }
}
