//! What the routines of random worlds do, step by step.

use std::pin::Pin;

use wavetank_engine::{Either, Instant, NetError, Payload, Rx};

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
    match step {
        Do::Sleep(long) => {
            rx.sleep(micros(*long)).await;
            left
        }
        Do::Call {
            to,
            over,
            add,
            within: limit,
        } => {
            let body = sent(small(left + u64::from(*add)));
            let call = rx.call(one(&TRANSPORTS, *over), plot.peer(*to), body);
            within(*limit, call).await.map_or(TOO_LATE, answered)
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
            let mut left = left;
            for _ in 0..*take {
                match rx.next(stream).await {
                    Ok(Some(value)) => left = small(left + number(&value)),
                    Ok(None) => {
                        left = 1;
                        break;
                    }
                    Err(error) => {
                        left = answered(Err(error));
                        break;
                    }
                }
            }
            if *close {
                rx.close_stream(stream);
            }
            left
        }
        Do::Lock {
            lock,
            within: limit,
            held,
        } => match within(*limit, rx.lock(*one(&LOCKS, *lock))).await {
            Some(guard) => {
                let left = run(plot, own, held, left).await;
                drop(guard);
                left
            }
            None => left + 1,
        },
        Do::TryLock { lock } => match rx.select(rx.lock(*one(&LOCKS, *lock)), async {}).await {
            Either::Left(_) => left + 1,
            Either::Right(()) => left,
        },
        Do::HandOver { lock } => {
            let (first, second) = (one(&LOCKS, *lock), one(&LOCKS, lock.wrapping_add(1)));
            let guard = rx.lock(*second).await;
            let (next, ()) = rx.join(rx.lock(*first), async move { drop(guard) }).await;
            drop(next);
            left
        }
        Do::Add { cell, by } => rx.update(one(&CELLS, *cell), |cell| {
            *cell = (*cell + u64::from(*by)) % 4;
            *cell
        }),
        Do::Read { cell } => rx.read(one(&CELLS, *cell)),
        Do::Note { what } => {
            let number = left as u8;
            rx.note(Noted {
                what: *what,
                number,
            });
            left
        }
        Do::Choose { among } => rx.choose((*among).max(1).into()).await,
        Do::ChooseApart { among } => rx.choose_apart((*among).max(1).into()).await,
        Do::Draw => rx.choose(VERY_MANY).await,
        Do::Spawn { further } => {
            let routine = own + 1 + usize::from(*further);
            if let Some(task) = plot.task(routine, |_| ()) {
                rx.spawn(task);
            }
            left
        }
        Do::Recv {
            channel,
            within: limit,
        } => {
            let item = within(*limit, rx.recv(*one(&CHANNELS, *channel))).await;
            item.map_or(TOO_LATE, |item| item.as_ref().map_or(1, number))
        }
        Do::Send {
            channel,
            within: limit,
        } => {
            let send = rx.send_to(*one(&CHANNELS, *channel), sent(left));
            within(*limit, send).await.map_or(TOO_LATE, u64::from)
        }
        Do::TrySend { channel } => rx.try_send(*one(&CHANNELS, *channel), sent(left)).into(),
        Do::Close { channel } => {
            rx.close(*one(&CHANNELS, *channel));
            left
        }
        Do::Len { channel } => {
            let channel = *one(&CHANNELS, *channel);
            rx.len(channel) as u64 + 3 * u64::from(rx.is_closed(channel))
        }
        Do::Wait { signal } => {
            rx.wait(*one(&SIGNALS, *signal)).await;
            left
        }
        Do::Raise { signal } => {
            rx.raise(*one(&SIGNALS, *signal));
            left
        }
        Do::Changed {
            condition,
            within: limit,
        } => {
            let changed = rx.changed(*one(&CONDITIONS, *condition));
            within(*limit, changed).await.map_or(TOO_LATE, |()| left)
        }
        Do::Broadcast { condition } => {
            rx.broadcast(*one(&CONDITIONS, *condition));
            left
        }
        Do::Clock => rx.clock().nanos() / 300_000 % 3,
        Do::Mark => {
            rx.update_at(&MARKED, |marked, now| *marked = Some(Instant(now)));
            left
        }
        Do::Age => rx.update_at(&MARKED, |marked, now| {
            let age = marked.map(|marked| now.since(marked.0).as_micros() as u64);
            age.map_or(0, |age| 1 + age / 700 % 4)
        }),
        Do::Arm {
            timer: which,
            after,
        } => {
            rx.arm(timer(*which), micros(*after));
            left
        }
        Do::Disarm { timer: which } => {
            rx.disarm(timer(*which));
            left
        }
        Do::Deadline(after) => {
            rx.deadline(micros(*after));
            left
        }
        Do::Done { within: limit } => match within(Some(*limit), rx.done()).await {
            Some(()) => 1,
            None => 0,
        },
        Do::Keep { by } => {
            let by = *by;
            rx.process(move |toy: &mut Toy| toy.keep(by))
        }
        Do::Look => rx.process(|toy: &mut Toy| toy.volatile()),
        Do::GoAway => {
            rx.go_away();
            left
        }
        Do::Exit => {
            rx.exit();
            left
        }
        Do::Restart { after } => {
            // At once means within the same event, over and over if it is what a life begins with.
            if *after != Delay::Us(0) {
                rx.sleep(micros(*after)).await;
            }
            rx.restart();
            left
        }
        Do::Panic { at } => {
            assert!(left != u64::from(*at), "the number is {at}");
            left
        }
        Do::If { at, then } => match left % 3 == u64::from(at % 3) {
            true => run(plot, own, then, left).await,
            false => left,
        },
        Do::Join(first, second) => {
            let both = rx.join(run(plot, own, first, left), run(plot, own, second, left));
            let (first, second) = both.await;
            first + 2 * second
        }
        Do::Select(first, second) => {
            match rx
                .select(run(plot, own, first, left), run(plot, own, second, left))
                .await
            {
                Either::Left(left) => left,
                Either::Right(left) => left + 1,
            }
        }
    }
}
