//! The loops of an election (`Run`, `acquire`, `renew`, `release`).

use wavetank_api::{Reason, Stamp};
use wavetank_engine::{Either, Outcome, Task, mutant};
use wavetank_version::Defect;

use super::attempt::{set_observed_record, try_acquire_or_renew};
use super::candidate::Candidate;
use super::record::Record;
use super::{
    ATTEMPT, ELECT, ElectionDefect, ElectionNote, JITTER_FACTOR, Leading, Place, RENEW_DEADLINE,
    RETRY_PERIOD, gates, lock, too_long,
};
use crate::wait::{Every, Turn, poll_immediate_until};

/// One turn.
pub(super) async fn turn(own: Candidate, place: Place) -> Outcome {
    match place {
        Place::Acquire => acquire(&own).await,
        Place::Renew => renew(&own).await,
    }
}

/// One turn of `acquire`.
async fn acquire(own: &Candidate) -> Outcome {
    let (rx, election) = (own.rx, own.context());
    let mut acquired = false;
    let every = Every::jittered(RETRY_PERIOD, JITTER_FACTOR);
    // In a box: it is large, and the turn is moved.
    let tried = Box::pin(try_acquire_or_renew(own));
    let turn = every.sliding(rx, &election, async {
        acquired = match own.release().has(gates::REQUESTS_HAVE_CONTEXTS) {
            false => tried.await,
            true => {
                let tried = rx.select(election.closed(rx), tried).await;
                tried == Either::Right(true)
            }
        };
        if acquired { Turn::Over } else { Turn::Again }
    });
    if turn.await == Turn::Again {
        return Outcome::Become(Task::new(ELECT, (own.id, Place::Acquire)));
    }
    if !acquired {
        return Outcome::Become(Task::new(own.on_stopped, ()));
    }
    let leading = own.with(|elector| {
        elector.leads = true;
        Leading {
            election: own.id,
            identity: elector.identity.clone(),
            transitions: elector.observed.transitions,
        }
    });
    own.note(ElectionNote::Leads {
        identity: leading.identity.clone(),
        transitions: leading.transitions,
    });
    rx.spawn(Task::new(own.on_started, leading));
    Outcome::Become(Task::new(ELECT, (own.id, Place::Renew)))
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
async fn renew(own: &Candidate) -> Outcome {
    let (rx, election) = (own.rx, own.context());
    let renewed = Box::pin(renewed_in_time(own));
    let turn = Every::period(RETRY_PERIOD).sliding(rx, &election, async {
        if renewed.await {
            return Turn::Again;
        }
        if election.is_closed(rx) {
            return Turn::Over;
        }
        own.note(ElectionNote::Lost);
        match own.defects.has(ElectionDefect::LostLeadershipGoesUnnoticed) {
            true => Turn::Again,
            false => Turn::Over,
        }
    });
    let turn = match rx.select(overdue(own), turn).await {
        Either::Left(()) => {
            own.note(ElectionNote::Lost);
            Turn::Over
        }
        Either::Right(turn) => turn,
    };
    if turn == Turn::Again {
        return Outcome::Become(Task::new(ELECT, (own.id, Place::Renew)));
    }
    let works_on =
        own.release_on_cancel && own.defects.has(ElectionDefect::LockReleasedWhileLeading);
    if !works_on && !mutant!("work-goes-on", "who lost its lock works on as a leader") {
        own.stop_leading();
    }
    if own.release_on_cancel {
        give_up(own).await;
    }
    if works_on {
        own.stop_leading();
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
async fn renewed_in_time(own: &Candidate) -> bool {
    let (rx, election) = (own.rx, own.context());
    let by_itself = own.defects.has(ElectionDefect::RenewalOutlivesDeadline);
    let once = || async move {
        match by_itself {
            true => ended(own).await,
            false => try_acquire_or_renew(own).await,
        }
    };
    let deadline = RENEW_DEADLINE + too_long();
    let deadline = rx.select(rx.sleep(deadline), election.closed(rx));
    let renewed = poll_immediate_until(rx, own.release(), RETRY_PERIOD, once);
    matches!(rx.select(deadline, renewed).await, Either::Right(()))
}

/// Waits until the last renewal that succeeded began too long ago, if that counts.
async fn overdue(own: &Candidate) {
    let unnoticed = own.defects.has(ElectionDefect::LostLeadershipGoesUnnoticed);
    let counts = own.counts_from_request() && !unnoticed;
    while !counts || !own.look(|elector| elector.is_overdue()) {
        own.rx.changed(own.id.overdue()).await;
    }
}

/// v1.16 makes each renewal in a goroutine of its own, and waits for it.
async fn ended(own: &Candidate) -> bool {
    let number = own.with(|elector| {
        elector.ended.0 += 1;
        elector.ended.1 = false;
        elector.ended.0
    });
    own.rx.spawn(Task::new(ATTEMPT, (own.id, number)));
    loop {
        own.rx.changed(own.id.attempted()).await;
        let (last, renewed) = own.look(|elector| elector.ended);
        if last == number {
            return renewed;
        }
    }
}

/// The goroutine of a renewal, which nobody may wait for any more.
pub(super) async fn by_itself(own: Candidate, number: u64) -> Outcome {
    let renewed = try_acquire_or_renew(&own).await;
    let waits = own.with(|elector| {
        let waits = elector.ended.0 == number;
        if waits {
            elector.ended.1 = renewed;
        }
        waits
    });
    if waits {
        own.rx.broadcast(own.id.attempted());
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
async fn give_up(own: &Candidate) {
    match own.defects.has(ElectionDefect::ReleaseFromMemory) {
        true => release(own).await,
        false => {
            own.rx.timeout(RENEW_DEADLINE, release(own)).await;
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
async fn release(own: &Candidate) {
    let has = |defect| own.defects.has(defect);
    let from_memory = has(ElectionDefect::ReleaseFromMemory);
    let gives_up = from_memory || has(ElectionDefect::ReleaseGivesUpOnConflict);
    let identity = own.look(|elector| elector.identity.clone());
    let failed = |why| {
        let identity = identity.clone();
        own.note(ElectionNote::NotReleased { identity, why });
    };
    loop {
        let mut transitions = own.look(|elector| elector.observed.transitions);
        if !from_memory {
            match lock::get(own).await {
                Ok(read)
                    if has(ElectionDefect::FixReleaseOwnLock) && read.record.holder != identity =>
                {
                    return own.note(ElectionNote::LeavesToOther);
                }
                Ok(read) => transitions = read.record.transitions,
                Err(error) => return failed(error),
            }
        }
        if !own.look(|elector| elector.is_leader()) {
            return;
        }
        let seconds = match has(ElectionDefect::ReleaseWithoutDuration) {
            true => 0,
            false => 1,
        };
        let now = Stamp::of(own.rx.clock());
        let record = Record {
            transitions,
            ..Record::new(&"".into(), seconds, now)
        };
        let identity = identity.clone();
        own.note(ElectionNote::Releases { identity });
        match lock::update(own, &record).await {
            Ok(()) => {
                set_observed_record(own, record);
                return own.note(ElectionNote::Released);
            }
            Err(error) if error.is(Reason::Conflict) && !gives_up => {}
            Err(error) => return failed(error),
        }
    }
}
