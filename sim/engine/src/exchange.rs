//! The hand-over between a routine's future and the engine during one poll. The future reaches it
//! through a thread-local scope, so that futures stay `Send` and hold nothing of the world.

use std::any::TypeId;
use std::cell::RefCell;
use std::hash::Hash;
use std::time::Duration;

use crate::channel::{Channel, Condition};
use crate::conn::{Caller, NetError, Transport};
use crate::digest::Cached;
use crate::memory::{Memory, Signal};
use crate::message::{Message, Payload};
use crate::name::{Name, ProcId};
use crate::observe::{CellKey, Source};
use crate::process::Timer;
use crate::room::Roomy;
use crate::routine::Task;
use crate::slot::{Body, Clock};
use crate::world::Watch;

/// Everything that a routine can ask for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Call {
        to: ProcId,
        transport: &'static Transport,
        body: Payload,
    },
    OpenStream {
        to: ProcId,
        transport: &'static Transport,
        body: Payload,
    },
    /// A stream about a connection itself.
    Connect {
        to: ProcId,
        transport: &'static Transport,
    },
    Next(u32),
    Send(u32, Payload),
    CloseStream(u32),
    Sleep(Duration),
    Lock(Name),
    Unlock(Name),
    Wait(Signal),
    Raise(Signal),
    MakeChannel(Channel, u32),
    Recv(Channel),
    SendTo(Channel, Payload),
    TrySend(Channel, Payload),
    Close(Channel),
    Look(Channel),
    Changed(Condition),
    Broadcast(Condition),
    Choose {
        domain: u64,
        apart: bool,
    },
    Memory(Name),
    Process,
    Clock,
    Spawn(Task),
    Reply {
        to: Caller,
        body: Payload,
        last: bool,
    },
    Note(Payload),
    Arm(Timer, Duration),
    Disarm(Timer),
    Deadline(Duration),
    Done,
    GoAway,
    /// Is it started again?
    Exit {
        again: bool,
    },
    /// The future dropped the operation with this index before it was answered.
    Drop(u32),
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Answer {
    Unit,
    Number(u64),
    Value(Payload),
    Net(Result<Payload, NetError>),
    Next(Result<Option<Payload>, NetError>),
}

/// One operation and its answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub op: Op,
    pub answer: Option<Answer>,
    /// The how-many-th answer to arrive, from 1; 0 if it was answered in place or not yet.
    pub order: u32,
    /// How many operations of the same kind stand before it.
    pub nth: u32,
}

/// All that a routine has asked for and been told: with its task, its state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Log {
    pub steps: Roomy<Step>,
    pub arrivals: Roomy<u32>,
    /// How many operations of each kind there are.
    counts: [u32; 8],
}

impl Op {
    /// Does whoever asks for it wait for an answer?
    fn waits(&self) -> bool {
        self.counted_as().is_some() || matches!(self, Op::Done)
    }

    /// What it is counted as in names; `None` if it never has an event of its own.
    fn counted_as(&self) -> Option<usize> {
        match self {
            Op::Call { .. } | Op::OpenStream { .. } | Op::Connect { .. } => Some(0),
            Op::Next(_) => Some(1),
            Op::Sleep(_) => Some(2),
            Op::Lock(_) => Some(3),
            Op::Wait(_) | Op::Changed(_) => Some(4),
            Op::Choose { .. } => Some(5),
            Op::Recv(_) => Some(6),
            Op::SendTo(..) => Some(7),
            _ => None,
        }
    }
}

impl Log {
    /// How many operations it waits for.
    pub fn open(&self) -> usize {
        let steps = self.steps.iter().enumerate();
        let waits = steps.filter(|(_, step)| step.answer.is_none() && step.op.waits());
        let is_dropped = |at: usize| {
            let mut later = self.steps[at..].iter();
            later.any(|step| matches!(step.op, Op::Drop(op) if op as usize == at))
        };
        waits.filter(|(at, _)| !is_dropped(*at)).count()
    }

    /// Has it set its context a deadline?
    pub fn has_deadline(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step.op, Op::Deadline(_)))
    }

    pub fn clear(&mut self) {
        self.steps.clear();
        self.arrivals.clear();
        self.counts = Default::default();
    }

    fn push(&mut self, op: Op) {
        let count = op.counted_as().map(|kind| &mut self.counts[kind]);
        let nth = count.map_or(0, |count| {
            *count += 1;
            *count - 1
        });
        self.steps.push(Step {
            op,
            answer: None,
            order: 0,
            nth,
        });
    }

    /// False if nobody waits for it any more.
    pub fn accept(&mut self, op: u32, answer: Answer) -> bool {
        let order = self.arrivals.len() as u32 + 1;
        match self.steps.get_mut(op as usize) {
            Some(step) if step.answer.is_none() => {
                step.answer = Some(answer);
                step.order = order;
                self.arrivals.push(op);
                true
            }
            _ => false,
        }
    }
}

#[derive(Default)]
pub(crate) struct Exchange {
    pub active: bool,
    pub process: Option<Body>,
    pub memory: Cached<Memory>,
    pub log: Log,
    /// Operations issued so far by this future.
    pub cursor: usize,
    /// Answers up to this order are visible.
    pub visible: u32,
    /// The process's wall clock against the world's time.
    pub clock: Clock,
    pub watch: Watch,
    pub next_stream: u32,
    /// The cells that the routine comes to, if somebody observes it.
    pub touched: Option<Vec<CellKey>>,
    /// The places at which it tells notes, if so.
    pub telling: Vec<Source>,
    /// How the routine went another way than its log says.
    pub impure: Option<String>,
    /// A payload of `()`.
    nothing: Option<Payload>,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::new(Exchange::default());
}

const OUTSIDE: &str = "a routine's context was used outside its routine";

/// Runs `f` on the exchange of the poll in progress.
pub(crate) fn with<R>(f: impl FnOnce(&mut Exchange) -> R) -> R {
    EXCHANGE.with(|cell| {
        let mut exchange = cell.try_borrow_mut().expect(OUTSIDE);
        assert!(exchange.active, "{OUTSIDE}");
        f(&mut exchange)
    })
}

/// As [`with`], but does nothing outside a poll: for futures that are dropped with their world.
pub(crate) fn if_polling(f: impl FnOnce(&mut Exchange)) {
    let _ = EXCHANGE.try_with(|cell| {
        if let Ok(mut exchange) = cell.try_borrow_mut()
            && exchange.active
        {
            f(&mut exchange);
        }
    });
}

/// Fills the scope, runs `poll` in it, and empties it again.
pub(crate) fn scope<R, T>(
    fill: impl FnOnce(&mut Exchange),
    poll: impl FnOnce() -> R,
    empty: impl FnOnce(&mut Exchange) -> T,
) -> (R, T) {
    struct Clear;
    impl Drop for Clear {
        fn drop(&mut self) {
            // After a panic nothing of this world may stay behind for the next.
            let _ = EXCHANGE
                .try_with(|cell| cell.try_borrow_mut().map(|mut e| *e = Exchange::default()));
        }
    }
    EXCHANGE.with(|cell| {
        let exchange = &mut *cell.borrow_mut();
        exchange.active = true;
        fill(exchange);
    });
    let clear = Clear;
    let result = poll();
    std::mem::forget(clear);
    let rest = EXCHANGE.with(|cell| {
        let exchange = &mut *cell.borrow_mut();
        exchange.active = false;
        empty(exchange)
    });
    (result, rest)
}

impl Exchange {
    /// Is the routine being rebuilt, that is: does the log already hold its next operation?
    fn replaying(&self) -> bool {
        self.cursor < self.log.steps.len()
    }

    /// The routine comes to a cell.
    pub fn touch(&mut self, cell: CellKey) {
        if let Some(touched) = &mut self.touched {
            touched.push(cell);
        }
    }

    /// The routine tells a note here.
    pub fn tell(&mut self, place: Source) {
        if self.touched.is_some() {
            self.telling.push(place);
        }
    }

    /// Issues an operation; its index is where the answer will be.
    pub fn issue(&mut self, op: Op) -> u32 {
        let index = self.cursor;
        self.cursor += 1;
        if index < self.log.steps.len() {
            let recorded = &self.log.steps[index].op;
            if *recorded != op && self.impure.is_none() {
                self.impure = Some(format!(
                    "operation {index} was {recorded:?} when it ran and is {op:?} when run again"
                ));
            }
        } else {
            self.log.push(op);
        }
        index as u32
    }

    /// Issues an operation that is answered in place: its index, or the answer that the log has of it. What does not
    /// depend on the type of the answer is here, for there are hundreds of types.
    fn begin(&mut self, op: Op) -> Result<usize, Answer> {
        let replaying = self.replaying();
        let index = self.issue(op) as usize;
        if !replaying {
            return Ok(index);
        }
        Err(match &self.log.steps[index].answer {
            Some(answer) => answer.clone(),
            None => {
                self.impure
                    .get_or_insert_with(|| format!("operation {index} had no answer in place"));
                Answer::Unit
            }
        })
    }

    fn end(&mut self, index: usize, answer: Answer) {
        self.log.steps[index].answer = Some(answer);
    }

    /// A payload of `()`, which is made once.
    fn nothing(&mut self) -> Payload {
        self.nothing.get_or_insert_with(|| Payload::new(())).clone()
    }

    /// Issues an operation that is answered in place.
    pub fn in_place(&mut self, op: Op, answer: impl FnOnce(&mut Exchange) -> Answer) -> Answer {
        match self.begin(op) {
            Err(answer) => answer,
            Ok(index) => {
                let answer = answer(self);
                self.end(index, answer.clone());
                answer
            }
        }
    }

    /// Issues an operation that is answered in place with a value.
    pub fn in_place_value<R: Message + Clone + Eq + Hash>(
        &mut self,
        op: Op,
        make: impl FnOnce(&mut Exchange) -> R,
    ) -> R {
        let index = match self.begin(op) {
            Ok(index) => index,
            Err(Answer::Value(payload)) => return payload.expect::<R>().clone(),
            Err(other) => unreachable!("{other:?}"),
        };
        let made = make(self);
        // Most changes have no result. What a mutant made of its fingerprint must not outlive the mutant.
        let is_nothing = TypeId::of::<R>() == TypeId::of::<()>() && !cfg!(feature = "mutants");
        let payload = match is_nothing {
            true => self.nothing(),
            false => Payload::new(made.clone()),
        };
        self.end(index, Answer::Value(payload));
        made
    }

    pub fn answer(&self, index: u32) -> Option<Answer> {
        let step = &self.log.steps[index as usize];
        if step.order > self.visible {
            return None;
        }
        step.answer.clone()
    }
}
