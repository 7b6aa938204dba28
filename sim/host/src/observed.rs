//! What hosted programs tell: each request, its answer, and the ends of their lives.

use std::fmt;
use std::sync::Arc;

use wavetank_api::http::Body;
use wavetank_api::{Method, Request};
use wavetank_engine::{Name, NetError};

use crate::life::Ended;

/// A note: a request is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// Its number in this life.
    pub id: u64,
    /// `PATCH /apis/example.com/v1/namespaces/default/websites/shop0/status`
    pub what: Arc<str>,
    /// Its body as text, if it has one.
    pub with: Option<Arc<str>>,
    /// Does it change anything?
    pub writes: bool,
}

/// A note: what came of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answered {
    /// The request's number.
    pub id: u64,
    /// The request.
    pub what: Arc<str>,
    /// What came.
    pub came: Came,
}

/// What comes of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Came {
    /// An answer with this code, and its message if it is one of failure.
    Code(u16, Arc<str>),
    /// An event of a watch: what kind, of what, at which resourceVersion.
    Event(&'static str, Arc<str>),
    /// A watch ended.
    Closed,
    /// The connection failed.
    Broken(NetError),
}

/// A note: a life of a program begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Began;

/// A note: a program ended by itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exited {
    /// Which: the key of its replicas.
    pub program: Name,
    /// How.
    pub how: Ended,
}

/// A body is told in so many characters.
const SHOWN: usize = 240;

impl Asked {
    /// Of a request.
    pub(crate) fn of(id: u64, request: &Request) -> Asked {
        let text = match &request.body {
            Body::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Body::Empty | Body::Json(_) => None,
        };
        let short = text.map(|text| match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        });
        Asked {
            id,
            what: request.to_string().into(),
            with: short,
            writes: !matches!(request.method, Method::Get | Method::Head | Method::Options),
        }
    }

    /// The object it is about, as `namespace/name`, if it names one.
    pub(crate) fn about(&self) -> Vec<String> {
        let path = self.what.split([' ', '?']).nth(1).unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let Some(at) = parts.iter().position(|part| *part == "namespaces") else {
            return Vec::new();
        };
        match parts[at + 1..] {
            [namespace, _, name, ..] => vec![format!("{namespace}/{name}")],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asks ({}): {}", self.id, self.what)?;
        match &self.with {
            Some(with) => write!(f, " with {with}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answered { id, what, came } = self;
        match came {
            Came::Code(code, text) if text.is_empty() => write!(f, "is answered ({id}): {code}"),
            Came::Code(code, text) => write!(f, "is answered ({id}): {code}, {text}"),
            Came::Event(kind, of) => write!(f, "is told ({id}): {kind} {of}"),
            Came::Closed => write!(f, "its watch is closed ({id}): {what}"),
            Came::Broken(error) => write!(f, "gets no answer ({id}): {error}: {what}"),
        }
    }
}

impl fmt::Display for Exited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            Ended::Returned => f.write_str("ends by itself"),
            Ended::Failed(why) => write!(f, "ends with an error: {why}"),
            Ended::Panicked(why) => write!(f, "panics: {why}"),
        }
    }
}
