//! A client of the simulated apiservers, for services on madsim: requests as they are on the wire, and watches.
//!
//! A world whose scenario says `guests: true` serves whatever kind a client asks for; another one serves the kinds that
//! it uses.

use std::io;
use std::sync::Arc;

use serde_json::Value as Json;
use wavetank_api::{Method, Query, Request, Response, WatchPart};
use wavetank_client::HTTPS;
use wavetank_engine::{NetError, Payload, ProcId};

use crate::address;
use crate::cluster::Cluster;
use crate::guest::{Asked, Parts, Visit};

/// A client of one apiserver. Copies share its connection.
#[derive(Clone)]
pub struct Client {
    visit: Arc<Visit>,
    server: ProcId,
}

/// An answer: its code, and its body as JSON (text as a string).
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The body.
    pub body: Json,
}

impl Client {
    /// A client of the apiserver of this name (`a1`), on the node on which this is called.
    ///
    /// # Errors
    /// There is no such process in the cluster that runs on this madsim.
    pub fn new(server: &str) -> io::Result<Client> {
        let cluster = Cluster::current();
        let found = cluster.look(|world| world.find(server));
        let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("no process `{server}`"));
        Ok(Client {
            server: found.ok_or_else(unknown)?,
            visit: Arc::new(Visit::new(&cluster)),
        })
    }

    /// Where the server's node is.
    pub fn address(&self) -> std::net::SocketAddr {
        address(self.server)
    }

    /// Sends a request: `client.request("POST", "/api/v1/namespaces/default/configmaps", Some(body))`.
    ///
    /// # Errors
    /// No answer came. Whether the request had an effect is unknown, unless the connection was refused.
    ///
    /// # Panics
    /// If the method is none of HTTP's.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<Json>,
    ) -> io::Result<Answer> {
        let answer = self.visit.call(self.asked(method, path, body)).await;
        let answer = answer.map_err(failed)?;
        let response = answer.expect::<Response>();
        Ok(Answer {
            code: response.code,
            body: response.json(),
        })
    }

    /// Watches: the events of `GET path?watch=true`.
    pub fn watch(&self, path: &str) -> Events {
        let joined = if path.contains('?') { '&' } else { '?' };
        let asked = self.asked("GET", &format!("{path}{joined}watch=true"), None);
        Events {
            parts: self.visit.follow(asked),
        }
    }

    fn asked(&self, method: &str, path: &str, body: Option<Json>) -> Asked {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut request = Request::new(named(method), path);
        request.query = Query::parse(query);
        request.user_agent = "service".into();
        if let Some(body) = body {
            request = request.with(body);
            if method == "PATCH" {
                request.content_type = Some("application/merge-patch+json".into());
            }
        }
        Asked {
            to: self.server,
            transport: &HTTPS,
            body: Payload::new(request),
        }
    }
}

/// What a watch tells.
pub struct Events {
    parts: Parts,
}

impl Events {
    /// The next event, `{"type": …, "object": …}`; `None` when the server has ended the watch.
    ///
    /// # Errors
    /// The connection broke, or the watch was refused.
    pub async fn next(&mut self) -> io::Result<Option<Json>> {
        loop {
            let part = match self.parts.next().await {
                None => return Ok(None),
                Some(part) => part.map_err(failed)?,
            };
            match part.get::<WatchPart>() {
                Some(WatchPart::Event(event)) => return Ok(Some(event.json())),
                Some(WatchPart::Accepted) => {}
                Some(WatchPart::Closed) => return Ok(None),
                Some(WatchPart::Refused(response)) => return Err(refused(response)),
                // What is no watch is answered like any request.
                None => return Err(refused(part.expect::<Response>())),
            }
        }
    }
}

fn named(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => panic!("`{other}` is no method of HTTP"),
    }
}

fn refused(response: &Response) -> io::Error {
    io::Error::other(format!("{}: {}", response.code, response.json()))
}

fn failed(error: NetError) -> io::Error {
    let kind = match error {
        NetError::Refused => io::ErrorKind::ConnectionRefused,
        NetError::DialTimeout => io::ErrorKind::TimedOut,
        NetError::Reset => io::ErrorKind::ConnectionReset,
        NetError::Cancelled => io::ErrorKind::Interrupted,
    };
    io::Error::new(kind, error)
}
