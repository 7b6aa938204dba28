//! A deadlock that only one of many orders leads to.

use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Plan};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::*;
use wavetank_models::{Bounds, Ended, Explorer, Reduction, WorldModel, retrace};

const PAIR: Name = Name::new("pair");
const LOCKS: [Lock; 2] = [Lock::new("ink"), Lock::new("pen")];

/// Two routines that take two locks, each in an order that it chooses.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Clerk;

impl Process for Clerk {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(PAIR, ()));
        cx.spawn(Task::new(PAIR, ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            let rx = Rx::new();
            let first = rx.choose(2).await as usize;
            let _first = rx.lock(LOCKS[first]).await;
            let _second = rx.lock(LOCKS[1 - first]).await;
            Outcome::Done
        })
    }
}

#[test]
fn a_deadlock_is_found_and_replays() {
    let mut start = WorldBuilder::new().process("clerk", Clerk).build();
    let up = Action::Fault(Fault::Start {
        process: "clerk".to_owned(),
    });
    let started = start.apply(Time::ZERO, Event::Act(&up), &mut |sent| sent.nominal);
    started.expect("it starts");

    let limits = Limits::until(Time::from_secs(1));
    let defaults = FromPlan::new(&Plan::default());
    let by_default = Run::new(start.clone(), defaults, limits, Record::default()).finish();
    assert_eq!(by_default.ending, Ending::Clean);

    let model = WorldModel {
        bounds: Bounds {
            horizon: Time::ZERO + Duration::from_secs(1),
            ..Bounds::default()
        },
        start,
    };
    for reduction in [Reduction::NONE, Reduction::ORDERS] {
        let explorer = Explorer {
            model: &model,
            recovery: None,
            reduction,
            threads: 1,
            watch: &|_| true,
        };
        let Ended::Violated(found) = explorer.run().ended else {
            panic!("it was not found");
        };
        assert_eq!(found.violation.property, "no-deadlock");
        let retraced = retrace(&model, None, &model.first(), &found.path);
        let mut replay = Replay::new(model.start.clone(), Fit::Strict);
        for event in retraced.events {
            let followed = replay.follow(&Line::Event(event));
            followed.unwrap_or_else(|parting| panic!("{parting}"));
        }
        assert_eq!(replay.violation(), Some(&found.violation));
    }
}
