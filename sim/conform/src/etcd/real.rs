//! The real etcd server as a [`Side`]: a fresh one for each sequence, asked over gRPC.
//!
//! How it is started is in `server.rs`, how requests look on the wire in `translate.rs`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tonic::Status;
use wavetank_etcd::{LeaseId, Request, Response, TimeToLive, WatchId, WatchRequest};

use crate::etcd::expiry::Timed;
use crate::etcd::grpc::{Client, WatchStream};
use crate::etcd::side::{Bytes, Item, LeaseNames, Log, Outcome, Side, StreamId, Until, gather};
use crate::etcd::translate::{self, Translator, revision, signed, unsigned};
use crate::etcd::wire;
use crate::server::{Program, Server, Ticks, started};

/// How long an answer is waited for. A healthy server needs a thousandth of it.
const PATIENCE: Duration = Duration::from_secs(15);

/// A real etcd.
#[derive(Debug)]
pub struct Real {
    program: Program,
    ticks: Ticks,
    runtime: Runtime,
    running: Option<Running>,
    born: Instant,
}

/// A server with our connection to it.
#[derive(Debug)]
struct Running {
    client: Client,
    streams: BTreeMap<StreamId, WatchStream>,
    leases: LeaseNames,
    log: Log,
    /// Last, so that it is killed after all else.
    _server: Server,
}

impl Real {
    /// One that runs this program. It begins with [`Side::restart`].
    pub fn new(program: Program, ticks: Ticks) -> Result<Real, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        Ok(Real {
            program,
            ticks,
            runtime,
            running: None,
            born: Instant::now(),
        })
    }

    /// Starts a server and waits until it answers.
    fn begin(&mut self) -> Result<(), String> {
        self.running = None;
        let server = Server::start(&self.program, self.ticks)?;
        let client = self.runtime.block_on(Client::connect(server.endpoint()))?;
        self.running = Some(Running {
            client,
            streams: BTreeMap::new(),
            leases: LeaseNames::default(),
            log: Log::new(),
            _server: server,
        });
        // It listens before it has elected itself, and may close what it has accepted before that: a read
        // that is answered tells that it has.
        let read = Request::Range(wavetank_etcd::Range::of(wavetank_etcd::Keys::one("a")));
        let begun = Instant::now();
        loop {
            match self.call(&read) {
                Outcome::Answer(Response::Range(_)) => return Ok(()),
                other if begun.elapsed() > PATIENCE => {
                    return Err(format!("{} is not ready: {other:?}", self.program));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn parts(&mut self) -> (&Runtime, &mut Running) {
        let running = self
            .running
            .as_mut()
            .expect("a side is restarted before it is used");
        (&self.runtime, running)
    }
}

impl Side for Real {
    fn name(&self) -> String {
        self.program.to_string()
    }

    fn restart(&mut self) -> Result<(), String> {
        started(|| self.begin())
    }

    fn call(&mut self, request: &Request<Bytes>) -> Outcome {
        let (runtime, running) = self.parts();
        let answer = runtime.block_on(async { timeout(PATIENCE, running.call(request)).await });
        match answer {
            Ok(Ok(answer)) => Outcome::Answer(answer),
            Ok(Err(status)) => translate::error(&status),
            Err(_) => Outcome::Unexpected("no answer".to_owned()),
        }
    }

    fn watch(&mut self, stream: StreamId, request: &WatchRequest) {
        let (runtime, running) = self.parts();
        let _inside = runtime.enter();
        let client = &running.client;
        let open = running
            .streams
            .entry(stream)
            .or_insert_with(|| client.watch());
        // If the stream is over, its last answer tells so.
        let _ = open.requests.send(translate::watch(request));
    }

    fn close(&mut self, stream: StreamId) {
        self.parts().1.streams.remove(&stream);
    }

    fn wait(&mut self, stream: StreamId, id: Option<WatchId>, until: Until) -> bool {
        let (runtime, running) = self.parts();
        while !until.is_met(&running.log, stream, id) {
            let Some(open) = running.streams.get_mut(&stream) else {
                return false;
            };
            let next = runtime.block_on(async { timeout(PATIENCE, open.answers.recv()).await });
            match next {
                Ok(Some(answer)) => running.record(stream, answer),
                Ok(None) | Err(_) => return false,
            }
        }
        true
    }

    fn take(&mut self) -> Log {
        let (_, running) = self.parts();
        let streams: Vec<StreamId> = running.streams.keys().copied().collect();
        for stream in streams {
            while let Some(answer) = running
                .streams
                .get_mut(&stream)
                .and_then(|open| open.answers.try_recv().ok())
            {
                running.record(stream, answer);
            }
        }
        std::mem::take(&mut running.log)
    }
}

impl Timed for Real {
    fn now(&self) -> Duration {
        self.born.elapsed()
    }

    fn pass(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

impl Running {
    fn record(&mut self, stream: StreamId, answer: Result<wire::WatchResponse, Status>) {
        match answer {
            Ok(answer) => {
                let message = Translator(&self.leases).message(answer);
                gather(&mut self.log, stream, message);
            }
            Err(status) => {
                let items = self.log.entry((stream, None)).or_default();
                items.push(Item::Broken(format!(
                    "{:?}: {}",
                    status.code(),
                    status.message()
                )));
            }
        }
    }

    async fn call(&mut self, request: &Request<Bytes>) -> Result<Response<Bytes>, Status> {
        let client = self.client.clone();
        let to = Translator(&self.leases);
        Ok(match request {
            Request::Range(range) => {
                let answer = client
                    .unary("/etcdserverpb.KV/Range", to.range(range))
                    .await?;
                Response::Range(to.ranged(answer))
            }
            Request::Put(put) => {
                let answer = client.unary("/etcdserverpb.KV/Put", to.put(put)).await?;
                Response::Put(to.put_done(answer))
            }
            Request::DeleteRange(delete) => {
                let answer = client
                    .unary("/etcdserverpb.KV/DeleteRange", to.delete(delete))
                    .await?;
                Response::DeleteRange(to.deleted(answer))
            }
            Request::Txn(txn) => {
                let answer = client.unary("/etcdserverpb.KV/Txn", to.txn(txn)).await?;
                Response::Txn(to.txn_done(answer))
            }
            Request::Compact {
                revision: at,
                physical,
            } => {
                let question = wire::CompactionRequest {
                    revision: signed(*at),
                    physical: *physical,
                };
                let answer: wire::HeaderOnly =
                    client.unary("/etcdserverpb.KV/Compact", question).await?;
                Response::Compact(revision(answer.header.as_ref()))
            }
            Request::LeaseGrant { id, ttl } => self.grant(*id, *ttl).await?,
            Request::LeaseRevoke(id) => {
                let question = wire::LeaseRequest {
                    id: signed(self.leases.real(*id)),
                };
                let answer: wire::HeaderOnly = client
                    .unary("/etcdserverpb.Lease/LeaseRevoke", question)
                    .await?;
                Response::LeaseRevoke(revision(answer.header.as_ref()))
            }
            Request::LeaseKeepAlive(id) => {
                let answer = client.keep_alive(signed(self.leases.real(*id))).await?;
                Response::LeaseKeepAlive {
                    revision: revision(answer.header.as_ref()),
                    ttl: unsigned(answer.ttl),
                }
            }
            Request::LeaseTimeToLive { id, keys } => self.time_to_live(*id, *keys).await?,
            Request::Leases => {
                let answer: wire::LeasesResponse = client
                    .unary("/etcdserverpb.Lease/LeaseLeases", wire::Empty {})
                    .await?;
                let ids = answer.leases.iter().map(|lease| unsigned(lease.id));
                Response::Leases {
                    revision: revision(answer.header.as_ref()),
                    leases: ids.map(|id| self.leases.name(id)).collect(),
                }
            }
            Request::Watch { .. } => {
                return Err(Status::unimplemented(
                    "a watch is opened by sending on its stream",
                ));
            }
        })
    }

    async fn grant(&mut self, id: Option<LeaseId>, ttl: u64) -> Result<Response<Bytes>, Status> {
        let wanted = id.map_or(0, |id| signed(id.0));
        let question = wire::LeaseGrantRequest {
            ttl: signed(ttl),
            id: wanted,
        };
        let answer: wire::LeaseResponse = self
            .client
            .unary("/etcdserverpb.Lease/LeaseGrant", question)
            .await?;
        let real = unsigned(answer.id);
        Ok(Response::LeaseGrant {
            revision: revision(answer.header.as_ref()),
            id: if wanted == 0 {
                self.leases.granted(real)
            } else {
                LeaseId(real)
            },
            ttl: unsigned(answer.ttl),
        })
    }

    async fn time_to_live(&self, id: LeaseId, keys: bool) -> Result<Response<Bytes>, Status> {
        let question = wire::TimeToLiveRequest {
            id: signed(self.leases.real(id)),
            keys,
        };
        let answer: wire::TimeToLiveResponse = self
            .client
            .unary("/etcdserverpb.Lease/LeaseTimeToLive", question)
            .await?;
        let mut keys: Vec<_> = answer.keys.iter().map(|key| translate::text(key)).collect();
        // The server lists them in the order of a hash map.
        keys.sort();
        Ok(Response::LeaseTimeToLive(TimeToLive {
            revision: revision(answer.header.as_ref()),
            ttl: answer.ttl,
            granted: unsigned(answer.granted_ttl),
            keys,
        }))
    }
}
