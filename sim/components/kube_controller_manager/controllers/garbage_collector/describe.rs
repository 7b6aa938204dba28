//! What the collector says, and who owns what is stored, in words.

use serde_json::Value as Json;
use wavetank_api::Object;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::graph::{DELETE_DEPENDENTS, ORPHAN_DEPENDENTS, has_finalizer, owner_references};
use super::notes::{
    Deletes, EndsForeground, EndsOrphaning, Forgets, Monitors, Of, Orphans, Releases,
    TakesFinalizer,
};

fn about(text: String, of: &[&Of]) -> Option<Description> {
    let about = of.iter().map(|of| of.key.to_string()).collect();
    Some(Description { text, about })
}

/// What it says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    if let Some(Monitors(resources)) = body.get() {
        let text = format!("collects garbage among {}", resources.join(", "));
        return about(text, &[]);
    }
    if let Some(Deletes { object, policy }) = body.get() {
        let text = format!("has {} {} deleted ({policy})", object.kind, object.key);
        return about(text, &[object]);
    }
    if let Some(EndsForeground { owner }) = body.get() {
        let text = format!("finds that nobody blocks {} {}", owner.kind, owner.key);
        return about(text, &[owner]);
    }
    if let Some(Orphans { owner, dependents }) = body.get() {
        let count = dependents.len();
        let text = format!("takes {} {} from {count} dependents", owner.kind, owner.key);
        let mut all = vec![owner];
        all.extend(dependents.iter());
        return about(text, &all);
    }
    if let Some(EndsOrphaning { owner }) = body.get() {
        let text = format!(
            "has orphaned the dependents of {} {}",
            owner.kind, owner.key
        );
        return about(text, &[owner]);
    }
    if let Some(Forgets(object)) = body.get() {
        let text = format!("has found that {} {} is gone", object.kind, object.key);
        return about(text, &[object]);
    }
    if let Some(TakesFinalizer { of, is_another }) = body.get() {
        let which = match is_another {
            true => "what has the name of ",
            false => "",
        };
        let text = format!("takes the finalizer from {which}{} {}", of.kind, of.key);
        return about(text, &[of]);
    }
    let Releases { object, owners } = body.get()?;
    let count = owners.len();
    let text = format!("takes {count} owners from {} {}", object.kind, object.key);
    about(text, &[object])
}

/// A ConfigMap that has owners, or waits for its dependents.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(CONFIG_MAPS.registry)?.strip_prefix('/')?;
    let value = value?;
    let object = Object::new(value.clone());
    let mut text = Vec::new();
    if object.is_being_deleted() {
        text.push(match has_finalizer(value, DELETE_DEPENDENTS) {
            true => "being deleted in the foreground".to_owned(),
            false if has_finalizer(value, ORPHAN_DEPENDENTS) => {
                "to leave its dependents".to_owned()
            }
            false => "being deleted".to_owned(),
        });
    }
    let owners = owner_references(value);
    text.extend(owners.iter().map(|owner| {
        let blocks = if owner.blocks() {
            ", which it blocks"
        } else {
            ""
        };
        format!("of {} {} ({}){blocks}", owner.kind, owner.name, owner.uid)
    }));
    if text.is_empty() {
        return None;
    }
    let owners = owners
        .iter()
        .map(|owner| format!("{}/{}", object.namespace(), owner.name));
    Some(Stored {
        text: Some(text.join("; ")),
        about: std::iter::once(name.to_owned()).chain(owners).collect(),
    })
}
