//! A process that is a candidate for two locks: it leads under each or does not, and what ends one election leaves the
//! other alone.

use std::sync::Arc;
use std::time::Duration;

use crate::common;

use common::topology::fixed;
use common::{Bench, plane, start};
use wavetank_client::leader_election::{Election, LEASE_DURATION, Lock, LockKind, leads};
use wavetank_component::{Component, Drawn, Setup, Spec, Wiring};
use wavetank_engine::drive::Stepped;
use wavetank_engine::{
    Caller, Cx, LinkSpec, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_releases::V1_36;
use wavetank_version::Set;

const LEFT: Name = Name::new("left");
const RIGHT: Name = Name::new("right");
const LEAD: Name = Name::new("lead");
const STOPPED: Name = Name::new("stopped-leading");
const CANCEL: Name = Name::new("cancel");

/// A process with these elections, of which it ends the first when it is told to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Both([Arc<Election>; 2]);

impl Process for Both {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        for election in &self.0 {
            election.new_leader_elector(cx, "both".into());
            election.run(cx);
        }
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks it: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let mut all = self.0.iter();
        assert!(all.any(|election| election.timer(cx, timer)), "{timer:?}");
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        cx.spawn(Task::new(CANCEL, ()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let future = self.0.iter().find_map(|election| election.routine(task));
        if let Some(future) = future {
            return future;
        }
        let own = self.0[0].clone();
        let cancels = task.kind() == CANCEL;
        assert!(cancels || task.kind() == LEAD || task.kind() == STOPPED);
        Box::pin(async move {
            if cancels {
                own.candidate(Rx::new()).cancel();
            }
            Outcome::Done
        })
    }
}

/// It, as a component, with the names of its locks.
struct TwoLocks([Name; 2]);

impl Component for TwoLocks {
    fn name(&self) -> &'static str {
        "two-locks"
    }

    fn about(&self) -> &'static str {
        "a candidate for two locks"
    }

    fn processes(&self, _: &Spec, _: Option<&Drawn>) -> Result<Vec<String>, String> {
        Ok(vec!["both".to_owned()])
    }

    fn build(&self, _: &Setup, wiring: &mut Wiring) {
        let rest = common::balanced(wiring);
        let election = |name| {
            let kind = LockKind::Leases;
            Arc::new(Election {
                rest: rest.clone(),
                defects: Set::fixed(),
                lock: Lock { name, kind },
                release_on_cancel: true,
                lease_duration: LEASE_DURATION,
                on_started: LEAD,
                on_stopped: STOPPED,
            })
        };
        wiring.process("both", Both(self.0.map(election)));
    }

    fn settles(&self, _: &Setup) -> Duration {
        Duration::ZERO
    }
}

/// It runs over an apiserver.
fn settled(names: [Name; 2]) -> Bench {
    let topology = plane(V1_36, fixed(), 1);
    let mut bench = Bench::new(&topology);
    let components = topology.components().with(TwoLocks(names));
    let world = components.world(&topology.setup(), &[], LinkSpec::default());
    bench.world = world.unwrap_or_else(|why| panic!("{why}"));
    for name in ["etcd", "a1", "both"] {
        bench.strike(start(name));
        bench.run(5.0);
    }
    bench
}

/// Does it lead under the left lock, and under the right one?
fn leading(bench: &Bench) -> [bool; 2] {
    [LEFT, RIGHT].map(|name| leads(&bench.world, bench.id("both"), name))
}

/// Who holds them.
fn holders(bench: &Bench) -> [String; 2] {
    [LEFT, RIGHT].map(|name| {
        let kind = LockKind::Leases;
        let stored = bench.view().get(&Lock { name, kind }.key());
        let stored = stored.expect("it is there");
        let spec = &stored.value.json()["spec"];
        spec["holderIdentity"].as_str().unwrap_or("").to_owned()
    })
}

#[test]
fn a_process_leads_under_each_of_its_locks() {
    let mut bench = settled([LEFT, RIGHT]);
    assert_eq!(leading(&bench), [true, true]);
    assert_eq!(holders(&bench), ["both", "both"]);
    bench.command("both", "cancel", serde_json::Value::Null);
    bench.run(1.0);
    assert_eq!(leading(&bench), [false, true]);
    assert_eq!(holders(&bench), ["", "both"]);
    // Longer than a lease: it goes on renewing.
    bench.run(40.0);
    assert_eq!(leading(&bench), [false, true]);
    assert_eq!(holders(&bench), ["", "both"]);
}

#[test]
#[should_panic(
    expected = "a process is a candidate for `left` twice: each lock has a name of its own"
)]
fn two_elections_of_one_name_are_refused() {
    settled([LEFT, LEFT]);
}
