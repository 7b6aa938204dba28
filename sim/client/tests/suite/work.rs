//! A work queue between a handler of an informer and a worker that fails at first.

use std::sync::Arc;
use std::time::Duration;

use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::*;

const ENQUEUE: Name = Name::new("enqueue");
const WORK: Name = Name::new("work");
const QUEUE: WorkQueue = WorkQueue::new(Name::new("worker"), "items");

/// What the worker did: item and seconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worked(Item);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Controller;

impl Process for Controller {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        QUEUE.make(cx);
        cx.spawn(Task::new(WORK, ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        assert!(WorkQueue::timer(cx, timer));
    }
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let millis = args.as_u64().unwrap_or(0);
        cx.spawn(Task::new(ENQUEUE, (Arc::<str>::from(what), millis)));
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        if let Some(future) = WorkQueue::routine(task) {
            return future;
        }
        if task.kind() == WORK {
            return Box::pin(work(rx));
        }
        let (item, millis) = task.args::<(Item, u64)>().clone();
        Box::pin(async move {
            QUEUE.add_after(rx, item, Duration::from_millis(millis));
            Outcome::Done
        })
    }
}

/// Each item takes a second, and fails three times if it is called so.
async fn work(rx: Rx) -> Outcome {
    let item = QUEUE.get(rx).await;
    rx.note(Worked(item.clone()));
    rx.sleep(Duration::from_secs(1)).await;
    if &*item == "fails" && QUEUE.num_requeues(rx, &item) < 3 {
        QUEUE.add_rate_limited(rx, item.clone());
    } else {
        QUEUE.forget(rx, &item);
    }
    QUEUE.done(rx, &item);
    Outcome::Become(Task::new(WORK, ()))
}

/// Seconds after which the worker took items.
fn run(told: &[(&str, u64)]) -> Vec<(f64, String)> {
    let mut world = WorldBuilder::new().process("kcm", Controller).build();
    let process = "kcm".to_owned();
    let start = Action::Fault(Fault::Start { process });
    let mut worked = Vec::new();
    let act = |world: &mut World, action: &Action| {
        let now = world.now();
        let applied = world.apply(now, Event::Act(action), &mut |sent| sent.nominal);
        applied.expect("it is there");
    };
    act(&mut world, &start);
    for (what, millis) in told {
        let what = (*what).to_owned();
        let args = (*millis).into();
        let process = "kcm".to_owned();
        act(
            &mut world,
            &Action::Command {
                process,
                what,
                args,
            },
        );
    }
    while let Some(entry) = world.next_entry().copied() {
        let event = Event::Pending(entry.seq);
        let applied = world.apply(entry.at, event, &mut |sent| sent.nominal);
        for note in applied.expect("it was pending").notes {
            let Worked(item) = note.body.expect::<Worked>();
            worked.push((world.now().secs_f64(), item.to_string()));
        }
    }
    worked
}

fn expected(all: &[(f64, &str)]) -> Vec<(f64, String)> {
    all.iter()
        .map(|(at, item)| (*at, (*item).to_owned()))
        .collect()
}

#[test]
fn an_item_is_worked_on_once_for_all_that_waits_and_again_for_what_comes_meanwhile() {
    let told = [("a", 0), ("b", 0), ("a", 0), ("a", 1500), ("b", 1600)];
    let all = [(0.0, "a"), (1.0, "b"), (2.0, "a"), (3.0, "b")];
    assert_eq!(run(&told), expected(&all));
}

#[test]
fn the_earliest_delay_counts() {
    let told = [("a", 5000), ("a", 3000), ("a", 4000)];
    assert_eq!(run(&told), expected(&[(3.0, "a")]));
}

#[test]
fn who_fails_waits_longer_each_time() {
    let all = [
        (0.0, "fails"),
        (1.005, "fails"),
        (2.015, "fails"),
        (3.035, "fails"),
    ];
    assert_eq!(run(&[("fails", 0)]), expected(&all));
}
