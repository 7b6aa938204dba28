//! Two controllers of one controller manager share an informer of one kind; each has a handler and a queue of its own,
//! and both end before a manager gives up its lock.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::common;

use common::topology::fixed;
use common::{Bench, plane, start, stop};
use wavetank_client::informer::{HandlerSpec, INFORMERS, Lister, Notice};
use wavetank_client::leader_election::{self, Leading, LockKind};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_component::{Component, Drawn, Setup, Spec, Wiring};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::drive::Stepped;
use wavetank_engine::{LinkSpec, Name, NotState, Rx, Status};
use wavetank_kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor, Work,
};
use wavetank_kube_controller_manager::{
    ControllerManager, LOCK, controller_context, new_controller_descriptors,
};
use wavetank_releases::V1_36;
use wavetank_version::{Gate, Selection, Set};

/// A controller that says which items it was given.
#[derive(Clone, Copy, Debug)]
struct Told {
    name: &'static str,
    queue: WorkQueue,
    on: fn(Rx, u32, &Notice),
}

const FIRST: Told = Told {
    name: "first",
    queue: WorkQueue::new(Name::new("first"), "items"),
    on: |rx, _, notice| FIRST.queue.add(rx, notice.key()),
};
const SECOND: Told = Told {
    name: "second",
    queue: WorkQueue::new(Name::new("second"), "items"),
    on: |rx, _, notice| SECOND.queue.add(rx, notice.key()),
};

/// A controller was given an item, of which the informer has this revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worked(&'static str, Item, u64);

impl Component for Told {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "a controller"
    }
}

impl ControllerDescriptor for Told {
    fn controller_name(&self) -> &'static str {
        self.name
    }

    fn releases_with_it(&self) -> Gate {
        Gate::ALWAYS
    }

    fn new_controller(&self, _: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let resource = &wavetank_api::kinds::CONFIG_MAPS;
        let mut informer = cx.informers.informer_for(resource);
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(self.on)),
            ..HandlerSpec::new(self.name)
        });
        let lister = informer.lister();
        Arc::new(Running { of: *self, lister })
    }
}

#[derive(Debug)]
struct Running {
    of: Told,
    lister: Lister,
}

impl Controller for Running {
    fn name(&self) -> &'static str {
        self.of.name
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![self.of.queue]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.lister.wait_for_cache_sync(rx).await;
            process_next_work_item(rx, leading, self.of.queue, |key| async move {
                let seen = self.lister.get(rx, &key);
                let revision = seen.map_or(0, |seen| seen.resource_version);
                rx.note(Worked(self.of.name, key, revision));
                Ok::<(), Infallible>(())
            })
            .await
        })
    }
}

/// A controller manager with these controllers, which gives up its lock when it stops.
struct Manager([Told; 2]);

impl Component for Manager {
    fn name(&self) -> &'static str {
        "manager"
    }

    fn about(&self) -> &'static str {
        "a controller manager with two controllers"
    }

    fn processes(&self, _: &Spec, _: Option<&Drawn>) -> Result<Vec<String>, String> {
        Ok(vec!["manager".to_owned()])
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let rest = common::balanced(wiring);
        let context = controller_context(rest, Selection::NONE);
        // Whoever writes a ConfigMap each second is in it, too.
        let mut controllers = new_controller_descriptors().to_vec();
        controllers.retain(|controller| !controller.is_disabled_by_default());
        for own in self.0 {
            controllers.push(Arc::new(own));
        }
        let lock = LockKind::of(V1_36);
        let manager = ControllerManager::new(
            "manager",
            setup,
            context,
            &controllers,
            Set::fixed(),
            lock,
            true,
        );
        wiring.process("manager", manager);
    }

    fn settles(&self, _: &Setup) -> Duration {
        Duration::ZERO
    }
}

/// The manager leads, over an apiserver with watch caches.
fn settled(controllers: [Told; 2]) -> Bench {
    let mut topology = plane(V1_36, fixed(), 1);
    topology.watching.cache = true;
    let mut bench = Bench::new(&topology);
    let components = topology.components().with(Manager(controllers));
    let world = components.world(&topology.setup(), &[], LinkSpec::default());
    bench.world = world.unwrap_or_else(|why| panic!("{why}"));
    for name in ["etcd", "a1"] {
        bench.strike(start(name));
        bench.run(5.0);
    }
    bench.strike(start("manager"));
    bench.run(5.0);
    bench
}

/// What a controller was given.
fn worked(bench: &Bench, of: &str) -> Vec<(String, u64)> {
    let told = bench.notes.iter();
    let told = told.filter_map(|(_, note)| note.body.get::<Worked>());
    let own = told.filter(|worked| worked.0 == of);
    own.map(|worked| (worked.1.to_string(), worked.2)).collect()
}

#[test]
fn two_controllers_share_an_informer_and_have_queues_of_their_own() {
    let bench = settled([FIRST, SECOND]);
    let informers = bench.world.cell(bench.id("manager"), &INFORMERS);
    assert_eq!(informers.len(), 1);
    assert_eq!(informers[0].listeners.len(), 2);
    let first = worked(&bench, "first");
    assert!(!first.is_empty());
    assert!(first.iter().all(|(key, _)| key == "kube-system/tally"));
    assert_eq!(first, worked(&bench, "second"));
}

#[test]
fn both_end_before_the_lock_is_given_up() {
    let mut bench = settled([FIRST, SECOND]);
    let manager = bench.id("manager");
    assert!(leader_election::leads(&bench.world, manager, LOCK));
    bench.strike(stop("manager"));
    bench.run(1.0);
    assert_eq!(bench.world.status(manager), Status::Down);
}

#[test]
#[should_panic(expected = "has two handlers called `first`: each controller names its own")]
fn two_controllers_of_one_name_are_refused() {
    settled([FIRST, FIRST]);
}
