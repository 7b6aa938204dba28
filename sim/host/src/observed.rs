//! What hosted programs tell: each request, its answer, and the ends of their lives.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::{Request, http};
use wavetank_client::cut_off::writes;
use wavetank_components::sieve::path::Path;
use wavetank_engine::{Name, NetError};

use crate::life::Ended;

/// A note: a request is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Its number in this life.
    pub id: u64,
    /// `PATCH /apis/example.com/v1/namespaces/default/websites/shop0/status`
    pub what: Arc<str>,
    /// Its body as text, if it has one.
    pub with: Option<Arc<str>>,
    /// Does it change anything?
    pub writes: bool,
    /// What its body says of the object that it makes or changes.
    pub object: Option<Body>,
}

/// What stands in the body of a write about its object.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Body {
    /// Its name, if it has one.
    pub name: Arc<str>,
    /// What its name is made of, if it is.
    pub generate_name: Arc<str>,
    /// Does it say which object is its controller?
    pub is_owned: bool,
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

/// A note: a replica ends before it hears that this write is done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CutOff {
    /// The request's number.
    pub id: u64,
    /// The request.
    pub what: Arc<str>,
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
            http::Body::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            http::Body::Empty | http::Body::Json(_) => None,
        };
        let writes = writes(request.method);
        let object = text.as_ref().filter(|_| writes);
        let object = object.and_then(|text| Body::of(text));
        let short = text.map(|text| match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        });
        Asked {
            id,
            what: request.to_string().into(),
            with: short,
            writes,
            object,
        }
    }

    /// Its verb, `PATCH`, and its path without what is asked beside.
    pub(crate) fn verb_and_path(&self) -> (&str, &str) {
        let (verb, rest) = self.what.split_once(' ').unwrap_or_default();
        let path = rest.split(['?', ' ']).next().unwrap_or_default();
        (verb, path)
    }

    /// The object it is about, as `namespace/name`, if it names one.
    pub(crate) fn about(&self) -> Vec<String> {
        let path = Path::of(self.verb_and_path().1);
        match (path.namespace, path.name) {
            ("", _) | (_, "") => Vec::new(),
            (namespace, name) => vec![format!("{namespace}/{name}")],
        }
    }
}

impl Body {
    /// A list of changes says nothing of it.
    fn of(text: &str) -> Option<Body> {
        let body: Json = serde_json::from_str(text).ok()?;
        let metadata = body.get("metadata")?;
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().into();
        let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        Some(Body {
            name: text("name"),
            generate_name: text("generateName"),
            is_owned: owners.any(|owner| owner["controller"] == Json::Bool(true)),
        })
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

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CutOff { id, what } = self;
        write!(f, "ends, and does not hear that it is done ({id}): {what}")
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
