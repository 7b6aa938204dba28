//! A life of a hosted program: its runtime, and what it does in one turn.
//!
//! The runtime is tokio's, with one thread and its own timers, and nothing about it is changed. In a turn it runs until
//! no task can go on: then it would put its thread to sleep until its next timer, and that is where the turn ends
//! (`sys/interpose.rs`). Time stands still meanwhile, and what the program asks for is only written down (`wire.rs`). So
//! a turn is part of one event of the world, and the next timer of the program is a timer of its process.
//!
//! Lives are kept by their thread and not by their process: they are no values, and cannot go elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kube::Client;
use kube::client::retry::RetryPolicy;
use tokio::runtime::{Builder, Runtime};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

use crate::sys::{self, Clocks, keys};
use crate::wire::{Incoming, Outgoing, Wire};

/// There is always a timer, or the runtime would sleep for ever.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// Keys of hash maps count up for a whole thread; so many lives differ in where they are.
const KEYS: u64 = 1 << 10;

/// The main future of a program.
pub(crate) type Main = Pin<Box<dyn Future<Output = Ended>>>;

/// How a program ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ended {
    /// It returned.
    Returned,
    /// It returned an error.
    Failed(String),
    /// It panicked.
    Panicked(String),
}

/// What a turn came to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Turned {
    pub out: Vec<Outgoing>,
    /// When the program has something to do next.
    pub next: Duration,
    pub ended: Option<Ended>,
}

struct Life {
    runtime: Runtime,
    wire: Wire,
    main: Option<Main>,
    numbers: u64,
    has_threads: bool,
}

thread_local! {
    static LIVES: RefCell<BTreeMap<u64, Life>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    /// Wakes the turn that is under way.
    static TURN: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Begins a life, and names it. The number is what its randomness comes of.
pub(crate) fn begin(start: &dyn Fn(Wire) -> Main, number: u64, clocks: Clocks) -> u64 {
    sys::enter(clocks, number);
    keys::enter_life();
    keys::skip(number % KEYS);
    fastrand::seed(number);
    let runtime = runtime();
    let wire = Wire::default();
    let main = {
        let _inside = runtime.enter();
        start(wire.clone())
    };
    let life = Life {
        runtime,
        wire,
        main: Some(main),
        numbers: sys::leave(),
        has_threads: sys::take_threads(),
    };
    keys::leave();
    let name = NEXT.get();
    NEXT.set(name + 1);
    LIVES.with_borrow_mut(|lives| lives.insert(name, life));
    name
}

/// A client as `Client::try_default` makes it, but for its connections (`kube-client/src/client/builder.rs`, 5.0).
pub(crate) fn client(wire: Wire, namespace: &str) -> Client {
    let retries = RetryLayer::new(RetryPolicy::server_retry());
    let service = ServiceBuilder::new().layer(retries);
    Client::new(service.map_err(BoxError::from).service(wire), namespace)
}

fn runtime() -> Runtime {
    let built = Builder::new_current_thread()
        .enable_time()
        .on_thread_park(sys::begin_park)
        .on_thread_unpark(|| {
            if sys::end_park() {
                TURN.with_borrow(|turn| turn.as_ref().map(Waker::wake_by_ref));
            }
        })
        .build();
    built.expect("a runtime without sockets")
}

/// Hands a life what has come for it.
pub(crate) fn deliver(name: u64, id: u64, incoming: Incoming) {
    with(name, |life| life.wire.deliver(id, incoming));
}

/// Does the program still wait for this answer?
pub(crate) fn is_open(name: u64, id: u64) -> bool {
    with(name, |life| life.wire.is_open(id))
}

/// The program runs until it has nothing more to do now.
///
/// # Panics
/// If it has started a thread.
pub(crate) fn turn(name: u64, clocks: Clocks) -> Turned {
    // Taken out: the program may end another life only by a bug, but must not find this one borrowed.
    let mut life = LIVES.with_borrow_mut(|lives| lives.remove(&name).expect("it lives"));
    let turned = life.turn(clocks);
    LIVES.with_borrow_mut(|lives| lives.insert(name, life));
    turned
}

/// Ends a life: nothing of the program runs any more.
pub(crate) fn end(name: u64) {
    let life = LIVES.try_with(|lives| lives.borrow_mut().remove(&name));
    if let Ok(Some(life)) = life {
        life.end();
    }
}

/// Ends all lives of this thread.
pub(crate) fn end_all() {
    let lives = LIVES.with_borrow_mut(std::mem::take);
    lives.into_values().for_each(Life::end);
}

fn with<R>(name: u64, work: impl FnOnce(&mut Life) -> R) -> R {
    LIVES.with_borrow_mut(|lives| work(lives.get_mut(&name).expect("it lives")))
}

impl Life {
    fn turn(&mut self, clocks: Clocks) -> Turned {
        sys::enter(clocks, self.numbers);
        keys::enter_turn();
        let (main, mut ended) = (&mut self.main, None);
        let until = self.runtime.block_on(async {
            let mut far = pin!(tokio::time::sleep(FAR));
            poll_fn(|cx| {
                if let Some(until) = sys::take_parked() {
                    return Poll::Ready(until);
                }
                TURN.set(Some(cx.waker().clone()));
                let _ = far.as_mut().poll(cx);
                if let Some(end) = main.as_mut().and_then(|main| poll_main(main, cx)) {
                    ended = Some(end);
                    *main = None;
                }
                Poll::Pending
            })
            .await
        });
        TURN.set(None);
        keys::leave();
        self.numbers = sys::leave();
        self.has_threads |= sys::take_threads();
        assert!(
            !self.has_threads,
            "the operator starts threads (`spawn_blocking`, `tokio::fs`, a lookup of a name), which no simulation can \
             order"
        );
        Turned {
            out: self.wire.take(),
            next: Duration::from_nanos(until.saturating_sub(clocks.monotonic)),
            ended,
        }
    }

    fn end(self) {
        {
            let _inside = self.runtime.enter();
            drop(self.main);
        }
        self.runtime.shutdown_background();
    }
}

fn poll_main(main: &mut Main, cx: &mut Context<'_>) -> Option<Ended> {
    match catch_unwind(AssertUnwindSafe(|| main.as_mut().poll(cx))) {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(ended)) => Some(ended),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Some(Ended::Panicked(
                text.unwrap_or("without a message").to_owned(),
            ))
        }
    }
}
