//! What clients tell, in words, for stories.

use wavetank_engine::drive::story::Description;
use wavetank_engine::{Note, World};
use wavetank_etcd::Revision;

use crate::fifo::StoreKey;
use crate::observed::{
    Call, Changed, Handled, Held, Listed, NotListed, Ready, Synced, Trouble, WatchBegan, WatchOver,
    Watched,
};

/// Puts a note of a client with informers into words; `None` for what no story needs.
pub fn describe(world: &World, note: &Note) -> Option<Description> {
    let body = &note.body;
    if let Some(listed) = body.get::<Listed>() {
        let how = if listed.streamed {
            "streamed"
        } else {
            "listed"
        };
        let (asked, got, many) = (at(listed.asked), listed.got, listed.items.len());
        let text = format!("has {how} {many} objects {asked}: revision {got}");
        return Some(about(listed.informer, text, None));
    }
    if let Some(failed) = body.get::<NotListed>() {
        let (asked, why) = (at(failed.asked), reason_of(&failed.why));
        let text = format!("gets no list {asked}: {why}");
        return Some(about(failed.informer, text, None));
    }
    if let Some(began) = body.get::<WatchBegan>() {
        let text = format!("watches {} at {}", at(began.from), world.name(began.server));
        return Some(about(began.informer, text, None));
    }
    if let Some(over) = body.get::<WatchOver>() {
        let text = match &over.why {
            Some(why) => format!("its watch is over: {}", reason_of(why)),
            None => "its watch is closed".to_owned(),
        };
        return Some(about(over.informer, text, None));
    }
    if let Some(event) = body.get::<Watched>() {
        let text = format!(
            "gets {} {} of {}",
            event.kind.name(),
            event.key,
            event.revision
        );
        return Some(about(event.informer, text, Some(&event.key)));
    }
    if let Some(changed) = body.get::<Changed>() {
        let mut parts = changed.changes.iter().map(|(key, now)| match now {
            Some(revision) => format!("{key} of {revision}"),
            None => format!("no {key}"),
        });
        let first: Vec<String> = parts.by_ref().take(3).collect();
        if first.is_empty() {
            return None;
        }
        let more = parts.count();
        let mut text = format!("its store has {}", first.join(", "));
        if more > 0 {
            text += &format!(" and {more} more");
        }
        let keys = changed.changes.iter().map(|(key, _)| key.to_string());
        return Some(Description {
            text,
            about: keys.collect(),
        });
    }
    if let Some(handled) = body.get::<Handled>() {
        let call = match handled.call {
            Call::Add { initial: true } => "added (initially)",
            Call::Add { initial: false } => "added",
            Call::Update => "updated",
            Call::Delete { unseen: true } => "deleted, which nobody saw",
            Call::Delete { unseen: false } => "deleted",
        };
        let text = format!(
            "handler {} knows {} of {} as {call}",
            handled.handler, handled.key, handled.revision
        );
        return Some(about(handled.informer, text, Some(&handled.key)));
    }
    if let Some(held) = body.get::<Held>() {
        let text = if held.held { "is held back" } else { "goes on" };
        return Some(about(held.informer, text.to_owned(), None));
    }
    if let Some(synced) = body.get::<Synced>() {
        let text = "its store is filled".to_owned();
        return Some(about(synced.informer, text, None));
    }
    body.get::<Ready>()?;
    Some(Description {
        text: "begins to work".to_owned(),
        about: Vec::new(),
    })
}

fn about(informer: u32, text: String, key: Option<&StoreKey>) -> Description {
    Description {
        text: format!("informer {informer} {text}"),
        about: key.map(|key| key.to_string()).into_iter().collect(),
    }
}

fn at(revision: Option<Revision>) -> String {
    match revision {
        Some(revision) => format!("from {revision}"),
        None => "without a revision".to_owned(),
    }
}

fn reason_of(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Status(status) => status.to_string(),
        Trouble::Net(error) => error.to_string(),
        Trouble::Short => "it was very short".to_owned(),
    }
}
