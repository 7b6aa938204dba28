//! What those who claim storage rely on: their volume stays theirs, nobody else has it, and they are told the truth about it. Once all has
//! been well for a while claims have the volumes that fit them, and volumes say whose they are.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES};
use wavetank_api::{Object, Stored};
use wavetank_component::{Entry, PropertyInfo};
use wavetank_components::changes::{changes, is_of};
use wavetank_components::promises::{always, reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, Stable, World};
use wavetank_etcd::Change;
use wavetank_version::Set;

use super::controller::CONTROLLER;
use super::fields::{
    AVAILABLE, BOUND, FAILED, LOST, PENDING, RELEASED, claim_key, claim_ref, claim_uid, class_of,
    phase, volume_name,
};
use super::index::find_best_match_for_claim;
use super::notes::{Acts, LooksUp};
use super::{NEEDED, USE, USERS};
use crate::controller_utils::pod_key;
use crate::quiet::{Act, IsQuiet, Rest, Subject, SyncsEnd};
use crate::somebody_runs;

/// All is looked at every 15 s; what has failed is tried again then, and an operation that has failed after up to 122 s.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(300);

/// There have to be claims and volumes that come and go.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", USE, "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "claimed-volumes-stay",
            "no volume is said to be released, and may be deleted, while its claim is there and has no other",
            NEEDED,
            |_| Box::new(always("claimed-volumes-stay", claimed_volumes_stay)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "claims-are-not-lost",
            "no claim is said to be lost while the volume is there that is bound to it",
            NEEDED,
            |_| Box::new(always("claims-are-not-lost", claims_are_not_lost)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "volumes-have-one-claim",
            "no two claims are bound to one volume",
            NEEDED,
            |_| Box::new(always("volumes-have-one-claim", volumes_have_one_claim)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "volumes-that-go-are-not-bound",
            "no volume that is being deleted is given to a claim",
            NEEDED,
            |_| {
                Box::new(always(
                    "volumes-that-go-are-not-bound",
                    volumes_that_go_are_not_bound,
                ))
            },
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "claims-find-volumes",
            "some time after calm no claim waits although a volume is free that fits it",
            NEEDED,
            |settled| Box::new(stable("claims-find-volumes", settled, claims_find_volumes)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "claims-and-volumes-agree",
            "some time after calm volumes and claims say the same of each other",
            NEEDED,
            |settled| Box::new(stable("claims-and-volumes-agree", settled, claims_and_volumes_agree)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "binder-is-quiet",
            "some time after calm nothing is written to volumes and claims any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "released-volumes-rest",
            "some time after calm no apiserver is asked for the claim of a volume again and again",
            NEEDED,
            |settled| Box::new(SyncsEnd::new("released-volumes-rest", "volume", settled, looks_up)),
        )
        .tested_by(&USED),
        reaches(
            "claim-was-looked-up",
            "a claim that the cache did not show as its volume has it was asked for",
            NEEDED,
            |_, note| note.body.get::<LooksUp>().is_some(),
        ),
    ]
}

/// The claim that a volume is for, as it is stored.
fn claim_of<'a>(world: &'a World, volume: &Json) -> Option<&'a Object> {
    let key = claim_key(claim_ref(volume)?);
    let registry = PERSISTENT_VOLUME_CLAIMS.registry;
    let stored = ClusterView(world).get(&format!("{registry}/{key}"))?;
    Some(&stored.value).filter(|claim| claim.uid() == claim_uid(volume))
}

/// The volume of a claim, as it is stored.
fn volume_of<'a>(world: &'a World, claim: &Json) -> Option<&'a Object> {
    let registry = PERSISTENT_VOLUMES.registry;
    let stored = ClusterView(world).get(&format!("{registry}/{}", volume_name(claim)))?;
    Some(&stored.value)
}

/// The phase that an object has since this change.
fn enters(change: &Change<Object>) -> Option<(&Object, &str)> {
    let now = &change.now.as_ref()?.value;
    let before = change.before.as_ref().map(|kv| phase(kv.value.json()));
    let phase = phase(now.json());
    (before != Some(phase)).then_some((now, phase))
}

fn claimed_volumes_stay(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &PERSISTENT_VOLUMES) {
        let Some((volume, phase)) = enters(change) else {
            continue;
        };
        if matches!(phase, BOUND | RELEASED) {
            checked = Check::Held;
        }
        if phase != RELEASED {
            continue;
        }
        let name = volume.name();
        let claim = claim_of(world, volume.json());
        let holds = claim
            .filter(|own| matches!(volume_name(own.json()), "") || volume_name(own.json()) == name);
        if let Some(claim) = holds {
            let message = format!(
                "{name} is said to be released, and the claim {} ({}), which it is for, is there",
                pod_key(claim),
                claim.uid()
            );
            return violated("volume", name, message);
        }
    }
    checked
}

fn claims_are_not_lost(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &PERSISTENT_VOLUME_CLAIMS) {
        let Some((claim, phase)) = enters(change) else {
            continue;
        };
        if phase == BOUND {
            checked = Check::Held;
        }
        let volume = volume_of(world, claim.json()).filter(|_| phase == LOST);
        if let Some(volume) = volume.filter(|own| claim_uid(own.json()) == claim.uid()) {
            let key = pod_key(claim);
            let message = format!(
                "{key} is said to be lost, and its volume {} is there and bound to it",
                volume.name()
            );
            return violated("claim", &key, message);
        }
    }
    checked
}

fn volumes_have_one_claim(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &PERSISTENT_VOLUME_CLAIMS) {
        let Some((claim, BOUND)) = enters(change) else {
            continue;
        };
        checked = Check::Held;
        let name = volume_name(claim.json());
        for other in ClusterView(world).all(PERSISTENT_VOLUME_CLAIMS.registry) {
            let shares = phase(other.json()) == BOUND && volume_name(other.json()) == name;
            if shares && other.uid() != claim.uid() {
                let (one, two) = (pod_key(other), pod_key(claim));
                let message = format!("{one} and {two} are both bound to {name}");
                return violated("volume", name, message);
            }
        }
    }
    checked
}

fn volumes_that_go_are_not_bound(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &PERSISTENT_VOLUMES) {
        let (Some(before), Some(now)) = (&change.before, &change.now) else {
            continue;
        };
        let is_given =
            claim_ref(before.value.json()).is_none() && claim_ref(now.value.json()).is_some();
        if !is_given {
            continue;
        }
        checked = Check::Held;
        if before.value.is_being_deleted() {
            let name = now.value.name();
            let message = format!("{name} is being deleted, and is given to a claim");
            return violated("volume", name, message);
        }
    }
    checked
}

fn stable(name: &'static str, after: Duration, holds: fn(&World) -> Check) -> Stable {
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

/// All that is stored of a resource.
fn stored(world: &World, registry: &str) -> Vec<Stored> {
    let all = ClusterView(world).all(registry).into_iter();
    all.map(|object| Stored {
        object: object.clone(),
        resource_version: 0,
    })
    .collect()
}

/// Does a scheduler bind the claims of this class?
fn is_delayed(world: &World, class: &str) -> bool {
    let registry = STORAGE_CLASSES.registry;
    let stored = ClusterView(world).get(&format!("{registry}/{class}"));
    stored.is_some_and(|own| own.value.json()["volumeBindingMode"] == "WaitForFirstConsumer")
}

fn claims_find_volumes(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let volumes = stored(world, PERSISTENT_VOLUMES.registry);
    for claim in stored(world, PERSISTENT_VOLUME_CLAIMS.registry) {
        let own = claim.object.json();
        if phase(own) != PENDING || !volume_name(own).is_empty() {
            continue;
        }
        let delayed = is_delayed(world, class_of(own));
        if let Some(fits) = find_best_match_for_claim(&volumes, &claim, delayed, Set::default()) {
            let key = pod_key(&claim.object);
            let message = format!(
                "{key} waits for a volume, and {} fits it",
                fits.object.name()
            );
            return violated("claim", &key, message);
        }
    }
    Check::Held
}

fn claims_and_volumes_agree(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    for volume in ClusterView(world).all(PERSISTENT_VOLUMES.registry) {
        let (own, name) = (volume.json(), volume.name());
        let claim = claim_of(world, own);
        let has = claim.map(|claim| volume_name(claim.json()));
        let is_right = match (claim_uid(own), has) {
            ("", _) => phase(own) == AVAILABLE,
            (_, None) => matches!(phase(own), RELEASED | FAILED),
            (_, Some(has)) => has == name && phase(own) == BOUND,
        };
        if !is_right {
            let of = claim_ref(own).map_or("nobody".into(), claim_key);
            let has = match has {
                None => "is not there".to_owned(),
                Some("") => "has no volume".to_owned(),
                Some(volume) => format!("has {volume}"),
            };
            let message = format!("{name} is {} and for {of}, which {has}", phase(own));
            return violated("volume", name, message);
        }
    }
    for claim in ClusterView(world).all(PERSISTENT_VOLUME_CLAIMS.registry) {
        let own = claim.json();
        let is_its =
            volume_of(world, own).is_some_and(|volume| claim_uid(volume.json()) == claim.uid());
        let said = phase(own);
        if (said == BOUND) != is_its {
            let key = pod_key(claim);
            let its = match is_its {
                true => "is",
                false => "is not",
            };
            let message = format!(
                "{key} is {said}, and its volume `{}` {its} bound to it",
                volume_name(own)
            );
            return violated("claim", &key, message);
        }
    }
    Check::Held
}

/// The volume whose claim is looked up.
fn looks_up(_: &World, note: &Note) -> Option<Subject> {
    let own: &LooksUp = note.body.get()?;
    Some(own.volume.clone())
}

/// A volume concerns its claim, and a claim all volumes of its name and those that it may have.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let of = change.now.as_ref().or(change.before.as_ref());
    let Some(own) = of.map(|kv| &kv.value) else {
        return Vec::new();
    };
    if is_of(change, &PERSISTENT_VOLUMES) {
        let claimed = claim_ref(own.json()).map(claim_key);
        return claimed.into_iter().chain([own.name().into()]).collect();
    }
    if is_of(change, &PERSISTENT_VOLUME_CLAIMS) {
        let volume = json::text(own.json(), &["spec", "volumeName"]);
        return vec![pod_key(own), volume.into()];
    }
    Vec::new()
}

const REST: Rest = Rest {
    property: "binder-is-quiet",
    controller: CONTROLLER,
    kind: "object",
    acts: |on| format!("{on} is written"),
    act: |note| {
        let own: &Acts = note.body.get()?;
        Some(Act {
            on: own.on.clone(),
            name: own.on.clone(),
        })
    },
    concerns,
    // A volume that comes free is for any claim, and a claim may have any.
    follows: |_, _, changed| !changed.is_empty(),
};
