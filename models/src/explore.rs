//! The search itself: depth first, on several threads, of every state within the bounds. Of a state
//! that was seen only its fingerprint is kept; whole worlds are on the paths that are being walked
//! and nowhere else, so memory grows by some bytes a state.
//!
//! Which states there are does not depend on the threads: a state knows what is left of its
//! bounds. Which counterexample comes first does: `shorten` makes it one and the same.

mod part;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};

use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Digest, Memo, mutant};

use crate::coverage::Coverage;
use crate::probe::Estimate;
use crate::recovery::Recovery;
use crate::reduction::Reduction;
use crate::seen::{Recent, Seen};
use crate::sketch::Sketch;
use crate::world_model::{Move, Node, WorldModel};

pub use part::Part;

/// The watcher is asked after so many steps of a thread.
const WATCHED_EVERY: u64 = 256;
/// And after so many steps to recovery, of all threads: one state may take a thousand.
const HEALED_EVERY: u64 = 32_768;
/// The search is probed when it knows so many states, and whenever it knows twice as many.
const FIRST_PROBE: u64 = 1 << 15;
/// After the first probe, at most one step in so many is one of a probe.
const PROBED_EVERY: u64 = 64;

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// States that were stepped to, with those that were known; moves that change nothing aside.
    pub generated: u64,
    /// Different ones that are kept.
    pub unique: u64,
    /// States that were passed through and not kept, so that some may be counted twice.
    pub passed: u64,
    /// The longest path, in steps.
    pub depth: u64,
    /// What the seen states take, in bytes.
    pub bytes: u64,
    /// Moves that are known and not made yet.
    pub frontier: u64,
    /// Steps of runs to recovery.
    pub healing: u64,
    /// What random probes said last.
    pub estimate: Option<Estimate>,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every state within the bounds was visited.
    Complete,
    /// The watcher said so.
    Stopped,
    /// A guarantee is violated.
    Violated(Box<Found>),
}

/// A path to a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// From this of the starts,
    pub start: usize,
    /// these moves.
    pub path: Vec<Move>,
    /// What is violated.
    pub violation: FoundViolation,
}

/// What a search did.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Why it ended.
    pub ended: Ended,
    /// How far it came.
    pub progress: Progress,
    /// What it reached.
    pub coverage: Coverage,
}

/// A search about to begin.
#[derive(Clone, Copy)]
pub struct Explorer<'a> {
    /// The moves.
    pub model: &'a WorldModel,
    /// Is it checked that every state recovers?
    pub recovery: Option<&'a Recovery>,
    /// What is left out.
    pub reduction: Reduction,
    /// How many threads; a reduction may be for one only.
    pub threads: usize,
    /// Sees how far the search is, and says whether to go on. Each thread calls it now and then, and when
    /// it is done.
    pub watch: &'a (dyn Fn(&Progress) -> bool + Sync),
}

/// A state with the moves that are left to be made from it.
struct Frame {
    /// None once the last of them is made.
    node: Option<Node>,
    moves: Vec<Move>,
    next: usize,
    /// Under this fingerprint it is open until all of its moves are made.
    open: Option<Digest>,
}

const NEEDED: &str = "it has moves left";

impl Frame {
    fn node(&self) -> &Node {
        self.node.as_ref().expect(NEEDED)
    }
}

/// A state, when the search comes to it.
enum Entered {
    /// What is to be done from there.
    New(Frame),
    /// Nothing: it is known.
    Known(Node),
}

impl Entered {
    fn node(&self) -> &Node {
        match self {
            Entered::New(frame) => frame.node(),
            Entered::Known(node) => node,
        }
    }
}

/// Where a move has led.
enum Came {
    Known,
    /// What is to be done from there.
    New(Frame),
    /// It is over.
    Violation {
        /// Is it the run to recovery that violates it?
        recovers: bool,
        violation: Box<FoundViolation>,
    },
}

/// A part of the search that a thread takes.
struct Job {
    start: usize,
    /// The moves that lead to the frame.
    prefix: Vec<Move>,
    frame: Frame,
}

/// What the threads have in common.
struct Shared<'a> {
    explorer: Explorer<'a>,
    seen: Seen,
    /// States at which time stands still, as long as somebody searches below them ([`Shared::may_circle`]).
    open: Seen,
    passed_lately: Recent,
    jobs: Mutex<Jobs>,
    change: Condvar,
    /// Threads that have nothing to do.
    idle: AtomicU64,
    over: AtomicBool,
    generated: AtomicU64,
    passed: AtomicU64,
    depth: AtomicU64,
    frontier: AtomicU64,
    /// Where probes begin.
    starts: Vec<Node>,
    /// The search is probed when it knows so many states.
    probed_at: AtomicU64,
    estimate: Mutex<Option<Estimate>>,
}

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    working: usize,
    found: Option<Found>,
    coverage: Coverage,
}

impl Explorer<'_> {
    /// Searches from the model's first state.
    pub fn run(&self) -> Explored {
        self.run_from(vec![self.model.first()])
    }

    /// Searches from several states.
    pub fn run_from(&self, starts: Vec<Node>) -> Explored {
        self.run_part(starts, Part::WHOLE).0
    }

    /// Searches what is one machine's of several, and says which states it has been at.
    pub fn run_part(&self, starts: Vec<Node>, part: Part) -> (Explored, Sketch) {
        let shared = Shared {
            explorer: *self,
            seen: Seen::default(),
            open: Seen::default(),
            passed_lately: Recent::default(),
            jobs: Mutex::default(),
            change: Condvar::new(),
            idle: AtomicU64::new(0),
            over: AtomicBool::new(false),
            generated: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            frontier: AtomicU64::new(0),
            starts: starts.clone(),
            probed_at: AtomicU64::new(FIRST_PROBE),
            estimate: Mutex::default(),
        };
        for (start, node) in starts.into_iter().enumerate().rev() {
            let key = (self.reduction.key)(self.model, &node);
            if shared.seen.insert(key) {
                // It stays open: one look more.
                shared.open.insert(key);
                shared.begin(start, node);
            }
        }
        let threads = match self.reduction.exact {
            true => self.threads.max(1),
            false => 1,
        };
        let given = vec![mutant::current(); threads];
        let searcher = &shared;
        std::thread::scope(|scope| {
            if part != Part::WHOLE {
                // What a thread passes is told on that thread.
                let begin = mutant::current();
                let begun = scope.spawn(move || mutant::with(begin, || searcher.take_part(part)));
                begun.join().expect("no searcher panicked");
            }
            for mutant in given {
                scope.spawn(move || mutant::with(mutant, || searcher.work()));
            }
        });
        let progress = shared.progress();
        let sketch = Sketch::of(&shared.seen);
        let jobs = shared.jobs.into_inner().expect("no searcher panicked");
        let explored = Explored {
            ended: match jobs.found {
                Some(found) => Ended::Violated(Box::new(found)),
                None if shared.over.into_inner() => Ended::Stopped,
                None => Ended::Complete,
            },
            progress,
            coverage: jobs.coverage,
        };
        (explored, sketch)
    }
}

impl Shared<'_> {
    /// A first state: it may itself fail to recover.
    fn begin(&self, start: usize, node: Node) {
        let (model, mut coverage) = (self.explorer.model, Coverage::default());
        coverage.begun(&node);
        let violated = self.explorer.recovery;
        let violated = violated.and_then(|own| own.fails(model, &node, &mut coverage));
        if let Some(violation) = violated {
            self.found(start, vec![Move::Recover], *violation);
        }
        let frame = self.frame(node);
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        jobs.coverage.add(&coverage);
        jobs.waiting.push(Job {
            start,
            prefix: Vec::new(),
            frame,
        });
    }

    fn frame(&self, node: Node) -> Frame {
        let mut moves = Vec::new();
        self.explorer.model.moves(&node, &mut moves);
        Frame {
            node: Some(node),
            moves,
            next: 0,
            open: None,
        }
    }

    /// Is a state known?
    fn enter(&self, key: Digest, node: Node) -> Entered {
        let Explorer {
            model, reduction, ..
        } = self.explorer;
        if reduction.keeps(key) {
            let opens = reduction.exact && model.time_stands(&node);
            if opens && self.seen.contains(key) {
                return Entered::Known(node);
            }
            // It is open before anybody can find that it is known.
            let opened = opens && !mutant::is("livelock: open") && self.open.insert(key);
            return match self.seen.insert(key) {
                true => Entered::New(Frame {
                    open: opened.then_some(key),
                    ..self.frame(node)
                }),
                // Somebody else was faster. It stays open for good, which costs some looks and no more.
                false => Entered::Known(node),
            };
        }
        if mutant::is("reduction: way") {
            return Entered::Known(node);
        }
        let frame = self.frame(node);
        let is_new = if frame.moves.len() > 1 {
            self.seen.insert(key)
        } else {
            let is_new = self.passed_lately.insert(key);
            self.passed.fetch_add(u64::from(is_new), Relaxed);
            is_new
        };
        match is_new {
            true => Entered::New(frame),
            false => Entered::Known(frame.node.expect("just put there")),
        }
    }

    /// May a step lead into a circle of the default order at one instant?
    ///
    /// Of the states on a circle one is closed last. The step to it was made before, while it was open. So only
    /// steps to open states are looked at, wherever the search makes all steps of the circle itself. It does not
    /// where the bounds leave out the usual answer to a choice, and a reduction takes one state for another.
    fn may_circle(&self, key: Digest, to: &Entered) -> bool {
        let Explorer {
            model, reduction, ..
        } = self.explorer;
        match to {
            _ if mutant::is("livelock: left out") => false,
            Entered::New(frame) => model.leaves_out_the_usual(frame.node()),
            Entered::Known(_) if !reduction.exact || self.open.contains(key) => true,
            Entered::Known(node) => model.leaves_out_the_usual(node),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            generated: self.generated.load(Relaxed),
            unique: self.seen.len() as u64,
            passed: self.passed.load(Relaxed),
            depth: self.depth.load(Relaxed),
            bytes: self.seen.bytes() as u64,
            frontier: self.frontier.load(Relaxed),
            healing: self.explorer.recovery.map_or(0, Recovery::steps),
            estimate: *self.estimate.lock().expect("no searcher panicked"),
        }
    }

    fn found(&self, start: usize, path: Vec<Move>, violation: FoundViolation) {
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        jobs.found.get_or_insert(Found {
            start,
            path,
            violation,
        });
        drop(jobs);
        self.stop();
    }

    fn stop(&self) {
        self.over.store(true, Relaxed);
        // Whoever waits has looked at it before, or will now.
        drop(self.jobs.lock());
        self.change.notify_all();
    }

    /// What one thread does.
    fn work(&self) {
        let mut coverage = Coverage::default();
        // Each thread has its own: what it knows is soon the same.
        let mut memo = Memo::new();
        while let Some(job) = self.take() {
            self.walk(job, &mut memo, &mut coverage);
            self.jobs.lock().expect("no searcher panicked").working -= 1;
            self.change.notify_all();
        }
        // It may want to know what the last steps of this thread did.
        (self.explorer.watch)(&self.progress());
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        jobs.coverage.add(&coverage);
    }

    /// The next job; none when all is done.
    fn take(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        self.idle.fetch_add(1, Relaxed);
        let job = loop {
            if self.over.load(Relaxed) {
                break None;
            }
            if let Some(job) = jobs.waiting.pop() {
                jobs.working += 1;
                break Some(job);
            }
            if jobs.working == 0 {
                break None;
            }
            jobs = self.change.wait(jobs).expect("no searcher panicked");
        };
        self.idle.fetch_sub(1, Relaxed);
        job
    }

    /// Everything below a state.
    fn walk(&self, job: Job, memo: &mut Memo, coverage: &mut Coverage) {
        let recovery = self.explorer.recovery;
        let (start, mut path) = (job.start, job.prefix);
        let mut frames = vec![job.frame];
        let mut steps = 0;
        let mut frontier = 0;
        let mut healed = recovery.map_or(0, Recovery::steps);
        while let Some(top) = frames.last_mut() {
            if self.over.load(Relaxed) {
                break;
            }
            if top.next == top.moves.len() {
                if let Some(key) = frames.pop().and_then(|frame| frame.open) {
                    self.open.remove(key);
                }
                path.pop();
                continue;
            }
            let Some((taken, came)) = self.make(top, memo, coverage) else {
                continue;
            };
            path.push(taken);
            steps += 1;
            let healing = recovery.map_or(0, Recovery::steps);
            if steps % WATCHED_EVERY == 0 || healing > healed + HEALED_EVERY {
                healed = healing;
                self.tell_frontier(&mut frontier, &frames);
                self.probe(memo);
                self.pause(&mut steps, start, &path, &mut frames);
            }
            match came {
                Came::Known => {
                    path.pop();
                }
                Came::New(frame) => {
                    self.depth.fetch_max(path.len() as u64, Relaxed);
                    frames.push(frame);
                }
                Came::Violation {
                    recovers,
                    violation,
                } => {
                    path.extend(recovers.then_some(Move::Recover));
                    self.found(start, path, *violation);
                    break;
                }
            }
        }
        self.generated.fetch_add(steps, Relaxed);
        self.tell_frontier(&mut frontier, &[]);
    }

    /// Makes the next of a state's moves; `None` if it changes nothing.
    fn make(
        &self,
        top: &mut Frame,
        memo: &mut Memo,
        coverage: &mut Coverage,
    ) -> Option<(Move, Came)> {
        let Explorer {
            model, recovery, ..
        } = self.explorer;
        let taken = top.moves[top.next];
        top.next += 1;
        let is_last = top.next == top.moves.len();
        let node = top.node.as_ref().expect(NEEDED);
        let what = match taken {
            Move::Pending(place) | Move::Choice(place, _) => node.world.pending().nth(place),
            _ => None,
        };
        let what = what.map(|entry| entry.what);
        // The last move of a state needs no copy of it.
        let (next, stepped) = match is_last {
            true => model.turn(memo, top.node.take().expect(NEEDED), taken),
            false => model.next(memo, node, taken),
        }?;
        coverage.note(taken, what, &stepped, &next);
        let violated = |violation, recovers| {
            let came = Came::Violation {
                recovers,
                violation,
            };
            Some((taken, came))
        };
        if let Some(violation) = next.violated {
            return violated(violation, false);
        }
        let key = (self.explorer.reduction.key)(model, &next);
        let entered = self.enter(key, next);
        let may_circle = entered.node().may_stand_still() && self.may_circle(key, &entered);
        if may_circle && let Some(violation) = model.stands_still(memo, entered.node()) {
            return violated(violation, false);
        }
        let Entered::New(frame) = entered else {
            return Some((taken, Came::Known));
        };
        match recovery.and_then(|own| own.fails(model, frame.node(), coverage)) {
            Some(violation) => violated(violation, true),
            None => Some((taken, Came::New(frame))),
        }
    }

    /// Tells what has become of the frontier of a thread since it told `before`.
    fn tell_frontier(&self, before: &mut u64, frames: &[Frame]) {
        let left = |frame: &Frame| (frame.moves.len() - frame.next) as u64;
        let now: u64 = frames.iter().map(left).sum();
        let before = std::mem::replace(before, now);
        self.frontier.fetch_add(now.wrapping_sub(before), Relaxed);
    }

    /// Probes the search, if it is time to.
    fn probe(&self, memo: &mut Memo) {
        let at = self.probed_at.load(Relaxed);
        let known = self.seen.len() as u64;
        let next = known.saturating_mul(2);
        let is_mine = || self.probed_at.compare_exchange(at, next, Relaxed, Relaxed);
        if known >= at && is_mine().is_ok() {
            let estimate = self.explorer.probe(&self.starts, &self.seen, memo);
            let pays = known.saturating_add(estimate.steps * PROBED_EVERY);
            self.probed_at.fetch_max(pays, Relaxed);
            *self.estimate.lock().expect("no searcher panicked") = Some(estimate);
        }
    }

    /// Tells how far the search is, and gives away work if somebody has none.
    fn pause(&self, steps: &mut u64, start: usize, path: &[Move], frames: &mut [Frame]) {
        self.generated.fetch_add(std::mem::take(steps), Relaxed);
        if !(self.explorer.watch)(&self.progress()) {
            self.stop();
        }
        if self.idle.load(Relaxed) == 0 {
            return;
        }
        // The lowest: most is below it.
        let below = path.len() - frames.len();
        let splits = |frame: &Frame| frame.next < frame.moves.len();
        let Some(at) = frames.iter().position(splits) else {
            return;
        };
        let frame = &mut frames[at];
        let moves = frame.moves.split_off(frame.next);
        // Whoever gets the job does not say when it is done: the state stays open for good.
        frame.open = None;
        let job = Job {
            start,
            prefix: path[..below + at].to_vec(),
            frame: Frame {
                node: frame.node.clone(),
                moves,
                next: 0,
                open: None,
            },
        };
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        jobs.waiting.push(job);
        drop(jobs);
        self.change.notify_one();
    }
}
