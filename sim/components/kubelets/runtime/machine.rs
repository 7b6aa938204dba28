//! The machine of a node: whether it is on, and the stand-in of logind, which lets those who hold a lock finish their work
//! before it goes off. What logind has read survives a crash of this process, its locks and its watchers do not.

use std::time::Duration;

use wavetank_engine::{Caller, Cell, Condition, Name, Outcome, Payload, ProcId, Rx, Task};

use super::ContainerRuntime;
use super::cri::{Answer, CRI};
use crate::kubelet::Power;
use crate::notes::{ComesUp, GoesOff, Rebooted, ShutdownComes};

pub(super) const SHUT_DOWN: Name = Name::new("shut-down-node");
/// Nobody delays it any more.
pub(super) const GO_OFF: Name = Name::new("node-goes-off");
pub(super) const STAY_OFF: Name = Name::new("node-is-off");
pub(super) const START_ANEW: Name = Name::new("node-starts-anew");
pub(super) const RELOAD: Name = Name::new("reload-logind-conf");
/// A lock was released.
const RELEASED: Condition = Condition::new("inhibitor-was-released", 0);
/// `InhibitDelayMaxSec` where nobody has written another one.
const INHIBIT_DELAY_MAX: Duration = Duration::from_secs(5);
/// One shutdown in so many is cancelled, so many seconds after it was told.
const CANCELLED_IN: u64 = 4;
const CANCELLED_AFTER: [u64; 3] = [1, 6, 15];
/// How long the machine is off, in seconds.
const OFF_FOR: [u64; 3] = [4, 20, 60];
/// How long logind takes to read its configuration, in milliseconds. Rarely it takes longer than anybody waits.
const RELOAD_TAKES: [u64; 4] = [20, 150, 700, 4_000];
/// Before whoever is to be told is asked again.
const RETRY: Duration = Duration::from_secs(1);

static LOCKS: Cell<u32> = Cell::new("inhibitors");
static WATCHERS: Cell<Vec<Caller>> = Cell::new("watchers-of-shutdowns");

/// What a machine does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum State {
    On,
    /// Who holds a lock may delay that.
    IsAboutToGoOff,
    Off,
    /// It is down for no time that would count.
    StartsAnew,
}

/// A machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Machine {
    pub state: State,
    /// `InhibitDelayMaxUSec`, and what the files say that logind reads.
    pub inhibit_delay: Duration,
    pub configured: Duration,
}

impl Machine {
    pub(super) const NEW: Machine = Machine {
        state: State::On,
        inhibit_delay: INHIBIT_DELAY_MAX,
        configured: INHIBIT_DELAY_MAX,
    };
}

fn machine<T: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
    rx: Rx,
    work: impl FnOnce(&mut Machine) -> T,
) -> T {
    rx.process(|own: &mut ContainerRuntime| work(&mut own.machine))
}

pub(super) fn is_off(rx: Rx) -> bool {
    machine(rx, |own| {
        matches!(own.state, State::Off | State::StartsAnew)
    })
}

pub(super) fn is_on(rx: Rx) -> bool {
    machine(rx, |own| own.state == State::On)
}

pub(super) fn current_inhibit_delay(rx: Rx) -> Answer {
    Answer::Delay(machine(rx, |own| own.inhibit_delay))
}

pub(super) fn override_inhibit_delay(rx: Rx, delay: Duration) -> Answer {
    machine(rx, |own| own.configured = delay);
    Answer::Done
}

pub(super) async fn reload(rx: Rx) -> Outcome {
    super::serve::pause(rx, &RELOAD_TAKES).await;
    machine(rx, |own| own.inhibit_delay = own.configured);
    Outcome::Done
}

/// A lock: it is held until its caller closes the stream, or is gone.
pub(super) async fn inhibit_shutdown(rx: Rx, caller: Caller) {
    if !is_on(rx) {
        let why = "the operation inhibition has been requested for is already running";
        return rx.reply(caller, Payload::new(Answer::Failed(why)));
    }
    rx.update(&LOCKS, |own| *own += 1);
    rx.push(caller, Payload::new(Answer::Done));
    rx.done().await;
    rx.update(&LOCKS, |own| *own -= 1);
    rx.broadcast(RELEASED);
}

pub(super) async fn monitor_shutdown(rx: Rx, caller: Caller) {
    rx.update(&WATCHERS, |own| own.push(caller));
    rx.done().await;
    rx.update(&WATCHERS, |own| own.retain(|other| *other != caller));
}

/// `PrepareForShutdown`
fn prepare_for_shutdown(rx: Rx, comes: bool) {
    for caller in rx.look(&WATCHERS, Clone::clone) {
        rx.push(caller, Payload::new(Answer::PrepareForShutdown(comes)));
    }
}

/// When a shutdown is cancelled, if it is.
async fn cancelled_after(rx: Rx) -> Option<u64> {
    if rx.choose(CANCELLED_IN).await + 1 < CANCELLED_IN {
        return None;
    }
    let drawn = rx.choose(CANCELLED_AFTER.len() as u64).await as usize;
    Some(CANCELLED_AFTER[drawn])
}

/// The machine is told to go off, which is cancelled after so many seconds, 0 for not at all.
pub(super) async fn shut_down(rx: Rx, cancelled: Option<u64>) -> Outcome {
    let cancelled = match cancelled {
        Some(0) => None,
        Some(after) => Some(after),
        None => cancelled_after(rx).await,
    };
    if !is_on(rx) {
        return Outcome::Done;
    }
    let delay = machine(rx, |own| {
        own.state = State::IsAboutToGoOff;
        own.inhibit_delay
    });
    rx.note(ShutdownComes(true));
    prepare_for_shutdown(rx, true);
    let released = async {
        while rx.read(&LOCKS) > 0 {
            rx.changed(RELEASED).await;
        }
    };
    let cancelled = cancelled.map(Duration::from_secs);
    let cancelled = cancelled.filter(|after| *after < delay);
    let is_released = rx.timeout(cancelled.unwrap_or(delay), released).await;
    if is_released.is_none() && cancelled.is_some() {
        machine(rx, |own| own.state = State::On);
        rx.note(ShutdownComes(false));
        prepare_for_shutdown(rx, false);
        return Outcome::Done;
    }
    go_off(rx);
    Outcome::Done
}

pub(super) async fn goes_off(rx: Rx) -> Outcome {
    go_off(rx);
    Outcome::Done
}

fn go_off(rx: Rx) {
    goes_down(rx, State::Off);
    rx.note(GoesOff);
}

/// The machine starts anew, and tells nobody before.
pub(super) async fn reboot(rx: Rx) -> Outcome {
    if is_on(rx) {
        goes_down(rx, State::StartsAnew);
        rx.note(Rebooted);
    }
    Outcome::Done
}

/// All that runs ends, and what this process is about ends with it: nothing that somebody has asked for comes after that.
fn goes_down(rx: Rx, state: State) {
    machine(rx, |own| own.state = state);
    super::faults::end_all(rx);
    rx.restart();
}

/// Its kubelet obeys, be it after a while.
async fn tell_kubelet(rx: Rx, kubelet: ProcId, power: Power) {
    while rx.call(&CRI, kubelet, Payload::new(power)).await.is_err() {
        rx.sleep(RETRY).await;
    }
}

/// The machine is off for a while, and so is its kubelet.
pub(super) async fn stay_off(rx: Rx, kubelet: ProcId) -> Outcome {
    tell_kubelet(rx, kubelet, Power::Off).await;
    let drawn = rx.choose(OFF_FOR.len() as u64).await as usize;
    rx.sleep(Duration::from_secs(OFF_FOR[drawn])).await;
    tell_kubelet(rx, kubelet, Power::On).await;
    machine(rx, |own| own.state = State::On);
    rx.note(ComesUp);
    Outcome::Done
}

/// It is on again once its kubelet has started anew.
pub(super) async fn start_anew(rx: Rx, kubelet: ProcId) -> Outcome {
    tell_kubelet(rx, kubelet, Power::Reboot).await;
    machine(rx, |own| own.state = State::On);
    Outcome::Done
}

/// What a machine does that begins a life of this process: if it was about to go off nobody delays that any more.
pub(super) fn begins(own: &Machine) -> Option<Task> {
    match own.state {
        State::On => None,
        State::IsAboutToGoOff => Some(Task::new(GO_OFF, ())),
        State::Off => Some(Task::new(STAY_OFF, ())),
        State::StartsAnew => Some(Task::new(START_ANEW, ())),
    }
}
