//! The TTL-after-finished controller: it deletes Jobs that finished a while ago. `controller` is the algorithm with its
//! defects, `users` who makes Jobs in a scenario, `properties` what is promised to them.

mod controller;
mod properties;
mod users;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::gates::TTL_AFTER_FINISHED;
use wavetank_api::json;
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::jobs::{is_job_finished, ttl_seconds_after_finished};
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Replicas, Section,
    Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{Gate, List, Listed};

use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::users::User;
use crate::{informers, kube_apiserver, kube_controller_manager};
use controller::{CONTROLLER, CleansUp, TtlDefect};
use users::UsesJobs;

const NAME: &str = "ttl-after-finished";
/// The key of the number of those who use Jobs.
const USERS: &str = "job-users";

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct TtlAfterFinished;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of Jobs that the TTL-after-finished controller syncs at once
    /// (`--concurrent-ttl-after-finished-syncs`); without it 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_ttl_after_finished_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

fn is_run(spec: &Spec) -> bool {
    kube_controller_manager::runs(spec, CONTROLLER)
}

const NEEDED: Need = Need {
    met: is_run,
    lacking: "the TTL-after-finished controller, which does not run",
    add: "`controllers: [ttl-after-finished-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

impl Component for TtlAfterFinished {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that deletes Jobs a while after they finished, and who makes Jobs for it"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make Jobs, finish them, change their TTLs and make them again, named \
                     j1, j2 and so on; the garbage collector of those that are being deleted, too.";
        Some(Replicas::counted(USERS, "j", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Jobs",
            add: "`job-users: 2` to `topology`",
        };
        let about = "Until the storm ends, job users make a Job, finish it, change its TTL, make it again or collect it.";
        vec![Load::command("use-jobs", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        let syncs = spec.part::<Options>().concurrent_ttl_after_finished_syncs;
        let key = "concurrent-ttl-after-finished-syncs";
        kube_controller_manager::check_syncs(spec, mistakes, CONTROLLER, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = is_run(spec) || spec.count(USERS) > 0;
        used.then_some(&JOBS).into_iter().collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, User::new(rest.clone(), UsesJobs));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        vec![TtlDefect::LIST]
    }

    fn exists(&self, spec: &Spec) -> bool {
        is_run(spec)
    }

    fn added_by(&self) -> String {
        NEEDED.add.to_owned()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        kube_controller_manager::settles(setup) + properties::CLEANS_UP_WITHIN
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        let CleansUp { job } = note.body.get()?;
        Some(Description {
            text: format!("asks for the deletion of the Job {job}, whose TTL has passed"),
            about: vec![job.to_string()],
        })
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let name = key.strip_prefix(JOBS.registry)?.strip_prefix('/')?;
        let text = value.map(|job| {
            let deleted = json::at(job, &["metadata", "deletionTimestamp"]).is_some();
            let finished = match (deleted, is_job_finished(job)) {
                (true, _) => "being deleted",
                (false, true) => "finished",
                (false, false) => "running",
            };
            match ttl_seconds_after_finished(job) {
                Some(ttl) => format!("{finished}, with a TTL of {ttl} s"),
                None => format!("{finished}, without a TTL"),
            }
        });
        Some(Stored {
            text,
            about: vec![name.to_owned()],
        })
    }
}

impl ControllerDescriptor for TtlAfterFinished {
    fn controller_name(&self) -> &'static str {
        CONTROLLER
    }

    fn releases_with_it(&self) -> Gate {
        TTL_AFTER_FINISHED
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = setup.part::<Options>().concurrent_ttl_after_finished_syncs;
        controller::new(cx, workers.unwrap_or(5))
    }
}
