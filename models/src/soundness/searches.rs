//! The project's search as a whole, on a walk that the naive one has made: verdicts, what was reached, the
//! counterexamples; and what becomes of a process that lies about itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stateright::{Checker, Model};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::trace::{FoundViolation, Line};

use crate::audited::{AUDIT, Audited};
use crate::explore::{Ended, Explored, Explorer, Found, Part};
use crate::path::retrace;
use crate::recovery::Recovery;
use crate::reduction::Reduction;
use crate::shorten::Shortening;
use crate::world_model::{Move, Node, WorldModel};

use super::build::model;
use super::compare::{MOST, Side};
use super::description::{Description, Lie};
use super::findings::Kind;
use super::naive::{State, Violated, Walk};
use super::toy::Toy;

/// How many steps of the default order the audit compares of two states that pass for one.
const AHEAD: usize = 32;

/// The search may take so many times as many steps as there are.
const PATIENCE: u64 = 100;

impl Side<'_> {
    pub(super) fn searches(&mut self, unhealed: &[Violated]) {
        let violated: Vec<&Violated> = self.walk.violated().collect();
        self.compared.figures.violated += u64::from(!violated.is_empty());
        let choices = Reduction {
            keep_one_in: 4,
            exact: false,
            ..Reduction::NONE
        };
        let searches = [
            ("on one thread", Reduction::NONE, 1, 1),
            ("on two threads", Reduction::NONE, 2, 1),
            ("in three parts", Reduction::NONE, 1, 3),
            ("that keeps choices", choices, 1, 1),
            ("that is reduced", Reduction::ORDERS, 1, 1),
        ];
        for (name, reduction, threads, parts) in searches {
            let recovery = self.calm.map(Recovery::within);
            let explored = self.explore(reduction, threads, parts, recovery.as_ref());
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
        parts: usize,
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
        let part = |number| {
            // A toy has few states.
            let states_each = 2;
            let part = Part {
                states_each,
                ..Part::new(number, parts)
            };
            explorer.run_part(vec![self.model.first()], part)
        };
        let (mut all, mut sketch) = part(0);
        for number in 1..parts {
            let (more, states) = part(number);
            sketch.merge(&states);
            // All are complete, or the verdict is that of one that is not.
            if all.ended == Ended::Complete {
                all.ended = more.ended;
            }
        }
        // Of few states this is exact.
        all.progress.unique = match parts {
            1 => all.progress.unique,
            _ => sketch.count().0,
        };
        all
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
    pub(super) fn lying(&mut self, lie: Lie) {
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
        let audited = Audited::new(self.model.clone()).looking_ahead(AHEAD);
        let checker = audited.checker().target_state_count(200_000);
        let is_caught = checker.spawn_bfs().join().discovery(AUDIT).is_some();
        self.compared.figures.caught += u64::from(is_caught);
        let hides = self.hides_a_violation();
        self.compared.figures.hiding += u64::from(hides);
        if lie == Lie::Hash && !is_caught {
            self.compared.disagree(Kind::Audit, || {
                "a hash that leaves out a field is not noticed".to_owned()
            });
        }
        if hides && !is_caught {
            let how = "a process that lies hides a violation, which is not noticed";
            self.compared.disagree(Kind::Audit, || how.to_owned());
        }
    }

    /// Would the search of an honest process have come to a violation, and does this one end clean?
    fn hides_a_violation(&self) -> bool {
        if self.explore(Reduction::NONE, 1, 1, None).ended != Ended::Complete {
            return false;
        }
        let honest = Description {
            lie: Lie::None,
            ..self.description.clone()
        };
        let honest = Walk::of(&model(&honest).0, MOST);
        honest.is_some_and(|honest| honest.violated().next().is_some())
    }

    /// Do two states that pass for one differ in what they hide?
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
    let is_it = |violated: Option<&FoundViolation>| {
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
