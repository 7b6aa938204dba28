//! Controller managers, which elect a leader. `manager` is the process, `controller` says what a controller is, and
//! `controllers` which there are, a folder each; `controller_utils` is what those of pods share.
//!
//! It is a component like the others, and a crate of its own: it is as large as all of them, and is built beside them.

mod compared;
pub mod controller;
mod controller_utils;
mod controllers;
mod declared;
mod describe;
mod each;
mod endpoint_utils;
pub mod gates;
mod leaders;
mod manager;
mod options;
mod owners;
mod pods_were_seen;
mod quiet;
mod resets_mapper;

use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_client::leader_election::{LEASE_DURATION, LockKind};
use wavetank_client::{ElectionDefect, InformerDefect};
use wavetank_component::file::suggest;
use wavetank_component::values::Choices;
use wavetank_component::{
    Component, Description, Focus, Hit, Keys, Load, Mistakes, Need, Path, PropertyInfo, Replicas,
    Section, Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{List, Listed};

use options::{Decided, SHORTEST_LEASE, controller_names};
use wavetank_components::{informers, kube_apiserver, metrics_servers, sieve};

pub use compared::Sieve;
pub use controllers::new_controller_descriptors;
pub use describe::lock;
pub(crate) use manager::somebody_runs;
pub use manager::{ControllerManager, LOCK, SERVICE_ACCOUNTS, controller_context};
pub use options::{Options, ResourceLock};

/// Its name.
pub const NAME: &str = "kube-controller-manager";
/// The key of their number.
const KEY: &str = "controller-managers";

/// Controller managers, of the newest release that there is.
#[derive(Clone, Copy, Debug)]
pub struct KubeControllerManager;

/// What properties of controller managers need.
const NEEDED: Need = Need {
    met: |spec| spec.count(KEY) > 0,
    lacking: "controller managers, and there are none",
    add: "`controller-managers: 3` to `topology`",
};

const INFORMERS_NEEDED: Need = Need {
    met: |spec| {
        let mut running = spec.part::<Options>().descriptors().into_iter();
        spec.count(KEY) > 0 && running.any(|own| own.has_informers())
    },
    lacking: "controller managers that have informers, and there are none",
    ..NEEDED
};

/// What properties of elections need: they may be those of an operator.
const ELECTION_NEEDED: Need = Need {
    met: |spec| spec.elects || elects(spec),
    lacking: "processes that elect a leader, and there are none",
    ..NEEDED
};

/// Do controller managers run the controller of this name?
pub fn runs(spec: &Spec, controller: &str) -> bool {
    spec.count(KEY) > 0 && spec.part::<Options>().runs(controller)
}

/// How long after calm one of them leads, at the latest, or of other processes that elect.
pub fn settles(setup: &Setup) -> Duration {
    let newest = kube_apiserver::newest(setup).filter(|_| setup.elects || setup.count(KEY) > 0);
    newest.map_or(Duration::ZERO, |release| {
        // The lease of a leader that is gone may be longer than the default.
        let longer = setup
            .part::<Options>()
            .longest_lease()
            .saturating_sub(LEASE_DURATION);
        leaders::leading(release, kube_apiserver::settles(setup)) + longer
    }) + sieve::is_over_after(KEY, setup)
}

/// Are there managers that elect a leader?
fn elects(spec: &Spec) -> bool {
    spec.count(KEY) > 0 && spec.part::<Options>().elects()
}

/// May managers give up their lock when they stop?
fn releases(spec: &Spec) -> bool {
    let may = spec.part::<Options>().leader_elect_release_on_cancel;
    may.is_some_and(|may| may.values().contains(&true))
}

impl Component for KubeControllerManager {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "controller managers, which elect a leader"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of controller managers, which elect a leader, named m1, m2 and so on; their release \
                     is that of the newest apiserver.";
        Some(Replicas::counted(KEY, "m", about))
    }

    fn workload(&self) -> Vec<Load> {
        let lag =
            "Until the storm ends, informers of controller managers take nothing for a while.";
        let load = Load::command("lag-informers", "lag", lag, INFORMERS_NEEDED);
        vec![load.until_calm().disturbs()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(KEY, spec, mistakes);
        let options: Options = spec.part();
        for (index, unknown) in options.unknown() {
            let path = Path::of(Section::Options.key()).key("controllers");
            let message = format!("there is no controller `{unknown}`");
            let help = suggest::help(unknown, &controller_names(), "the controllers are");
            mistakes.at(path.item(index), Focus::Value, message, help);
        }
        let mut durations = options.leader_elect_lease_durations.iter();
        if durations.any(|duration| *duration < SHORTEST_LEASE) {
            let message = "a leader may take longer to renew its lock than that";
            let help = "give at least 15s";
            mistakes.key(
                Section::Options,
                "leader-elect-lease-durations",
                message,
                help,
            );
        }
        if spec.count(KEY) > 0 && options.elects() {
            return;
        }
        let of_elections = [
            (
                "leader-elect-resource-lock",
                options.leader_elect_resource_lock.is_some(),
            ),
            (
                "leader-elect-release-on-cancel",
                options.leader_elect_release_on_cancel.is_some(),
            ),
            (
                "leader-elect-lease-durations",
                !options.leader_elect_lease_durations.is_empty(),
            ),
        ];
        let others = [
            ("leader-elect", options.leader_elect.is_some()),
            ("controllers", options.controllers.is_some()),
        ];
        let all: Vec<_> = match spec.count(KEY) {
            0 => others.into_iter().chain(of_elections).collect(),
            _ => of_elections.into(),
        };
        for (key, _) in all.into_iter().filter(|(_, given)| *given) {
            let (lacking, add) = match spec.count(KEY) {
                0 => (
                    "controller managers, and there are none",
                    "add `controller-managers: 3` to `topology`",
                ),
                _ => (
                    "controller managers that elect a leader",
                    "remove `leader-elect: false`",
                ),
            };
            let message = format!("`{key}` is for {lacking}");
            mistakes.key(
                Section::Options,
                key,
                message,
                format!("{add}, or remove `{key}`"),
            );
        }
    }

    /// They are of the newest release that there is: does it know the locks, and the controllers?
    fn check_releases(&self, spec: &Spec) -> Result<(), String> {
        let options: Options = spec.part();
        let locks = options.leader_elect_resource_lock.as_ref();
        let locks = locks.map_or(&[][..], Choices::values);
        let Some(newest) = kube_apiserver::newest(spec) else {
            return Ok(());
        };
        let mut running = options.descriptors().into_iter();
        if let Some(missing) = running.find(|own| !newest.has(own.releases_with_it())) {
            let name = missing.controller_name();
            return Err(format!(
                "controller managers of {newest} do not run the controller `{name}`"
            ));
        }
        let mut unknown = locks.iter().filter(|of| !LockKind::from(**of).fits(newest));
        match unknown.next() {
            None => Ok(()),
            Some(of) => Err(format!(
                "controller managers of {newest} have no lock {of:?}"
            )),
        }
    }

    /// What they lock.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let Some(newest) = kube_apiserver::newest(spec).filter(|_| elects(spec)) else {
            return Vec::new();
        };
        let locks = spec.part::<Options>().leader_elect_resource_lock;
        let locks = locks.map(|locks| {
            locks
                .values()
                .iter()
                .map(|of| LockKind::from(*of))
                .collect()
        });
        let locks: Vec<LockKind> = locks.unwrap_or_else(|| vec![LockKind::of(newest)]);
        locks.into_iter().flat_map(LockKind::resources).collect()
    }

    fn elects(&self, spec: &Spec) -> bool {
        elects(spec)
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        let decided: Decided = setup.decided();
        let lock = decided.leader_elect_resource_lock.map(LockKind::from);
        let lock = lock.unwrap_or(LockKind::of(rest.release));
        let rest = match sieve::is_asked(KEY, setup) {
            true => rest.watched(),
            false => rest,
        };
        let controllers = setup.part::<Options>().descriptors();
        let mut lists = vec![InformerDefect::LIST];
        lists.extend(controllers.iter().flat_map(|own| own.defects()));
        let of_parts = controllers.iter().map(|own| own.defects_of_parts(setup));
        lists.extend(of_parts.flatten());
        let in_controllers = setup.selection(rest.release, &lists);
        for (number, name) in wiring.names(NAME).iter().enumerate() {
            let mut context = controller_context(rest.clone(), in_controllers.clone());
            context.metrics_server = wiring.ids(metrics_servers::NAME).first().copied();
            let defects = setup.set(rest.release);
            let releases = decided.leader_elect_release_on_cancel;
            let manager =
                ControllerManager::new(name, setup, context, &controllers, defects, lock, releases);
            let lasting = setup.part::<Options>().lease_duration(number);
            let manager = manager.lasting(lasting);
            wiring.process(
                name,
                match elects(setup) {
                    true => manager,
                    false => manager.unelected(),
                },
            );
        }
    }

    fn hit(&self, _: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        let turn = match kind {
            FaultKind::Stop | FaultKind::Crash | FaultKind::PowerLoss => 1,
            _ => 2,
        };
        Some(Hit::at_most(max).in_turn(turn))
    }

    /// What of it can be held: the informers of its controllers.
    fn holds(&self, spec: &Spec) -> Vec<(&'static str, String)> {
        if spec.count(KEY) == 0 {
            return Vec::new();
        }
        let mut running = spec.part::<Options>().descriptors();
        running.retain(|own| own.has_informers());
        let mut all: Vec<String> = Vec::new();
        for resource in running.iter().flat_map(|own| own.uses(spec)) {
            let name = resource.qualified();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all.into_iter().map(|name| (NAME, name)).collect()
    }

    fn defects(&self) -> Vec<List> {
        vec![ElectionDefect::LIST]
    }

    /// A leader has informers if it runs a controller that has.
    fn defects_of_parts(&self, spec: &Spec) -> Vec<List> {
        let running = spec.part::<Options>().descriptors();
        let mut uses = running.iter().filter(|own| own.has_informers());
        uses.next()
            .map(|_| InformerDefect::LIST)
            .into_iter()
            .collect()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        leaders::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        settles(setup)
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        describe::note(note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        describe::lock(LOCK, key, value)
    }
}
