//! One attempt to get the lock or to keep it (`tryAcquireOrRenew`).

use super::candidate::Candidate;
use super::lock::{self, Read};
use super::record::Record;
use super::{DUE, ElectionNote, LAPSED, LEADS_FOR, gates, too_long};
use wavetank_api::{Reason, Stamp};
use wavetank_engine::mutant;

/// `tryAcquireOrRenew`: true if the lock is held now.
pub(super) async fn try_acquire_or_renew(own: &Candidate) -> bool {
    let rx = own.rx;
    own.note(ElectionNote::Tries);
    let number = own.with(|elector| {
        elector.attempts += 1;
        elector.attempts
    });
    let leads_for = LEADS_FOR + too_long();
    rx.arm(own.id.timer(DUE, number), leads_for);
    let began = rx.clock();
    let mut holds = acquire_or_renew(own).await;
    if holds && own.counts_from_request() {
        // The timer of a process that wakes up may be late.
        let passed = rx.clock().nanos().saturating_sub(began.nanos());
        holds = u128::from(passed) < leads_for.as_nanos();
    }
    let over = match holds {
        true => own.with(|elector| std::mem::replace(&mut elector.succeeded, number)),
        false => number,
    };
    rx.disarm(own.id.timer(DUE, over));
    if holds {
        own.note(ElectionNote::Holds);
    }
    holds
}

async fn acquire_or_renew(own: &Candidate) -> bool {
    // What the lease is compared with later is the time at which the attempt began.
    let now = Stamp::of(own.rx.clock());
    let known = own.look(Clone::clone);
    let duration = own.lease_duration.as_secs() as u32;
    let mut record = Record::new(&known.identity, duration, now);
    // First it takes for granted that nobody has written since.
    let writes_first = own.release().has(gates::RENEWAL_WRITES_FIRST);
    if writes_first && known.is_leader() && !known.lapsed {
        record.acquired = known.observed.acquired;
        record.transitions = known.observed.transitions;
        if lock::update(own, &record).await.is_ok() {
            set_observed_record(own, record);
            return true;
        }
    }
    let read = match lock::get(own).await {
        Ok(read) => read,
        Err(error) if error.is(Reason::NotFound) => {
            let created = lock::create(own, &record).await.is_ok();
            if created {
                set_observed_record(own, record);
            }
            return created;
        }
        Err(_) => return false,
    };
    let old = read.record.clone();
    let changed = compare(own, read)
        && !mutant!(
            "change-is-not-seen",
            "a candidate does not take a change of the record for a sign of life"
        );
    let is_leader = own.look(|elector| elector.is_leader());
    let is_valid = changed
        || !known.lapsed
            && !mutant!(
                "lease-is-not-waited-for",
                "a candidate takes a lock that did not change since it looked last"
            );
    if !old.holder.is_empty() && is_valid && !is_leader {
        return false;
    }
    record.transitions = old.transitions;
    match is_leader {
        true => record.acquired = old.acquired,
        false => {
            record.transitions += u32::from(!mutant!(
                "transitions-stay",
                "a new leader does not count itself"
            ))
        }
    }
    let updated = lock::update(own, &record).await.is_ok();
    if updated {
        set_observed_record(own, record);
    }
    updated
}

/// Takes note of what was read if it is another record than before, from now on.
fn compare(own: &Candidate, read: Read) -> bool {
    let Read { record, raw } = read;
    let alike = |known: &[Record]| {
        let pairs = known.iter().zip(&raw);
        known.len() == raw.len() && pairs.into_iter().all(|(a, b)| a.is_written_alike(b))
    };
    let changed = !own.look(|elector| alike(&elector.raw));
    if changed {
        own.with(|elector| elector.raw = raw);
        set_observed_record(own, record);
    }
    changed
}

/// `setObservedRecord`
pub(super) fn set_observed_record(own: &Candidate, record: Record) {
    let lease = own.lease(&record);
    let short = mutant!(
        "lease-counts-half",
        "a candidate takes a lock after half of its lease"
    );
    own.rx
        .arm(own.id.timer(LAPSED, 0), lease / (1 + u32::from(short)));
    own.with(|elector| {
        elector.observed = record;
        elector.lapsed = false;
    });
}
