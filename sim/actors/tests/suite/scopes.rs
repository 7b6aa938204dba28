//! Two controllers in one process, each with an informer of the same kind and a work queue: neither gets in the
//! other's way, and two of one name are refused.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{Bench, Setup};
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_client::informer::{HandlerSpec, INFORMERS, InformerSpec, Informers, Notice, Resync};
use wavetank_client::observed::Ready;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{LoadBalancer, RestClient, Servers};
use wavetank_engine::drive::Stepped;
use wavetank_engine::*;
use wavetank_releases::{V1_16, V1_20, V1_36};
use wavetank_version::Version;

const WORK: Name = Name::new("work");
const FIRST: Name = Name::new("first");
const SECOND: Name = Name::new("second");

const fn queue(of: Name) -> WorkQueue {
    WorkQueue::new(of, "items")
}

/// A controller was given an item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worked(Name, Item);

/// A process with controllers of these names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Manager {
    controllers: Vec<Arc<Informers>>,
}

impl Manager {
    /// The second one is told of everything again each minute.
    fn new(setup: &Setup, balancer: LoadBalancer, names: [Name; 2]) -> Manager {
        let on: [fn(Rx, u32, &Notice); 2] = [
            |rx, _, notice| queue(FIRST).add(rx, notice.key()),
            |rx, _, notice| queue(SECOND).add(rx, notice.key()),
        ];
        let resync = [Resync::Never, Resync::Every(Duration::from_secs(60))];
        let controllers = names.into_iter().zip(on).zip(resync);
        let controllers = controllers.map(|((scope, on), resync)| {
            Arc::new(Informers {
                scope,
                rest: RestClient::new(setup.release, Servers::Balanced(balancer.clone())),
                defects: setup.defects,
                specs: vec![InformerSpec {
                    resync: Some(Duration::from_secs(60)),
                    handlers: vec![HandlerSpec {
                        resync,
                        on: NotState(Arc::new(on)),
                        ..HandlerSpec::new("queue")
                    }],
                    ..InformerSpec::of(&CONFIG_MAPS)
                }],
            })
        });
        Manager {
            controllers: controllers.collect(),
        }
    }
}

impl Process for Manager {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        for controller in &self.controllers {
            queue(controller.scope).make(cx);
            controller.boot(cx);
            cx.spawn(Task::new(WORK, controller.scope));
        }
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let mut all = self.controllers.iter();
        assert!(WorkQueue::timer(cx, timer) || all.any(|one| one.timer(cx, timer)));
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == WORK {
            let of = *task.args::<Name>();
            return Box::pin(async move {
                let rx = Rx::new();
                let item = queue(of).get(rx).await;
                rx.note(Worked(of, item.clone()));
                queue(of).done(rx, &item);
                Outcome::Become(Task::new(WORK, of))
            });
        }
        let own = self.controllers.iter().find_map(|one| one.routine(task));
        own.or_else(|| WorkQueue::routine(task))
            .expect("a task of one of them")
    }
}

fn bench(release: Version, names: [Name; 2]) -> Bench {
    let setup = Setup::new(release);
    let world = setup.world_with(|balancer| Manager::new(&setup, balancer, names));
    let mut bench = Bench::of(world);
    bench.serve(&setup);
    bench.start("c1");
    bench.run(5.0);
    bench
}

/// What a controller was given, from this second on.
fn worked(bench: &Bench, of: Name, from: f64) -> Vec<String> {
    let told = bench.noted::<Worked>().into_iter();
    let own = told.filter(|(at, worked)| *at >= from && worked.0 == of);
    own.map(|(_, worked)| worked.1.to_string()).collect()
}

#[test]
fn two_controllers_of_one_process_have_informers_and_queues_of_their_own() {
    for release in [V1_16, V1_20, V1_36] {
        let mut bench = bench(release, [FIRST, SECOND]);
        for of in [FIRST, SECOND] {
            assert_eq!(worked(&bench, of, 0.0), ["ns/a", "ns/b"], "{release}");
        }
        let ready: Vec<_> = bench.noted::<Ready>();
        let informers: Vec<_> = ready
            .into_iter()
            .map(|(_, ready)| ready.informers)
            .collect();
        assert_eq!(informers, [0..1, 1..2], "{release}");
        bench.put("c");
        bench.run(1.0);
        let all = bench.world.cell(bench.client(), &INFORMERS);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].content(), all[1].content());
        let now = bench.now.secs_f64();
        bench.run(60.0);
        assert!(worked(&bench, FIRST, now).is_empty(), "{release}");
        assert_eq!(worked(&bench, SECOND, now).len(), 3, "{release}");
        bench.settle(release);
        bench.is_clean();
    }
}

#[test]
#[should_panic(expected = "the work queue `items` of `first` is made twice in one process")]
fn two_queues_of_one_name_are_refused() {
    bench(V1_20, [FIRST, FIRST]);
}
