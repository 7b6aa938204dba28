//! Notes of elections in words.

use wavetank_api::json::Json;
use wavetank_client::leader_election::{ElectionNote, LockKind, Record};
use wavetank_component::Description;
use wavetank_engine::Note;

/// What a candidate tells; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let text = match note.body.get::<ElectionNote>()? {
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

/// What a lock says, if this is the key of one.
pub(super) fn lock(key: &str, value: &Json) -> Option<String> {
    let mut kinds = LockKind::ALL.into_iter();
    kinds.find(|kind| *kind.key() == *key)?;
    let record = Record::in_object(value)?;
    Some(match record.holder.is_empty() {
        true => "nobody leads".to_owned(),
        false => format!(
            "{} leads, after {} others",
            record.holder, record.transitions
        ),
    })
}
