//! A hosted operator as a component: how many replicas there are in a scenario, what its apiservers serve, what it is held
//! to, and how it is told.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, CustomResourceExt, Resource as KubeResource};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_client::{LoadBalancer, Servers};
use wavetank_component::{
    Apart, Component, Description, Load, Mistakes, Need, PropertyInfo, Replicas, Setup, Spec,
    Wiring,
};
use wavetank_components::sieve::{self, alike};
use wavetank_components::{informers, kube_apiserver};
use wavetank_engine::{Check, Name, Note, World};

use crate::apart::Forks;
use crate::carry::GIVEN_UP_AFTER;
use crate::kind;
use crate::life::{self, Ended, Main};
use crate::observed::{Answered, Asked, Began, CutOff, Exited};
use crate::process::{Hosted, Program, Start};
use crate::properties;
use crate::wire::Wire;

/// The longest of back-offs when a storm of some minutes is over: kubelet's of a container that exits. Half a minute is
/// that of kube's watchers, and the client's own doubles from 5 ms for as long as servers refuse.
const BACK_OFFS: Duration = Duration::from_secs(330);

/// What the main function of an operator returns.
pub trait Returns {
    /// How it ended.
    fn ended(self) -> Ended;
}

impl Returns for () {
    fn ended(self) -> Ended {
        Ended::Returned
    }
}

impl<E: Display> Returns for Result<(), E> {
    fn ended(self) -> Ended {
        match self {
            Ok(()) => Ended::Returned,
            Err(error) => Ended::Failed(error.to_string()),
        }
    }
}

/// An operator that is hosted: its own code, with kube's client.
pub struct Operator {
    key: &'static str,
    prefix: &'static str,
    about: &'static str,
    namespace: &'static str,
    start: Start,
    kinds: Vec<&'static Resource>,
    uses: Option<Vec<&'static Resource>>,
    properties: Vec<PropertyInfo>,
    settles: Duration,
}

impl Operator {
    /// An operator whose number of replicas stands under `key` in `topology`, and which are called `prefix` with a number;
    /// `about` is what it is, in one line. `run` is its main function. It is called once for each life of a replica, with
    /// a client, and the name of the pod that this replica would be.
    pub fn new<F, R>(
        key: &'static str,
        prefix: &'static str,
        about: &'static str,
        run: impl Fn(Client, String) -> F + Send + Sync + 'static,
    ) -> Operator
    where
        F: Future<Output = R> + 'static,
        R: Returns,
    {
        Operator::with_wire(key, prefix, about, move |wire, namespace, name| {
            run(life::client(wire, namespace), name)
        })
    }

    /// The same for one that is written with another version of kube: it makes its client itself, of a wire. `run` is also
    /// told the namespace of its pods.
    pub fn with_wire<F, R>(
        key: &'static str,
        prefix: &'static str,
        about: &'static str,
        run: impl Fn(Wire, &'static str, String) -> F + Send + Sync + 'static,
    ) -> Operator
    where
        F: Future<Output = R> + 'static,
        R: Returns,
    {
        let start = move |wire: Wire, namespace: &'static str, name: &str| -> Main {
            let main = run(wire, namespace, name.to_owned());
            Box::pin(async move { main.await.ended() })
        };
        Operator {
            key,
            prefix,
            about,
            namespace: "default",
            start: Arc::new(start),
            kinds: Vec::new(),
            uses: None,
            properties: properties::of_every_operator(key),
            settles: GIVEN_UP_AFTER + BACK_OFFS,
        }
    }

    /// The namespace in which its pods would run (`Client::default_namespace`); `default` if nothing is said.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &'static str) -> Operator {
        self.namespace = namespace;
        self
    }

    /// Apiservers serve this custom kind where there is such an operator.
    #[must_use]
    pub fn serves<K: CustomResourceExt + 'static>(mut self) -> Operator {
        self.kinds.push(kind::kind::<K>());
        self
    }

    /// The same by its CustomResourceDefinition, as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn serves_defined(mut self, definition: &Json) -> Operator {
        self.kinds.push(kind::defined(definition));
        self
    }

    /// It reads, writes or watches this kind of Kubernetes. If something is said, all must be: apiservers have watch caches
    /// of what is used, and must be asked for nothing else. If nothing is said they have all, which takes longer.
    ///
    /// # Panics
    /// If the simulated apiservers do not know the kind.
    #[must_use]
    pub fn uses<K: KubeResource<DynamicType = ()>>(mut self) -> Operator {
        self.uses.get_or_insert_default().push(kind::known::<K>());
        self
    }

    /// So long after the storm it has made everything as it is to be: 1,254 s if nothing is said. A connection that died
    /// while a request was under way has failed when the kernel gives up, which takes 924 s, and whatever failed is tried
    /// again after a back-off. Where no connection dies in silence (no `half-open`, no `power-loss`), 330 s are enough for
    /// most.
    #[must_use]
    pub fn settles_within(mut self, settles: Duration) -> Operator {
        self.settles = settles;
        self
    }

    /// It is held to this wherever it is.
    #[must_use]
    pub fn promises(mut self, property: PropertyInfo) -> Operator {
        self.properties.push(property);
        self
    }
}

impl Component for Operator {
    fn name(&self) -> &'static str {
        self.key
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of replicas of the hosted operator.";
        Some(Replicas::counted(self.key, self.prefix, about))
    }

    fn workload(&self) -> Vec<Load> {
        sieve::loads(self.key, Need::NOTHING)
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(self.key, spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match &self.uses {
            _ if !self.exists(spec) => Vec::new(),
            Some(uses) => uses.clone(),
            None => Resource::ALL.to_vec(),
        }
    }

    fn kinds(&self) -> Vec<&'static Resource> {
        self.kinds.clone()
    }

    /// Most operators of today do.
    fn applies(&self) -> bool {
        true
    }

    fn apart(&self) -> Option<Arc<dyn Apart>> {
        Some(Arc::new(Forks))
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(balancer) = balancer(setup, wiring) else {
            return;
        };
        for name in wiring.names(self.key) {
            let program = Program {
                key: Name::new(self.key),
                namespace: self.namespace,
                start: self.start.clone(),
            };
            wiring.process(name, Hosted::new(name, program, balancer.clone()));
        }
    }

    /// What of it can be held: its watches.
    fn holds(&self, _: &Spec) -> Vec<(&'static str, String)> {
        let known = self.uses.iter().flatten();
        let all = known.chain(&self.kinds);
        all.map(|resource| (self.key, resource.qualified()))
            .collect()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        self.properties.clone()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        self.settles + sieve::is_over_after(self.key, setup)
    }

    fn ending(&self, world: &World) -> Option<Json> {
        alike::ending(world, self.key)
    }

    fn compare(&self, undisturbed: &Json, run: &Json) -> Option<(&'static str, Check)> {
        Some(alike::compare(self.key, undisturbed, run))
    }

    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        world.process::<Hosted>(note.process)?;
        let body = &note.body;
        let text = None
            .or_else(|| body.get::<Asked>().map(ToString::to_string))
            .or_else(|| body.get::<Answered>().map(ToString::to_string))
            .or_else(|| body.get::<CutOff>().map(ToString::to_string))
            .or_else(|| body.get::<Exited>().map(ToString::to_string))
            .or_else(|| body.get::<Began>().map(|_| "begins to run".to_owned()))?;
        let about = body.get::<Asked>().map_or(Vec::new(), Asked::about);
        Some(Description { text, about })
    }
}

fn balancer(setup: &Setup, wiring: &Wiring) -> Option<LoadBalancer> {
    match informers::rest(setup, wiring)?.servers {
        Servers::Balanced(balancer) => Some(balancer),
        Servers::Loopback(_) => None,
    }
}
