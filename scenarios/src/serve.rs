//! A moment of a trace, as clients of its apiservers see it: requests from outside are answered by the servers of the
//! world themselves, on a copy of it, so that looking changes nothing and time stands still.
//!
//! A copy gets a guest (`guest`): a client that sends one request and waits, while the copy goes on in the order of
//! virtual time under usual latencies. A watch is such a request again and again, from where the last one ended. A write
//! is sent in the world itself, which thereby leaves its trace. No network is here.

mod guest;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use wavetank_api::{Method, Query, Request, Resource, Response, WatchEvent, WatchPart};
use wavetank_apiserver::NOBODY_USES;
use wavetank_engine::{Action, Event, Fault, ProcId, Status, World};

use crate::quiet::quietly;
use crate::travel::{Stuck, Travel};

use guest::{ANSWER, Answer, Guest};

/// A server answers a request within so much virtual time, or not at all: its own limit is a minute.
const ANSWERED_WITHIN: Duration = Duration::from_secs(65);
/// After a watch has begun, what its server has for it comes within this.
const SAID_WITHIN: Duration = Duration::from_millis(100);
/// Names that come after those of all processes: of those who write, and, after them, of those who look.
const WRITER: &str = "~writer";
const GUEST: &str = "~~guest";

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The server does not run, or the connection broke: in words.
    Gone(String),
    /// Nobody in the scenario uses this resource, so its servers do not have it.
    Unused(String),
    /// The world came to an end over it: what its panic said.
    Panicked(String),
    /// Time cannot go on.
    Stuck(String),
}

/// A world at which clients look.
#[derive(Clone, Debug)]
pub struct Moment {
    world: World,
}

/// What a watch was told at one moment.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The answer of a server that does not take the watch.
    pub refused: Option<Response>,
    /// The events until now.
    pub events: Vec<WatchEvent>,
    /// As of which revision its server shows the resource: the next look begins there.
    pub revision: u64,
    /// The server has closed it.
    pub is_closed: bool,
}

impl Moment {
    /// This moment of a world.
    pub fn of(world: &World) -> Moment {
        Moment {
            world: world.clone(),
        }
    }

    /// What a server answers.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn ask(&self, server: &str, request: Request) -> Result<Response, Unanswered> {
        let answer = self.answer(server, request, false, |answer| answer.is_over, None)?;
        match (answer.response, answer.broken) {
            (Some(response), _) => Ok(response),
            (None, why) => Err(Unanswered::Gone(match why {
                Some(error) => format!("{server} does not answer: {error}"),
                None => format!("{server} does not answer"),
            })),
        }
    }

    /// What a server tells a watch by now. What it would tell later is left for later: `revision` says as of which
    /// revision it shows the resource.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn watch(
        &self,
        server: &str,
        request: Request,
        revision: u64,
    ) -> Result<Watched, Unanswered> {
        let begun = |answer: &Answer| answer.is_over || answer.has_begun();
        let answer = self.answer(server, request, true, begun, Some(SAID_WITHIN))?;
        if !answer.has_begun() && answer.response.is_none() {
            return Err(Unanswered::Gone(match answer.broken {
                Some(error) => format!("{server} does not answer: {error}"),
                None => format!("{server} does not answer"),
            }));
        }
        let mut watched = Watched {
            refused: answer.response,
            revision,
            ..Watched::default()
        };
        for part in answer.parts {
            match part {
                WatchPart::Accepted => {}
                WatchPart::Refused(response) => watched.refused = Some(response),
                WatchPart::Closed => watched.is_closed = true,
                WatchPart::Event(event) if is_by(&event, revision) => watched.events.push(event),
                WatchPart::Event(_) => {}
            }
        }
        Ok(watched)
    }

    fn answer(
        &self,
        server: &str,
        request: Request,
        watch: bool,
        is_done: impl Fn(&Answer) -> bool,
        more: Option<Duration>,
    ) -> Result<Answer, Unanswered> {
        let mut world = self.world.clone();
        let server = up(&world, server)?;
        let within = |work: &mut dyn FnMut() -> Answer| {
            let done = quietly(|| catch_unwind(AssertUnwindSafe(work)));
            done.map_err(|panic| ended_by(text_of(panic.as_ref())))
        };
        within(&mut || {
            let guest = admit(
                &mut world,
                GUEST,
                Guest::new(server, request.clone(), watch),
            );
            let is_there = |world: &World| is_done(&world.cell(guest, &ANSWER));
            go_on(&mut world, ANSWERED_WITHIN, is_there);
            if let Some(more) = more {
                go_on(&mut world, more, |_| false);
            }
            world.cell(guest, &ANSWER)
        })
    }
}

/// Sends a request that writes, in the world of somebody who travels: it leaves its trace.
///
/// # Errors
/// [`Unanswered`].
pub fn write(
    travel: &mut Travel<'_>,
    number: u32,
    server: &str,
    request: Request,
) -> Result<Response, Unanswered> {
    let id = up(travel.world(), server)?;
    let name = format!("{WRITER}-{number:06}");
    let guest = travel.admit(&name, &Guest::new(id, request, false));
    let start = Action::Fault(Fault::Start { process: name });
    let in_words = |stuck| match stuck {
        Stuck::End => {
            Unanswered::Stuck("the run is over: there is no time left to answer in".to_owned())
        }
        Stuck::Refused(why) => Unanswered::Stuck(why),
    };
    travel.act(&start).map_err(in_words)?;
    let until = travel.world().now() + ANSWERED_WITHIN;
    loop {
        let answer = travel.world().cell(guest, &ANSWER);
        if let Some(response) = answer.response {
            return Ok(response);
        }
        if answer.is_over || travel.world().now() > until {
            return Err(Unanswered::Gone(format!("{server} does not answer")));
        }
        travel.step().map_err(in_words)?;
    }
}

/// Does a request change anything?
pub fn is_write(method: Method) -> bool {
    !matches!(method, Method::Get | Method::Head | Method::Options)
}

/// The request as somebody would send it who takes what the server has, however old: a read without a resourceVersion
/// goes to etcd, or waits until the cache is as new, and so shows nothing of what is stale.
pub fn as_it_is(mut request: Request) -> Request {
    let has = |name: &str| {
        request
            .query
            .get(name)
            .is_some_and(|value| !value.is_empty())
    };
    let is_read = matches!(request.method, Method::Get | Method::Head);
    // `/apis/GROUP/VERSION` lists what there is.
    let parts = request.path.trim_matches('/').split('/').count();
    let is_custom = request.path.starts_with("/apis/") && parts > 3;
    let is_of_resource = is_custom || Resource::at_path(&request.path).is_some();
    let goes_on = has("continue") || has("resourceVersionMatch");
    if is_read && is_of_resource && !goes_on && !has("resourceVersion") {
        request.query = with(&request.query, "resourceVersion", "0");
    }
    request
}

/// A query with this value of a parameter, and no other of it.
pub fn with(query: &Query, name: &str, value: &str) -> Query {
    let others = query.0.iter().filter(|(own, _)| **own != *name);
    let own = (name.into(), value.into());
    Query(others.cloned().chain([own]).collect())
}

fn up(world: &World, server: &str) -> Result<ProcId, Unanswered> {
    let gone = |why: &str| Unanswered::Gone(format!("{server} {why} at this moment"));
    let process = world.find(server).ok_or_else(|| gone("is not there"))?;
    match world.status(process) {
        Status::Up => Ok(process),
        _ => Err(gone("is down")),
    }
}

fn admit(world: &mut World, name: &str, guest: Guest) -> ProcId {
    let id = world.join(name, guest);
    let start = Action::Fault(Fault::Start {
        process: name.to_owned(),
    });
    let applied = world.apply(world.now(), Event::Act(&start), &mut |sent| sent.nominal);
    applied.expect("it is there");
    id
}

/// In the order of virtual time, until this is so or so much time is over.
fn go_on(world: &mut World, within: Duration, is_done: impl Fn(&World) -> bool) {
    let until = world.now() + within;
    while !is_done(world) {
        let Some(entry) = world.next_entry().copied() else {
            return;
        };
        if entry.at > until {
            return;
        }
        let applied = world.apply(entry.at, entry.usual(), &mut |sent| sent.nominal);
        applied.expect("it is pending");
    }
}

/// Has it happened by this revision? Bookmarks come when time goes on; that which ends the initial events belongs to them.
fn is_by(event: &WatchEvent, revision: u64) -> bool {
    match event {
        WatchEvent::Object(_, stored) => stored.resource_version <= revision,
        WatchEvent::Bookmark {
            initial_events_end, ..
        } => *initial_events_end,
        WatchEvent::Error(_) => true,
    }
}

/// Why there is no answer from a world that a panic has ended.
fn ended_by(said: String) -> Unanswered {
    let unused = said.split_once(NOBODY_USES).map(|(resource, _)| resource);
    match unused {
        Some(resource) => Unanswered::Unused(resource.trim_matches(['`', ' ']).to_owned()),
        None => Unanswered::Panicked(said),
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_is_told_from_what_goes_wrong() {
        let unused = ended_by(format!(
            "`deployments.apps` {NOBODY_USES} (`Component::uses`)"
        ));
        assert_eq!(unused, Unanswered::Unused("deployments.apps".to_owned()));
        let other = ended_by("index out of bounds".to_owned());
        assert_eq!(
            other,
            Unanswered::Panicked("index out of bounds".to_owned())
        );
    }

    #[test]
    fn who_asks_for_no_revision_gets_what_there_is() {
        let asked = |path: &str, pairs: &[(&str, &str)]| {
            let request = as_it_is(Request::new(Method::Get, path).ask(pairs));
            request.query.get("resourceVersion").map(str::to_owned)
        };
        let services = "/api/v1/services";
        assert_eq!(asked(services, &[("limit", "500")]).as_deref(), Some("0"));
        assert_eq!(
            asked(services, &[("resourceVersion", "7")]).as_deref(),
            Some("7")
        );
        assert_eq!(asked(services, &[("continue", "x")]), None);
        assert_eq!(asked("/api/v1", &[]), None);
        assert_eq!(asked("/version", &[]), None);
        assert_eq!(asked("/apis/a.example/v1", &[]), None);
        assert_eq!(
            asked("/apis/a.example/v1/things", &[]).as_deref(),
            Some("0")
        );
        let post = Request::new(Method::Post, services);
        assert_eq!(as_it_is(post).query.get("resourceVersion"), None);
    }
}
