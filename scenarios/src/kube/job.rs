//! A scenario with a composition of release, defects and fixes, as a case.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use wavetank_cluster::{Components, Named};
use wavetank_component::{Apart, BeginsAs, Drawn, Setup, Spec, View};
use wavetank_engine::drive::plan::Plan;
use wavetank_engine::drive::seeded::FaultSchedule;
use wavetank_engine::drive::story::Describer;
use wavetank_engine::{Action, Check, LinkSpec, ProcId, Time, World};
use wavetank_releases::{AnyRelease, etcd};
use wavetank_version::{Composition, EtcdVersion, Selection};

use super::fault_schedule;
use super::meaning::OfComponents;
use super::scene;
use crate::case::{Case, Flip, Hidden, Options};
use crate::explain::Meaning;
use crate::file::Scenario;
use crate::scene::Draft;
use crate::search::Scope;

/// A scenario to be run.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) scenario: Scenario,
    /// What it asks for, with the releases and the composition of the flags.
    pub(super) spec: Spec,
    pub(super) components: Components,
    pub(super) properties: Vec<Named>,
    /// What seed 0 decides, once somebody has asked: that of each key that the options leave out.
    usual: OnceLock<Drawn>,
}

impl Job {
    /// A scenario under a release of its own or another, with this composition, over these components. A release of
    /// Kubernetes is that of all processes, and brings its etcd if the scenario names none.
    ///
    /// # Errors
    /// A release of what there is none of, a defect that has no place in it, or a planned fault
    /// that is none.
    pub fn new(
        scenario: Scenario,
        release: Option<AnyRelease>,
        composition: Composition,
        components: &Components,
    ) -> Result<Job, String> {
        let (kubernetes, etcd_version) = match release {
            Some(AnyRelease::Kubernetes(release)) => (Some(release), None),
            Some(AnyRelease::Etcd(release)) => (None, Some(release)),
            None => (None, None),
        };
        let spec = components.complete(Spec {
            kubernetes,
            etcd: etcd_version,
            composition,
            ..scenario.spec()
        });
        if let Some(release) = kubernetes.filter(|_| components.releases(&spec).is_empty()) {
            return Err(format!(
                "`{}` has nobody who could be of {}; name a release of etcd, such as {}",
                scenario.name,
                release.name,
                etcd::LATEST
            ));
        }
        let properties = match scenario.properties.as_slice() {
            [] => components.fitting(&spec),
            named => {
                let find = |name: &String| components.property(name);
                named.iter().filter_map(find).cloned().collect()
            }
        };
        let job = Job {
            scenario,
            spec,
            components: components.clone(),
            properties,
            usual: OnceLock::new(),
        };
        job.check_defects()?;
        fault_schedule::directed(&job.scenario)?;
        for component in job.components.iter() {
            component.check_releases(&job.spec)?;
        }
        Ok(job)
    }

    /// The same with these defects and fixes on top of its own.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn recomposed(
        self,
        release: Option<AnyRelease>,
        more: Composition,
    ) -> Result<Job, String> {
        let etcd = self.etcd_release();
        let mut composition = self.spec.composition;
        if more.fixed {
            // All defects off and all fixes on, whatever was on before.
            composition.on.clear();
            composition.off.clear();
        }
        composition.fixed |= more.fixed;
        composition.off.retain(|defect| !more.on.contains(defect));
        composition.on.retain(|defect| !more.off.contains(defect));
        composition.on.extend(more.on);
        composition.off.extend(more.off);
        let own = self.spec.kubernetes.map(AnyRelease::from);
        let job = Job::new(
            self.scenario,
            release.or(own),
            composition,
            &self.components,
        )?;
        Ok(match release {
            None => job.with_etcd(etcd),
            Some(_) => job,
        })
    }

    /// The same with an etcd of this release.
    pub(super) fn with_etcd(mut self, release: Option<EtcdVersion>) -> Job {
        self.spec.etcd = release;
        self.usual = OnceLock::new();
        self
    }

    /// The release of its etcd, if it has one.
    pub(super) fn etcd_release(&self) -> Option<EtcdVersion> {
        let mut all = self.components.iter();
        all.find_map(|own| own.etcd_release(&self.spec))
    }

    /// What is on in a process of each version that there may be.
    pub(super) fn selections(&self) -> Vec<Selection> {
        let composition = &self.spec.composition;
        let versions = self.components.releases(&self.spec).into_iter();
        let of = |version| self.components.selection(composition, version);
        versions.map(of).collect()
    }

    /// What is on in its etcd.
    pub(super) fn etcd_selection(&self) -> Selection {
        let composition = &self.spec.composition;
        match self.etcd_release() {
            Some(version) => self.components.selection(composition, version),
            None => Selection::NONE,
        }
    }

    /// Does this disturb whoever is told it? What is held is held by a plan.
    fn disturbs(&self, command: &str) -> bool {
        let mut loads = self.components.iter().flat_map(|own| own.workload());
        ["hold", "release"].contains(&command)
            || loads.any(|load| load.disturbs && load.command == command)
    }

    /// What a world is composed of that comes of these options.
    fn setup(&self, options: &Options) -> Result<Setup, String> {
        let usual = || self.components.draw(&self.spec, 0);
        Ok(Setup {
            spec: self.spec.clone(),
            drawn: Drawn::from_json(options, self.usual.get_or_init(usual))?,
        })
    }
}

impl Case for Job {
    fn name(&self) -> &str {
        &self.scenario.name
    }

    fn identity(&self) -> serde_json::Value {
        self.to_identity()
    }

    fn derive(&self, seed: u64) -> Options {
        match &self.scenario.scene {
            Some(scene) => scene::options(scene, &self.components.draw(&self.spec, 0)),
            None => self.components.draw(&self.spec, seed).to_json(),
        }
    }

    fn world(&self, options: &Options) -> Result<World, String> {
        let setup = self.setup(options)?;
        let world = self
            .components
            .world(&setup, &self.properties, LinkSpec::default())?;
        match &self.scenario.scene {
            Some(scene) => {
                let first = fault_schedule::start_first(&self.components, &setup);
                scene::opened(self, scene, world, &first)
            }
            None => Ok(world),
        }
    }

    fn explicit(&self) -> Option<Plan> {
        scene::explicit(self)
    }

    fn begins_as(&self, world: &World) -> Vec<BeginsAs> {
        let all = self.components.iter();
        all.filter_map(|own| own.begins_as(world)).collect()
    }

    fn staged(&self, draft: &Draft) -> Result<Box<dyn Case>, String> {
        Ok(Box::new(scene::staged(self, draft)?))
    }

    fn file(&self) -> Option<serde_json::Value> {
        Some(scene::file(&self.scenario))
    }

    fn apart(&self) -> Option<Arc<dyn Apart>> {
        let mut there = self.components.iter().filter(|own| own.exists(&self.spec));
        there.find_map(|own| own.apart())
    }

    fn fault_schedule(&self, options: &Options) -> FaultSchedule {
        let setup = self.setup(options);
        let setup = setup.expect("checked when the world was built");
        fault_schedule::of(&self.scenario, &self.components, &setup)
    }

    fn calm(&self) -> Duration {
        Duration::from_nanos(self.scenario.calm.nanos())
    }

    fn until(&self, _: &Options) -> Time {
        let storm = Duration::from_nanos(self.scenario.storm.nanos());
        Time::ZERO + storm + self.calm()
    }

    /// Of each component that compares something, by its name.
    fn ending(&self, world: &World) -> Option<Json> {
        let there = self.components.iter().filter(|own| own.exists(&self.spec));
        let all = there.filter_map(|own| Some((own.name().to_owned(), own.ending(world)?)));
        let all: Map<String, Json> = all.collect();
        (!all.is_empty()).then_some(Json::Object(all))
    }

    fn compare(&self, undisturbed: &Json, run: &Json) -> Vec<(&'static str, Check)> {
        let all = self.components.iter();
        all.filter_map(|own| own.compare(undisturbed.get(own.name())?, run.get(own.name())?))
            .collect()
    }

    fn is_fault(&self, action: &Action) -> bool {
        match action {
            Action::Fault(_) => true,
            Action::Command { what, .. } => self.disturbs(what),
        }
    }

    fn describer(&self) -> Describer {
        let components = self.components.clone();
        Describer::new(move |world, note| components.describe(world, note))
    }

    fn meaning(&self) -> Box<dyn Meaning> {
        Box::new(OfComponents(self.components.clone()))
    }

    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        self.components.views(world, process)
    }

    fn servers(&self, options: &Options) -> Vec<String> {
        let setup = self.setup(options);
        let servers = setup.and_then(|setup| self.components.servers(&setup));
        servers.expect("checked when the world was built")
    }

    fn hints(&self) -> Vec<String> {
        let own = self.components.iter().flat_map(|own| own.hints(&self.spec));
        let down = fault_schedule::stay_down(&self.scenario);
        let down = down.into_iter().map(|process| {
            format!("calm does not start what `plan` let crash: {process} stays down; plan a `start` as well")
        });
        let in_vain = super::testing::in_vain(self);
        own.chain(down).chain(in_vain).collect()
    }

    fn would_test(&self, property: &str) -> Option<String> {
        super::testing::would_test(self, property)
    }

    fn flips(&self) -> Vec<Flip> {
        self.blamed()
    }

    fn flipped(&self, flips: &[&str]) -> Option<Box<dyn Case>> {
        Some(Box::new(self.with_flipped(flips)?))
    }

    fn scope(&self) -> Option<Scope> {
        super::scope::of(&self.scenario)
    }

    fn missing_defects(&self) -> Vec<Flip> {
        self.missing()
    }

    fn hidden_defects(&self) -> Vec<Hidden> {
        self.hidden()
    }

    fn places(&self) -> Vec<&'static str> {
        self.showing().map(|defect| defect.name).collect()
    }

    fn take_passed(&self) -> Vec<&'static str> {
        let passed = self.components.take_passed().into_iter();
        passed.map(|defect| defect.name).collect()
    }

    /// An expectation is of the scenario as it is written: fixed it expects nothing.
    fn expects(&self) -> Option<&str> {
        let composition = &self.spec.composition;
        let as_written = match &self.scenario.scene {
            Some(scene) => scene::composition(scene, &self.components).as_ref() == Ok(composition),
            None => !composition.fixed && composition.off.is_empty(),
        };
        self.scenario.expect.as_deref().filter(|_| as_written)
    }

    fn smaller(&self, options: &Options) -> Vec<Options> {
        let Ok(setup) = self.setup(options) else {
            return Vec::new();
        };
        let smaller = self.components.smaller(&setup.drawn).into_iter();
        smaller.map(|drawn| drawn.to_json()).collect()
    }
}
