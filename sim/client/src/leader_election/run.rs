//! The loops of an election (`Run`, `acquire`, `renew`, `release`).

use std::sync::Arc;

use wavetank_api::{Reason, Stamp};
use wavetank_engine::{Either, Outcome, Rx, Task};
use wavetank_version::Defect;

use super::attempt::{set_observed_record, try_acquire_or_renew};
use super::record::Record;
use super::{
    ATTEMPT, ATTEMPTED, ELECT, ELECTION, ELECTOR, Election, ElectionNote, JITTER_FACTOR,
    LEADERSHIP, OVERDUE, Place, RENEW_DEADLINE, RETRY_PERIOD, lock, with,
};
use crate::ElectionDefect;
use crate::leader_election::gates;
use crate::wait::{Every, Turn, poll_immediate_until};

/// Ends the election: a leader releases its lock if it is to.
pub fn cancel(rx: Rx) {
    ELECTION.close(rx);
}

/// Whatever the leader does is cancelled, or has ended by itself.
pub fn stop_leading(rx: Rx) {
    LEADERSHIP.close(rx);
    if with(rx, |elector| std::mem::take(&mut elector.leads)) {
        rx.note(ElectionNote::Ends);
    }
}

/// One turn.
pub(super) async fn turn(rx: Rx, own: Arc<Election>, place: Place) -> Outcome {
    match place {
        Place::Acquire => acquire(rx, &own).await,
        Place::Renew => renew(rx, &own).await,
    }
}

/// One turn of `acquire`.
async fn acquire(rx: Rx, own: &Election) -> Outcome {
    let mut acquired = false;
    let every = Every::jittered(RETRY_PERIOD, JITTER_FACTOR);
    let turn = every.sliding(rx, &ELECTION, async {
        acquired = match own.release().has(gates::REQUESTS_HAVE_CONTEXTS) {
            false => try_acquire_or_renew(rx, own).await,
            true => {
                let tried = rx
                    .select(ELECTION.closed(rx), try_acquire_or_renew(rx, own))
                    .await;
                tried == Either::Right(true)
            }
        };
        if acquired { Turn::Over } else { Turn::Again }
    });
    if turn.await == Turn::Again {
        return Outcome::Become(Task::new(ELECT, Place::Acquire));
    }
    if !acquired {
        return Outcome::Become(Task::new(own.on_stopped, ()));
    }
    let (identity, transitions) = with(rx, |elector| {
        elector.leads = true;
        (elector.identity.clone(), elector.observed.transitions)
    });
    rx.note(ElectionNote::Leads {
        identity,
        transitions,
    });
    rx.spawn(Task::new(own.on_started, transitions));
    Outcome::Become(Task::new(ELECT, Place::Renew))
}

pub(crate) const LOST_LEADERSHIP_GOES_UNNOTICED: Defect = Defect::known(
    "lost-leadership-goes-unnoticed",
    "k/k#23731 (1.2)",
    "a leader that could not renew its lock in time tries on, and leads meanwhile",
)
.until(gates::LOSS_IS_NOTICED);

pub(crate) const LOCK_RELEASED_WHILE_LEADING: Defect = Defect::open(
    "lock-released-while-leading",
    "PR #139504, PR #139991 (open)",
    "a leader that could not renew gives up the lock first, and then cancels what it does as leader",
);

/// One turn of `renew`; after the last one the lock is given up if it is to be, and `Run` ends.
async fn renew(rx: Rx, own: &Election) -> Outcome {
    let turn = Every::period(RETRY_PERIOD).sliding(rx, &ELECTION, async {
        if renewed_in_time(rx, own).await {
            return Turn::Again;
        }
        if ELECTION.is_closed(rx) {
            return Turn::Over;
        }
        rx.note(ElectionNote::Lost);
        match own.defects.has(ElectionDefect::LostLeadershipGoesUnnoticed) {
            true => Turn::Again,
            false => Turn::Over,
        }
    });
    let turn = match rx.select(overdue(rx, own), turn).await {
        Either::Left(()) => {
            rx.note(ElectionNote::Lost);
            Turn::Over
        }
        Either::Right(turn) => turn,
    };
    if turn == Turn::Again {
        return Outcome::Become(Task::new(ELECT, Place::Renew));
    }
    let works_on =
        own.release_on_cancel && own.defects.has(ElectionDefect::LockReleasedWhileLeading);
    if !works_on {
        stop_leading(rx);
    }
    if own.release_on_cancel {
        give_up(rx, own).await;
    }
    if works_on {
        stop_leading(rx);
    }
    Outcome::Become(Task::new(own.on_stopped, ()))
}

pub(crate) const RENEWAL_OUTLIVES_DEADLINE: Defect = Defect::known(
    "renewal-outlives-deadline",
    "k/k#83078, k/k#87899 (1.18)",
    "each renewal runs by itself without a context, and may end when its leader has given up",
)
.until(gates::REQUESTS_HAVE_CONTEXTS);

/// Attempts until one succeeds, within the deadline.
async fn renewed_in_time(rx: Rx, own: &Election) -> bool {
    let by_itself = own.defects.has(ElectionDefect::RenewalOutlivesDeadline);
    let once = || async move {
        match by_itself {
            true => ended(rx).await,
            false => try_acquire_or_renew(rx, own).await,
        }
    };
    let deadline = rx.select(rx.sleep(RENEW_DEADLINE), ELECTION.closed(rx));
    let renewed = poll_immediate_until(rx, own.release(), RETRY_PERIOD, once);
    matches!(rx.select(deadline, renewed).await, Either::Right(()))
}

/// Waits until the last renewal that succeeded began too long ago, if that counts.
async fn overdue(rx: Rx, own: &Election) {
    let unnoticed = own.defects.has(ElectionDefect::LostLeadershipGoesUnnoticed);
    let counts = own.counts_from_request() && !unnoticed;
    while !counts || !rx.look(&ELECTOR, |elector| elector.is_overdue()) {
        rx.changed(OVERDUE).await;
    }
}

/// v1.16 makes each renewal in a goroutine of its own, and waits for it.
async fn ended(rx: Rx) -> bool {
    let number = with(rx, |elector| {
        elector.ended.0 += 1;
        elector.ended.1 = false;
        elector.ended.0
    });
    rx.spawn(Task::new(ATTEMPT, number));
    loop {
        rx.changed(ATTEMPTED).await;
        let (last, renewed) = rx.look(&ELECTOR, |elector| elector.ended);
        if last == number {
            return renewed;
        }
    }
}

/// The goroutine of a renewal, which nobody may wait for any more.
pub(super) async fn by_itself(rx: Rx, own: Arc<Election>, number: u64) -> Outcome {
    let renewed = try_acquire_or_renew(rx, &own).await;
    let waits = with(rx, |elector| {
        let waits = elector.ended.0 == number;
        if waits {
            elector.ended.1 = renewed;
        }
        waits
    });
    if waits {
        rx.broadcast(ATTEMPTED);
    }
    Outcome::Done
}

pub(crate) const RELEASE_FROM_MEMORY: Defect = Defect::known(
    "release-from-memory",
    "k/k#95939, client-go#1289",
    "who gives up a lock writes over what it saw last, and not over what is there",
)
.until(gates::RELEASE_READS_FIRST);

/// `release`, within its deadline; until v1.20 it had none.
async fn give_up(rx: Rx, own: &Election) {
    match own.defects.has(ElectionDefect::ReleaseFromMemory) {
        true => release(rx, own).await,
        false => {
            rx.timeout(RENEW_DEADLINE, release(rx, own)).await;
        }
    }
}

pub(crate) const RELEASE_WITHOUT_DURATION: Defect = Defect::known(
    "release-without-duration",
    "k/k#91966 (1.19)",
    "the record of a lock that is given up has a duration of 0, which a Lease must not have",
)
.until(gates::RELEASED_RECORD_HAS_A_DURATION);

pub(crate) const RELEASE_GIVES_UP_ON_CONFLICT: Defect = Defect::known(
    "release-gives-up-on-conflict",
    "k/k#112023 (fixed after 1.36)",
    "who meets another write when it gives up its lock keeps it",
);

pub(crate) const FIX_RELEASE_OWN_LOCK: Defect = Defect::fix(
    "fix-release-own-lock",
    "FINDINGS.md, 13",
    "who gives up a lock looks whether it still has it in the record that it reads for that",
);

/// Writes that nobody holds the lock: over what was read last (v1.16, v1.20), or over what it reads first.
async fn release(rx: Rx, own: &Election) {
    let has = |defect| own.defects.has(defect);
    let from_memory = has(ElectionDefect::ReleaseFromMemory);
    let gives_up = from_memory || has(ElectionDefect::ReleaseGivesUpOnConflict);
    let identity = rx.look(&ELECTOR, |elector| elector.identity.clone());
    let failed = |why| {
        let identity = identity.clone();
        rx.note(ElectionNote::NotReleased { identity, why });
    };
    loop {
        let mut transitions = rx.look(&ELECTOR, |elector| elector.observed.transitions);
        if !from_memory {
            match lock::get(rx, own).await {
                Ok(read)
                    if has(ElectionDefect::FixReleaseOwnLock) && read.record.holder != identity =>
                {
                    return rx.note(ElectionNote::LeavesToOther);
                }
                Ok(read) => transitions = read.record.transitions,
                Err(error) => return failed(error),
            }
        }
        if !rx.look(&ELECTOR, |elector| elector.is_leader()) {
            return;
        }
        let seconds = match has(ElectionDefect::ReleaseWithoutDuration) {
            true => 0,
            false => 1,
        };
        let now = Stamp::of(rx.clock());
        let record = Record {
            transitions,
            ..Record::new(&"".into(), seconds, now)
        };
        let identity = identity.clone();
        rx.note(ElectionNote::Releases { identity });
        match lock::update(rx, own, &record).await {
            Ok(()) => {
                set_observed_record(rx, own, record);
                return rx.note(ElectionNote::Released);
            }
            Err(error) if error.is(Reason::Conflict) && !gives_up => {}
            Err(error) => return failed(error),
        }
    }
}
