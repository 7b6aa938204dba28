//! A member of an etcd cluster: what it keeps, and what happens to it.
//!
//! The callbacks of the engine are here. `server/writes.rs` is the way of a proposal,
//! `server/reads.rs` of a linearizable read, `server/peers.rs` what members say to each other and
//! how entries are applied, `server/lessor.rs` when leases are over, `server/streams.rs` the watch
//! streams, `server/backup.rs` what an operator does with snapshots, `server/content.rs` what a cluster begins with, `server/config.rs` what decides how it behaves. What an operation means does not belong
//! here: see `state` and `mvcc`.

mod backup;
mod config;
mod content;
pub(crate) mod lessor;
mod notes;
pub(crate) mod peers;
pub(crate) mod reads;
mod streams;
mod writes;

use std::sync::Arc;

use wavetank_engine::{
    Caller, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer, mutant,
};

use crate::api::{EtcdError, LeaseId, Request, Response, Value, WatchRequest};
use crate::mvcc::{Store, check, route};
use crate::raft::{MemberId, Raft};
use crate::state::{Cause, Op, Proposal, State};
use crate::watch::Watches;

pub use config::{Config, Sizes};
pub use content::Kept;
pub use notes::{Appended, Applied, Committed, Installed, Led, Restored};
pub use peers::{PEER, Peer};

use lessor::Lessor;
use reads::{Ask, Reads};
use writes::Writes;

/// Randomised by the driver: a routine asks it for the length.
const ELECTION_LENGTH: Name = Name::new("election-length");

/// One member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Etcd<V: Value> {
    config: Arc<Config>,
    // What survives a crash: the log and vote (the WAL) and the state (the backend).
    raft: Raft<Arc<Proposal<V>>, State<V>>,
    state: State<V>,
    /// What of the state is certainly on disk, where that is not all of it (etcd#13766).
    flushed: Option<State<V>>,
    /// Which cluster it belongs to: a restored one is another.
    cluster: u64,
    /// A copy of the state that an operator has put aside.
    backup: Option<State<V>>,
    /// What it writes when it starts for the first time.
    content: Vec<Kept<V>>,
    /// How often it has started: numbers of proposals are unique with it.
    life: u32,
    /// Leases that this member has numbered.
    granted: u64,
    // What does not.
    writes: Writes<V>,
    reads: Reads<V>,
    lessor: Lessor,
    watches: Watches<V, Caller>,
    streams: streams::Streams,
    /// Who led when that was last looked at.
    known_lead: Option<MemberId>,
    /// The length of the election timer, in ticks.
    election_ticks: u32,
    /// An entry that is noted as applied and is not applied yet (etcd#13766).
    applying: bool,
}

impl<V: Value> Etcd<V> {
    /// A member that has never run.
    pub fn new(config: Config) -> Etcd<V> {
        let members = config.members.len() as u8;
        let raft = Raft::new(config.me, members, config.raft());
        let watches = Watches::new(config.watch_limits(), config.watch_quirks());
        Etcd {
            config: Arc::new(config),
            raft,
            state: State::default(),
            flushed: None,
            cluster: 0,
            backup: None,
            content: Vec::new(),
            life: 0,
            granted: 0,
            writes: Writes::default(),
            reads: Reads::default(),
            lessor: Lessor::default(),
            watches,
            streams: streams::Streams::default(),
            known_lead: None,
            election_ticks: 0,
            applying: false,
        }
    }

    /// The only member of its cluster.
    pub fn single(me: ProcId) -> Etcd<V> {
        Etcd::new(Config::single(me))
    }

    /// The store, for properties.
    pub fn store(&self) -> &Store<V> {
        &self.state.store
    }

    /// All that members agree on, for properties.
    pub fn state(&self) -> &State<V> {
        &self.state
    }

    /// Does it think that it leads, and in which term?
    pub fn leads(&self) -> Option<u64> {
        self.raft.leads().then(|| self.raft.term())
    }

    /// Does it know of a leader? One that is cut off soon knows of none.
    pub fn has_leader(&self) -> bool {
        self.raft.lead().is_some()
    }

    /// Answers at once, or hands the request to consensus.
    fn serve(&mut self, cx: &mut Cx<'_>, caller: Caller, request: &Request<V>) {
        match self.admit(cx, caller, request) {
            Ok(()) => {}
            Err(error) => cx.reply(caller, Response::<V>::Error(error)),
        }
        self.drive(cx);
    }

    /// Forgets what a crash takes.
    fn forget(&mut self) {
        self.writes = Writes::default();
        self.reads = Reads::default();
        self.lessor = Lessor::default();
        self.watches = Watches::new(self.config.watch_limits(), self.config.watch_quirks());
        self.streams = streams::Streams::default();
        self.known_lead = None;
        self.election_ticks = 0;
        self.applying = false;
    }

    /// Ends every call and stream that waits here.
    fn refuse_all(&mut self, cx: &mut Cx<'_>, error: EtcdError) {
        self.refuse_writes(cx, error);
        self.refuse_reads(cx, error);
        self.refuse_lease_asks(cx, error);
        self.end_streams(cx, error, |_| true);
    }

    fn admit(
        &mut self,
        cx: &mut Cx<'_>,
        caller: Caller,
        request: &Request<V>,
    ) -> Result<(), EtcdError> {
        check::form(request)?;
        let cause = Cause::Client(caller.process());
        let op = match request {
            Request::Range(range) => {
                match range.serializable
                    || mutant!(
                        "reads-are-local",
                        "a member answers every range from what it has"
                    ) {
                    true => self.answer_range(cx, caller, range),
                    false => self.read(cx, Ask::Range(caller, range.clone())),
                }
                return Ok(());
            }
            Request::Txn(txn) if route::is_read_only(txn) => {
                match route::is_serializable(txn) {
                    true => self.answer_txn(cx, caller, txn),
                    false => self.read(cx, Ask::Txn(caller, txn.clone())),
                }
                return Ok(());
            }
            Request::LeaseKeepAlive(_) | Request::LeaseTimeToLive { .. } => {
                self.ask_lessor(cx, caller, request);
                return Ok(());
            }
            Request::Leases => {
                let (revision, leases) = (self.state.store.revision(), self.list_leases(cx));
                cx.reply(caller, Response::<V>::Leases { revision, leases });
                return Ok(());
            }
            Request::Watch { require_leader } => {
                self.open_stream(cx, caller, *require_leader);
                return Ok(());
            }
            Request::Put(put) => Op::Put(put.clone()),
            Request::DeleteRange(delete) => Op::DeleteRange(delete.clone()),
            Request::Txn(txn) => Op::Txn(txn.clone()),
            Request::Compact { revision, .. } => Op::Compact(*revision),
            Request::LeaseGrant { id, ttl } => {
                Op::LeaseGrant(id.unwrap_or_else(|| self.next_lease()), *ttl)
            }
            Request::LeaseRevoke(id) => Op::LeaseRevoke(*id),
        };
        check::size(request)?;
        self.propose(cx, Some(caller), cause, op);
        Ok(())
    }
}

impl<V: Value> Process for Etcd<V> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.begin(cx);
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        self.serve(cx, caller, body.expect());
    }

    fn part(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        self.recv_loop(cx, caller, body.expect::<WatchRequest>());
        self.keep_watches(cx);
    }

    fn acknowledged(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        self.send_loop(cx, caller);
    }

    fn cast(&mut self, cx: &mut Cx<'_>, from: ProcId, body: &Payload) {
        let members = &self.config.members;
        let from = members.iter().position(|member| *member == from);
        let from = MemberId(from.expect("only members do") as u8);
        self.hear(cx, from, body.expect());
        self.drive(cx);
    }

    fn cancelled(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        self.close_stream(cx, caller);
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        match timer {
            t if t == peers::ELECTION => self.raft.election_due(),
            t if t == peers::HEARTBEAT => self.heartbeat(cx),
            t if t == peers::INACTIVE => {}
            t if t == peers::FLUSH => self.flush(cx),
            t if t == peers::APPLY => self.apply_next(cx),
            t if t == reads::READ_RETRY => self.retry_round(cx),
            t if t == reads::READ_LIMIT => self.fail_round(cx, EtcdError::Timeout),
            t if t == lessor::EXPIRY => self.expire(cx),
            t if t == lessor::HANDOVER => self.revoke_expired(cx),
            t if t == lessor::CHECKPOINT => self.checkpoint(cx),
            t if t == lessor::ASK_AGAIN => self.ask_leader_again(cx),
            t if t == streams::SYNC => self.sync_watchers(cx),
            t if t == streams::VICTIMS => self.sync_victims(cx),
            t if t == streams::LEADER_LOOK => self.look_for_leader(cx),
            Timer { tag, arg } => match tag {
                t if t == writes::PROPOSAL => self.proposal_timed_out(cx, arg),
                t if t == lessor::LEASE => self.lease_over(LeaseId(arg)),
                t if t == lessor::FORWARD => self.forward_timed_out(cx, arg),
                t if t == streams::PROGRESS => self.notify_progress(cx, arg),
                other => unreachable!("no timer `{other}`"),
            },
        }
        self.drive(cx);
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "compact" => {
                let revision = args.as_u64().unwrap_or(self.state.store.revision());
                self.propose(cx, None, Cause::Internal, Op::Compact(revision));
                self.drive(cx);
            }
            "backup" => self.back_up(cx),
            "restore" => self.restore(cx, args.as_u64().unwrap_or(0)),
            other => {
                return Err(format!(
                    "knows `compact`, `backup`, `restore`, not `{other}`"
                ));
            }
        }
        Ok(())
    }

    fn crash(&mut self) {
        self.forget();
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        let number = match task.kind() {
            kind if kind == ELECTION_LENGTH => None,
            kind if kind == streams::PROGRESS_LENGTH => Some(*task.args()),
            other => panic!("no routine `{other}`"),
        };
        Box::pin(async move {
            match number {
                None => peers::election_length::<V>(rx).await,
                Some(number) => streams::progress_length::<V>(rx, number).await,
            }
            Outcome::Done
        })
    }
}
