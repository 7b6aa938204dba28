//! The watch caches of apiservers, and what keeps etcd small for them.

mod history;
mod leaderless;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_api::Resource;
use wavetank_apiserver::cacher::{self, CacheNote};
use wavetank_apiserver::{ApiServer, CacheDefect};
use wavetank_component::values::{Choices, Duration as Written};
use wavetank_component::{
    Component, Description, Draw, Drawn, Entry, Held, Hit, Holds, Keys, Load, Mistakes, Need, Part,
    PropertyInfo, Section, Setup, Spec, View,
};
use wavetank_engine::{FaultKind, Note, ProcId, Reached, World};
use wavetank_version::{List, Listed};

use crate::kube_apiserver::bootstrap::Bootstrap;
use crate::{informers, kube_apiserver, writers};

/// Its name.
pub const NAME: &str = "watch-cache";

/// Watch caches: a part of apiservers.
#[derive(Clone, Copy, Debug)]
pub struct WatchCache;

/// Of `topology`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Topology {
    /// Whether the apiservers have watch caches (`--watch-cache`).
    #[serde(skip_serializing_if = "is_off")]
    pub watch_cache: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl Part for Topology {
    const SECTION: Section = Section::Topology;
}

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// How often etcd is compacted, with watch caches only; 0s is never, upstream's default 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_compaction_interval: Option<Choices<Written>>,
}

/// `--etcd-compaction-interval`
const FIVE_MINUTES: Written = Written::from_secs(300);

/// What a seed decides.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Decided {
    etcd_compaction_interval: Written,
}

impl Part for Options {
    const SECTION: Section = Section::Options;

    fn draw(&self, draw: &mut Draw) {
        let intervals = self.etcd_compaction_interval.as_ref();
        draw.choose_or("etcd-compaction-interval", intervals, FIVE_MINUTES);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

/// `--watch-cache`
pub fn is_on(spec: &Spec) -> bool {
    spec.part::<Topology>().watch_cache
}

/// `--etcd-compaction-interval`; `None`: there is no compaction.
pub fn compaction(setup: &Setup) -> Option<Duration> {
    let decided: Decided = setup.decided();
    let every = Duration::from_nanos(decided.etcd_compaction_interval.nanos());
    Some(every).filter(|every| !every.is_zero())
}

const fn needed(lacking: &'static str) -> Need {
    Need {
        met: is_on,
        lacking,
        add: "`watch-cache: true` to `topology`",
    }
}

/// Is there an interval of compaction that is not the default, and not never?
fn compacts_early(spec: &Spec) -> bool {
    let intervals = spec.part::<Options>().etcd_compaction_interval;
    let is_given = |every: &Written| *every > Written::ZERO;
    intervals.is_some_and(|all| all.values().iter().any(is_given))
}

/// The default of five minutes is longer than most storms.
const COMPACTS: [Entry; 1] = [Entry::new("options", "etcd-compaction-interval", "20s")];

impl Component for WatchCache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "watch caches of apiservers"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Topology>(), Keys::of::<Options>()]
    }

    fn workload(&self) -> Vec<Load> {
        let lag =
            "Until the storm ends, watch caches of apiservers take nothing from etcd for a while.";
        let rebuild = "Until the storm ends, watch caches make way for new ones, as those of a custom resource do \
                       when its definition changes.";
        let of = kube_apiserver::NAME;
        vec![
            Load::command(
                "lag-caches",
                "lag",
                lag,
                needed("there are no watch caches to lag"),
            )
            .to(of)
            .until_calm()
            .disturbs(),
            Load::command(
                "rebuild-caches",
                "rebuild",
                rebuild,
                needed("there are no watch caches to rebuild"),
            )
            .to(of)
            .until_calm()
            .disturbs(),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if is_on(spec) {
            kube_apiserver::needed_for(NAME, spec, mistakes);
            return;
        }
        if spec.part::<Options>().etcd_compaction_interval.is_some() {
            let message = "apiservers without watch caches do not compact etcd";
            let help = "add `watch-cache: true` to `topology`, or remove it";
            mistakes.key(Section::Options, "etcd-compaction-interval", message, help);
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    /// It holds what of an apiserver can be held.
    fn holds(&self, spec: &Spec) -> Vec<(&'static str, String)> {
        let resources = spec.kinds.cached().filter(|_| is_on(spec));
        let held = resources.map(|resource| (kube_apiserver::NAME, resource.qualified()));
        held.collect()
    }

    fn exists(&self, spec: &Spec) -> bool {
        is_on(spec)
    }

    fn added_by(&self) -> String {
        "`watch-cache: true` to `topology`".to_owned()
    }

    fn defects(&self) -> Vec<List> {
        vec![CacheDefect::LIST]
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![NAME, informers::NAME, writers::NAME]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        let about =
            "the watch caches of an apiserver are not filled while its etcd has no leader for long";
        vec![
            PropertyInfo::new("leaderless-caches-end", about, informers::NEEDED, |_| {
                Box::new(leaderless::LeaderlessCachesEnd::default())
            }),
            PropertyInfo::new(
                "last-changes-are-preserved",
                "apiservers compact nothing of etcd's history that is younger than their interval of compaction",
                needed("apiservers without watch caches do not compact etcd"),
                |_| Box::new(history::LastChangesArePreserved::default()),
            )
            .tested_by(&COMPACTS)
            .fits(compacts_early),
            PropertyInfo::new(
                "slow-watch-was-closed",
                "an apiserver ended a watch whose client took nothing for too long",
                informers::NEEDED,
                |_| Box::new(slow_watch_was_closed()),
            ),
        ]
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        note.body.get().map(describe_note)
    }

    /// Those that are filled.
    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        let Some(server) = world.process::<ApiServer<Bootstrap>>(process) else {
            return Vec::new();
        };
        let cached = server.config().kinds.cached();
        let view = |resource| {
            let (revision, objects) = cacher::contents(world, process, resource)?;
            Some(View {
                name: NAME,
                holds: Holds::Served,
                resource: Some(resource),
                revision,
                objects: objects
                    .into_iter()
                    .map(|(key, object)| Held {
                        key: key.to_string(),
                        object,
                    })
                    .collect(),
            })
        };
        cached.filter_map(view).collect()
    }
}

/// An apiserver ended a watch that was too slow.
fn slow_watch_was_closed() -> Reached {
    Reached {
        name: "slow-watch-was-closed",
        here: |_, note| matches!(note.body.get(), Some(CacheNote::TooSlow(..))),
    }
}

fn describe_note(note: &CacheNote) -> Description {
    let (text, of) = match note {
        CacheNote::Filled(of, revision) => (format!("is filled at {revision}"), of),
        CacheNote::Broke(of, why) => (format!("loses its watch of etcd: {why}"), of),
        CacheNote::WatchesAgain(of, after) => (
            format!("watches etcd again, behind {after}: its connection broke"),
            of,
        ),
        CacheNote::TornDown(of) => ("is torn down".to_owned(), of),
        CacheNote::Held(of) => ("is held back".to_owned(), of),
        CacheNote::LetGo(of) => ("goes on".to_owned(), of),
        CacheNote::TooSlow(of, _) => ("closes a watch whose client does not read".to_owned(), of),
        CacheNote::Inconsistent(of, at) => (format!("differs from etcd at {at}"), of),
        CacheNote::Compacted(revision) => {
            return about_nothing(format!("compacts etcd at {revision}"));
        }
    };
    let of = of.qualified();
    Description {
        text: format!("its cache of {of} {text}"),
        about: vec![format!("cache of {of}")],
    }
}

fn about_nothing(text: String) -> Description {
    let about = Vec::new();
    Description { text, about }
}
