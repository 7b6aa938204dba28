//! A thin gRPC client for etcd: one method per call, with the messages of `wire.rs`.
//!
//! What the messages mean does not belong here.

use http::uri::PathAndQuery;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::etcd::wire;

/// The windows of flow control: large, so that a server never waits for us with watch events.
const WINDOW: u32 = 16 << 20;

/// A connection to one server.
#[derive(Clone, Debug)]
pub(crate) struct Client(Channel);

impl Client {
    /// Connects.
    pub(crate) async fn connect(endpoint: &str) -> Result<Client, String> {
        let endpoint = Endpoint::from_shared(endpoint.to_owned())
            .map_err(|error| format!("{endpoint}: {error}"))?
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| format!("no connection: {error}"))?;
        Ok(Client(channel))
    }

    async fn ready(&self) -> Result<Grpc<Channel>, Status> {
        // A watch that catches up may get more than the 4 MiB that are allowed otherwise.
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(usize::MAX);
        grpc.ready()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(grpc)
    }

    /// A call with one answer.
    pub(crate) async fn unary<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let codec = ProstCodec::<Q, A>::default();
        let path = PathAndQuery::from_static(path);
        let answer = self
            .ready()
            .await?
            .unary(Request::new(question), path, codec)
            .await?;
        Ok(answer.into_inner())
    }

    /// A call with a stream either way.
    async fn streams<Q, A>(
        &self,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let codec = ProstCodec::<Q, A>::default();
        let path = PathAndQuery::from_static(path);
        let answer = self
            .ready()
            .await?
            .streaming(Request::new(questions), path, codec)
            .await?;
        Ok(answer.into_inner())
    }

    /// One keep-alive, on a stream of its own.
    pub(crate) async fn keep_alive(&self, id: i64) -> Result<wire::LeaseResponse, Status> {
        let once = tokio_stream::once(wire::LeaseRequest { id });
        let mut answers = self
            .streams("/etcdserverpb.Lease/LeaseKeepAlive", once)
            .await?;
        answers
            .message()
            .await?
            .ok_or_else(|| Status::unavailable("the stream ended"))
    }

    /// Opens a watch stream. Its answers are collected by a task of the runtime, `None` being
    /// its end; it is closed when the sender is dropped.
    pub(crate) fn watch(&self) -> WatchStream {
        let (requests, sent) = mpsc::unbounded_channel::<wire::WatchRequest>();
        let (collected, answers) = mpsc::unbounded_channel();
        let client = self.clone();
        tokio::spawn(async move {
            let sent = tokio_stream::wrappers::UnboundedReceiverStream::new(sent);
            let stream = client.streams("/etcdserverpb.Watch/Watch", sent).await;
            let end = match stream {
                Ok(mut stream) => loop {
                    match stream.next().await {
                        // Nobody listens any more: the stream was closed by us.
                        Some(Ok(answer)) => {
                            if collected.send(Ok(answer)).is_err() {
                                return;
                            }
                        }
                        Some(Err(status)) => break status,
                        None => break Status::unavailable("the stream ended"),
                    }
                },
                Err(status) => status,
            };
            // As above.
            let _ = collected.send(Err(end));
        });
        WatchStream { requests, answers }
    }
}

/// Both ends of a watch stream.
#[derive(Debug)]
pub(crate) struct WatchStream {
    /// What is sent.
    pub(crate) requests: mpsc::UnboundedSender<wire::WatchRequest>,
    /// What came, with the error that ended it at last.
    pub(crate) answers: mpsc::UnboundedReceiver<Result<wire::WatchResponse, Status>>,
}
