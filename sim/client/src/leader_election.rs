//! Leader election (`client-go/tools/leaderelection`): candidates read and write one lock object, and its record
//! says who leads. `record` is that record, `lock` the objects, `attempt` one try to get or keep the lock, `run`
//! the loops around it and what becomes of the lock in the end.
//!
//! A candidate trusts no clock but its own, and of that only how it runs: from when *it* saw the record change it
//! waits for a lease, which is an armed timer here. How long a lease is says its own configuration; in v1.36 the
//! record. A leader that could not renew its lock for ten seconds gives up. Nothing fences its writes.

mod attempt;
mod defects;
pub mod gates;
mod lock;
mod record;
mod run;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_engine::{Cell, Condition, Cx, Message, Name, RoutineFuture, Rx, Task, Timer};
use wavetank_version::{Defect, Set, Version};

use crate::rest::RestClient;
use crate::wait::Stop;

pub use defects::ElectionDefect;
pub use lock::{LockKind, Unlocked};
pub use record::Record;
pub use run::{cancel, stop_leading};

/// `--leader-elect-lease-duration` (`component-base/config/v1alpha1/defaults.go`)
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// `--leader-elect-renew-deadline`
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// `--leader-elect-retry-period`
pub const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// `JitterFactor`, in thousandths.
const JITTER_FACTOR: u32 = 1200;
/// A leader has to know of a renewal that began so long ago, or it must not lead on: others may take the lock a
/// lease after it was written, and this is as much sooner as a leader gives up after a renewal that took no time.
pub const LEADS_FOR: Duration = RETRY_PERIOD.saturating_add(RENEW_DEADLINE);
/// A leader that should have stopped and can run has done so after this.
const GRACE: Duration = Duration::from_millis(500);
/// It is looked at again after this.
const AGAIN: Duration = Duration::from_secs(1);

const ELECT: Name = Name::new("elect");
const ATTEMPT: Name = Name::new("renew-once");
/// The observed record has not changed for a lease.
const LAPSED: Timer = Timer::new(Name::new("lease-lapsed"), 0);
/// An attempt began [`LEADS_FOR`] ago, by its number.
const DUE: Name = Name::new("renewal-due");
/// A look at a leader that should have stopped.
const LOOK: Timer = Timer::new(Name::new("leads-too-long"), 0);
/// The leader should have stopped.
const OVERDUE: Condition = Condition::new("renewal-overdue", 0);
/// A renewal that runs by itself has ended, v1.16.
const ATTEMPTED: Condition = Condition::new("attempted", 0);

/// The context of what the leader does (that of `OnStartedLeading`): closed when it leads no longer.
pub static LEADERSHIP: Stop = Stop::new("leadership");
/// The context of the election itself.
static ELECTION: Stop = Stop::new("election");

/// `LeaderElectionConfig`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Election {
    /// How apiservers are reached.
    pub rest: RestClient,
    /// The known bugs and fixes of the client.
    pub defects: Set<ElectionDefect>,
    /// The lock.
    pub lock: LockKind,
    /// `ReleaseOnCancel`
    pub release_on_cancel: bool,
    /// `OnStartedLeading`: a task of the process, with how often the lock changed hands.
    pub on_started: Name,
    /// `OnStoppedLeading`: a task of the process.
    pub on_stopped: Name,
}

/// What a candidate remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Elector {
    /// Who it is.
    pub identity: Arc<str>,
    /// Does it lead, between `OnStartedLeading` and the end of its context?
    pub leads: bool,
    /// The objects of the lock, as it last read or wrote them.
    objects: [Option<Stored>; 2],
    /// `observedRecord`
    observed: Record,
    /// `observedRawRecord`: what was read last.
    raw: Vec<Record>,
    /// A lease has passed since `observedTime`.
    lapsed: bool,
    /// How many attempts began.
    attempts: u64,
    /// The last that succeeded.
    succeeded: u64,
    /// The last that began too long ago.
    late: u64,
    /// What came of the last renewal that ran by itself, and which it was.
    ended: (u64, bool),
}

impl Elector {
    /// `IsLeader`
    fn is_leader(&self) -> bool {
        self.observed.holder == self.identity
    }

    /// Is it too long ago that the last attempt that succeeded began?
    fn is_overdue(&self) -> bool {
        self.late >= self.succeeded
    }
}

/// The candidate of a process.
pub static ELECTOR: Cell<Elector> = Cell::new("elector");

/// What a candidate tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ElectionNote {
    /// It begins an attempt to get or keep the lock.
    Tries,
    /// The attempt succeeded.
    Holds,
    /// It begins to lead.
    Leads {
        /// As whom.
        identity: Arc<str>,
        /// How often the lock changed hands.
        transitions: u32,
    },
    /// It could not renew the lock in time.
    Lost,
    /// What it does as leader is cancelled, or has ended.
    Ends,
    /// It writes that nobody holds the lock.
    Releases {
        /// Who it is.
        identity: Arc<str>,
    },
    /// That is written.
    Released,
    /// It finds that another holds the lock, and leaves it to him.
    LeavesToOther,
    /// It could not release the lock.
    NotReleased {
        /// Who it is.
        identity: Arc<str>,
        /// Why.
        why: Unlocked,
    },
    /// It should no longer lead, and does; `again` from the second look on.
    LeadsTooLong {
        /// Not for the first time.
        again: bool,
    },
}

/// Where the election is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// `acquire`
    Acquire,
    /// `renew`
    Renew,
}

pub(crate) const FIX_COUNT_FROM_REQUEST: Defect = Defect::fix(
    "fix-count-from-request",
    "FINDINGS.md, 14",
    "a leader counts its deadline from when it asked for the last renewal, and not from when it heard of it",
);

impl Election {
    /// Begins, in each life of the process (`Run`).
    pub fn boot(&self, cx: &mut Cx<'_>, identity: Arc<str>) {
        cx.cell(&ELECTOR).identity = identity;
        cx.spawn(Task::new(ELECT, Place::Acquire));
    }

    /// A timer of the process; false if it is none of an election.
    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        let elector = cx.cell(&ELECTOR);
        if timer == LAPSED {
            elector.lapsed = true;
        } else if timer.tag == DUE {
            elector.late = elector.late.max(timer.arg);
            cx.broadcast(OVERDUE);
            cx.arm(LOOK, GRACE);
        } else if timer.tag == LOOK.tag {
            if elector.leads && elector.is_overdue() {
                let again = timer.arg > 0;
                cx.note(ElectionNote::LeadsTooLong { again });
                cx.arm(Timer::new(LOOK.tag, timer.arg + 1), AGAIN);
            }
        } else {
            return false;
        }
        true
    }

    /// The future of a task; nothing if it is none of an election.
    pub fn routine(self: &Arc<Self>, task: &Task) -> Option<RoutineFuture> {
        let (rx, own) = (Rx::new(), self.clone());
        if task.kind() == ELECT {
            return Some(Box::pin(run::turn(rx, own, *task.args::<Place>())));
        }
        let number = (task.kind() == ATTEMPT).then(|| *task.args::<u64>())?;
        Some(Box::pin(run::by_itself(rx, own, number)))
    }

    /// Does a leader count its deadline from when it asked for a renewal? Upstream counts from when it heard of it.
    fn counts_from_request(&self) -> bool {
        self.defects.has(ElectionDefect::FixCountFromRequest)
    }

    fn release(&self) -> Version {
        self.rest.release
    }

    /// `Config.Timeout` of the client: as long as the renew deadline (v1.16,
    /// `cmd/kube-controller-manager/app/options`), half of that (`resourcelock.NewFromKubeconfig`).
    fn request_limit(&self) -> Duration {
        match self.release().has(gates::REQUESTS_TAKE_HALF_THE_DEADLINE) {
            true => RENEW_DEADLINE / 2,
            false => RENEW_DEADLINE,
        }
    }

    /// How long a candidate waits for this record to change.
    fn lease(&self, record: &Record) -> Duration {
        match self.release().has(gates::RECORDS_NAME_THEIR_DURATION) {
            true => Duration::from_secs(record.duration.into()),
            false => LEASE_DURATION,
        }
    }
}

/// Does the process lead?
pub fn leads(rx: Rx) -> bool {
    rx.look(&ELECTOR, |elector| elector.leads)
}

/// Works on what the candidate remembers.
fn with<R: Message + Clone + Eq + std::hash::Hash>(
    rx: Rx,
    work: impl FnOnce(&mut Elector) -> R,
) -> R {
    rx.update(&ELECTOR, work)
}
