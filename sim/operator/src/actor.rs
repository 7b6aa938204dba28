//! Who uses the cluster: told to do something, an actor does it, and remembers nothing.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use serde_json::Value as Json;
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use crate::context::Context;

const ACT: Name = Name::new("act");

/// What an actor does.
pub trait Act: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// What they are called in scenario files: the key of their number in `topology`.
    const REPLICAS: &'static str;
    /// What one can be told, each with what it then does, in one line. Each is a key in `workload`.
    const COMMANDS: &'static [(&'static str, &'static str)];

    /// Does it, with what stands beside the command in the scenario.
    fn act(&self, cx: &Context, command: &str, with: &Json) -> impl Future<Output = ()> + Send;
}

/// An actor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Actor<A> {
    act: Arc<A>,
    rest: RestClient,
}

impl<A: Act> Actor<A> {
    /// One that reaches apiservers so.
    pub fn new(rest: RestClient, act: A) -> Actor<A> {
        let act = Arc::new(act);
        Actor { act, rest }
    }
}

impl<A: Act> Process for Actor<A> {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks an actor: {body:?}");
    }

    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let known: Vec<&str> = A::COMMANDS.iter().map(|(command, _)| *command).collect();
        if !known.contains(&what) {
            let all = known.join("`, `");
            return Err(format!("knows `{all}`, not `{what}`"));
        }
        cx.spawn(Task::new(ACT, (what.to_owned(), args.to_string())));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (what, with) = task.args::<(String, String)>().clone();
        let cx = Context {
            rx: Rx::new(),
            rest: self.rest.clone(),
            scope: ACT,
            watches: &[],
            recorder: None,
        };
        let act = self.act.clone();
        Box::pin(async move {
            let with: Json = serde_json::from_str(&with).expect("it was written as JSON");
            act.act(&cx, &what, &with).await;
            Outcome::Done
        })
    }
}
