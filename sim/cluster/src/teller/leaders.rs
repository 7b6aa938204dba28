//! Notes of elections in words.

use wavetank_api::Object;
use wavetank_client::leader_election::{ElectionNote, LockKind, Record};
use wavetank_engine::Note;
use wavetank_engine::drive::story::Told;
use wavetank_etcd::Change;

/// What a candidate tells; `None` for what no story needs.
pub(super) fn tell(note: &Note) -> Option<Told> {
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
    Some(Told {
        text,
        about: vec!["leader".to_owned()],
    })
}

/// What a lock says after this change, and that it is about who leads.
pub(super) fn lock(change: &Change<Object>) -> Option<(String, String)> {
    let mut kinds = LockKind::ALL.into_iter();
    kinds.find(|kind| kind.key() == change.key)?;
    let record = Record::in_object(change.now.as_ref()?.value.json())?;
    let text = match record.holder.is_empty() {
        true => "nobody leads".to_owned(),
        false => format!(
            "{} leads, after {} others",
            record.holder, record.transitions
        ),
    };
    Some((text, "leader".to_owned()))
}
