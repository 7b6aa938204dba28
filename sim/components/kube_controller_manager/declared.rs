//! How most controllers are declared: each has workers whose number is an option, resources that it works with, promises,
//! and clients that make work for it in a scenario. A controller says what these are; how that is a component, and one
//! that controller managers may run, is said here for all of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_client::RestClient;
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Number, PropertyInfo, Replicas,
    Section, Setup, Spec, Stored, View, Wiring,
};
use wavetank_engine::{FaultKind, Note, ProcId, World};
use wavetank_version::{Gate, List};

use super::compared::SIEVE;
use super::controller::{Controller, ControllerContext, ControllerDescriptor};
use wavetank_components::users::{Use, User};
use wavetank_components::{informers, kube_apiserver, watch_cache};

/// No controller syncs more objects at once.
const MOST_SYNCS: u32 = 50;

/// A controller.
#[derive(Clone, Copy)]
pub(crate) struct Declared {
    /// The component's name.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Its name in `--controllers`.
    pub controller: &'static str,
    /// The service account that it works as, if that is called otherwise.
    pub service_account: Option<&'static str>,
    /// Is it made before all others?
    pub requires_special_handling: bool,
    /// The releases that have it.
    pub since: Gate,
    /// How many objects it syncs at once: one without the option.
    pub syncs: Option<Syncs>,
    /// Other options, as types.
    pub parts: &'static [fn() -> Keys],
    /// Other options that are whole numbers.
    pub numbers: &'static [Number],
    /// Is it there? Its properties need that.
    pub needed: Need,
    /// Who makes work for it.
    pub users: Option<Users>,
    /// What else is wrong with what a scenario says to it.
    pub check: fn(&Spec, &mut Mistakes),
    /// The resources that it and its users work with.
    pub resources: fn(&Spec) -> Vec<&'static Resource>,
    /// Its defects and fixes.
    pub defects: &'static [List],
    /// Those of others that have a place in it, too.
    pub defects_of_parts: &'static [List],
    /// What it is held to.
    pub properties: fn() -> Vec<PropertyInfo>,
    /// How long it takes, once a manager leads and all is well, until it has done all that was left.
    pub settles_within: Duration,
    /// Does it, or do its users, apply (`application/apply-patch+yaml`)?
    pub applies: bool,
    /// What it tells, in words.
    pub note: fn(&Note) -> Option<Description>,
    /// What it and its users keep in etcd, in words.
    pub stored: fn(&str, Option<&Json>) -> Option<Stored>,
    /// What it holds of objects besides its informers, in a process.
    pub views: fn(&World, ProcId) -> Vec<View>,
    /// Makes it, with so many workers.
    pub new: fn(&Setup, &mut ControllerContext, u32) -> Arc<dyn Controller>,
}

/// How many objects a controller syncs at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syncs {
    /// The option: `--concurrent-…-syncs`.
    pub key: &'static str,
    /// What it is, for the schema.
    pub about: &'static str,
    /// The number without the option.
    pub default: u32,
}

/// Clients that make work for a controller.
#[derive(Clone, Copy)]
pub(crate) struct Users {
    /// How many there are, and what they are called.
    pub replicas: Replicas,
    /// What they do until the storm ends.
    pub load: Load,
    /// Adds the one of this name.
    pub add: fn(&Setup, &mut Wiring, &str, RestClient),
}

impl Syncs {
    fn number(self) -> Number {
        Number {
            section: Section::Options,
            key: self.key,
            about: self.about,
            range: (1, MOST_SYNCS),
        }
    }

    /// Finds what is wrong with the option.
    fn check(self, spec: &Spec, mistakes: &mut Mistakes, controller: &str) {
        let (key, syncs) = (self.key, self.number().of(&spec.given));
        if syncs.is_some_and(|syncs| !(1..=MOST_SYNCS).contains(&syncs)) {
            let message = format!("the {controller} cannot sync so many objects at once");
            let help = format!("give 1 to {MOST_SYNCS}");
            mistakes.value(Section::Options, key, message, help);
        }
        if syncs.is_some() {
            check_runs(spec, mistakes, key, controller);
        }
    }
}

/// An option is for a controller that runs.
fn check_runs(spec: &Spec, mistakes: &mut Mistakes, key: &str, controller: &str) {
    if !super::runs(spec, controller) {
        let message = format!("`{key}` is for a controller that does not run");
        let help = format!("add `controllers: [{controller}]` to `options`");
        mistakes.key(Section::Options, key, message, help);
    }
}

impl Users {
    /// Those whose number is under this key: each is told to `use` as often as the load says.
    pub const fn new(
        replicas: Replicas,
        load: Load,
        add: fn(&Setup, &mut Wiring, &str, RestClient),
    ) -> Users {
        Users {
            replicas: replicas.dispensable(),
            load: load.until_calm(),
            add,
        }
    }

    fn are_there(&self, spec: &Spec) -> bool {
        spec.count(self.replicas.key) > 0
    }
}

/// Adds a client that uses something, if that does not depend on the scenario.
pub(crate) fn add_user<U: Use + Default>(
    _: &Setup,
    wiring: &mut Wiring,
    name: &str,
    rest: RestClient,
) {
    wiring.process(name, User::new(rest, U::default()));
}

impl Declared {
    /// A controller without what not all have: users, defects, promises, stories.
    pub const fn new(
        (name, about): (&'static str, &'static str),
        (controller, since): (&'static str, Gate),
        syncs: Option<Syncs>,
        needed: Need,
        new: fn(&Setup, &mut ControllerContext, u32) -> Arc<dyn Controller>,
    ) -> Declared {
        Declared {
            name,
            about,
            controller,
            service_account: None,
            requires_special_handling: false,
            since,
            syncs,
            parts: &[],
            numbers: &[],
            needed,
            users: None,
            check: |_, _| {},
            resources: |_| Vec::new(),
            defects: &[],
            defects_of_parts: &[],
            properties: Vec::new,
            settles_within: Duration::ZERO,
            applies: false,
            note: |_| None,
            stored: |_, _| None,
            views: |_, _| Vec::new(),
            new,
        }
    }

    /// Finds what is wrong with its options: one out of range, or of a controller that does not run.
    fn check_numbers(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let controller = self.controller;
        for number in self.numbers {
            let (key, (least, most)) = (number.key, number.range);
            let Some(given) = number.of(&spec.given) else {
                continue;
            };
            if !(least..=most).contains(&given) {
                let message = format!("`{key}` cannot be {given}");
                let help = format!("give {least} to {most}");
                mistakes.value(number.section, key, message, help);
            }
            check_runs(spec, mistakes, key, controller);
        }
    }

    /// Informers watch the caches of apiservers.
    fn check_caches(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let controller = self.controller;
        if super::runs(spec, controller) && !watch_cache::is_on(spec) {
            let message = format!("the informers of the {controller} need watch caches");
            let help = "add `watch-cache: true` to `topology`";
            mistakes.key(Section::Options, "controllers", message, help);
        }
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declared").field(&self.name).finish()
    }
}

impl Component for Declared {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn keys(&self) -> Vec<Keys> {
        let syncs = self.syncs.map(Syncs::number);
        let all = syncs.into_iter().chain(self.numbers.iter().copied());
        let parts = self.parts.iter().map(|keys| keys());
        all.map(Number::keys).chain(parts).collect()
    }

    fn replicas(&self) -> Option<Replicas> {
        self.users.map(|users| users.replicas)
    }

    fn workload(&self) -> Vec<Load> {
        self.users.map(|users| users.load).into_iter().collect()
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if let Some(users) = self.users {
            kube_apiserver::needed_by(users.replicas.key, spec, mistakes);
        }
        (self.check)(spec, mistakes);
        if let Some(syncs) = self.syncs {
            syncs.check(spec, mistakes, self.controller);
        }
        self.check_numbers(spec, mistakes);
        self.check_caches(spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let is_used = self.users.is_some_and(|users| users.are_there(spec));
        match is_used || (self.needed.met)(spec) {
            true => (self.resources)(spec),
            false => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let (Some(users), Some(rest)) = (self.users, informers::rest(setup, wiring)) else {
            return;
        };
        for name in wiring.names(self.name) {
            (users.add)(setup, wiring, name, rest.clone());
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        self.defects.to_vec()
    }

    fn defects_of_parts(&self, _: &Spec) -> Vec<List> {
        self.defects_of_parts.to_vec()
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![self.name, SIEVE]
    }

    fn applies(&self) -> bool {
        self.applies
    }

    fn exists(&self, spec: &Spec) -> bool {
        (self.needed.met)(spec)
    }

    fn added_by(&self) -> String {
        self.needed.add.to_owned()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        (self.properties)()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        super::settles(setup) + self.settles_within
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        (self.note)(note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        (self.stored)(key, value)
    }

    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        (self.views)(world, process)
    }
}

impl ControllerDescriptor for Declared {
    fn controller_name(&self) -> &'static str {
        self.controller
    }

    fn service_account(&self) -> &'static str {
        self.service_account.unwrap_or(self.controller)
    }

    fn requires_special_handling(&self) -> bool {
        self.requires_special_handling
    }

    fn releases_with_it(&self) -> Gate {
        self.since
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = self.syncs.map(|syncs| {
            let given = syncs.number().of(&setup.given);
            given.unwrap_or(syncs.default)
        });
        (self.new)(setup, cx, workers.unwrap_or(1))
    }
}
