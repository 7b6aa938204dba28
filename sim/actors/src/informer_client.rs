//! A client with informers and nothing else: it watches some resources through a load balancer, and its
//! handlers keep what they were told. Scenarios use it to look at what clients see.

use std::sync::Arc;

use serde_json::Value as Json;
use wavetank_client::informer::{Hold, HoldAt, INFORMERS, InformerSpec, Informers};
use wavetank_client::observed::Content;
use wavetank_client::{InformerDefect, LoadBalancer, RestClient, Servers};
use wavetank_engine::{
    Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::{Set, Version};

const MOVE: Name = Name::new("move");

/// The client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InformerClient {
    /// Its informers.
    informers: Arc<Informers>,
    /// What is in front of the apiservers.
    balancer: LoadBalancer,
}

impl InformerClient {
    /// A client of this release, with these informers behind this load balancer.
    pub fn new(
        release: Version,
        defects: Set<InformerDefect>,
        balancer: LoadBalancer,
        specs: Vec<InformerSpec>,
    ) -> InformerClient {
        let servers = Servers::Balanced(balancer.clone());
        let informers = Informers {
            scope: Name::new("informer-client"),
            rest: RestClient::new(release, servers),
            defects,
            specs,
        };
        InformerClient {
            informers: Arc::new(informers),
            balancer,
        }
    }

    /// The informer that `args` names by its resource.
    fn named(&self, args: &Json) -> Result<u32, String> {
        let resource = args["resource"].as_str().unwrap_or_default();
        let found = self.informers.of_resource(resource);
        found.ok_or_else(|| format!("has no informer of `{resource}`"))
    }
}

impl Process for InformerClient {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.informers.boot(cx);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let known = self.informers.timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    /// `hold {resource, revision?, watch?}`: its informer takes nothing (newer than `revision`) out of its
    /// queue, or off its watch. `release {resource}`. `move {server?}`: its connections go to this server, by number, or
    /// to any.
    /// `content {}`: it tells what it holds.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        match what {
            "hold" => {
                let place = match args["watch"].as_bool() {
                    Some(true) => HoldAt::Watch,
                    _ => HoldAt::Queue,
                };
                let at = args["revision"].as_u64();
                let hold = Some(Hold { at, place });
                self.informers.hold(cx, self.named(args)?, hold);
            }
            "release" => self.informers.hold(cx, self.named(args)?, None),
            "move" if args["server"].is_null() => cx.spawn(Task::new(MOVE, ())),
            "move" => {
                let server = args["server"].as_u64().ok_or("`server` is no number")?;
                self.balancer
                    .move_to(cx, usize::try_from(server).unwrap_or(usize::MAX))?;
            }
            "content" => {
                let all = cx.cell(&INFORMERS).clone();
                for (informer, own) in (0..).zip(all) {
                    let views = own.listeners.iter().map(|listener| listener.view());
                    cx.note(Content {
                        informer,
                        store: own.content(),
                        views: views.collect(),
                    });
                }
            }
            other => {
                return Err(format!(
                    "knows `hold`, `release`, `move` and `content`, not `{other}`"
                ));
            }
        }
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == MOVE {
            let balancer = self.balancer.clone();
            return Box::pin(async move {
                balancer.move_somewhere(Rx::new()).await;
                Outcome::Done
            });
        }
        let future = self.informers.routine(task);
        future.unwrap_or_else(|| panic!("no routine `{}`", task.kind()))
    }
}
