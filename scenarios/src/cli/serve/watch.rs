//! One request to an apiserver; a watch lasts, and tells what each further moment brings.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wavetank_api::{Method, Reason, Request, Resource, Response, Status, WatchEvent};
use wavetank_component::Holds;

use crate::serve::{Moment, Unanswered, as_it_is, is_write, with, write};
use crate::stopwatch::Stopwatch;

use super::ServeArgs;
use super::http::{is_local, request, respond};
use super::stage::Stage;

/// A watch that says nothing of it lasts so long (`--min-request-timeout` upstream).
const LASTS: Duration = Duration::from_secs(1_800);

pub(super) fn answer(
    stage: &Stage<'_>,
    server: &str,
    args: &ServeArgs,
    stop: &AtomicBool,
    mut from: tiny_http::Request,
) {
    if !is_local(&from) {
        let message = "the host of the request is not this machine";
        return respond(
            from,
            &Response::status(Status::of(Reason::Forbidden, message)),
        );
    }
    let request = match request(&mut from) {
        Ok(request) => request,
        Err(status) => return respond(from, &Response::status(status)),
    };
    if is_write(request.method) {
        let response = match args.writes {
            true => written(stage, server, request),
            false => refused(),
        };
        return respond(from, &response);
    }
    let is_on = |name: &str| matches!(request.query.get(name), Some("true" | "1"));
    if request.method == Method::Get && is_on("watch") {
        return last(stage, server, request, stop, from);
    }
    let request = match args.consistent {
        true => request,
        false => as_it_is(request),
    };
    let moment = Moment::of(stage.lock().travel.world());
    let response = moment.ask(server, request).unwrap_or_else(unanswered);
    respond(from, &response);
}

fn refused() -> Response {
    let message = "time stands still here, and nothing is written; `serve --writes` lets writes in";
    Response::status(Status::of(Reason::MethodNotAllowed, message))
}

fn written(stage: &Stage<'_>, server: &str, request: Request) -> Response {
    let mut act = stage.lock();
    // A copy tells first whether the world comes to an end over it.
    let tried = Moment::of(act.travel.world()).ask(server, request.clone());
    if let Err(why @ (Unanswered::Unused(_) | Unanswered::Panicked(_))) = tried {
        return unanswered(why);
    }
    act.writes += 1;
    let number = act.writes;
    let response = write(&mut act.travel, number, server, request);
    // Time may go on: the world is on its own way now.
    act.halted = None;
    stage.moved(act);
    response.unwrap_or_else(unanswered)
}

/// Why a server does not answer, as a Status: whoever gets it shows its message.
fn unanswered(why: Unanswered) -> Response {
    let (reason, message) = match why {
        Unanswered::Gone(why) => (Reason::ServiceUnavailable, why),
        Unanswered::Stuck(why) => (Reason::ServiceUnavailable, why),
        Unanswered::Unused(resource) => (
            Reason::NotFound,
            format!(
                "nobody in this scenario uses {resource}, so its apiservers do not have them; with `guests: true` in \
                 the topology of a scenario file they have everything"
            ),
        ),
        Unanswered::Panicked(why) => (
            Reason::InternalError,
            format!("Wavetank has a mistake, over which its apiserver came to an end: {why}"),
        ),
    };
    Response::status(Status::of(reason, message))
}

/// A watch: what there is until now, and then what each moment brings.
fn last(
    stage: &Stage<'_>,
    server: &str,
    mut request: Request,
    stop: &AtomicBool,
    from: tiny_http::Request,
) {
    let lasts = request
        .query
        .get("timeoutSeconds")
        .and_then(|text| text.parse().ok());
    let lasts = lasts
        .filter(|seconds| *seconds > 0)
        .map_or(LASTS, Duration::from_secs);
    let watch = Stopwatch::start();
    let (mut moment, mut version, mut revision) = stage.glimpse(server, &request.path);
    let asked = request.query.get("resourceVersion");
    let mut since: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(0);
    let first = match moment.watch(server, request.clone(), revision) {
        Err(why) => return respond(from, &unanswered(why)),
        Ok(first) => first,
    };
    if let Some(refused) = &first.refused {
        return respond(from, refused);
    }
    let Ok(mut out) = Chunks::begin(from) else {
        return;
    };
    let mut headers_shown = false;
    let mut told = first;
    loop {
        for event in &told.events {
            if out.event(event, &mut headers_shown).is_err() {
                return;
            }
        }
        if told.is_closed {
            break;
        }
        since = since.max(revision);
        for name in ["sendInitialEvents", "resourceVersionMatch"] {
            request.query.0.retain(|(own, _)| **own != *name);
        }
        request.query = with(&request.query, "resourceVersion", &since.to_string());
        let (before, mut now) = (version, revision);
        while version == before {
            if stop.load(Ordering::Relaxed) || watch.elapsed() >= lasts {
                out.end();
                return;
            }
            stage.wait(before);
            (moment, version, now) = stage.glimpse(server, &request.path);
        }
        // Who went back in time has to look anew.
        if now < revision {
            break;
        }
        if now == revision {
            told.events.clear();
            continue;
        }
        match moment.watch(server, request.clone(), now) {
            Ok(next) if next.refused.is_none() => told = next,
            _ => break,
        }
        revision = now;
    }
    out.end();
}

impl Stage<'_> {
    /// The moment, its version, and as of which revision a server shows what is under a path: its cache, or without one
    /// what is stored.
    fn glimpse(&self, server: &str, path: &str) -> (Moment, u64, u64) {
        let act = self.lock();
        let world = act.travel.world();
        let own = world.find(server).map(|process| act.travel.views(process));
        let mut cached = own.into_iter().flatten().filter(|view| {
            let is_of = |resource: &Resource| is_under(path, resource);
            view.holds == Holds::Served && view.resource.is_some_and(is_of)
        });
        let revision = cached.next().map(|view| view.revision);
        let revision = revision.unwrap_or_else(|| {
            let all = world.processes();
            let all = all.flat_map(|process| act.travel.views(process));
            let stored = all.filter(|view| view.holds == Holds::Stored);
            stored.map(|view| view.revision).max().unwrap_or(0)
        });
        (Moment::of(world), act.version, revision)
    }
}

/// Is a path one of this resource, in whichever version?
fn is_under(path: &str, resource: &Resource) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next() {
        Some("api") => "",
        _ => parts.next().unwrap_or_default(),
    };
    let _version = parts.next();
    let rest: Vec<&str> = parts.collect();
    let plural = match rest[..] {
        ["namespaces", _, plural, ..] => plural,
        [plural, ..] => plural,
        [] => return false,
    };
    (group, plural) == (resource.group, resource.plural)
}

/// An answer in parts (`Transfer-Encoding: chunked`), each sent at once.
struct Chunks(Box<dyn Write + Send>);

impl Chunks {
    fn event(&mut self, event: &WatchEvent, headers_shown: &mut bool) -> io::Result<()> {
        let mut json = event.json();
        // The columns of a table are shown once in a watch.
        if let Some(columns) = json.pointer_mut("/object/columnDefinitions") {
            if *headers_shown {
                columns.take();
            }
            *headers_shown = true;
        }
        let text = format!("{json}\n");
        write!(self.0, "{:x}\r\n{text}\r\n", text.len())?;
        self.0.flush()
    }

    /// The head of the answer: events follow.
    fn begin(from: tiny_http::Request) -> io::Result<Chunks> {
        let mut writer = from.into_writer();
        writer.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-cache, private\r\n\
              Transfer-Encoding: chunked\r\n\r\n",
        )?;
        writer.flush()?;
        Ok(Chunks(writer))
    }

    fn end(&mut self) {
        // Whoever has gone does not miss it.
        let _ = self.0.write_all(b"0\r\n\r\n");
        let _ = self.0.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_api::kinds::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES};

    #[test]
    fn a_path_is_of_its_resource() {
        assert!(is_under("/api/v1/configmaps", &CONFIG_MAPS));
        assert!(is_under(
            "/api/v1/namespaces/default/configmaps",
            &CONFIG_MAPS
        ));
        assert!(is_under("/api/v1/namespaces", &NAMESPACES));
        assert!(is_under(
            "/apis/apps/v1/namespaces/x/deployments",
            &DEPLOYMENTS
        ));
        assert!(!is_under(
            "/apis/other/v1/namespaces/x/deployments",
            &DEPLOYMENTS
        ));
        assert!(!is_under("/apis/apps/v1", &DEPLOYMENTS));
    }
}
