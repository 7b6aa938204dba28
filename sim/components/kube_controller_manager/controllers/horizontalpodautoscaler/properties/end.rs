//! What is true once all has been well for a while. Which pods two autoscalers share is known by what they are for: users give
//! each workload labels of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::kinds::{AUTOSCALERS, CONFIG_MAPS, DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_api::quota::milli_value;
use wavetank_api::{Json, Object, json};
use wavetank_components::changes::is_of;
use wavetank_components::metrics_servers::{LOAD, load_of};
use wavetank_components::promises::violated;
use wavetank_components::users::NAMESPACE;
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, Stable, World};
use wavetank_etcd::Change;

use super::super::controller::CONTROLLER;
use super::super::notes::{Rescales, WritesStatus};
use super::super::users::resource_of;
use super::decisions::replicas;
use super::load::target_and_load;
use crate::controller_utils::is_pod_ready;
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

fn autoscalers(world: &World) -> Vec<&Object> {
    let mut all = ClusterView(world).all(AUTOSCALERS.registry);
    all.retain(|own| !own.is_being_deleted());
    all
}

fn target(autoscaler: &Object) -> &str {
    json::text(autoscaler.json(), &["spec", "scaleTargetRef", "name"])
}

/// What an autoscaler is for, if that is there.
fn workload<'a>(world: &'a World, autoscaler: &Object) -> Option<&'a Json> {
    let name = target(autoscaler);
    let key = resource_of(name).key(NAMESPACE, name);
    Some(ClusterView(world).get(&key)?.value.json())
}

/// Are other autoscalers for the same?
fn shares(world: &World, autoscaler: &Object) -> bool {
    let name = target(autoscaler);
    let mut all = autoscalers(world).into_iter();
    all.any(|own| own.uid() != autoscaler.uid() && target(own) == name)
}

/// Looks at each autoscaler: what is wrong with it, if that is known?
fn each(world: &World, wrong: fn(&World, &Object) -> Option<Result<(), String>>) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    for own in autoscalers(world) {
        match wrong(world, own) {
            None => {}
            Some(Ok(())) => checked = Check::Held,
            Some(Err(why)) => {
                let name = own.name();
                return violated("autoscaler", name, format!("the autoscaler {name} {why}"));
            }
        }
    }
    checked
}

/// Do so many pods with this label run and serve, and no others run?
fn all_serve(world: &World, app: &str, count: i64) -> bool {
    let pods = ClusterView(world).all(PODS.registry);
    let of_app = pods.iter().filter(|pod| {
        let phase = json::text(pod.json(), &["status", "phase"]);
        let label = json::text(pod.json(), &["metadata", "labels", "app"]);
        label == app && !matches!(phase, "Failed" | "Succeeded")
    });
    let all: Vec<_> = of_app.collect();
    let serving = all.iter().filter(|pod| is_pod_ready(pod.json()).is_some());
    let serving = serving.filter(|pod| !pod.is_being_deleted()).count();
    all.len() == serving && i64::try_from(serving) == Ok(count)
}

/// How far off a metric may be in a direction of scaling.
fn tolerance(spec: &Json, direction: &str) -> f64 {
    let own = json::at(spec, &["behavior", direction, "tolerance"]);
    own.and_then(milli_value)
        .map_or(0.1, |milli| milli as f64 / 1000.0)
}

/// How many replicas a metric asks for where there are `count`, which share its load.
fn asked(spec: &Json, (target, load): (i64, i64), count: i64) -> i64 {
    let ratio = (load / count) as f64 / target as f64;
    let least = 1.0 - tolerance(spec, "scaleDown");
    let most = 1.0 + tolerance(spec, "scaleUp");
    match (least..=most).contains(&ratio) {
        true => count,
        false => (ratio * count as f64).ceil() as i64,
    }
}

fn fits(world: &World, autoscaler: &Object) -> Option<Result<(), String>> {
    let spec = &autoscaler.json()["spec"];
    let (name, count) = (target(autoscaler), replicas(workload(world, autoscaler)?));
    let load = ClusterView(world).get(&CONFIG_MAPS.key(NAMESPACE, LOAD))?;
    let load = load_of(load.value.json(), name);
    if shares(world, autoscaler) || count == 0 || !all_serve(world, name, count) {
        return None;
    }
    let number = |field| json::number(spec, &[field]);
    let (min, max) = (number("minReplicas")?, number("maxReplicas")?);
    let metrics = json::list(spec, &["metrics"]);
    let known: Vec<(i64, i64)> = metrics
        .iter()
        .filter_map(|metric| target_and_load(metric, load))
        .collect();
    let wanted = known.iter().map(|own| asked(spec, *own, count)).max();
    let wanted = wanted.unwrap_or(count).clamp(min, max);
    let disabled = |direction: &str| spec["behavior"][direction]["selectPolicy"] == "Disabled";
    let may_stay = (wanted < count && (known.len() < metrics.len() || disabled("scaleDown")))
        || (wanted > count && disabled("scaleUp"));
    if (min..=max).contains(&count) && (wanted == count || may_stay) {
        return Some(Ok(()));
    }
    Some(Err(format!(
        "of {min} to {max} leaves {name} at {count} replicas, and a load of {load} asks for {wanted}"
    )))
}

pub(super) fn replicas_fit_the_load(after: Duration) -> Stable {
    let name = "replicas-fit-the-load";
    Stable::new(name, after, |_, _| Check::Idle, |world| each(world, fits))
}

fn scales_what_is_shared(world: &World, note: &Note) -> Check {
    let Some(own) = note.body.get::<Rescales>() else {
        return Check::Idle;
    };
    let all = autoscalers(world);
    let of_it = all.iter().filter(|other| target(other) == &*own.target);
    match of_it.count() {
        0 | 1 => Check::Idle,
        several => {
            let (name, target) = (&own.autoscaler, &own.target);
            let message =
                format!("the autoscaler {name} scales {target}, for which there are {several}");
            violated("autoscaler", name, message)
        }
    }
}

pub(super) fn shared_pods_are_left_alone(after: Duration) -> Stable {
    let name = "shared-pods-are-left-alone";
    Stable::new(name, after, scales_what_is_shared, |world| {
        each(world, |world, own| shares(world, own).then_some(Ok(())))
    })
}

/// What a status says of this condition: nothing if it has none.
fn condition(autoscaler: &Object, kind: &str) -> Option<bool> {
    let mut all = json::list(autoscaler.json(), &["status", "conditions"]).iter();
    all.find(|own| own["type"] == kind)
        .map(|own| own["status"] == "True")
}

fn says_what_is(world: &World, autoscaler: &Object) -> Option<Result<(), String>> {
    let able = condition(autoscaler, "AbleToScale");
    let Some(workload) = workload(world, autoscaler) else {
        let wrong = able != Some(false);
        let why = "does not say that what it is for is not there".to_owned();
        return Some(if wrong { Err(why) } else { Ok(()) });
    };
    let (count, name) = (replicas(workload), target(autoscaler));
    let said = json::number(autoscaler.json(), &["status", "currentReplicas"]).unwrap_or(0);
    if said != count {
        let why = format!("says that {name} has {said} replicas, and it has {count}");
        return Some(Err(why));
    }
    if able != Some(true) {
        return Some(Err("does not say that it can scale".to_owned()));
    }
    let spec = |field| json::number(autoscaler.json(), &["spec", field]).unwrap_or(0);
    let is_inside = (spec("minReplicas")..=spec("maxReplicas")).contains(&count);
    let is_off = count == 0 || (is_inside && shares(world, autoscaler));
    if is_off && condition(autoscaler, "ScalingActive") != Some(false) {
        return Some(Err("does not say that it does nothing".to_owned()));
    }
    Some(Ok(()))
}

pub(super) fn autoscalers_say_what_is(after: Duration) -> Stable {
    let name = "autoscalers-say-what-is";
    Stable::new(
        name,
        after,
        |_, _| Check::Idle,
        |world| each(world, says_what_is),
    )
}

const REST: Rest = Rest {
    property: "autoscalers-are-quiet",
    controller: CONTROLLER,
    kind: "autoscaler",
    acts: |autoscaler| format!("the autoscaler {autoscaler} scales or writes its status"),
    act: |note| {
        let scales = note.body.get::<Rescales>().map(|own| &own.autoscaler);
        let writes = note.body.get::<WritesStatus>().map(|own| &own.autoscaler);
        let autoscaler = scales.or(writes)?;
        Some(Act {
            on: autoscaler.clone(),
            name: autoscaler.clone(),
        })
    },
    concerns,
    follows,
};

/// By the names of workloads, and by the keys of autoscalers; load concerns all.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let both = [&change.before, &change.now].into_iter().flatten();
    let objects: Vec<&Object> = both.map(|kv| &kv.value).collect();
    let of_kind = |kinds: &[&wavetank_api::Resource]| kinds.iter().any(|own| is_of(change, own));
    if of_kind(&[&PODS]) {
        let app = |own: &&Object| json::text(own.json(), &["metadata", "labels", "app"]).into();
        return objects.iter().map(app).collect();
    }
    if of_kind(&[&CONFIG_MAPS]) {
        return vec!["load".into()];
    }
    if of_kind(&[&DEPLOYMENTS, &REPLICA_SETS]) {
        return objects.iter().map(|own| own.name().into()).collect();
    }
    let specs: BTreeSet<String> = objects
        .iter()
        .map(|own| own.json()["spec"].to_string())
        .collect();
    match of_kind(&[&AUTOSCALERS]) && (objects.len() < 2 || specs.len() > 1) {
        true => {
            let keys = objects
                .iter()
                .map(|own| format!("{NAMESPACE}/{}", own.name()).into());
            let targets = objects.iter().map(|own| target(own).into());
            keys.chain(targets).collect()
        }
        false => Vec::new(),
    }
}

fn follows(world: &World, autoscaler: &Subject, changed: &BTreeSet<Subject>) -> bool {
    let name = autoscaler.rsplit('/').next().unwrap_or_default();
    let found = ClusterView(world).get(&AUTOSCALERS.key(NAMESPACE, name));
    let of_target = found.is_some_and(|kv| changed.contains(target(&kv.value)));
    of_target || changed.contains(autoscaler) || changed.contains("load")
}

pub(super) fn autoscalers_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
