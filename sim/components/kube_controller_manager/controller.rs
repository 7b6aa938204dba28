//! What a controller of a controller manager is (`cmd/kube-controller-manager/app/controller_descriptor.go`): how it
//! is declared, what it is made of, and how its workers run. Which controllers there are is said in `controllers`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use wavetank_client::RestClient;
use wavetank_client::informer::SharedInformerFactory;
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::WorkQueue;
use wavetank_component::{Component, Setup};
use wavetank_engine::{Cx, ProcId, Rx, Timer};
use wavetank_version::{Gate, Selection};

/// A controller that controller managers may run (`ControllerDescriptor`). It is a component: it declares its options,
/// defects, properties and workload as others do, and it has no processes of its own but those of its workload.
pub trait ControllerDescriptor: Component {
    /// Its name in `controllers`.
    fn controller_name(&self) -> &'static str;

    /// The service account that it works as (`--use-service-account-credentials`), after which its client is named.
    fn service_account(&self) -> &'static str {
        self.controller_name()
    }

    /// The releases that have it, and have it on.
    fn releases_with_it(&self) -> Gate;

    /// `IsDisabledByDefault`: does it run only where a scenario names it? Upstream has most of them on; here a
    /// controller that came later must not change the worlds of scenarios that never heard of it.
    fn is_disabled_by_default(&self) -> bool {
        true
    }

    /// `RequiresSpecialHandling`: is it made before all others, by the client of the manager itself? Upstream there is one: without
    /// its tokens the others could not ask for anything.
    fn requires_special_handling(&self) -> bool {
        false
    }

    /// Does it ask the factory for informers?
    fn has_informers(&self) -> bool {
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
    /// Who says what pods use, if anybody does. Upstream an apiserver hands the request on.
    pub metrics_server: Option<ProcId>,
}

/// A turn of a worker.
pub type Work<'a> = Pin<Box<dyn Future<Output = Turn> + Send + 'a>>;

/// What a constructor asks of apiservers: could it be made?
pub type Constructed<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// What a controller has to do with the mapper of kinds that all of a process share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapper {
    /// It does not ask it.
    Unused,
    /// It asks it.
    Asked,
    /// It asks it, and makes it anew again and again.
    Reset,
}

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

    /// Its other goroutines (those of `Run`), if they are of several kinds: each is a controller that has workers, too.
    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        Vec::new()
    }

    /// Does it ask the mapper of kinds?
    fn mapper(&self) -> Mapper {
        Mapper::Unused
    }

    /// What its constructor asks of apiservers, if it does, before informers and workers begin. Where it cannot be made its process
    /// ends.
    fn construct(&self, _: Rx) -> Option<Constructed<'_>> {
        None
    }

    /// A timer of the process; false if it is none of the controller's.
    fn timer(&self, _: &mut Cx<'_>, _: Timer) -> bool {
        false
    }

    /// One turn of a worker, from when its process leads until it does not.
    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a>;

    /// The same of the worker with this number, where not all do alike.
    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        let _ = number;
        self.work(rx, leading)
    }
}
