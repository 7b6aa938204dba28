//! The declaration of a component.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_engine::{Check, FaultKind, Note, ProcId, World};
use wavetank_version::{EtcdVersion, List, Version};

use crate::apart::Apart;
use crate::begins_as::BeginsAs;
use crate::description::{Description, Stored};
use crate::drawn::Drawn;
use crate::given::Given;
use crate::hit::Hit;
use crate::load::Load;
use crate::mistakes::Mistakes;
use crate::part::Keys;
use crate::property::PropertyInfo;
use crate::replicas::Replicas;
use crate::setup::{Setup, Spec};
use crate::view::View;
use crate::wiring::Wiring;

/// A kind of process, or a part of one that has options, defects and properties of its own. Only `name` and `about`
/// have to be said; everything else is what a component without it would say.
///
/// The functions stand in the order in which they are asked: what a scenario file may say, whether it makes sense,
/// which processes there are, how they are built and injected, what they are held to, and how that is told.
pub trait Component: Send + Sync + 'static {
    /// Its name, in kebab-case.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// Keys of scenario files that are its own, besides those of its [`replicas`](Component::replicas) and
    /// [`workload`](Component::workload).
    fn keys(&self) -> Vec<Keys> {
        Vec::new()
    }

    /// How many processes it has, if it has some that are told apart by numbers.
    fn replicas(&self) -> Option<Replicas> {
        None
    }

    /// How many processes a scenario asks for.
    fn count(&self, given: &Given) -> u32 {
        self.replicas()
            .map_or(0, |replicas| given.count(replicas.key))
    }

    /// What its processes are told again and again.
    fn workload(&self) -> Vec<Load> {
        Vec::new()
    }

    /// What is wrong with the number of its processes. Names of processes are looked at only where nothing is.
    fn check_count(&self, given: &Given, mistakes: &mut Mistakes) {
        let Some(replicas) = self.replicas() else {
            return;
        };
        replicas.check(self.count(given), mistakes);
    }

    /// What else is wrong with what a scenario says to it.
    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let _ = (spec, mistakes);
    }

    /// What is possible, and may be other than it was meant: for people, a sentence each.
    fn hints(&self, spec: &Spec) -> Vec<String> {
        let _ = spec;
        Vec::new()
    }

    /// What is impossible with the releases that the flags ask for.
    ///
    /// # Errors
    /// Why, for people.
    fn check_releases(&self, spec: &Spec) -> Result<(), String> {
        let _ = spec;
        Ok(())
    }

    /// The names of its processes: as many as the seed has decided, or without one as the scenario asks for.
    ///
    /// # Errors
    /// What is wrong with what was decided (it may come from a trace).
    fn processes(&self, spec: &Spec, drawn: Option<&Drawn>) -> Result<Vec<String>, String> {
        let Some(replicas) = self.replicas() else {
            return Ok(Vec::new());
        };
        let asked = self.count(&spec.given);
        let count = match drawn {
            None => asked,
            Some(drawn) => drawn.count(replicas.key)?,
        };
        if count > asked || (count == 0 && asked > 0 && replicas.fewest > 0) {
            return Err(format!("the options: {count} {}", replicas.key));
        }
        Ok(replicas.names(count))
    }

    /// Do its processes start before all others?
    fn starts_first(&self) -> bool {
        false
    }

    /// The releases of Kubernetes that its processes have, or may have during a run.
    fn releases(&self, spec: &Spec) -> Vec<Version> {
        let _ = spec;
        Vec::new()
    }

    /// The release of etcd that its processes have, if they are of etcd.
    fn etcd_release(&self, spec: &Spec) -> Option<EtcdVersion> {
        let _ = spec;
        None
    }

    /// The resources of the table that its processes read, write or watch through apiservers. These have watch caches of
    /// those that somebody uses, and of no others; what nobody uses must not be asked for. Who does not say may use any.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match self.exists(spec) {
            true => Resource::ALL.to_vec(),
            false => Vec::new(),
        }
    }

    /// The kinds that apiservers serve where there is such a one, besides those that they always serve.
    fn kinds(&self) -> Vec<&'static Resource> {
        Vec::new()
    }

    /// Do its processes serve the Kubernetes API?
    fn serves(&self) -> bool {
        false
    }

    /// Do its processes elect a leader?
    fn elects(&self, _: &Spec) -> bool {
        false
    }

    /// May its processes apply (`application/apply-patch+yaml`)? Then apiservers keep `managedFields`.
    fn applies(&self) -> bool {
        false
    }

    /// Where worlds with such a one are simulated, if its processes are no values, which could be copied.
    fn apart(&self) -> Option<Arc<dyn Apart>> {
        None
    }

    /// Adds its processes to a world.
    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let _ = (setup, wiring);
    }

    /// How faults of this kind hit its processes, of which a scenario allows so many; `None` if they do not. Faults of
    /// the network, pauses and clocks hit all processes of a world alike and are not asked for.
    fn hit(&self, setup: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        let _ = (setup, kind);
        Some(Hit::at_most(max))
    }

    /// What can be held back and let go again at each process of a component: an informer, a cache. The component, and
    /// the resource.
    fn holds(&self, spec: &Spec) -> Vec<(&'static str, String)> {
        let _ = spec;
        Vec::new()
    }

    /// The defects and fixes that have their places in it.
    fn defects(&self) -> Vec<List> {
        Vec::new()
    }

    /// Lists of others whose defects have their places in its processes, too: a controller manager has informers.
    fn defects_of_parts(&self, spec: &Spec) -> Vec<List> {
        let _ = spec;
        Vec::new()
    }

    /// Is there such a one? Then its defects have a place.
    fn exists(&self, spec: &Spec) -> bool {
        self.count(&spec.given) > 0
    }

    /// What a scenario adds to have such a one: "`informers: 2` to `topology`". Nothing if nobody needs to be told.
    fn added_by(&self) -> String {
        self.replicas()
            .map_or_else(String::new, |own| format!("`{}: 2` to `topology`", own.key))
    }

    /// The components whose properties show its defects.
    fn shown_by(&self) -> Vec<&'static str> {
        vec![self.name()]
    }

    /// What it is held to.
    fn properties(&self) -> Vec<PropertyInfo> {
        Vec::new()
    }

    /// How long after calm it has settled, at the latest.
    fn settles(&self, setup: &Setup) -> Duration {
        let _ = setup;
        Duration::ZERO
    }

    /// What of the end of a run it compares with that of the same run without faults; `None` if it compares nothing. The
    /// two runs happen one after another, and maybe in processes of their own.
    fn ending(&self, world: &World) -> Option<Json> {
        let _ = world;
        None
    }

    /// What one of its properties says to the end of a run beside that of the same run without faults. The kind of object
    /// of a violation is `FoundViolation::DIFFERENCE`.
    fn compare(&self, undisturbed: &Json, run: &Json) -> Option<(&'static str, Check)> {
        let _ = (undisturbed, run);
        None
    }

    /// What it tells, in words; `None` for what is not its own, or what no story needs.
    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        let _ = (world, note);
        None
    }

    /// What it keeps in etcd under this key, in words, or that it is deleted; `None` for keys of others.
    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let _ = (key, value);
        None
    }

    /// What a scenario says to it, so that it begins with what it keeps in this world.
    fn begins_as(&self, world: &World) -> Option<BeginsAs> {
        let _ = world;
        None
    }

    /// What a process holds of objects, where that is kept by a part that is its own: a store, caches, informers.
    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        let _ = (world, process);
        Vec::new()
    }
}

impl dyn Component {
    /// All keys of scenario files that are its own.
    pub fn all_keys(&self) -> Vec<Keys> {
        let replicas = self.replicas().and_then(Replicas::keys);
        let loads = self.workload().into_iter().filter_map(Load::keys);
        let own = self.keys().into_iter();
        own.chain(replicas).chain(loads).collect()
    }
}
