//! Notes of elections in words, whoever elects, and the locks.

use wavetank_api::json::Json;
use wavetank_client::cut_off::CutOff;
use wavetank_client::leader_election::{ElectionNote, Lock, LockKind, OfElection, Record};
use wavetank_component::{Description, Stored};
use wavetank_engine::{Name, Note};

/// What a candidate says, or one that Sieve ends; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(ends) = note.body.get::<CutOff>() {
        return Some(Description {
            text: ends.to_string(),
            about: Vec::new(),
        });
    }
    let OfElection { note, .. } = note.body.get()?;
    let text = match note {
        ElectionNote::Tries | ElectionNote::Holds => return None,
        ElectionNote::Leads {
            identity,
            transitions,
        } => format!("begins to lead as {identity}, after {transitions} others"),
        ElectionNote::Lost => "could not renew its lock in time".to_owned(),
        ElectionNote::Ends => "no longer leads".to_owned(),
        ElectionNote::Releases { .. } => "gives up its lock".to_owned(),
        ElectionNote::Released => "has given up its lock".to_owned(),
        ElectionNote::LeavesToOther => "finds that another has its lock".to_owned(),
        ElectionNote::NotReleased { why, .. } => format!("keeps its lock: {why}"),
        ElectionNote::LeadsTooLong { .. } => "leads, and should not any more".to_owned(),
    };
    Some(Description {
        text,
        about: vec!["leader".to_owned()],
    })
}

/// What the lock of this name says, if this is its key.
pub fn lock(name: Name, key: &str, value: Option<&Json>) -> Option<Stored> {
    let mut kinds = LockKind::ALL.into_iter();
    kinds.find(|kind| *Lock { name, kind: *kind }.key() == *key)?;
    let record = Record::in_object(value?)?;
    let text = match record.holder.is_empty() {
        true => "nobody leads".to_owned(),
        false => format!(
            "{} leads, after {} others",
            record.holder, record.transitions
        ),
    };
    Some(Stored {
        text: Some(text),
        about: vec!["leader".to_owned()],
    })
}
