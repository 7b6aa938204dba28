//! What a controller of a controller manager is (`cmd/kube-controller-manager/app/controller_descriptor.go`): how it
//! is declared, what it is made of, and how its workers run. Which controllers there are is said in `controllers`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use wavetank_client::informer::SharedInformerFactory;
use wavetank_client::leader_election::LEADERSHIP;
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_component::{Component, Setup};
use wavetank_engine::{Either, Rx};
use wavetank_version::{Gate, Selection};

use super::manager::DRAIN;

/// A controller that controller managers may run (`ControllerDescriptor`). It is a component: it declares its options,
/// defects, properties and workload as others do, and it has no processes of its own but those of its workload.
pub trait ControllerDescriptor: Component {
    /// Its name in `controllers`.
    fn controller_name(&self) -> &'static str;

    /// The releases that have it, and have it on.
    fn releases_with_it(&self) -> Gate;

    /// `IsDisabledByDefault`: does it run only where a scenario names it? Upstream has most of them on; here a
    /// controller that came later must not change the worlds of scenarios that never heard of it.
    fn is_disabled_by_default(&self) -> bool {
        true
    }

    /// Upstream's `ControllerConstructor`: the controller, with its handlers at the informers that it asks of the factory.
    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller>;
}

/// What controllers are made of (`ControllerContext`).
#[derive(Debug)]
pub struct ControllerContext {
    /// How they reach apiservers.
    pub rest: RestClient,
    /// The defects and fixes that are on in them.
    pub defects: Selection,
    /// The informers that they share.
    pub informers: SharedInformerFactory,
}

/// Who leads a controller manager, and after how many others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leading {
    /// As whom.
    pub identity: Arc<str>,
    /// How often the lock changed hands.
    pub transitions: u32,
}

/// A turn of a worker.
pub type Work<'a> = Pin<Box<dyn Future<Output = Turn> + Send + 'a>>;

/// A controller in a process.
pub trait Controller: fmt::Debug + Send + Sync + 'static {
    /// Its name: that of its descriptor.
    fn name(&self) -> &'static str;

    /// Its work queues, which are made when its process begins to lead.
    fn queues(&self) -> Vec<WorkQueue> {
        Vec::new()
    }

    /// How many workers it has (`--concurrent-…-syncs`).
    fn workers(&self) -> u32 {
        1
    }

    /// One turn of a worker, from when its process leads until it does not.
    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a>;
}

/// `processNextWorkItem`: takes an item and syncs it; one that failed comes again after a while. When the leadership
/// ends a request under way is given up, as a context that is cancelled does; it may still be done.
pub async fn process_next_work_item<F: Future<Output = Result<(), Failure>>>(
    rx: Rx,
    queue: WorkQueue,
    sync: impl FnOnce(Item) -> F,
) -> Turn {
    let stopped = rx.select(DRAIN.closed(rx), LEADERSHIP.closed(rx));
    let item = match rx.select(stopped, queue.get(rx)).await {
        Either::Left(_) => return Turn::Over,
        Either::Right(item) => item,
    };
    let synced = match rx.select(LEADERSHIP.closed(rx), sync(item.clone())).await {
        Either::Left(()) => return Turn::Over,
        Either::Right(synced) => synced,
    };
    match synced {
        Ok(()) => queue.forget(rx, &item),
        Err(_) => queue.add_rate_limited(rx, item.clone()),
    }
    queue.done(rx, &item);
    match DRAIN.is_closed(rx) {
        true => Turn::Over,
        false => Turn::Again,
    }
}
