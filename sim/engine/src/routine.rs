//! Routines: `async fn`s whose state is *(what to run, the answers so far)*. While a world is
//! stepped their futures are polled live; of two copies of a world the second to need a future
//! rebuilds it by running it again over its log.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::combine::{Join, Select, Timeout};
use crate::conn::{self, Caller, NetError, Transport};
use crate::exchange::{self, Answer, Exchange, Log, Op};
use crate::memory::{Cell, CellType, Signal};
use crate::message::{Message, Payload};
use crate::mutant::hashed_by_parts;
use crate::name::{Name, ProcId, RoutineId};
use crate::not_state::NotState;
use crate::process::{Process, Timer};
use crate::time::Time;

/// How a routine ends.
#[derive(Debug)]
pub enum Outcome {
    /// It is over.
    Done,
    /// It goes on as another task with an empty log: how loops are written.
    Become(Task),
}

/// The future of a routine.
pub type RoutineFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What a routine runs: a kind that its process knows, and arguments.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Task {
    kind: Name,
    args: Payload,
}

impl Task {
    /// A task with arguments.
    pub fn new<T: Message + Eq + Hash>(kind: Name, args: T) -> Task {
        Task {
            kind,
            args: Payload::new(args),
        }
    }

    /// The kind.
    pub fn kind(&self) -> Name {
        self.kind
    }

    /// The arguments, which must be a `T`.
    pub fn args<T: 'static>(&self) -> &T {
        self.args.expect()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", self.kind, self.args)
    }
}

/// A routine of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Routine {
    pub id: RoutineId,
    pub task: Task,
    pub log: Log,
    /// The call that it serves.
    pub serving: Option<Caller>,
    /// Its context has ended: calls fail from now on.
    pub cancelled: bool,
    /// Held at an await by a fault; answers wait in `inbox`.
    pub descheduled: bool,
    pub inbox: Vec<(u32, Answer)>,
    live: NotState<Live>,
}
hashed_by_parts!(Routine {
    id,
    task,
    log,
    serving,
    cancelled,
    descheduled,
    inbox,
    live
});

/// The future of a routine, if one stands where the log ends. A copy of the routine has none.
#[derive(Default)]
struct Live(Mutex<Option<RoutineFuture>>);

impl Clone for Live {
    fn clone(&self) -> Live {
        Live::default()
    }
}

impl Routine {
    /// A routine that has not run yet.
    pub fn new(id: RoutineId, task: Task, serving: Option<Caller>) -> Routine {
        Routine {
            id,
            task,
            log: Log::default(),
            serving,
            cancelled: false,
            descheduled: false,
            inbox: Vec::new(),
            live: NotState::default(),
        }
    }

    /// A copy that is about to run: it takes the future along, so that of the worlds that share a
    /// routine the first to step it need not rebuild it. Whichever that is, all go the same way.
    pub fn split(&self) -> Routine {
        let live = self
            .live
            .0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut own = self.clone();
        own.set_live(live);
        own
    }

    /// The future, taken out.
    pub fn take_live(&mut self) -> Option<RoutineFuture> {
        let live = self.live.0.0.get_mut();
        live.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the future for the next answer.
    pub fn set_live(&mut self, live: Option<RoutineFuture>) {
        *self
            .live
            .0
            .0
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner) = live;
    }

    /// Runs the task again over the log, up to the last answer that has arrived.
    ///
    /// # Errors
    /// What differed, if the routine is not a function of its task and its answers.
    pub fn rebuild(&mut self, process: &dyn Process) -> Result<RoutineFuture, String> {
        let mut future = process.routine(&self.task);
        let steps = self.log.steps.len();
        let (mut ended, mut impure, mut cursor) = (false, None, 0);
        for visible in 0..=self.log.arrivals.len() as u32 {
            let log = &mut self.log;
            let fill = |exchange: &mut Exchange| {
                exchange.log = std::mem::take(log);
                exchange.visible = visible;
                exchange.cursor = cursor;
            };
            let empty = |exchange: &mut Exchange| {
                let log = std::mem::take(&mut exchange.log);
                (log, exchange.cursor, exchange.impure.take())
            };
            let (poll, (log, issued, strayed)) =
                exchange::scope(fill, || poll_once(&mut future), empty);
            self.log = log;
            cursor = issued;
            impure = impure.or(strayed);
            if poll.is_ready() {
                ended = true;
                break;
            }
        }
        let impure = impure.or_else(|| {
            if ended {
                Some("it ended when run again".to_owned())
            } else if cursor < steps {
                Some(format!(
                    "it asked for {steps} operations when it ran and for {cursor} when run again"
                ))
            } else {
                let more = self.log.steps.get(steps);
                more.map(|step| format!("it asks for {:?} only when run again", step.op))
            }
        });
        self.log.steps.truncate(steps);
        match impure {
            None => Ok(future),
            Some(what) => Err(format!(
                "routine {} of task {:?} is impure: {what}",
                self.id, self.task
            )),
        }
    }
}

pub(crate) fn poll_once(future: &mut RoutineFuture) -> Poll<Outcome> {
    future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}

/// A future for one operation.
pub(crate) struct Pending {
    op: Option<Op>,
    index: Option<u32>,
}

impl Pending {
    pub fn new(op: Op) -> Pending {
        Pending {
            op: Some(op),
            index: None,
        }
    }
}

impl Future for Pending {
    type Output = Answer;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        exchange::with(|exchange| {
            if let Some(op) = self.op.take() {
                self.index = Some(exchange.issue(op));
            }
            let index = self.index.expect("polled after it was answered");
            match exchange.answer(index) {
                Some(answer) => {
                    self.index = None;
                    Poll::Ready(answer)
                }
                None => Poll::Pending,
            }
        })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(index) = self.index {
            exchange::if_polling(|exchange| {
                exchange.issue(Op::Drop(index));
            });
        }
    }
}

/// Which of two futures was first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first, also when both were.
    Left(A),
    /// The second.
    Right(B),
}

/// A mutex of the process, by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lock(Name);

impl Lock {
    /// A lock with this name, which must be unique within a process.
    pub const fn new(name: &'static str) -> Lock {
        Lock(Name::new(name))
    }
}

/// Holds a lock until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct LockGuard(Name);

impl Drop for LockGuard {
    fn drop(&mut self) {
        exchange::if_polling(|exchange| {
            exchange.issue(Op::Unlock(self.0));
        });
    }
}

/// A stream of answers. It belongs to the process and outlives the routine that opened it: close
/// it, or the server goes on sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stream(u32);

/// A routine's context: the only way to anything outside it. Everything that is asked here and
/// everything that is answered is written into the routine's log.
#[derive(Clone, Copy, Debug)]
pub struct Rx {
    _private: (),
}

impl Rx {
    /// The context of whichever routine is being polled.
    pub const fn new() -> Rx {
        Rx { _private: () }
    }

    /// Sends a request and waits for its answer. Dropping the future (as [`Rx::timeout`] does)
    /// cancels the request; whether it had an effect is then unknown.
    ///
    /// # Errors
    /// See [`NetError`].
    pub async fn call(
        self,
        transport: &'static Transport,
        to: ProcId,
        body: Payload,
    ) -> Result<Payload, NetError> {
        match Pending::new(Op::Call {
            to,
            transport,
            body,
        })
        .await
        {
            Answer::Net(answer) => answer,
            other => unreachable!("{other:?}"),
        }
    }

    /// Sends a request whose answer is a stream.
    pub fn open_stream(self, transport: &'static Transport, to: ProcId, body: Payload) -> Stream {
        let op = Op::OpenStream {
            to,
            transport,
            body,
        };
        match exchange::with(|exchange| {
            exchange.in_place(op, |exchange| {
                exchange.next_stream += 1;
                Answer::Number(u64::from(exchange.next_stream))
            })
        }) {
            Answer::Number(id) => Stream(id as u32),
            other => unreachable!("{other:?}"),
        }
    }

    /// Opens the connection to a server, unless it is open, and sends nothing on it. The stream is about the
    /// connection: its only part, `()`, comes when it is open, and its error when it is gone. For keep-alive it is no call.
    pub fn connect(self, transport: &'static Transport, to: ProcId) -> Stream {
        let op = Op::Connect { to, transport };
        match exchange::with(|exchange| {
            exchange.in_place(op, |exchange| {
                exchange.next_stream += 1;
                Answer::Number(u64::from(conn::of_connection(exchange.next_stream)))
            })
        }) {
            Answer::Number(id) => Stream(id as u32),
            other => unreachable!("{other:?}"),
        }
    }

    /// The next part of a stream; `None` after the last.
    ///
    /// # Errors
    /// See [`NetError`]; parts that arrived before the error come first.
    pub async fn next(self, stream: Stream) -> Result<Option<Payload>, NetError> {
        match Pending::new(Op::Next(stream.0)).await {
            Answer::Next(next) => next,
            other => unreachable!("{other:?}"),
        }
    }

    /// Sends a further message on a stream: see [`Process::part`].
    pub fn send(self, stream: Stream, body: Payload) {
        issue(Op::Send(stream.0, body));
    }

    /// Ends a stream; the server is told.
    pub fn close_stream(self, stream: Stream) {
        issue(Op::CloseStream(stream.0));
    }

    /// Waits, by the clock rate of this process.
    pub async fn sleep(self, duration: Duration) {
        Pending::new(Op::Sleep(duration)).await;
    }

    /// Takes a lock. Even a free one is an await.
    pub async fn lock(self, lock: Lock) -> LockGuard {
        Pending::new(Op::Lock(lock.0)).await;
        LockGuard(lock.0)
    }

    /// Waits until the signal is raised.
    pub async fn wait(self, signal: Signal) {
        Pending::new(Op::Wait(signal)).await;
    }

    /// Waits until this routine's context has ended (`ctx.Done()`): its caller has given up or is cut
    /// off, or its deadline has passed.
    pub async fn done(self) {
        Pending::new(Op::Done).await;
    }

    /// Raises a signal; it stays raised for the life of the process.
    pub fn raise(self, signal: Signal) {
        issue(Op::Raise(signal));
    }

    /// A choice among `domain` values, made by the driver: jitter, a random start, the order of
    /// goroutines.
    pub async fn choose(self, domain: u64) -> u64 {
        self.chosen(domain, false).await
    }

    /// The same among replicas that go on alike for ever if they draw alike: in the default order, in which
    /// nothing is drawn, it is the number of the process.
    pub async fn choose_apart(self, domain: u64) -> u64 {
        self.chosen(domain, true).await
    }

    async fn chosen(self, domain: u64, apart: bool) -> u64 {
        match Pending::new(Op::Choose { domain, apart }).await {
            Answer::Number(value) => value,
            other => unreachable!("{other:?}"),
        }
    }

    /// What a cell holds. In place: no other routine runs in between.
    pub fn read<T: CellType>(self, cell: &Cell<T>) -> T {
        exchange::with(|exchange| {
            exchange.in_place_value(Op::Memory(cell.name()), |exchange| {
                exchange.touch(cell.key());
                exchange.memory.read(cell)
            })
        })
    }

    /// Changes a cell and returns what the change returned, which is all the routine learns of it.
    /// In place: no other routine runs in between.
    pub fn update<T: CellType, R: Message + Clone + Eq + Hash>(
        self,
        cell: &Cell<T>,
        change: impl FnOnce(&mut T) -> R,
    ) -> R {
        exchange::with(|exchange| {
            exchange.in_place_value(Op::Memory(cell.name()), |exchange| {
                exchange.touch(cell.key());
                change(exchange.memory.get_mut(cell))
            })
        })
    }

    /// What `look` sees in a cell, which it does not change. In place: no other routine runs in
    /// between.
    pub fn look<T: CellType, R: Message + Clone + Eq + Hash>(
        self,
        cell: &Cell<T>,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        exchange::with(|exchange| {
            exchange.in_place_value(Op::Memory(cell.name()), |exchange| {
                exchange.touch(cell.key());
                exchange.memory.look(cell, look)
            })
        })
    }

    /// As [`Rx::update`], with the time that has passed, as a monotonic clock shows it. A cell that
    /// keeps it does so as an [`Instant`](crate::Instant), or a world that is only shifted in time is no
    /// longer equal to itself.
    pub fn update_at<T: CellType, R: Message + Clone + Eq + Hash>(
        self,
        cell: &Cell<T>,
        change: impl FnOnce(&mut T, Time) -> R,
    ) -> R {
        exchange::with(|exchange| {
            exchange.in_place_value(Op::Memory(cell.name()), |exchange| {
                exchange.touch(cell.key());
                let now = exchange.watch.read();
                change(exchange.memory.get_mut(cell), now)
            })
        })
    }

    /// Works on the state of the routine's own process, which must be a `P`; the routine learns
    /// what `work` returns. In place: no other routine runs in between.
    pub fn process<P: Process, R: Message + Clone + Eq + Hash>(
        self,
        work: impl FnOnce(&mut P) -> R,
    ) -> R {
        exchange::with(|exchange| {
            exchange.in_place_value(Op::Process, |exchange| {
                let process = exchange.process.as_mut().expect("polled by its process");
                let process = process.as_any_mut().downcast_mut::<P>();
                work(process.expect("another process's type"))
            })
        })
    }

    /// The wall clock of this process, wrong by whatever skew and jumps it had. A process that
    /// keeps such a reading is no longer equal to itself at another time.
    pub fn clock(self) -> Time {
        let answer = exchange::with(|exchange| {
            exchange.in_place(Op::Clock, |exchange| {
                let now = exchange.watch.read();
                Answer::Number(exchange.clock.wall(now).nanos())
            })
        });
        match answer {
            Answer::Number(nanos) => Time::from_nanos(nanos),
            other => unreachable!("{other:?}"),
        }
    }

    /// Starts another routine of this process.
    pub fn spawn(self, task: Task) {
        issue(Op::Spawn(task));
    }

    /// Answers a call for good.
    pub fn reply(self, to: Caller, body: Payload) {
        issue(Op::Reply {
            to,
            body,
            last: true,
        });
    }

    /// Sends one part of a stream of answers.
    pub fn push(self, to: Caller, body: Payload) {
        issue(Op::Reply {
            to,
            body,
            last: false,
        });
    }

    /// Tells properties and reports what has just happened.
    #[track_caller]
    pub fn note<T: Message + Eq + Hash>(self, note: T) {
        let place = Location::caller();
        exchange::with(|exchange| {
            exchange.tell(place);
            exchange.issue(Op::Note(Payload::new(note)));
        });
    }

    /// Arms a timer of the process, replacing the one with the same name.
    pub fn arm(self, timer: Timer, after: Duration) {
        issue(Op::Arm(timer, after));
    }

    /// Disarms a timer of the process.
    pub fn disarm(self, timer: Timer) {
        issue(Op::Disarm(timer));
    }

    /// Ends this routine's context after `after`: its calls then fail with
    /// [`NetError::Cancelled`].
    pub fn deadline(self, after: Duration) {
        issue(Op::Deadline(after));
    }

    /// Tells all clients to open no new calls on their connections (HTTP/2 GOAWAY).
    pub fn go_away(self) {
        issue(Op::GoAway);
    }

    /// Ends the process.
    pub fn exit(self) {
        issue(Op::Exit { again: false });
    }

    /// Ends the process, and whoever looks after it starts it again: its next life begins at once.
    pub fn restart(self) {
        issue(Op::Exit { again: true });
    }

    /// Both at once, until one is ready; the other is dropped. The first one wins a tie.
    pub fn select<A: Future, B: Future>(
        self,
        first: A,
        second: B,
    ) -> impl Future<Output = Either<A::Output, B::Output>> {
        Select::new(first, second)
    }

    /// Both at once, until both are ready.
    pub fn join<A: Future, B: Future>(
        self,
        first: A,
        second: B,
    ) -> impl Future<Output = (A::Output, B::Output)> {
        Join::new(first, second)
    }

    /// The value of `future`, or `None` if it takes longer than `limit`.
    pub fn timeout<F: Future>(
        self,
        limit: Duration,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> {
        Timeout::new(Select::new(future, self.sleep(limit)))
    }
}

impl Default for Rx {
    fn default() -> Self {
        Rx::new()
    }
}

fn issue(op: Op) {
    exchange::with(|exchange| {
        exchange.issue(op);
    });
}
