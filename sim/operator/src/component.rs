//! Operators and actors as components: how many there are in a scenario, what they serve, what they promise, and how
//! their objects are told.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::EVENTS;
use wavetank_client::cut_off::CutOff;
use wavetank_client::leader_election::LockKind;
use wavetank_client::{ElectionDefect, InformerDefect};
use wavetank_component::{
    Component, Description, Load, Mistakes, Need, PropertyInfo, Replicas, Setup, Spec, Stored,
    Wiring,
};
use wavetank_components::sieve::{self, alike};
use wavetank_components::{informers, kube_apiserver};
use wavetank_engine::{Check, Name, Note, World};
use wavetank_kube_controller_manager as kube_controller_manager;
use wavetank_version::{List, Listed, Selection};

use crate::actor::{Act, Actor};
use crate::manager::{Manager, Reconciler};

/// The known bugs of the parts of the client that a replica has.
const CLIENT: [List; 2] = [InformerDefect::LIST, ElectionDefect::LIST];

/// A key that failed while a storm of some minutes lasted comes back within about as long again.
const BACK_OFF: Duration = Duration::from_secs(300);

type Make<R> = Arc<dyn Fn(&Selection) -> R + Send + Sync>;

/// An operator: replicas of a [`Manager`], of the newest release that there is.
pub struct Operator<R> {
    prefix: &'static str,
    about: &'static str,
    make: Make<R>,
    kinds: Vec<&'static Resource>,
    uses: Vec<&'static Resource>,
    defects: Vec<List>,
    properties: Vec<PropertyInfo>,
}

impl<R: Reconciler> Operator<R> {
    /// One whose replicas are called `prefix` with a number; `about` is what it is, in one line. `make` makes the
    /// reconciler, and is told which defects are on.
    pub fn new(
        prefix: &'static str,
        about: &'static str,
        make: impl Fn(&Selection) -> R + Send + Sync + 'static,
    ) -> Operator<R> {
        Operator {
            prefix,
            about,
            make: Arc::new(make),
            kinds: Vec::new(),
            uses: Vec::new(),
            defects: Vec::new(),
            properties: Vec::new(),
        }
    }

    /// Apiservers serve this custom kind where there is such an operator.
    #[must_use]
    pub fn serves(mut self, kind: &'static Resource) -> Operator<R> {
        self.kinds.push(kind);
        self
    }

    /// It asks for this resource of Kubernetes without watching it. What it watches, custom kinds, its lock and Events are
    /// known: apiservers have watch caches of what is used, and of nothing else.
    #[must_use]
    pub fn uses(mut self, resource: &'static Resource) -> Operator<R> {
        self.uses.push(resource);
        self
    }

    /// These defects have their places in it.
    #[must_use]
    pub fn defects(mut self, list: List) -> Operator<R> {
        self.defects.push(list);
        self
    }

    /// It is held to this wherever it is. What the property needs is the operator, whatever else it says.
    #[must_use]
    pub fn promises(mut self, mut property: PropertyInfo) -> Operator<R> {
        property.need = needed::<R>();
        self.properties.push(property);
        self
    }
}

/// What is said of an operator needs one.
const fn needed<R: Reconciler>() -> Need {
    Need {
        met: |spec| spec.count(R::REPLICAS) > 0,
        lacking: "an operator, and there is none",
        add: "its replicas to `topology`",
    }
}

/// Only where it is told one of Sieve's patterns it is known what it asks.
const fn told<R: Reconciler>() -> Need {
    Need {
        met: |spec| sieve::is_asked(R::REPLICAS, spec),
        lacking: "one of Sieve's patterns, and there is none",
        add: "one under the key of its replicas to `workload`: `KEY-intermediate-state: {every: 10s}`",
    }
}

/// What is compared with a run without faults.
const fn compared<R: Reconciler>() -> alike::Replicas {
    alike::Replicas {
        key: R::REPLICAS,
        asks: alike::asks::<Manager<R>>,
        can_work: alike::can_work::<Manager<R>>,
        compared: |_, normal| Some(normal),
        all_along: false,
    }
}

impl<R: Reconciler> Component for Operator<R> {
    fn name(&self) -> &'static str {
        R::REPLICAS
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of replicas of the operator, of which one leads.";
        Some(Replicas::counted(R::REPLICAS, self.prefix, about))
    }

    fn workload(&self) -> Vec<Load> {
        sieve::loads(R::REPLICAS, needed::<R>())
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(R::REPLICAS, spec, mistakes);
    }

    fn kinds(&self) -> Vec<&'static Resource> {
        self.kinds.clone()
    }

    /// What it watches, its lock, Events, and what it says itself.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let Some(newest) = kube_apiserver::newest(spec).filter(|_| self.exists(spec)) else {
            return Vec::new();
        };
        let watched = R::WATCHES.iter().map(|watch| watch.resource);
        let known = watched.chain(LockKind::of(newest).resources());
        let all = known.chain([&EVENTS]).chain(self.uses.iter().copied());
        all.filter(|resource| !resource.is_custom()).collect()
    }

    fn elects(&self, _: &Spec) -> bool {
        true
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        let rest = match sieve::is_asked(R::REPLICAS, setup) {
            true => rest.watched(),
            false => rest,
        };
        let client = setup.selection(rest.release, &CLIENT);
        let own = setup.selection(rest.release, &self.defects);
        for (number, name) in (1..).zip(wiring.names(R::REPLICAS)) {
            let reconciler = (self.make)(&own);
            let manager = Manager::new(name, number, rest.clone(), &client, reconciler);
            wiring.process(name, manager);
        }
    }

    /// What of it can be held: its informers.
    fn holds(&self, _: &Spec) -> Vec<(&'static str, String)> {
        let all = R::WATCHES.iter();
        all.map(|watch| (R::REPLICAS, watch.resource.qualified()))
            .collect()
    }

    fn defects(&self) -> Vec<List> {
        self.defects.clone()
    }

    /// Those of its informers and of its election.
    fn defects_of_parts(&self, _: &Spec) -> Vec<List> {
        CLIENT.to_vec()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        let mut all = self.properties.clone();
        all.push(alike::ends_alike(compared::<R>(), told::<R>()));
        all
    }

    /// Where runs are compared it has to have done all that was left.
    fn settles(&self, setup: &Setup) -> Duration {
        match sieve::is_asked(R::REPLICAS, setup) {
            true => {
                let leads = kube_controller_manager::settles(setup);
                leads + sieve::is_over_after(R::REPLICAS, setup) + BACK_OFF
            }
            false => Duration::ZERO,
        }
    }

    fn ending(&self, world: &World) -> Option<Json> {
        alike::ending(world, R::REPLICAS)
    }

    fn compare(&self, undisturbed: &Json, run: &Json) -> Option<(&'static str, Check)> {
        Some(alike::compare(R::REPLICAS, undisturbed, run))
    }

    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        world.process::<Manager<R>>(note.process)?;
        let text = note.body.get::<CutOff>()?.to_string();
        Some(Description {
            text,
            about: Vec::new(),
        })
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let lock = kube_controller_manager::lock(Name::new(R::NAME), key, value);
        lock.or_else(|| describe_watched(R::WATCHES.iter().map(|own| own.resource), key, value))
    }
}

/// An object of one of these resources: what it is to be, has and is, and no metadata.
fn describe_watched(
    mut resources: impl Iterator<Item = &'static Resource>,
    key: &str,
    value: Option<&Json>,
) -> Option<Stored> {
    resources.find(|resource| key.starts_with(&*resource.key("", "")))?;
    let text = value.map(|object| {
        let parts = ["spec", "data", "status"].into_iter();
        let there = parts.filter_map(|part| Some(format!("{part} {}", object.get(part)?)));
        there.collect::<Vec<_>>().join(", ")
    });
    Some(Stored {
        text,
        about: vec![key.to_owned()],
    })
}

/// Who uses the cluster: so many [`Actor`]s, which do the same.
#[derive(Clone, Debug)]
pub struct Actors<A> {
    prefix: &'static str,
    about: &'static str,
    act: A,
    uses: Vec<&'static Resource>,
    ends: bool,
}

impl<A: Act> Actors<A> {
    /// Actors that are called `prefix` with a number; `about` is who they are, in one line.
    pub const fn new(prefix: &'static str, about: &'static str, act: A) -> Actors<A> {
        Actors {
            prefix,
            about,
            act,
            uses: Vec::new(),
            ends: false,
        }
    }

    /// They do nothing more when the storm is over.
    #[must_use]
    pub fn until_calm(mut self) -> Actors<A> {
        self.ends = true;
        self
    }

    /// They ask for this resource of Kubernetes. Custom kinds are known: apiservers have watch caches of what is used, and of
    /// nothing else.
    #[must_use]
    pub fn uses(mut self, resource: &'static Resource) -> Actors<A> {
        self.uses.push(resource);
        self
    }
}

impl<A: Act> Component for Actors<A> {
    fn name(&self) -> &'static str {
        A::REPLICAS
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of these users of the cluster.";
        Some(Replicas::counted(A::REPLICAS, self.prefix, about))
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match self.exists(spec) {
            true => self.uses.clone(),
            false => Vec::new(),
        }
    }

    /// Each of their commands is a key of its own.
    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(A::REPLICAS) > 0,
            lacking: "there is nobody to do it",
            add: "some of those who do it to `topology`",
        };
        let all = A::COMMANDS.iter();
        let load = |(command, about): &(&'static str, &'static str)| Load {
            ends: self.ends,
            ..Load::command(command, command, about, need)
        };
        all.map(load).collect()
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(A::REPLICAS, spec, mistakes);
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(A::REPLICAS) {
            wiring.process(name, Actor::new(rest.clone(), self.act.clone()));
        }
    }
}
