//! Clients that write objects for informers to see.

use std::sync::Arc;

use wavetank_actors::monitors::Name;
use wavetank_actors::{Writer, writer};
use wavetank_api::Resource;
use wavetank_apiserver::cacher::gates::WATCH_LIST;
use wavetank_component::{
    Component, Entry, Hit, Load, Mistakes, Need, PropertyInfo, Replicas, Setup, Spec, Wiring,
};
use wavetank_engine::FaultKind;

use crate::{informers, kube_apiserver};

/// Its name.
pub const NAME: &str = "writers";

/// Clients that write.
#[derive(Clone, Copy, Debug)]
pub struct Writers;

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "there are no writers",
    add: "`writers: 2` to `topology`",
};

/// What they are told.
const TOLD: [Entry; 2] = [
    Entry::new("workload", "write", "{every: 1s}"),
    Entry::new("workload", "read", "{every: 1s}"),
];

impl Component for Writers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients that write objects for informers to see"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that write objects for informers to see, named w1, w2 and so on.";
        Some(Replicas::counted(NAME, "w", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let write =
            "Until the storm ends, writers make, update and delete objects through apiservers.";
        let read = "Writers read at revisions that they know of, through any apiserver.";
        let burst = "Until the storm ends, writers update a Secret as often as they can for a moment: more often than \
                     a watch has room for.";
        vec![
            // What is written later would hide what was missed.
            Load::command("write", "write", write, NEEDED).until_calm(),
            Load::command("read", "read", read, NEEDED),
            Load::command("burst", "burst", burst, NEEDED).until_calm(),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let servers = Arc::new(wiring.ids(kube_apiserver::NAME));
        let mut releases = kube_apiserver::running(setup).into_iter();
        let streams = releases.all(|release| release.has(WATCH_LIST));
        for name in wiring.names(NAME) {
            let servers = servers.clone();
            wiring.process(name, Writer { servers, streams });
        }
    }

    /// What they read and write, and whatever the plan has them ask for.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        if spec.count(NAME) == 0 {
            return Vec::new();
        }
        let paths = spec
            .told
            .iter()
            .filter_map(|(_, with)| with["path"].as_str());
        let asked_for = paths.filter_map(Resource::at_path);
        writer::ALL.into_iter().chain(asked_for).collect()
    }

    /// What they are told is held against the caches that informers watch.
    fn properties(&self) -> Vec<PropertyInfo> {
        let all = Name::TABLE.iter();
        all.map(|info| {
            PropertyInfo::new(info.name, info.about, informers::NEEDED, |_| {
                info.monitor.property()
            })
            .tested_by(&TOLD)
        })
        .collect()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
