//! What clients tell, in words, for stories.

use wavetank_engine::drive::story::Description;
use wavetank_engine::{Note, World};
use wavetank_etcd::Revision;

use crate::fifo::StoreKey;
use crate::observed::{
    Call, Changed, Handled, Held, Informing, Listed, NotListed, Ready, Selection, Synced, Trouble,
    WatchBegan, WatchOver, Watched,
};

/// Puts a note of a client with informers into words; `None` for what no story needs.
pub fn describe(world: &World, note: &Note) -> Option<Description> {
    let process = world.name(note.process);
    let told = |informer: u32, text: String, keys: Vec<&StoreKey>| {
        let own = format!("informer {informer} of {process}");
        let keys = keys.into_iter().map(|key| format!("{key} in {own}"));
        let keys: Vec<String> = keys.collect();
        Description {
            text: format!("informer {informer} {text}"),
            about: [vec![own], keys].concat(),
        }
    };
    let body = &note.body;
    if let Some(informing) = body.get::<Informing>() {
        let text = format!("begins: {}", selected(&informing.selection));
        return Some(told(informing.informer, text, vec![]));
    }
    if let Some(listed) = body.get::<Listed>() {
        let how = if listed.streamed {
            "streamed"
        } else {
            "listed"
        };
        let (asked, got, many) = (at(listed.asked), listed.got, listed.items.len());
        let text = format!("has {how} {many} objects {asked}: revision {got}");
        let keys = listed.items.iter().map(|(key, _)| key).collect();
        return Some(told(listed.informer, text, keys));
    }
    if let Some(failed) = body.get::<NotListed>() {
        let (asked, why) = (at(failed.asked), reason_of(&failed.why));
        let text = format!("gets no list {asked}: {why}");
        return Some(told(failed.informer, text, vec![]));
    }
    if let Some(began) = body.get::<WatchBegan>() {
        let text = format!("watches {} at {}", at(began.from), world.name(began.server));
        return Some(told(began.informer, text, vec![]));
    }
    if let Some(over) = body.get::<WatchOver>() {
        let text = match &over.why {
            Some(why) => format!("its watch is over: {}", reason_of(why)),
            None => "its watch is closed".to_owned(),
        };
        return Some(told(over.informer, text, vec![]));
    }
    if let Some(event) = body.get::<Watched>() {
        let (kind, key, revision) = (event.kind.name(), &event.key, event.revision);
        let (of, keys) = match key.is_empty() {
            true => (String::new(), vec![]),
            false => (format!("{key} "), vec![key]),
        };
        let text = format!("gets {kind} {of}of {revision}");
        return Some(told(event.informer, text, keys));
    }
    if let Some(changed) = body.get::<Changed>() {
        let text = changed_words(changed)?;
        let keys = changed.changes.iter().map(|(key, _)| key).collect();
        return Some(told(changed.informer, text, keys));
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
        return Some(told(handled.informer, text, vec![&handled.key]));
    }
    if let Some(held) = body.get::<Held>() {
        let text = if held.held { "is held back" } else { "goes on" };
        return Some(told(held.informer, text.to_owned(), vec![]));
    }
    if let Some(synced) = body.get::<Synced>() {
        let text = "its store is filled".to_owned();
        return Some(told(synced.informer, text, vec![]));
    }
    let ready = body.get::<Ready>()?;
    let all = ready.informers.clone();
    Some(Description {
        text: "begins to work".to_owned(),
        about: all
            .map(|informer| format!("informer {informer} of {process}"))
            .collect(),
    })
}

/// What an informer is about: `configmaps in all namespaces with app in (x)`.
fn selected(selection: &Selection) -> String {
    let Selection {
        resource,
        namespace,
        labels,
    } = selection;
    let place = match namespace.is_empty() {
        true => "all namespaces".to_owned(),
        false => format!("namespace {namespace}"),
    };
    let labels = match labels.text() {
        none if none.is_empty() => String::new(),
        text => format!(" with {text}"),
    };
    format!("{} in {place}{labels}", resource.qualified())
}

/// What a store has, if anything has changed: at most three objects by name.
fn changed_words(changed: &Changed) -> Option<String> {
    let mut parts = changed.changes.iter().map(|(key, now)| match now {
        Some(revision) => format!("{key} of {revision}"),
        None => format!("no {key}"),
    });
    let first: Vec<String> = parts.by_ref().take(3).collect();
    if first.is_empty() {
        return None;
    }
    let more = match parts.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("its store has {}{more}", first.join(", ")))
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
