//! The page from which time is told how to go, and what it asks for.
//!
//! `GET /state` says where time is. `POST /next?events=N`, `/back?events=N`, `/goto?to=EVENT|TIME` and `/speed?x=N` move
//! it. A request that moves carries the header `X-Wavetank`, and names this machine as its host: so no page of another
//! origin can send one.

use serde_json::{Value as Json, json};
use tiny_http::{Method, StatusCode};
use wavetank_api::Query;

use crate::explain::page::filled;
use crate::travel::Stuck;

use super::http::{header, is_local};
use super::stage::{Act, Stage};
use super::{moment, speed};
use crate::cli::shell::shown;

const PAGE: &str = include_str!("../../../page/control.html");
const STYLE: &str = include_str!("../../../page/page.css");

pub(super) fn answer(stage: &Stage<'_>, servers: &[(String, u16)], request: tiny_http::Request) {
    let (code, kind, text) = match answered(stage, servers, &request) {
        Ok(Answer::Page(text)) => (200, "text/html; charset=utf-8", text),
        Ok(Answer::State(state)) => (200, "application/json", state.to_string()),
        Err((code, wrong)) => (
            code,
            "application/json",
            json!({"wrong": wrong}).to_string(),
        ),
    };
    let answer = tiny_http::Response::from_data(text.into_bytes())
        .with_status_code(StatusCode(code))
        .with_header(header("Content-Type", kind))
        .with_header(header("Cache-Control", "no-store"))
        .with_header(header("X-Frame-Options", "DENY"));
    // Whoever has gone does not miss it.
    let _ = request.respond(answer);
}

enum Answer {
    Page(String),
    State(Json),
}

fn answered(
    stage: &Stage<'_>,
    servers: &[(String, u16)],
    request: &tiny_http::Request,
) -> Result<Answer, (u16, String)> {
    let value = |name: &'static str| {
        let mut all = request.headers().iter();
        let found = all.find(|own| own.field.equiv(name));
        found.map(|own| own.value.as_str())
    };
    if !is_local(request) {
        return Err((
            403,
            "the host of the request is not this machine".to_owned(),
        ));
    }
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
    let query = Query::parse(query);
    match (request.method(), path) {
        (Method::Get, "/") => Ok(Answer::Page(filled(PAGE, &[("style", STYLE)]))),
        (Method::Get, "/state") => Ok(Answer::State(state(&stage.lock(), servers))),
        (Method::Post, _) if value("X-Wavetank").is_none() => Err((
            403,
            "a request that moves time has the header X-Wavetank".to_owned(),
        )),
        (Method::Post, path) => {
            let mut act = stage.lock();
            let moved = act.move_time(path, &query);
            let state = state(&act, servers);
            stage.moved(act);
            moved
                .map(|()| Answer::State(state))
                .map_err(|wrong| (400, wrong))
        }
        _ => Err((
            404,
            format!("there is no {path}; there are /, /state, /next, /back, /goto, /speed"),
        )),
    }
}

impl Act<'_> {
    fn move_time(&mut self, path: &str, query: &Query) -> Result<(), String> {
        let events = || {
            let text = query.get("events").unwrap_or("1");
            let events = text.parse().ok();
            events.ok_or_else(|| format!("`{text}` is no number of events"))
        };
        match path {
            "/next" => {
                for _ in 0..events()? {
                    match self.travel.step() {
                        Ok(_) => {}
                        Err(Stuck::End) => break,
                        Err(Stuck::Refused(why)) => return Err(why),
                    }
                }
            }
            "/back" => self.goto(self.travel.at().saturating_sub(events()?))?,
            "/goto" => {
                let to = match query.get("to").unwrap_or_default() {
                    "end" => self.travel.len(),
                    text => moment(&self.travel, text)?.0,
                };
                self.goto(to)?;
            }
            "/speed" => self.speed = speed(query.get("x").unwrap_or_default())?,
            other => {
                return Err(format!(
                    "there is no {other}; there are /next, /back, /goto, /speed"
                ));
            }
        }
        self.halted = None;
        Ok(())
    }

    fn goto(&mut self, events: usize) -> Result<(), String> {
        self.travel.goto(events).map_err(|stuck| match stuck {
            Stuck::End => "the end is reached".to_owned(),
            Stuck::Refused(why) => why,
        })
    }
}

fn state(act: &Act<'_>, servers: &[(String, u16)]) -> Json {
    let (travel, head) = (&act.travel, &act.travel.trace().head);
    let world = travel.world();
    let status = |name: &str| {
        let process = world.find(name);
        process.map_or("gone".to_owned(), |own| {
            format!("{:?}", world.status(own)).to_lowercase()
        })
    };
    let servers = servers.iter();
    let servers = servers.map(|(name, port)| json!([name, port, status(name)]));
    json!({
        "what": format!("{}, seed {}", head.case, head.seed),
        "event": travel.at(),
        "events": travel.len(),
        "now": world.now().to_string(),
        "left": travel.left_at(),
        "speed": act.speed,
        "halted": act.halted,
        "last": travel.last().map(shown).unwrap_or_default(),
        "servers": servers.collect::<Vec<_>>(),
    })
}
