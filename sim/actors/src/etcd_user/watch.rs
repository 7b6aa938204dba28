//! One watch, kept over streams and members as clientv3 keeps it (`client/v3/watch.go`
//! `serveSubstream`): it goes on one after the last revision that it knows it has.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_engine::{Either, Outcome, Payload, ProcId, Rx, Stream, Task};
use wavetank_etcd::observed::{CallId, ProgressAsked, Unwatched, Watched, Watching};
use wavetank_etcd::{
    Filters, Keys, Revision, Value, WatchId, WatchPart, WatchRequest, WatchResponse, WatchStart,
};

use super::operate::key;
use super::{Config, Dice, KNOWN, Known, WATCH, numbered};

/// A quiet watch asks for progress.
const ASK_PROGRESS_AFTER: Duration = Duration::from_secs(2);
/// Also while so many messages come for others on its stream.
const ASK_PROGRESS_AMONG: u32 = 20;
/// A stream that fails is opened again (clientv3 waits up to 100 ms for each attempt).
const REOPEN_AFTER: Duration = Duration::from_millis(100);

/// Where a watch is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Watch {
    me: ProcId,
    /// What it watches; `None` before that is drawn.
    on: Option<On>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct On {
    id: CallId,
    start: WatchStart,
    /// How it is opened, if that is not to be drawn.
    way: Option<Way>,
    /// The revision to go on with; 0: not known yet.
    next: Revision,
    /// It was opened before.
    resumed: bool,
    stream: Option<Stream>,
    /// Its number on the stream, after those of the others there.
    number: WatchId,
    /// So many messages came for others since the last one of its own.
    others: u32,
}

/// How a stream is opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Way {
    /// At this member, or at any.
    member: Option<usize>,
    require_leader: bool,
    /// So many other watches are on the same stream, that nobody tells of: they share its buffers.
    company: u32,
    /// As kube-apiserver's watch cache may, before the watch has caught up.
    asks_progress: bool,
}

/// What a client is told to watch: all keys with a prefix, from a revision on.
pub(super) struct Directed {
    start: WatchStart,
    way: Way,
}

impl Directed {
    pub fn read(args: &Json) -> Result<Directed, String> {
        let number = |name: &str| match &args[name] {
            Json::Null => Ok(None),
            value => value
                .as_u64()
                .ok_or(format!("`{name}` is no number"))
                .map(Some),
        };
        let prefix = args["prefix"].as_str();
        let prefix = prefix.ok_or("`prefix` is no prefix of keys")?;
        let from = number("from")?.unwrap_or(0);
        Ok(Directed {
            start: WatchStart {
                prev_kv: true,
                ..WatchStart::of(Keys::prefix(prefix), from)
            },
            way: Way {
                member: number("member")?.map(|member| member as usize),
                require_leader: false,
                company: number("company")?.unwrap_or(0) as u32,
                asks_progress: args["asks-progress"] == true,
            },
        })
    }
}

impl Watch {
    pub fn new(me: ProcId) -> Watch {
        Watch { me, on: None }
    }

    pub fn directed(me: ProcId, id: CallId, wanted: Directed) -> Watch {
        let on = On {
            id,
            next: wanted.start.revision,
            start: wanted.start,
            way: Some(wanted.way),
            resumed: false,
            stream: None,
            number: WatchId(0),
            others: 0,
        };
        Watch { me, on: Some(on) }
    }
}

/// One turn of the loop: opens a stream, or takes one message.
pub(super) async fn turn<V: Value>(rx: Rx, config: Arc<Config<V>>, watch: Watch) -> Outcome {
    let me = watch.me;
    let on = match watch.on {
        None => Some(begin::<V>(rx, me).await),
        Some(on) => match on.stream {
            None => Some(open(rx, &config, on).await),
            Some(stream) => take::<V>(rx, on, stream).await,
        },
    };
    Outcome::Become(Task::new(WATCH, Watch { me, on }))
}

/// Draws what to watch.
async fn begin<V: Value>(rx: Rx, me: ProcId) -> On {
    let mut dice = Dice::throw(rx).await;
    let Known {
        revision,
        compacted,
        ..
    } = rx.read(&KNOWN);
    let keys = match dice.pick(3) {
        0 => Keys::one(key(dice.pick(3))),
        // Nobody writes there: only notifications tell how far it is.
        1 => Keys::one("/quiet"),
        _ => Keys::prefix("/user/"),
    };
    let from = match dice.pick(5) {
        0 => 0,
        1 => revision + 1 + dice.pick(8),
        // The oldest that there is.
        2 => compacted,
        _ => revision.saturating_sub(dice.pick(10)),
    };
    let filters = Filters {
        no_put: dice.once_in(8),
        no_delete: dice.once_in(8),
    };
    On {
        id: numbered::<V>(rx, me),
        start: WatchStart {
            prev_kv: dice.once_in(2),
            progress_notify: dice.once_in(2),
            filters,
            ..WatchStart::of(keys, from)
        },
        way: None,
        next: from,
        resumed: false,
        stream: None,
        number: WatchId(0),
        others: 0,
    }
}

async fn open<V: Value>(rx: Rx, config: &Config<V>, on: On) -> On {
    if on.resumed {
        rx.sleep(REOPEN_AFTER).await;
    }
    let members = config.members.len() as u64;
    let way = match on.way {
        Some(way) => way,
        None => drawn(rx, members).await,
    };
    let member = match way.member {
        Some(member) => member,
        None => rx.choose(members).await as usize,
    };
    let client = config.client(member);
    let stream = client.watch_stream::<V>(rx, way.require_leader);
    let start = WatchStart {
        revision: on.next,
        ..on.start.clone()
    };
    for _ in 0..way.company {
        let other = WatchStart::of(Keys::prefix("/user/"), on.next);
        rx.send(stream, Payload::new(WatchRequest::Create(other)));
    }
    rx.note(Watching {
        watch: on.id,
        start: start.clone(),
        resumed: on.resumed,
    });
    rx.send(stream, Payload::new(WatchRequest::Create(start)));
    if way.asks_progress {
        ask_progress(rx, &on, stream);
    }
    On {
        resumed: true,
        stream: Some(stream),
        number: WatchId(way.company),
        ..on
    }
}

async fn drawn(rx: Rx, members: u64) -> Way {
    let mut dice = Dice::throw(rx).await;
    Way {
        member: Some(dice.pick(members) as usize),
        require_leader: dice.once_in(2),
        company: dice.pick(4) as u32,
        asks_progress: dice.once_in(4),
    }
}

fn ask_progress(rx: Rx, on: &On, stream: Stream) {
    rx.send(stream, Payload::new(WatchRequest::Progress));
    rx.note(ProgressAsked { watch: on.id });
}

/// Takes the next message. `None`: the watch is over.
async fn take<V: Value>(rx: Rx, on: On, stream: Stream) -> Option<On> {
    let part = match rx
        .select(rx.next(stream), rx.sleep(ASK_PROGRESS_AFTER))
        .await
    {
        Either::Left(part) => part,
        Either::Right(()) => {
            ask_progress(rx, &on, stream);
            return Some(On {
                stream: Some(stream),
                ..on
            });
        }
    };
    let reopen = |on| {
        rx.close_stream(stream);
        Some(On { stream: None, ..on })
    };
    let Ok(Some(part)) = part else {
        return reopen(on);
    };
    let WatchPart::Message(response) = part.expect::<WatchPart<V>>() else {
        return reopen(on);
    };
    if let Some(other) = response.id.filter(|id| *id != on.number) {
        if response.compact_revision > 0 {
            rx.send(stream, Payload::new(WatchRequest::Cancel(other)));
        }
        let others = (on.others + 1) % ASK_PROGRESS_AMONG;
        if others == 0 {
            ask_progress(rx, &on, stream);
        }
        return Some(On { others, ..on });
    }
    rx.note(Watched {
        watch: on.id,
        response: response.clone(),
    });
    if response.canceled {
        rx.note(Unwatched {
            watch: on.id,
            compacted: response.compact_revision,
        });
        rx.close_stream(stream);
        return None;
    }
    let next = goes_on_with(&on, response);
    if on.way.is_none() {
        let mut dice = Dice::throw(rx).await;
        if dice.once_in(60) {
            // A client that is slow to read: the member's buffers fill.
            rx.sleep(Duration::from_secs(1 + dice.pick(20))).await;
        }
    }
    Some(On {
        next,
        others: 0,
        ..on
    })
}

/// The revision with which a resumption would begin after this message.
fn goes_on_with<V: Value>(on: &On, response: &WatchResponse<V>) -> Revision {
    match response.events.last() {
        Some(event) if !response.fragment => event.revision + 1,
        Some(_) => on.next,
        None if response.created && on.next != 0 => on.next,
        None => on.next.max(response.revision + 1),
    }
}
