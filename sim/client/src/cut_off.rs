//! What becomes of the writes of a process that is watched as Sieve watches controllers (Sun et al., "Automatic Reliability
//! Testing for Cluster Management Controllers", OSDI 2022): each is told, and one may be its last. Who is watched
//! [`RestClient::watched`](crate::RestClient::watched) says; when a process is to end is decided elsewhere.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::http::{Body, Method};
use wavetank_api::{Request, json};
use wavetank_engine::{Cell, Rx};

/// A note: a write is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wrote {
    /// How.
    pub method: Method,
    /// The path of the request.
    pub path: Arc<str>,
    /// The name that stands in its body.
    pub name: Arc<str>,
    /// What the name is made of, if that stands there.
    pub generate_name: Arc<str>,
}

/// A note: a process ends before it hears that this write is done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CutOff {
    /// `PUT /api/v1/namespaces/default/services/web/status`
    pub what: Arc<str>,
}

impl fmt::Display for CutOff {
    /// For stories.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ends before it hears that its {} is done", self.what)
    }
}

/// The process ends when so many more of its writes are done.
static ENDS_AFTER: Cell<Option<u32>> = Cell::new("ends-after");

/// This process ends right after so many more of its writes, unless the last of them comes later than that.
pub async fn end_after(rx: Rx, writes: u32, lapses: Duration) {
    rx.update(&ENDS_AFTER, |left| *left = Some(writes));
    rx.sleep(lapses).await;
    rx.update(&ENDS_AFTER, |left| *left = None);
}

/// Does it change anything?
pub fn writes(method: Method) -> bool {
    !matches!(method, Method::Get | Method::Head | Method::Options)
}

/// Leases and Events: what programs write beside their work.
pub fn is_housekeeping(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| ["leases", "events"].contains(&part))
}

/// Is it a write that counts? Whoever renews a lease or tells of an event is not in the middle of anything.
pub fn counts(request: &Request) -> bool {
    writes(request.method) && !is_housekeeping(&request.path)
}

/// A write of a process that is watched is about to be sent.
pub(crate) fn tell(rx: Rx, request: &Request) {
    let of_body = |field| match &request.body {
        Body::Json(body) => json::text(body, &["metadata", field]).into(),
        Body::Empty | Body::Bytes(_) => Arc::default(),
    };
    rx.note(Wrote {
        method: request.method,
        path: request.path.clone(),
        name: of_body("name"),
        generate_name: of_body("generateName"),
    });
}

/// A write of a process that is watched is done: it may end here, and then nothing of it goes on.
pub(crate) async fn done(rx: Rx, request: &Request) {
    let ends = rx.update(&ENDS_AFTER, |left| {
        *left = left.map(|left| left.saturating_sub(1));
        *left == Some(0)
    });
    if ends {
        let what = request.to_string().into();
        rx.note(CutOff { what });
        rx.restart();
        std::future::pending::<()>().await;
    }
}
