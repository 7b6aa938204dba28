//! What the routines of random worlds do, step by step.

use std::pin::Pin;

use wavetank_engine::{Either, Instant, NetError, Payload, Rx, Stream};

use super::build::micros;
use super::description::{Delay, Do};
use super::toy::{
    CELLS, CHANNELS, CONDITIONS, LOCKS, MARKED, Noted, Plot, SIGNALS, TRANSPORTS, Toy, number, one,
    sent, small, timer,
};

/// Out of so many there is one draw.
const VERY_MANY: u64 = 1 << 40;

type Left<'a> = Pin<Box<dyn Future<Output = u64> + Send + 'a>>;

/// One step after the other. The number that the last one leaves is what comes out.
pub(super) fn run<'a>(plot: &'a Plot, own: usize, steps: &'a [Do], mut left: u64) -> Left<'a> {
    Box::pin(async move {
        for step in steps {
            left = small(once(plot, own, step, left).await);
        }
        left
    })
}

async fn within<T>(limit: Option<Delay>, wait: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => Rx::new().timeout(micros(limit), wait).await,
        None => Some(wait.await),
    }
}

fn answered(answer: Result<Payload, NetError>) -> u64 {
    match answer {
        Ok(value) => number(&value),
        Err(NetError::Refused) => 5,
        Err(NetError::DialTimeout) => 6,
        Err(NetError::Reset) => 4,
        Err(NetError::Cancelled) => 3,
    }
}

/// What a step leaves when it took too long.
const TOO_LATE: u64 = 2;

async fn once(plot: &Plot, own: usize, step: &Do, left: u64) -> u64 {
    let rx = Rx::new();
    // What is done at once leaves what was there before, unless it says otherwise.
    match step {
        Do::Sleep(long) => rx.sleep(micros(*long)).await,
        Do::Call {
            to,
            over,
            add,
            within: limit,
        } => {
            let body = sent(small(left + u64::from(*add)));
            let call = rx.call(one(&TRANSPORTS, *over), plot.peer(*to), body);
            return within(*limit, call).await.map_or(TOO_LATE, answered);
        }
        Do::Stream {
            to,
            over,
            add,
            take,
            part,
            close,
        } => {
            let body = sent(small(left + u64::from(*add)));
            let stream = rx.open_stream(one(&TRANSPORTS, *over), plot.peer(*to), body);
            if *part {
                rx.send(stream, sent(small(left)));
            }
            let left = taken(stream, *take, left).await;
            if *close {
                rx.close_stream(stream);
            }
            return left;
        }
        Do::Lock {
            lock,
            within: limit,
            held,
        } => {
            let Some(guard) = within(*limit, rx.lock(*one(&LOCKS, *lock))).await else {
                return left + 1;
            };
            let left = run(plot, own, held, left).await;
            drop(guard);
            return left;
        }
        Do::TryLock { lock } => return try_lock(*lock, left).await,
        Do::HandOver { lock } => hand_over(*lock).await,
        Do::Add { cell, by } => return add(*cell, *by),
        Do::Read { cell } => return rx.read(one(&CELLS, *cell)),
        Do::Note { what } => rx.note(Noted {
            what: *what,
            number: left as u8,
        }),
        Do::Choose { among } => return rx.choose((*among).max(1).into()).await,
        Do::ChooseApart { among } => return rx.choose_apart((*among).max(1).into()).await,
        Do::Draw => return rx.choose(VERY_MANY).await,
        Do::Spawn { further } => {
            if let Some(task) = plot.task(own + 1 + usize::from(*further), |_| ()) {
                rx.spawn(task);
            }
        }
        Do::Recv {
            channel,
            within: limit,
        } => {
            let item = within(*limit, rx.recv(*one(&CHANNELS, *channel))).await;
            return item.map_or(TOO_LATE, |item| item.as_ref().map_or(1, number));
        }
        Do::Send {
            channel,
            within: limit,
        } => {
            let send = rx.send_to(*one(&CHANNELS, *channel), sent(left));
            return within(*limit, send).await.map_or(TOO_LATE, u64::from);
        }
        Do::TrySend { channel } => {
            return rx.try_send(*one(&CHANNELS, *channel), sent(left)).into();
        }
        Do::Close { channel } => rx.close(*one(&CHANNELS, *channel)),
        Do::Len { channel } => return len(*channel),
        Do::Wait { signal } => rx.wait(*one(&SIGNALS, *signal)).await,
        Do::Raise { signal } => rx.raise(*one(&SIGNALS, *signal)),
        Do::Changed {
            condition,
            within: limit,
        } => {
            let changed = rx.changed(*one(&CONDITIONS, *condition));
            return within(*limit, changed).await.map_or(TOO_LATE, |()| left);
        }
        Do::Broadcast { condition } => rx.broadcast(*one(&CONDITIONS, *condition)),
        Do::Clock => return rx.clock().nanos() / 300_000 % 3,
        Do::Mark => rx.update_at(&MARKED, |marked, now| *marked = Some(Instant(now))),
        Do::Age => return age(),
        Do::Arm { timer: set, after } => rx.arm(timer(*set), micros(*after)),
        Do::Disarm { timer: set } => rx.disarm(timer(*set)),
        Do::Deadline(after) => rx.deadline(micros(*after)),
        Do::Done { within: limit } => {
            return within(Some(*limit), rx.done()).await.is_some().into();
        }
        Do::Keep { by } => return keep(*by),
        Do::Look => return rx.process(|toy: &mut Toy| toy.volatile()),
        Do::GoAway => rx.go_away(),
        Do::Exit => rx.exit(),
        Do::Restart { after } => restart(*after).await,
        Do::Panic { at } => assert!(left != u64::from(*at), "the number is {at}"),
        Do::If { at, then } if left % 3 == u64::from(at % 3) => {
            return run(plot, own, then, left).await;
        }
        Do::If { .. } => {}
        Do::Join(first, second) => {
            let both = rx.join(run(plot, own, first, left), run(plot, own, second, left));
            let (first, second) = both.await;
            return first + 2 * second;
        }
        Do::Select(first, second) => {
            let first = run(plot, own, first, left);
            let second = run(plot, own, second, left);
            return match rx.select(first, second).await {
                Either::Left(left) => left,
                Either::Right(left) => left + 1,
            };
        }
    }
    left
}

/// The parts of a stream, added up, at most so many; what it ends with if that comes first.
async fn taken(stream: Stream, most: u8, mut left: u64) -> u64 {
    for _ in 0..most {
        match Rx::new().next(stream).await {
            Ok(Some(value)) => left = small(left + number(&value)),
            Ok(None) => return 1,
            Err(error) => return answered(Err(error)),
        }
    }
    left
}

/// Takes the lock only if that needs no waiting.
async fn try_lock(lock: u8, left: u64) -> u64 {
    let rx = Rx::new();
    match rx.select(rx.lock(*one(&LOCKS, lock)), async {}).await {
        Either::Left(_) => left + 1,
        Either::Right(()) => left,
    }
}

/// Frees one lock in the very poll that waits for another.
async fn hand_over(lock: u8) {
    let rx = Rx::new();
    let (first, second) = (one(&LOCKS, lock), one(&LOCKS, lock.wrapping_add(1)));
    let guard = rx.lock(*second).await;
    let (next, ()) = rx.join(rx.lock(*first), async move { drop(guard) }).await;
    drop(next);
}

fn add(cell: u8, by: u8) -> u64 {
    Rx::new().update(one(&CELLS, cell), |cell| {
        *cell = (*cell + u64::from(by)) % 4;
        *cell
    })
}

fn len(channel: u8) -> u64 {
    let (rx, channel) = (Rx::new(), *one(&CHANNELS, channel));
    rx.len(channel) as u64 + 3 * u64::from(rx.is_closed(channel))
}

/// How long ago `Do::Mark` was, in pieces of 700 µs.
fn age() -> u64 {
    Rx::new().update_at(&MARKED, |marked, now| {
        let age = marked.map(|marked| now.since(marked.0).as_micros() as u64);
        age.map_or(0, |age| 1 + age / 700 % 4)
    })
}

fn keep(by: u8) -> u64 {
    Rx::new().process(move |toy: &mut Toy| toy.keep(by))
}

async fn restart(after: Delay) {
    let rx = Rx::new();
    // At once means within the same event, over and over if it is what a life begins with.
    if after != Delay::Us(0) {
        rx.sleep(micros(after)).await;
    }
    rx.restart();
}
