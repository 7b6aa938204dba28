//! A client of etcd itself: it reads and writes a few keys, holds leases and watches, and tells
//! monitors all that it asks and is answered. Storms over etcd are made of these.
//!
//! What it does next is drawn by the driver. How etcd answers, and what is right, does not belong
//! here.

mod operate;
mod session;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{
    Caller, Cell, Cx, Name, NotState, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task,
};
use wavetank_etcd::observed::{Answered, CallId, Called};
use wavetank_etcd::{Client, EtcdError, LeaseId, Request, Response, Revision, Value};

use operate::Wanted;
use session::Session;
use watch::{Directed, Watch};

pub(crate) const OPERATE: Name = Name::new("operate");
pub(crate) const SESSION: Name = Name::new("session");
pub(crate) const WATCH: Name = Name::new("watch");

/// Each operation has so long, as a client's context has.
const OPERATION_LIMIT: Duration = Duration::from_secs(10);

/// What a client has learnt so far.
static KNOWN: Cell<Known> = Cell::new("known");

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Known {
    /// The newest revision that it was told.
    revision: Revision,
    /// Where it last deleted something.
    deleted: Revision,
    /// Where it last compacted.
    compacted: Revision,
    /// Leases that it was granted.
    leases: Vec<LeaseId>,
    /// The member that it last talked to.
    member: usize,
}

/// A client of an etcd cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EtcdUser<V> {
    config: Arc<Config<V>>,
    /// Calls that it has numbered, over all of its lives.
    calls: u64,
}

/// What an [`EtcdUser`] needs to know.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config<V> {
    /// The members of the cluster.
    pub members: Vec<ProcId>,
    /// How many watches it keeps, beside its session.
    pub watches: u32,
    /// Makes a value that tells two puts apart.
    pub value: NotState<fn(u64) -> V>,
}

impl<V: Value> EtcdUser<V> {
    /// A client that has done nothing yet.
    pub fn new(config: Config<V>) -> EtcdUser<V> {
        EtcdUser {
            config: Arc::new(config),
            calls: 0,
        }
    }

    fn number(&mut self, me: ProcId) -> CallId {
        self.calls += 1;
        CallId {
            client: me,
            number: self.calls,
        }
    }
}

/// Numbers a call.
fn numbered<V: Value>(rx: Rx, me: ProcId) -> CallId {
    rx.process(move |user: &mut EtcdUser<V>| user.number(me))
}

impl<V> Config<V> {
    fn client(&self, member: usize) -> Client {
        Client::new(self.members[member % self.members.len()]).without_retries()
    }

    fn value(&self, me: ProcId, id: CallId) -> V {
        (*self.value)((me.index() as u64) << 32 | id.number)
    }
}

/// Asks a member once, waits no longer than `limit`, and tells of both.
async fn ask<V: Value>(
    rx: Rx,
    config: &Config<V>,
    id: CallId,
    member: usize,
    request: Request<V>,
    limit: Duration,
) -> Result<Response<V>, EtcdError> {
    rx.note(Called {
        id,
        request: request.clone(),
    });
    let call = config.client(member).once(rx, request);
    let result = match rx.timeout(limit, call).await {
        Some(result) => result,
        None => Err(EtcdError::Cancelled),
    };
    rx.note(Answered {
        id,
        result: result.clone(),
    });
    result
}

/// Draws of one routine: one number of the driver, cut into pieces.
struct Dice(u64);

impl Dice {
    async fn throw(rx: Rx) -> Dice {
        Dice(rx.choose(1 << 48).await)
    }

    /// A number below `sides`.
    fn pick(&mut self, sides: u64) -> u64 {
        let picked = self.0 % sides;
        self.0 /= sides;
        picked
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.pick(times) == 0
    }
}

impl<V: Value> Process for EtcdUser<V> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let me = cx.me();
        for _ in 0..self.config.watches {
            cx.spawn(Task::new(WATCH, Watch::new(me)));
        }
        cx.spawn(Task::new(SESSION, Session::new(me)));
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `operate {}`: one operation, of any kind. `operate {put: KEY}`, `{delete: KEY}`, `{get: KEY}`,
    /// `{put: KEY, get-at: REVISION}`, `{compact: REVISION}`, `{grant: SECONDS}`, `{keep-alive: LEASE}`: just this, at any member or
    /// at `member: NUMBER`.
    /// `watch {prefix, from?, member?, company?, asks-progress?}`: one more watch.
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let me = cx.me();
        match what {
            "operate" => cx.spawn(Task::new(OPERATE, (me, Wanted::read(args)?))),
            "watch" => {
                let wanted = Directed::read(args)?;
                let id = self.number(me);
                cx.spawn(Task::new(WATCH, Watch::directed(me, id, wanted)));
            }
            other => return Err(format!("knows `operate` and `watch`, not `{other}`")),
        }
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (rx, config) = (Rx::new(), self.config.clone());
        if task.kind() == OPERATE {
            let (me, wanted) = task.args::<(ProcId, Wanted)>().clone();
            Box::pin(async move {
                operate::operate(rx, &config, me, wanted).await;
                Outcome::Done
            })
        } else if task.kind() == SESSION {
            Box::pin(session::turn(rx, config, *task.args::<Session>()))
        } else {
            Box::pin(watch::turn(rx, config, task.args::<Watch>().clone()))
        }
    }
}
