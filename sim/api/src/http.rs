//! Requests and answers as on the wire. Who serves them does not belong here.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::json::Json;
use crate::object::{Object, Stored};
use crate::status::Status;

/// An HTTP method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are HTTP's")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

/// Query parameters in the order of the URL, decoded; a name may come more than once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Query(pub Vec<(Arc<str>, Arc<str>)>);

/// What a request carries. Clients inside the world send trees: their text is never made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A tree; the server reads it as the text that it would be.
    Json(Arc<Json>),
    /// What a client sent, well-formed or not.
    Bytes(Arc<[u8]>),
}

/// A header that few requests and answers have: one that has none has the hash that it had before there could be one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header(pub Option<Arc<str>>);

/// By hand: nothing is nothing.
impl Hash for Header {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(value) = &self.0 {
            value.hash(state);
        }
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, `/api/v1/namespaces/default/endpoints/kubernetes`.
    pub path: Arc<str>,
    /// The query.
    pub query: Query,
    /// `Content-Type`
    pub content_type: Option<Arc<str>>,
    /// `Accept`
    pub accept: Option<Arc<str>>,
    /// `User-Agent`; upstream names field managers after it.
    pub user_agent: Arc<str>,
    /// The body.
    pub body: Body,
    /// `If-None-Match`
    pub if_none_match: Header,
}

/// What an answer carries.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Content {
    /// Plain text.
    Text(Arc<str>),
    /// A Status, of failure or (a finished deletion) of success.
    Status(Status),
    /// One object.
    One(Stored),
    /// An object that is not stored: the answer to a dry run, a Scale.
    Tree(Arc<Json>),
    /// A list.
    List(List),
    /// Text of YAML.
    Yaml(Arc<str>),
}

/// A list of objects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct List {
    /// Of what.
    pub of: &'static crate::Resource,
    /// The objects.
    pub items: Vec<Stored>,
    /// `metadata.resourceVersion`
    pub resource_version: wavetank_etcd::Revision,
    /// `metadata.continue`
    pub continues: Option<Arc<str>>,
    /// `metadata.remainingItemCount`
    pub remaining: Option<u64>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// What it carries.
    pub content: Content,
    /// `Warning` headers.
    pub warnings: Vec<Arc<str>>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
    /// `ETag`
    pub e_tag: Header,
    /// `Location`
    pub location: Header,
}

/// What an event of a watch says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WatchKind {
    /// ADDED
    Added,
    /// MODIFIED
    Modified,
    /// DELETED
    Deleted,
    /// BOOKMARK
    Bookmark,
    /// ERROR
    Error,
}

impl WatchKind {
    /// `type` on the wire.
    pub fn name(self) -> &'static str {
        match self {
            WatchKind::Added => "ADDED",
            WatchKind::Modified => "MODIFIED",
            WatchKind::Deleted => "DELETED",
            WatchKind::Bookmark => "BOOKMARK",
            WatchKind::Error => "ERROR",
        }
    }
}

/// An event of a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchEvent {
    /// ADDED, MODIFIED or DELETED.
    Object(WatchKind, Stored),
    /// BOOKMARK: nothing up to this revision is still to come.
    Bookmark {
        /// The revision.
        resource_version: wavetank_etcd::Revision,
        /// Does it end the initial events (`k8s.io/initial-events-end`)?
        initial_events_end: bool,
        /// `kind` and `apiVersion` of the objects watched.
        of: &'static crate::kinds::Resource,
    },
    /// ERROR: the last event.
    Error(Status),
}

/// A part of the answer to a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchPart {
    /// The headers of status 200: events follow.
    Accepted,
    /// Another status; it is the only part.
    Refused(Response),
    /// An event.
    Event(WatchEvent),
    /// The server has closed the stream; the last part.
    Closed,
}

impl WatchEvent {
    /// What it says.
    pub fn kind(&self) -> WatchKind {
        match self {
            WatchEvent::Object(kind, _) => *kind,
            WatchEvent::Bookmark { .. } => WatchKind::Bookmark,
            WatchEvent::Error(_) => WatchKind::Error,
        }
    }

    /// As on the wire: `{"type": …, "object": …}`.
    pub fn json(&self) -> Json {
        let object = match self {
            WatchEvent::Object(_, stored) => stored.json(),
            WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
                of,
            } => {
                let mut object = Object::new(of.bookmark()).json().clone();
                let metadata = crate::json::map_mut(&mut object, &["metadata"]);
                metadata.insert(
                    "resourceVersion".into(),
                    resource_version.to_string().into(),
                );
                if *initial_events_end {
                    let end = serde_json::json!({"k8s.io/initial-events-end": "true"});
                    metadata.insert("annotations".into(), end);
                }
                object
            }
            WatchEvent::Error(status) => status.json(),
        };
        serde_json::json!({"type": self.kind().name(), "object": object})
    }
}

impl Query {
    /// The query of a URL; escapes are decoded.
    pub fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(name).into(), unescape(value).into())
        });
        Query(decoded.collect())
    }

    /// Of these parameters.
    pub fn of(pairs: &[(&str, &str)]) -> Query {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Query(pairs.collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| **found == *name)?;
        Some(&found.1)
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(found, _)| **found == *name);
        named.map(|(_, value)| &**value)
    }
}

fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|h| std::str::from_utf8(h).ok());
        let escaped = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], escaped) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (b'+', _) => {
                out.push(b' ');
                at += 1;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Request {
    /// A request without a body, of a client inside the world.
    pub fn new(method: Method, path: impl Into<Arc<str>>) -> Request {
        Request {
            method,
            path: path.into(),
            query: Query::default(),
            content_type: None,
            accept: None,
            user_agent: "wavetank".into(),
            body: Body::Empty,
            if_none_match: Header::default(),
        }
    }

    /// With this body.
    #[must_use]
    pub fn with(mut self, json: Json) -> Request {
        self.content_type = Some("application/json".into());
        self.body = Body::Json(Arc::new(json));
        self
    }

    /// With these parameters.
    #[must_use]
    pub fn ask(mut self, pairs: &[(&str, &str)]) -> Request {
        self.query = Query::of(pairs);
        self
    }
}

impl fmt::Display for Request {
    /// `GET /api/v1/namespaces/default/configmaps?limit=2`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            format!("{:?}", self.method).to_uppercase(),
            self.path
        )?;
        for (at, (name, value)) in self.query.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl Response {
    /// A Status with its code.
    pub fn status(status: Status) -> Response {
        Response {
            code: status.code,
            retry_after: status.retry_after(),
            content: Content::Status(status),
            warnings: Vec::new(),
            e_tag: Header::default(),
            location: Header::default(),
        }
    }

    /// This, and nothing more.
    pub fn of(code: u16, content: Content) -> Response {
        Response {
            code,
            content,
            warnings: Vec::new(),
            retry_after: None,
            e_tag: Header::default(),
            location: Header::default(),
        }
    }

    /// Plain text.
    pub fn text(code: u16, text: &str) -> Response {
        Response::of(code, Content::Text(text.into()))
    }

    /// `Content-Type`
    pub fn content_type(&self) -> &'static str {
        match &self.content {
            Content::Text(_) => "text/plain; charset=utf-8",
            Content::Yaml(_) => "application/yaml",
            _ => "application/json",
        }
    }

    /// The body as on the wire.
    pub fn json(&self) -> Json {
        match &self.content {
            Content::Text(text) | Content::Yaml(text) => Json::String(text.to_string()),
            Content::Status(status) => status.json(),
            Content::One(stored) => stored.json(),
            Content::Tree(tree) => (**tree).clone(),
            Content::List(list) => list.json(),
        }
    }
}

impl List {
    /// Upstream's `metav1.ListMeta`
    pub fn metadata(&self) -> Json {
        let mut metadata =
            serde_json::json!({"resourceVersion": self.resource_version.to_string()});
        if let Some(token) = &self.continues {
            metadata["continue"] = token.to_string().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        // A list whose items have a schema always says how it goes on.
        if self.of.strategy.custom().is_some() && self.continues.is_none() {
            metadata["continue"] = "".into();
        }
        metadata
    }

    /// As on the wire; items carry neither `kind` nor `apiVersion`.
    pub fn json(&self) -> Json {
        let custom = self.of.strategy.custom();
        let items = self.items.iter().map(|stored| {
            let mut json = stored.json();
            // Items whose type is a schema say what they are.
            if custom.is_none()
                && let Some(map) = json.as_object_mut()
            {
                map.remove("kind");
                map.remove("apiVersion");
            }
            json
        });
        let kind = match custom {
            Some(custom) => custom.list_kind().to_owned(),
            None => format!("{}List", self.of.kind),
        };
        serde_json::json!({
            "kind": kind,
            "apiVersion": self.of.api_version(),
            "metadata": self.metadata(),
            "items": items.collect::<Vec<_>>(),
        })
    }
}
