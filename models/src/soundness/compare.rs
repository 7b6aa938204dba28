//! The project's search and the naive one, over the same world, side by side.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use stateright::{Checker, Model};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::trace::Line;
use wavetank_engine::{Event, Memo, World, exactly};

use crate::audited::Audited;
use crate::coverage::Coverage;
use crate::explore::{Ended, Explored, Explorer, Found};
use crate::path::retrace;
use crate::recovery::Recovery;
use crate::reduction::Reduction;
use crate::shorten::Shortening;
use crate::world_model::{Move, Node, WorldModel};

use super::build::{command, model};
use super::description::{Description, Lie};
use super::naive::{Led, State, Unhealed, Violated, Walk, heal};
use super::toy::{REFUSED, Toy};

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The moves from each state.
    Moves,
    /// Each step by memory, against the same step run.
    Step,
    /// What is cached of a state, against what is made from scratch.
    Cached,
    /// Different states have different digests.
    Digest,
    /// Equal states have equal successors.
    Successors,
    /// Routines that are said to wait for ever do.
    Deadlock,
    /// What a process refuses changes nothing.
    Refused,
    /// A world that is shifted in time is the same.
    Shift,
    /// Whether anything is violated, and what.
    Verdict,
    /// The number of states.
    States,
    /// Whether everything recovers.
    Recovery,
    /// A counterexample happens again, also from its trace, and when it was made smaller.
    Replay,
    /// The search comes to an end.
    End,
    /// Neither the search nor the comparison panics.
    Panic,
    /// A process that lies about itself is caught.
    Audit,
    /// The verdict of the reduced search: empirical.
    Reduced,
}

/// The two do not agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// On what.
    pub kind: Kind,
    /// How.
    pub how: String,
}

impl Disagreement {
    fn new(kind: Kind, how: impl Into<String>) -> Disagreement {
        Disagreement {
            kind,
            how: how.into(),
        }
    }

    /// Is something wrong? The reduced search may miss what is a matter of microseconds.
    pub fn is_wrong(&self) -> bool {
        self.kind != Kind::Reduced
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.how)
    }
}

/// How much was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Worlds.
    pub worlds: u64,
    /// Those that were looked at within narrower limits, because they are too large.
    pub narrowed: u64,
    /// Different states.
    pub states: u64,
    /// Steps by memory, and the same ones run.
    pub steps: u64,
    /// Steps that memory knew.
    pub known: u64,
    /// Pairs of equal states, whose successors were compared.
    pub twins: u64,
    /// Worlds in which a guarantee is violated.
    pub violated: u64,
    /// States whose recovery was followed.
    pub healed: u64,
    /// Worlds of which some state does not recover.
    pub unhealed: u64,
    /// Counterexamples that happened again.
    pub replayed: u64,
    /// Processes that lie about themselves in a way that shows, and those that were caught.
    pub liars: u64,
    /// Caught.
    pub caught: u64,
    /// Worlds of which the reduced search has another verdict.
    pub reduced_otherwise: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, more: Figures) {
        self.worlds += more.worlds;
        self.narrowed += more.narrowed;
        self.states += more.states;
        self.steps += more.steps;
        self.known += more.known;
        self.twins += more.twins;
        self.violated += more.violated;
        self.healed += more.healed;
        self.unhealed += more.unhealed;
        self.replayed += more.replayed;
        self.liars += more.liars;
        self.caught += more.caught;
        self.reduced_otherwise += more.reduced_otherwise;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} worlds ({} of them within narrower limits), {} states",
            self.worlds, self.narrowed, self.states
        )?;
        writeln!(
            f,
            "{} steps compared with running them, {} of which memory knew; {} pairs of equal states \
             compared one step ahead",
            self.steps, self.known, self.twins
        )?;
        writeln!(
            f,
            "{} worlds violate a guarantee; {} states followed into recovery, which {} worlds miss; {} \
             counterexamples replayed",
            self.violated, self.healed, self.unhealed, self.replayed
        )?;
        writeln!(
            f,
            "{} lies that show, {} caught by the audited search",
            self.liars, self.caught
        )?;
        writeln!(
            f,
            "{} worlds of which the reduced search has another verdict, which is empirical",
            self.reduced_otherwise
        )
    }
}

/// What came of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// How much was compared.
    pub figures: Figures,
    /// On what the two do not agree, each kind once.
    pub disagreements: Vec<Disagreement>,
}

impl Compared {
    fn disagree(&mut self, kind: Kind, how: impl FnOnce() -> String) {
        if self.disagreements.iter().all(|known| known.kind != kind) {
            self.disagreements.push(Disagreement::new(kind, how()));
        }
    }

    /// What is wrong, if anything is.
    pub fn wrong(&self) -> Option<&Disagreement> {
        self.disagreements
            .iter()
            .find(|disagreement| disagreement.is_wrong())
    }
}

/// A world has at most so many states; a larger one is narrowed.
const MOST: usize = 600;

/// The search may take so many times as many steps as there are.
const PATIENCE: u64 = 100;

/// After so many states that never recover, because time stands still, no more are followed: each takes long,
/// and nothing of it is remembered.
const ENDLESS: u32 = 10;

/// Searches a world both ways. Nothing, if even within the narrowest limits it is too large, or if it
/// panics before it is begun.
pub fn compare(description: &Description) -> Option<Compared> {
    let compared = catch_unwind(AssertUnwindSafe(|| compare_both(description)));
    compared.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        let mut compared = Compared::default();
        compared.disagree(Kind::Panic, || text.unwrap_or_default());
        Some(compared)
    })
}

fn compare_both(description: &Description) -> Option<Compared> {
    let mut narrow = description.clone();
    let mut narrowed = 0;
    let (model, calm, walk) = loop {
        let built = catch_unwind(AssertUnwindSafe(|| model(&narrow)));
        let (model, calm) = built.ok()?;
        if let Some(walk) = Walk::of(&model, MOST) {
            break (model, calm, walk);
        }
        narrow = narrow.narrowed()?;
        narrowed = 1;
    };
    let mut side = Side {
        model: &model,
        walk: &walk,
        calm,
        compared: Compared::default(),
    };
    side.compared.figures = Figures {
        worlds: 1,
        narrowed,
        states: walk.states.len() as u64,
        ..Figures::default()
    };
    match narrow.lie {
        Lie::None => side.honest(),
        lie => side.lying(lie),
    }
    Some(side.compared)
}

/// A comparison that is under way.
struct Side<'a> {
    model: &'a WorldModel,
    walk: &'a Walk,
    calm: Option<Duration>,
    compared: Compared,
}

impl Side<'_> {
    fn honest(&mut self) {
        self.digests();
        let unhealed = self.unhealed();
        self.steps(&unhealed);
        self.successors();
        self.shifts();
        let unhealed: Vec<Violated> = unhealed.into_iter().flatten().collect();
        self.searches(&unhealed);
        self.refusals();
    }

    fn digests(&mut self) {
        for [one, other] in &self.walk.alike {
            let how = || {
                format!(
                    "one digest, two states: {}",
                    difference(&one.world, &other.world)
                )
            };
            self.compared.disagree(Kind::Digest, how);
        }
        for words in &self.walk.false_deadlocks {
            self.compared
                .disagree(Kind::Deadlock, || format!("said to be for ever: {words}"));
        }
    }

    /// The same walk with the model's own moves, by memory. From each state that comes to the search its
    /// recovery is followed as well.
    fn steps(&mut self, unhealed: &[Option<Violated>]) {
        let walk = self.walk;
        let mut memo = Memo::new();
        let mut recovery = self.calm.map(|calm| (Recovery::within(calm), Memo::new()));
        let mut nodes: Vec<Option<Node>> = vec![None; walk.states.len()];
        nodes[0] = Some(self.model.first());
        let mut edges = walk.edges.iter().peekable();
        let mut endless = 0;
        for (from, state) in walk.states.iter().enumerate() {
            let Some(node) = nodes[from].take() else {
                return;
            };
            let ours = unhealed.get(from).and_then(Option::as_ref);
            let ours = ours.map(|(property, _)| property.as_str());
            endless += u32::from(ours == Some("no-livelock"));
            if let Some((recovery, memo)) = &mut recovery
                && endless <= ENDLESS
            {
                let found = recovery.fails(self.model, memo, &node, &mut Coverage::default());
                let theirs = found.as_ref().map(|found| found.property.as_str());
                if theirs != ours {
                    let how = || format!("{theirs:?}, and not {ours:?}, from {}", here(state));
                    self.compared.disagree(Kind::Recovery, how);
                }
            }
            let mut theirs = Vec::new();
            self.model.moves(&node, &mut theirs);
            let mut ours = Vec::new();
            while let Some(edge) = edges.next_if(|edge| edge.from == from) {
                ours.push(edge.taken);
                if !theirs.contains(&edge.taken) {
                    if edge.led != Led::Nowhere {
                        let how = || format!("{:?} is missing at {}", edge.taken, here(state));
                        self.compared.disagree(Kind::Moves, how);
                    }
                    continue;
                }
                self.compared.figures.steps += 1;
                let taken = catch_unwind(AssertUnwindSafe(|| {
                    self.model.next(&mut memo, &node, edge.taken)
                }));
                let next = taken.unwrap_or_else(|_| {
                    // What its search would end with.
                    let how =
                        || format!("{:?} panics in the search at {}", edge.taken, here(state));
                    self.compared.disagree(Kind::Step, how);
                    None
                });
                let next = next.map(|(mut next, _)| {
                    // A search asks only where it comes to a known state; here each state is asked.
                    if let Some(endless) = self.model.stands_still(&mut memo, &next) {
                        next.violated = Some(endless);
                    }
                    next
                });
                self.step(state, edge.taken, &edge.led, next.as_ref());
                if let (Led::To(at), Some(next)) = (&edge.led, next) {
                    // A later state's node is the one that first leads there.
                    if *at > from && nodes[*at].is_none() {
                        nodes[*at] = Some(next);
                    }
                }
            }
            if let Some(more) = theirs.iter().find(|taken| !ours.contains(taken)) {
                let how = || format!("{more:?} is one too many at {}", here(state));
                self.compared.disagree(Kind::Moves, how);
            }
        }
        self.compared.figures.known += memo.uses().0;
    }

    fn step(&mut self, state: &State, taken: Move, led: &Led, next: Option<&Node>) {
        let violated = next.and_then(|next| next.violated.as_deref());
        match (led, next) {
            (Led::Nowhere, None) => {}
            (Led::Violated((property, _)), Some(_)) => match violated {
                Some(found) if found.property == *property => {}
                other => {
                    let how = || format!("{taken:?} violates {property} when run, and {other:?}");
                    self.compared.disagree(Kind::Step, how);
                }
            },
            (Led::To(at), Some(node)) => {
                let ran = &self.walk.states[*at];
                if let Some(violated) = violated {
                    let how = || format!("{taken:?} violates {violated:?} by memory only");
                    return self.compared.disagree(Kind::Step, how);
                }
                self.arrived(state, taken, ran, node);
            }
            (led, next) => {
                let is_possible = next.is_some();
                let how = || format!("{taken:?} leads {led:?}; by memory: {is_possible}");
                self.compared.disagree(Kind::Step, how);
            }
        }
    }

    /// Is the state that memory led to the one that running led to, and are its digests right?
    fn arrived(&mut self, from: &State, taken: Move, ran: &State, node: &Node) {
        let world = &node.world;
        let same = exactly(|| *world == ran.world)
            && world.now() == ran.world.now()
            && (node.deviations, node.planned) == (ran.deviations, ran.planned)
            && ran
                .injected
                .iter()
                .enumerate()
                .all(|(at, injected)| (node.faults >> at & 1 == 0) == *injected);
        if !same {
            let differ = difference(world, &ran.world);
            let how = || format!("{taken:?} from {} by memory: {differ}", here(from));
            self.compared.disagree(Kind::Step, how);
        }
        let scratch = (
            world.digest_from_scratch(),
            exactly(|| world.digest_from_scratch()),
        );
        if (world.digest(), world.exact_digest()) != scratch {
            let how = || format!("after {taken:?} from {}", here(from));
            self.compared.disagree(Kind::Cached, how);
        }
        let ran = (
            ran.world.digest_from_scratch(),
            exactly(|| ran.world.digest_from_scratch()),
        );
        if same && ran != scratch {
            let how = || {
                format!(
                    "equal, with two digests, after {taken:?} from {}",
                    here(from)
                )
            };
            self.compared.disagree(Kind::Digest, how);
        }
    }

    /// What is equal goes on equally.
    fn successors(&mut self) {
        let bounds = &self.model.bounds;
        for (at, twin) in &self.walk.twins {
            self.compared.figures.twins += 1;
            let first = &self.walk.states[*at];
            let moves = first.moves(bounds);
            if moves != twin.moves(bounds) {
                let how = || format!("equal states have other moves at {}", here(first));
                self.compared.disagree(Kind::Successors, how);
                continue;
            }
            for taken in moves {
                let parts = match (first.after(bounds, taken), twin.after(bounds, taken)) {
                    (Ok(Some(one)), Ok(Some(other))) => {
                        (!one.is_same(&other)).then(|| difference(&one.world, &other.world))
                    }
                    (one, other) => {
                        let kind = |after: &Result<Option<State>, Violated>| match after {
                            Ok(next) => Ok(next.is_some()),
                            Err(violated) => Err(violated.clone()),
                        };
                        (kind(&one) != kind(&other)).then(|| "one of them is violated".to_owned())
                    }
                };
                if let Some(parts) = parts {
                    let how =
                        || format!("{taken:?} parts equal states at {}: {parts}", here(first));
                    self.compared.disagree(Kind::Successors, how);
                }
            }
        }
    }

    /// What a process refuses leaves the world, and every other one, as it was.
    fn refusals(&mut self) {
        for state in self.walk.states.iter().step_by(7) {
            let before = state.world.unshared();
            for process in before.processes() {
                let mut world = state.world.unshared();
                let refused = command(before.name(process), REFUSED);
                let applied = catch_unwind(AssertUnwindSafe(|| {
                    world
                        .apply(world.now(), Event::Act(&refused), &mut |sent| sent.nominal)
                        .is_err()
                }));
                if matches!(applied, Ok(true)) && exactly(|| world != before) {
                    let differ = difference(&before, &world);
                    let how = || {
                        format!(
                            "what is refused leaves something at {}: {differ}",
                            here(state)
                        )
                    };
                    self.compared.disagree(Kind::Refused, how);
                }
            }
        }
    }

    fn shifts(&mut self) {
        for state in self.walk.states.iter().step_by(13) {
            let mut later = state.world.clone();
            later.shift(Duration::from_micros(12_345));
            let same = later == state.world
                && later.digest() == state.world.digest()
                && later.digest_from_scratch() == state.world.digest_from_scratch();
            if !same {
                let how = || format!("a shift in time shows at {}", here(state));
                self.compared.disagree(Kind::Shift, how);
            }
        }
    }

    /// What each state violates on its way to recovery; nothing if that is not looked at.
    fn unhealed(&mut self) -> Vec<Option<Violated>> {
        let mut all = Vec::new();
        for state in &self.walk.states {
            let Some(calm) = self.calm else { break };
            match heal(state, &self.model.bounds, calm) {
                Ok(()) => all.push(None),
                Err(Unhealed::Violated(violated)) => all.push(Some(violated)),
                Err(Unhealed::TooLarge) => {
                    // Nobody could wait for the search to follow it either.
                    self.calm = None;
                    return Vec::new();
                }
            }
        }
        self.compared.figures.healed += all.len() as u64;
        self.compared.figures.unhealed += u64::from(all.iter().any(Option::is_some));
        all
    }

    fn searches(&mut self, unhealed: &[Violated]) {
        let violated: Vec<&Violated> = self.walk.violated().collect();
        self.compared.figures.violated += u64::from(!violated.is_empty());
        let choices = Reduction {
            keep_one_in: 4,
            exact: false,
            ..Reduction::NONE
        };
        let searches = [
            ("on one thread", Reduction::NONE, 1),
            ("on two threads", Reduction::NONE, 2),
            ("that keeps choices", choices, 1),
            ("that is reduced", Reduction::ORDERS, 1),
        ];
        for (name, reduction, threads) in searches {
            let recovery = self.calm.map(Recovery::within);
            let explored = self.explore(reduction, threads, recovery.as_ref());
            let is_reduced = name == "that is reduced";
            match &explored.ended {
                Ended::Stopped => {
                    let progress = explored.progress;
                    let how = || format!("the search {name} goes on after {progress:?}");
                    self.compared.disagree(Kind::End, how);
                }
                Ended::Violated(found) => {
                    let known = violated.iter().copied().chain(unhealed);
                    let is_known = known
                        .clone()
                        .any(|(property, _)| *property == found.violation.property);
                    let kind = match found.path.last() {
                        Some(Move::Recover) => Kind::Recovery,
                        _ => Kind::Verdict,
                    };
                    if !is_known {
                        let known: Vec<_> = known.collect();
                        let found = &found.violation;
                        let how =
                            || format!("the search {name} finds {found:?}, and not {known:?}");
                        self.compared.disagree(kind, how);
                    }
                    self.replay(name, found, recovery.as_ref());
                }
                Ended::Complete if !violated.is_empty() || !unhealed.is_empty() => {
                    let kind = match (is_reduced, violated.is_empty()) {
                        (true, _) => Kind::Reduced,
                        (_, true) => Kind::Recovery,
                        (_, false) => Kind::Verdict,
                    };
                    self.compared.figures.reduced_otherwise += u64::from(is_reduced);
                    let missed: Vec<_> = violated.iter().copied().chain(unhealed).take(3).collect();
                    let how = || format!("the search {name} is complete and misses {missed:?}");
                    self.compared.disagree(kind, how);
                }
                Ended::Complete => {
                    let (theirs, ours) = (explored.progress.unique, self.walk.states.len() as u64);
                    if reduction.exact && theirs != ours {
                        let how = || format!("{theirs} states {name}, and not {ours}");
                        self.compared.disagree(Kind::States, how);
                    }
                }
            }
        }
    }

    fn explore(
        &self,
        reduction: Reduction,
        threads: usize,
        recovery: Option<&Recovery>,
    ) -> Explored {
        let most = PATIENCE * (self.walk.edges.len() as u64 + 100);
        let explorer = Explorer {
            model: self.model,
            recovery,
            reduction,
            threads,
            watch: &|progress| progress.generated < most,
        };
        explorer.run()
    }

    /// The counterexample happens again, run without memory and as a trace; so does a smaller one.
    fn replay(&mut self, name: &str, found: &Found, recovery: Option<&Recovery>) {
        self.compared.figures.replayed += 1;
        let first = self.model.first();
        if let Err(how) = happens_again(self.model, &first, found, recovery) {
            let how = || format!("what is found by the search {name}: {how}");
            return self.compared.disagree(Kind::Replay, how);
        }
        if name != "on one thread" {
            return;
        }
        let shortening = Shortening {
            model: self.model,
            calm: self.calm,
            steps: 2_000,
        };
        let short = shortening.of(&first, found.clone());
        if let Err(how) = happens_again(&short.model, &short.start, &short.found, recovery) {
            self.compared
                .disagree(Kind::Replay, || format!("what was made smaller: {how}"));
        }
    }

    /// Two states that differ in what a process hides are one to a search. The audited one has to notice.
    fn lying(&mut self, lie: Lie) {
        let shows = match lie {
            Lie::Hash => !self.walk.alike.is_empty(),
            _ => self
                .walk
                .twins
                .iter()
                .any(|(at, twin)| self.hides(&self.walk.states[*at], twin)),
        };
        if !shows {
            return;
        }
        self.compared.figures.liars += 1;
        let seen = AtomicU64::new(0);
        let checker = Audited::new(self.model.clone()).checker();
        let checker = checker.target_state_count(200_000).spawn_bfs().join();
        seen.store(checker.state_count() as u64, Relaxed);
        let found = checker.discovery("guarantees hold");
        let found = found.and_then(|path| path.into_states().pop()?.violated);
        let is_caught = found.as_ref().is_some_and(|found| {
            ["equal-hashes-equal-states", "equal-states-act-alike"]
                .contains(&found.property.as_str())
        });
        self.compared.figures.caught += u64::from(is_caught);
        // What violates a guarantee ends the search as well, before it has seen enough.
        if lie == Lie::Hash && found.is_none() {
            self.compared.disagree(Kind::Audit, || {
                "a hash that leaves out a field is not noticed".to_owned()
            });
        }
    }

    /// Do two states that pass for one differ in what they hide, and go different ways one step ahead?
    fn hides(&self, one: &State, other: &State) -> bool {
        let hidden = |state: &State| {
            let first = state.world.find("p0");
            first
                .and_then(|first| state.world.process::<Toy>(first))
                .map(|toy| (toy.volatile(), toy.durable()))
        };
        hidden(one) != hidden(other)
    }
}

fn happens_again(
    model: &WorldModel,
    first: &Node,
    found: &Found,
    recovery: Option<&Recovery>,
) -> Result<(), String> {
    let again = catch_unwind(AssertUnwindSafe(|| {
        retrace(model, recovery, first, &found.path)
    }));
    let again = again.map_err(|_| "its path cannot be gone again".to_owned())?;
    let is_it = |violated: Option<&wavetank_engine::trace::FoundViolation>| {
        violated.is_some_and(|violated| violated.is_like(&found.violation))
    };
    if !is_it(again.violated.as_deref()) {
        return Err(format!(
            "{:?} becomes {:?}",
            found.violation, again.violated
        ));
    }
    let mut replay = Replay::new(first.world.clone(), Fit::Strict);
    for event in again.events {
        let followed = replay.follow(&Line::Event(event));
        followed.map_err(|parting| format!("its trace does not fit: {parting}"))?;
    }
    // What only a search or a driver can see is not the world's to repeat.
    let seen_from_outside = ["no-livelock", "no-unbounded-growth"];
    let is_outside = seen_from_outside.contains(&found.violation.property.as_str());
    match is_outside || is_it(replay.violation()) {
        true => Ok(()),
        false => Err(format!(
            "{:?} is {:?} in its trace",
            found.violation,
            replay.violation()
        )),
    }
}

/// Where a state is, in a line.
fn here(state: &State) -> String {
    let world = &state.world;
    let pending: Vec<String> = world
        .pending()
        .take(6)
        .map(|entry| format!("{} {}", entry.at, world.render(&world.entry_name(entry))))
        .collect();
    format!(
        "{} s ({} pending: {})",
        world.now(),
        world.pending().len(),
        pending.join("; ")
    )
}

/// In which parts two worlds differ.
fn difference(one: &World, other: &World) -> String {
    let (mine, theirs) = exactly(|| (one.parts(), other.parts()));
    let names: BTreeMap<_, _> = theirs.iter().cloned().collect();
    let differ = mine
        .iter()
        .filter(|(name, digest)| names.get(name) != Some(digest));
    let mut differ: Vec<&str> = differ.map(|(name, _)| name.as_str()).collect();
    let pending = |world: &World| -> Vec<String> {
        let name = |entry: &_| world.render(&world.entry_name(entry));
        world
            .pending()
            .map(|entry| format!("{} {}", entry.at, name(entry)))
            .collect()
    };
    if pending(one) != pending(other) {
        differ.push("what is pending");
    }
    if differ.is_empty() {
        differ.push("nothing that has a name");
    }
    differ.join(", ")
}
