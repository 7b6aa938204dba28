//! What an audited search catches: processes that are hashed or compared wrongly, and routines
//! that are not functions of their answers. All of them are one toy, which keeps the result of a
//! choice and tells it later.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stateright::{Checker, Model};
use wavetank_engine::{
    Action, Always, Caller, Check, Class, Cx, Event, Fault, Name, Outcome, Payload, Process,
    RoutineFuture, Rx, Task, Time, Timer, Violation, World, WorldBuilder,
};
use wavetank_models::{AUDIT, Audited, Bounds, Move, Node, WorldModel};

const TELL: Timer = Timer::new(Name::new("tell"), 0);
const KEEP: Name = Name::new("keep");

/// A number, as honestly as the type is.
trait Kept: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static {
    fn number(&mut self) -> &mut u64;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Honest(u64);

impl Kept for Honest {
    fn number(&mut self) -> &mut u64 {
        &mut self.0
    }
}

/// Two that differ have one hash.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct LeftOutOfTheHash(u64);

impl Hash for LeftOutOfTheHash {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Kept for LeftOutOfTheHash {
    fn number(&mut self) -> &mut u64 {
        &mut self.0
    }
}

/// Two that differ are equal.
#[derive(Clone, Debug, Default)]
struct LeftOutAltogether(u64);

impl PartialEq for LeftOutAltogether {
    fn eq(&self, _: &LeftOutAltogether) -> bool {
        true
    }
}
impl Eq for LeftOutAltogether {}
impl Hash for LeftOutAltogether {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Kept for LeftOutAltogether {
    fn number(&mut self) -> &mut u64 {
        &mut self.0
    }
}

/// How long a toy sleeps before it chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Nap {
    Steady,
    /// Longer each time that anybody asks: not a function of anything that the world knows.
    Growing,
}

impl Nap {
    fn length(self) -> Duration {
        static ASKED: AtomicU64 = AtomicU64::new(1);
        Duration::from_millis(match self {
            Nap::Steady => 1,
            Nap::Growing => ASKED.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// Keeps the result of a choice, and tells it when its timer fires.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Toy<K> {
    kept: K,
    nap: Nap,
}

impl<K: Kept> Process for Toy<K> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.arm(TELL, Duration::from_secs(1));
        cx.spawn(Task::new(KEEP, ()));
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}

    fn timer(&mut self, cx: &mut Cx<'_>, _: Timer) {
        cx.note(*self.kept.number());
    }

    fn crash(&mut self) {}

    fn routine(&self, _: &Task) -> RoutineFuture {
        let (rx, nap) = (Rx::new(), self.nap);
        Box::pin(async move {
            rx.sleep(nap.length()).await;
            let chosen = rx.choose(2).await;
            rx.process(|toy: &mut Toy<K>| *toy.kept.number() = chosen);
            Outcome::Done
        })
    }
}

fn nothing_but_zero_is_told() -> Always {
    Always {
        name: "nothing-but-zero-is-told",
        class: Class::Guarantee,
        check: |_, note| match note.body.get::<u64>() {
            None => Check::Idle,
            Some(0) => Check::Held,
            Some(number) => Check::Violated(Violation {
                kind: "number",
                object: number.to_string(),
                message: format!("{number} is told"),
            }),
        },
    }
}

fn model<K: Kept>(nap: Nap) -> WorldModel {
    let kept = K::default();
    let mut world: World = WorldBuilder::new()
        .process("toy", Toy { kept, nap })
        .property(Box::new(nothing_but_zero_is_told()))
        .build();
    let process = "toy".to_owned();
    let start = Action::Fault(Fault::Start { process });
    world
        .apply(Time::ZERO, Event::Act(&start), &mut |sent| sent.nominal)
        .expect("there is a toy");
    WorldModel {
        start: world,
        bounds: Bounds {
            horizon: Time::from_secs(2),
            ..Bounds::default()
        },
    }
}

/// What a search finds violated, and why.
fn violated<M>(model: M) -> Option<(String, String)>
where
    M: Model<State = Node, Action = Move> + Send + Sync + 'static,
{
    let checker = model.checker().spawn_dfs().join();
    let path = checker.discovery(AUDIT);
    let path = path.or_else(|| checker.discovery("guarantees hold"))?;
    let found = path.last_state().violated.as_deref()?;
    Some((found.property.clone(), found.message.clone()))
}

/// The name of what an audited search finds violated.
fn audit(model: WorldModel) -> Option<String> {
    violated(Audited::new(model)).map(|(property, _)| property)
}

#[test]
fn an_honest_process_is_searched_alike_with_and_without_trust() {
    let found = violated(model::<Honest>(Nap::Steady));
    assert_eq!(
        found.as_ref().map(|f| f.0.as_str()),
        Some("nothing-but-zero-is-told")
    );
    assert_eq!(violated(Audited::new(model::<Honest>(Nap::Steady))), found);
}

#[test]
fn a_field_that_is_left_out_of_the_hash_is_noticed() {
    // This is what it hides from a search that trusts.
    assert_eq!(violated(model::<LeftOutOfTheHash>(Nap::Steady)), None);
    let found = audit(model::<LeftOutOfTheHash>(Nap::Steady));
    assert_eq!(found.as_deref(), Some("equal-hashes-equal-states"));
}

#[test]
fn a_field_that_is_left_out_altogether_is_noticed_by_what_it_does() {
    assert_eq!(violated(model::<LeftOutAltogether>(Nap::Steady)), None);
    let found = audit(model::<LeftOutAltogether>(Nap::Steady));
    assert_eq!(found.as_deref(), Some("equal-states-act-alike"));
}

#[test]
fn an_impure_routine_is_caught_by_any_search() {
    let (property, why) = violated(model::<Honest>(Nap::Growing)).expect("it strays");
    assert_eq!(property, "no-panic");
    assert!(
        why.contains("routine keep#0") && why.contains("is impure"),
        "{why}"
    );
}

#[test]
#[should_panic(expected = "checker thread")]
fn a_fault_that_no_world_knows_is_no_proof_of_anything() {
    let process = "nobody".to_owned();
    let stop = Action::Fault(Fault::Stop { process });
    let mut model = model::<Honest>(Nap::Steady);
    model.bounds.faults = vec![stop];
    violated(model);
}
