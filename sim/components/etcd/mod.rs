//! The members of etcd, under everything else.

mod options;

use serde_json::{Map, Value as Json};
use wavetank_api::{Object, Resource, Stored};
use wavetank_component::file::path::Path;
use wavetank_component::{
    BeginsAs, Component, Drawn, Entry, Focus, Given, Held, Hit, Holds, Keys, Mistakes, Need,
    Part as _, PropertyInfo, Replicas, Section, Setup, Spec, View, Wiring,
};
use wavetank_engine::{FaultKind, ProcId, World};
use wavetank_etcd::monitors::Name;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Config, EtcdDefect, Kept, Sizes};
use wavetank_releases::{Release, etcd as known};
use wavetank_version::{EtcdVersion, List, Listed};

use crate::{etcd_clients, kube_apiserver};

pub use options::{Content, EtcdRelease as EtcdReleaseText, Members, Options};

/// Its name.
pub const NAME: &str = "etcd";
/// The name of an only member.
const ONLY: &str = "etcd";

/// A cluster of etcd.
#[derive(Clone, Copy, Debug)]
pub struct Etcd;

/// The release of all members.
pub fn release(spec: &Spec) -> EtcdVersion {
    let own = spec.part::<Options>().release.map(|release| release.0);
    let newest = kube_apiserver::all_releases(spec).into_iter().max();
    let newest = newest.map(|version| Release::of(version).etcd);
    let newest = spec.kubernetes.map(|release| release.etcd).or(newest);
    spec.etcd.or(own).or(newest).unwrap_or(known::LATEST)
}

/// The member that the `n`-th apiserver (from 0) uses: the one on its own machine, as kubeadm stacks them.
pub fn member_of(wiring: &Wiring, n: usize) -> ProcId {
    let members = wiring.ids(NAME);
    members[n % members.len()]
}

fn sizes(spec: &Spec) -> Sizes {
    let asked: Options = spec.part();
    let default = Sizes::of(release(spec));
    let or = |asked: Option<u32>, default: u64| asked.map_or(default, u64::from);
    Sizes {
        snapshot_count: or(asked.snapshot_count, default.snapshot_count),
        catch_up_entries: or(asked.catch_up_entries, default.catch_up_entries),
        pending_revokes: asked.pending_revokes.unwrap_or(default.pending_revokes),
        watch_channel: asked.watch_channel.unwrap_or(default.watch_channel),
        watch_window: asked.watch_window.unwrap_or(default.watch_window),
        ..default
    }
}

/// What is stored from the beginning.
fn content(spec: &Spec) -> Vec<Kept<Object>> {
    let all = spec.part::<Options>().content.into_iter();
    let kept = all.map(|content| Kept {
        key: content.key.as_str().into(),
        value: Object::new(Json::Object(content.object)),
        lease: content.lease,
    });
    kept.collect()
}

/// UIDs that apiservers of this build make end like this. Those of what is there from the beginning must be others.
const MADE: [&str; 4] = ["-4000-8000-", "-4000-9000-", "-4000-a000-", "-4000-b000-"];

/// The same object with UIDs that nobody makes again.
fn as_before(object: &Object) -> Map<String, Json> {
    let mut text = object.json().to_string();
    for pair in MADE.windows(2).rev() {
        text = text.replace(pair[0], pair[1]);
    }
    serde_json::from_str(&text).expect("objects are JSON mappings")
}

fn names(count: u32) -> Vec<String> {
    match count {
        1 => vec![ONLY.to_owned()],
        count => MEMBERS.names(count),
    }
}

/// An only member is called otherwise, and an even number of them gains nothing: shrinking leaves three at least.
const MEMBERS: Replicas = Replicas {
    most: 9,
    fewest: 3,
    step: 2,
    own_key: true,
    ..Replicas::counted("etcd-members", "e", "")
};

/// Its own clients have to do something.
const OPERATED: [Entry; 1] = [Entry::new("workload", "etcd-operations", "{every: 100ms}")];

impl Component for Etcd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "members of etcd, in which apiservers store"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Members>(), Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        Some(MEMBERS)
    }

    fn count(&self, given: &Given) -> u32 {
        given.part::<Members>().etcd
    }

    fn check_count(&self, given: &Given, mistakes: &mut Mistakes) {
        let members = self.count(given);
        if !(1..=9).contains(&members) {
            let message = format!("a cluster of {members} etcd members is not possible");
            let help = "give 1 to 9 of them; best an odd number";
            mistakes.value(Section::Topology, "etcd", message, help);
        }
        if kube_apiserver::count(given) == 0 && given.count(etcd_clients::KEY) == 0 {
            let message = "nobody uses etcd: there are no apiservers and no clients of etcd";
            let help = "give 1 to 9 `apiservers`, or some `etcd-clients`, or both";
            let path = Path::of("topology").key("apiservers");
            mistakes.at(path, Focus::Value, message, help);
        }
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        spec.part::<Options>().check(mistakes);
    }

    fn hints(&self, spec: &Spec) -> Vec<String> {
        let members = self.count(&spec.given);
        let is_even = members.is_multiple_of(2);
        let hint = format!(
            "`etcd: {members}` stands no more members that are down than `etcd: {}`: an even number gains nothing",
            members.saturating_sub(1)
        );
        is_even.then_some(hint).into_iter().collect()
    }

    fn processes(&self, spec: &Spec, drawn: Option<&Drawn>) -> Result<Vec<String>, String> {
        let asked = self.count(&spec.given);
        let Some(drawn) = drawn else {
            return Ok(names(asked));
        };
        match drawn.count(MEMBERS.key)? {
            members if (1..=asked).contains(&members) => Ok(names(members)),
            members => Err(format!("the options: {members} members of etcd")),
        }
    }

    fn starts_first(&self) -> bool {
        true
    }

    fn etcd_release(&self, spec: &Spec) -> Option<EtcdVersion> {
        Some(release(spec))
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let release = release(setup);
        let members = wiring.ids(NAME);
        for (at, name) in wiring.names(NAME).iter().enumerate() {
            let config = Config {
                me: MemberId(at as u8),
                members: members.clone(),
                release,
                defects: setup.set(release),
                sizes: sizes(setup),
            };
            let member = wavetank_etcd::Etcd::<Object>::new(config);
            let content = match at {
                0 => content(setup),
                _ => Vec::new(),
            };
            wiring.process(name, member.with_content(content));
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    /// A single member under apiservers is hit less, and its connections where they are the apiservers'. Members come
    /// back: without a majority of them a cluster promises nothing.
    fn hit(&self, setup: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        let members = setup.drawn.count(MEMBERS.key).unwrap_or(1);
        let is_aim = members > 1 || kube_apiserver::count(&setup.given) == 0;
        match kind {
            FaultKind::Stop | FaultKind::Deschedule => None,
            FaultKind::Crash | FaultKind::PowerLoss if is_aim => Some(Hit::at_most(max).in_turn(2)),
            FaultKind::Crash | FaultKind::PowerLoss => {
                Some(Hit::at_most(max.div_ceil(2)).in_turn(2))
            }
            _ => is_aim.then_some(Hit::at_most(max).in_turn(3)),
        }
    }

    fn added_by(&self) -> String {
        "`etcd: 3` to `topology`".to_owned()
    }

    fn defects(&self) -> Vec<List> {
        vec![EtcdDefect::LIST]
    }

    /// What its own clients are told is looked at in detail.
    fn properties(&self) -> Vec<PropertyInfo> {
        let need = Need {
            met: |spec| spec.count(etcd_clients::KEY) > 0,
            lacking: "clients of etcd, and there are none",
            add: "`etcd-clients: 3` to `topology`",
        };
        let all = Name::TABLE.iter();
        all.map(|info| {
            PropertyInfo::new(info.name, info.about, need, |_| {
                info.monitor.property::<Object>()
            })
            .tested_by(&OPERATED)
        })
        .collect()
    }

    /// What the member has applied that is the furthest.
    fn begins_as(&self, world: &World) -> Option<BeginsAs> {
        let members = world.processes();
        let members = members.filter_map(|p| world.process::<wavetank_etcd::Etcd<Object>>(p));
        let member = members.max_by_key(|member| member.store().revision())?;
        let all = member.kept().into_iter().map(|kept| Content {
            key: kept.key.to_string(),
            lease: kept.lease,
            object: as_before(&kept.value),
        });
        Some(BeginsAs {
            section: Options::SECTION,
            key: "content",
            parts: all
                .map(|content| serde_json::to_value(content).expect("it is JSON"))
                .collect(),
        })
    }

    /// What a member has applied.
    fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        let Some(member) = world.process::<wavetank_etcd::Etcd<Object>>(process) else {
            return Vec::new();
        };
        let store = member.store();
        let all = wavetank_etcd::Keys::prefix("/");
        let objects = store.iter(&all).map(|kv| Held {
            key: kv.key.to_string(),
            object: Stored {
                object: kv.value.clone(),
                resource_version: kv.mod_revision,
            },
        });
        vec![View {
            name: "store",
            holds: Holds::Stored,
            resource: None,
            revision: store.revision(),
            objects: objects.collect(),
        }]
    }
}
