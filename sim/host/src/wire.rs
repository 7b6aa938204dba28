//! Between a program's `kube::Client` and the simulated network: requests are written down, and answers wait until the
//! program looks. Who carries them is in `process.rs`.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::BoxError;
use tower_service::Service;
use wavetank_api::Request;

use crate::http::{self, Head};

/// What a program wants of the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Outgoing {
    /// A request, by its number.
    Ask(u64, Request),
    /// It no longer waits for the answer, or for more of it.
    Forget(u64),
}

/// What comes of a request, in this order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Incoming {
    /// The answer begins.
    Head(Head),
    /// Some of its body.
    Bytes(Bytes),
    /// That was all.
    End,
    /// The connection failed.
    Broken(io::ErrorKind),
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    out: VecDeque<Outgoing>,
    open: BTreeMap<u64, UnboundedSender<Incoming>>,
}

/// The transport of a client, as a service of tower: `Client::new(wire, "default")` of any kube that is about as old as its
/// version 0.88 or younger.
#[derive(Clone, Debug, Default)]
pub struct Wire(Arc<Mutex<State>>);

impl Wire {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// What the program wants since it was asked last.
    pub(crate) fn take(&self) -> Vec<Outgoing> {
        self.state().out.drain(..).collect()
    }

    /// Does the program still wait for this answer?
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.state().open.contains_key(&id)
    }

    /// Something of an answer has come.
    pub(crate) fn deliver(&self, id: u64, incoming: Incoming) {
        let mut state = self.state();
        let Some(sender) = state.open.get(&id).cloned() else {
            return;
        };
        if matches!(incoming, Incoming::End | Incoming::Broken(_)) {
            state.open.remove(&id);
        }
        drop(state);
        // Whoever waited may have gone in this very turn.
        let _ = sender.send(incoming);
    }

    fn ask(&self, request: Request) -> Answer {
        let (sender, receiver) = unbounded_channel();
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.open.insert(id, sender);
        state.out.push_back(Outgoing::Ask(id, request));
        let wire = self.clone();
        Answer { id, wire, receiver }
    }

    fn forget(&self, id: u64) {
        let mut state = self.state();
        if state.open.remove(&id).is_some() {
            state.out.push_back(Outgoing::Forget(id));
        }
    }
}

/// An answer that is under way: also its body.
#[derive(Debug)]
pub struct Answer {
    id: u64,
    wire: Wire,
    receiver: UnboundedReceiver<Incoming>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.wire.forget(self.id);
    }
}

fn broken(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, kind.to_string())
}

impl Answer {
    async fn head(mut self) -> io::Result<::http::Response<Answer>> {
        match self.receiver.recv().await {
            Some(Incoming::Head(head)) => Ok(head.response(self)),
            Some(Incoming::Broken(kind)) => Err(broken(kind)),
            other => unreachable!("before the head: {other:?}"),
        }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.receiver.poll_recv(cx).map(|incoming| match incoming {
            Some(Incoming::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Incoming::Broken(kind)) => Some(Err(broken(kind))),
            Some(Incoming::End) | None => None,
            Some(Incoming::Head(head)) => unreachable!("in the body: {head:?}"),
        })
    }
}

impl<B> Service<::http::Request<B>> for Wire
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = ::http::Response<Answer>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ::http::Request<B>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let request = http::request(request).await?;
            wire.ask(request).head().await
        })
    }
}
