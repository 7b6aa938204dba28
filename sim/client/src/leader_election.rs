//! Leader election (`client-go/tools/leaderelection`): candidates read and write one lock object, and its record
//! says who leads. `record` is that record, `lock` the objects, `attempt` one try to get or keep the lock, `run`
//! the loops around it and what becomes of the lock in the end, `candidate` what the routines of these work on, `note`
//! what they tell.
//!
//! An election goes by the name of its lock. A process may be a candidate in several, for as many locks, and leads in
//! each or does not.
//!
//! A candidate trusts no clock but its own, and of that only how it runs: from when *it* saw the record change it
//! waits for a lease, which is an armed timer here. How long a lease is says its own configuration; in v1.36 the
//! record. A leader that could not renew its lock for ten seconds gives up. Nothing fences its writes.

mod attempt;
mod candidate;
mod defects;
pub mod gates;
mod lock;
mod note;
mod record;
mod run;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_engine::{Cell, Cx, Name, RoutineFuture, Rx, Task, Timer, mutant};
use wavetank_version::{Defect, Set, Version};

use crate::rest::RestClient;
use crate::wait::Stop;

pub use candidate::{Candidate, ElectionId, candidates, leads};
pub use defects::ElectionDefect;
pub use lock::{Lock, LockKind, Unlocked};
pub use note::{ElectionNote, OfElection};
pub use record::Record;

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
/// By how much longer than that a leader tries to renew its lock, and counts itself the leader.
fn too_long() -> Duration {
    match mutant!(
        "deadline-is-the-lease",
        "a leader leads on until its lease is over, and tries to renew it, and not for ten seconds"
    ) {
        true => RENEW_DEADLINE,
        false => Duration::ZERO,
    }
}

/// A leader that should have stopped and can run has done so after this.
const GRACE: Duration = Duration::from_millis(500);
/// It is looked at again after this.
const AGAIN: Duration = Duration::from_secs(1);

const ELECT: Name = Name::new("elect");
const ATTEMPT: Name = Name::new("renew-once");
/// The observed record has not changed for a lease.
const LAPSED: Name = Name::new("lease-lapsed");
/// An attempt began [`LEADS_FOR`] ago, by its number.
const DUE: Name = Name::new("renewal-due");
/// A look at a leader that should have stopped, by how many there were before.
const LOOK: Name = Name::new("leads-too-long");

/// `LeaderElectionConfig`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Election {
    /// How apiservers are reached.
    pub rest: RestClient,
    /// The known bugs and fixes of the client.
    pub defects: Set<ElectionDefect>,
    /// The lock. No other election of the process has one of its name.
    pub lock: Lock,
    /// `ReleaseOnCancel`
    pub release_on_cancel: bool,
    /// How long the lock is its own after a renewal (`LeaseDuration`), as it says in the record.
    pub lease_duration: Duration,
    /// `OnStartedLeading`: a task of the process, with what it leads as ([`Leading`]).
    pub on_started: Name,
    /// `OnStoppedLeading`: a task of the process.
    pub on_stopped: Name,
}

/// Who leads, and after how many others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leading {
    /// In which election.
    pub election: ElectionId,
    /// As whom.
    pub identity: Arc<str>,
    /// How often the lock changed hands.
    pub transitions: u32,
}

impl Leading {
    /// The context of what the leader does (that of `OnStartedLeading`): closed when it leads no longer.
    pub fn leadership(&self) -> Stop {
        self.election.leadership()
    }
}

/// What a candidate remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Elector {
    /// The lock that it is a candidate for.
    pub lock: Lock,
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
    fn new(lock: Lock, identity: Arc<str>) -> Elector {
        Elector {
            lock,
            identity,
            leads: false,
            objects: [None, None],
            observed: Record::default(),
            raw: Vec::new(),
            lapsed: false,
            attempts: 0,
            succeeded: 0,
            late: 0,
            ended: (0, false),
        }
    }

    /// `IsLeader`
    fn is_leader(&self) -> bool {
        self.observed.holder == self.identity
    }

    /// Is it too long ago that the last attempt that succeeded began?
    fn is_overdue(&self) -> bool {
        self.late >= self.succeeded
    }
}

/// The candidates of a process, in the order in which they were made.
static ELECTORS: Cell<Vec<Elector>> = Cell::new("electors");

/// Where the election is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// `acquire`
    Acquire,
    /// `renew`
    Renew,
}

pub(crate) const OWN_LEASE_DURATION: Defect = Defect::known(
    "own-lease-duration",
    "k/k#114872",
    "a candidate waits for its own lease duration, and not for that of who holds the lock",
)
.until(gates::RECORDS_NAME_THEIR_DURATION);

pub(crate) const FIX_COUNT_FROM_REQUEST: Defect = Defect::fix(
    "fix-count-from-request",
    "FINDINGS.md, 14",
    "a leader counts its deadline from when it asked for the last renewal, and not from when it heard of it",
);

impl Election {
    /// `NewLeaderElector`, in each life of the process: it is a candidate with this identity from now on.
    ///
    /// # Panics
    /// If it is one already, for a lock of this name.
    pub fn new_leader_elector(&self, cx: &mut Cx<'_>, identity: Arc<str>) {
        let all = cx.cell(&ELECTORS);
        let name = self.lock.name;
        assert!(
            all.iter().all(|elector| elector.lock.name != name),
            "a process is a candidate for `{name}` twice: each lock has a name of its own"
        );
        all.push(Elector::new(self.lock, identity));
    }

    /// `Run`: the candidate begins to try for the lock.
    ///
    /// # Panics
    /// If the process is no candidate for it.
    pub fn run(&self, cx: &mut Cx<'_>) {
        let id = self.id(cx.cell(&ELECTORS));
        cx.spawn(Task::new(ELECT, (id, Place::Acquire)));
    }

    /// Upstream's `run` without `LeaderElect`: the process does what a leader does, and asks nobody.
    ///
    /// # Panics
    /// If the process is no candidate for the lock.
    pub fn lead_unelected(&self, cx: &mut Cx<'_>) {
        let all = cx.cell(&ELECTORS);
        let id = self.id(all);
        all[id.number as usize].leads = true;
        let leading = self.leading(cx);
        cx.spawn(Task::new(self.on_started, leading));
    }

    /// What the process leads as, if it is the leader.
    ///
    /// # Panics
    /// If the process is no candidate for the lock.
    pub fn leading(&self, cx: &mut Cx<'_>) -> Leading {
        let all = cx.cell(&ELECTORS);
        let election = self.id(all);
        let elector = &all[election.number as usize];
        Leading {
            election,
            identity: elector.identity.clone(),
            transitions: elector.observed.transitions,
        }
    }

    /// The candidate of the process, for its routines.
    ///
    /// # Panics
    /// If the process is no candidate for the lock.
    pub fn candidate(self: &Arc<Self>, rx: Rx) -> Candidate {
        let number = rx.look(&ELECTORS, |all| self.id(all).number);
        let name = self.lock.name;
        self.with_id(rx, ElectionId { name, number })
    }

    fn with_id(self: &Arc<Self>, rx: Rx, id: ElectionId) -> Candidate {
        let election = self.clone();
        Candidate { rx, election, id }
    }

    fn id(&self, all: &[Elector]) -> ElectionId {
        let name = self.lock.name;
        let number = all.iter().position(|elector| elector.lock.name == name);
        let number = number.unwrap_or_else(|| panic!("the process is no candidate for `{name}`"));
        ElectionId {
            name,
            number: number as u32,
        }
    }

    /// A timer of the process; false if it is none of this election.
    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        if ![LAPSED, DUE, LOOK].contains(&timer.tag) {
            return false;
        }
        let (of, number) = ElectionId::of_timer(timer);
        let all = cx.cell(&ELECTORS);
        let id = self.id(all);
        if id.number as usize != of {
            return false;
        }
        let elector = &mut all[of];
        if timer.tag == LAPSED {
            elector.lapsed = true;
        } else if timer.tag == DUE {
            elector.late = elector.late.max(number);
            cx.broadcast(id.overdue());
            cx.arm(id.timer(LOOK, 0), GRACE);
        } else if elector.leads && elector.is_overdue() {
            let (lock, again) = (self.lock, number > 0);
            let note = ElectionNote::LeadsTooLong { again };
            cx.note(OfElection { lock, note });
            cx.arm(id.timer(LOOK, number + 1), AGAIN);
        }
        true
    }

    /// The future of a task; nothing if it is none of this election.
    pub fn routine(self: &Arc<Self>, task: &Task) -> Option<RoutineFuture> {
        let own = |id: ElectionId| {
            let is_own = id.name == self.lock.name;
            is_own.then(|| self.with_id(Rx::new(), id))
        };
        if task.kind() == ELECT {
            let (id, place) = *task.args::<(ElectionId, Place)>();
            return Some(Box::pin(run::turn(own(id)?, place)));
        }
        if task.kind() == ATTEMPT {
            let (id, number) = *task.args::<(ElectionId, u64)>();
            return Some(Box::pin(run::by_itself(own(id)?, number)));
        }
        None
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
        let (own, named) = (
            self.lease_duration,
            Duration::from_secs(record.duration.into()),
        );
        match record.holder.is_empty() {
            // Nobody waits for it.
            true if self.release().has(gates::RECORDS_NAME_THEIR_DURATION) => named,
            true => own,
            false if named != own && self.defects.has(ElectionDefect::OwnLeaseDuration) => own,
            false => named,
        }
    }
}
