//! The project's search and the naive one, over the same world, side by side.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use wavetank_engine::{Event, Memo, World, exactly};

use crate::coverage::Coverage;
use crate::recovery::Recovery;
use crate::world_model::{Move, Node, WorldModel};

use super::build::{command, model};
use super::description::{Description, Lie};
use super::findings::{Compared, Figures, Kind};
use super::naive::{Led, State, Unhealed, Violated, Walk, heal};
use super::toy::REFUSED;

/// A world has at most so many states; a larger one is narrowed.
pub(super) const MOST: usize = 600;

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
        description: &narrow,
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
pub(super) struct Side<'a> {
    pub model: &'a WorldModel,
    pub walk: &'a Walk,
    pub description: &'a Description,
    pub calm: Option<Duration>,
    pub compared: Compared,
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
        let recovery = self.calm.map(Recovery::within);
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
            if let Some(recovery) = &recovery
                && endless <= ENDLESS
            {
                let found = recovery.fails(self.model, &node, &mut Coverage::default());
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
                let (_, unknown) = memo.uses();
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
                let is_known = next.is_some() && memo.uses().1 == unknown;
                self.compared.figures.known += u64::from(is_known);
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
