//! The apiservers with their bootstrap controllers: who keeps the Endpoints `kubernetes`, and what becomes of them when
//! apiservers start, stop and die. `bootstrap` is the algorithm. What they give to Services, their watch caches and their identities are parts of
//! them with folders of their own.

pub mod bootstrap;
pub(crate) mod defects;
mod describe;
mod etcd_options;
pub mod gates;
mod options;
mod properties;
mod published;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, NAMESPACES, RESOURCE_QUOTAS};
use wavetank_apiserver::{
    Admission, ApiServer, AuditLog, CacheDefect, Config, DeletionDefect, EvictionDefect,
    ManagedFields, MinCompatibility, QuotaDefect, ServerDefect,
};
use wavetank_component::Focus;
use wavetank_component::{
    Component, Description, Given, Hit, Keys, Mistakes, Need, Part, Path, PropertyInfo, Replicas,
    Section, Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, ProcId, World};
use wavetank_version::{List, Listed, Selection, Set, Version};

use crate::identity::{IDENTITY_LIMIT, IdentityDefect};
use crate::services::{RepairDefect, ServiceDefect};
use crate::{
    clients, custom_resources, etcd, guests, identity, load_balancer, nodes, rollout, services,
    watch_cache,
};
use bootstrap::{Bootstrap, Reconciler};
use gates::BEGINS_WHEN_READY;
use options::{Decided, Topology};

pub use defects::{BootstrapDefect, Defects};
pub use etcd_options::{EtcdConnections, EtcdOptions};
pub use options::{
    AdmissionOptions, AdmissionPlugin, Apiserver, Apiservers, Options, ReconcilerType,
};
pub(crate) use properties::converge::clients as clients_reach_an_apiserver;
pub(crate) use properties::removal::has_transactions;
pub use properties::settling;
pub use published::{AdditionalPort, Family, PublishedOptions};

/// Its name.
pub const NAME: &str = "kube-apiserver";

/// The controller whose properties judge what is done with quotas: it counts what the plugin charges.
pub const QUOTAS: &str = "resourcequota";
/// The controller whose properties judge evictions: it says what budgets allow.
pub const DISRUPTION: &str = "disruption";

/// The apiservers.
#[derive(Clone, Copy, Debug)]
pub struct KubeApiserver;

/// What properties of the control plane need.
pub const NEEDED: Need = Need {
    met: |spec| count(&spec.given) > 0,
    lacking: "apiservers, and there are none",
    add: "`apiservers: 3` to `topology`",
};

/// How many a scenario asks for.
pub fn count(given: &Given) -> u32 {
    given.part::<Topology>().apiservers.count()
}

/// The release of each that a scenario asks for.
pub fn releases(spec: &Spec) -> Vec<Version> {
    match spec.part::<Topology>().apiservers {
        Apiservers::Count(count) => vec![spec.version(spec.release); count as usize],
        Apiservers::Each(each) => {
            let each = each.iter();
            each.map(|own| spec.version(own.release)).collect()
        }
    }
}

/// Those, and what they may be before a rollout.
pub fn all_releases(spec: &Spec) -> Vec<Version> {
    let before = rollout::RolloutOperator.releases(spec);
    releases(spec).into_iter().chain(before).collect()
}

/// The newest release of them.
pub fn newest(spec: &Spec) -> Option<Version> {
    releases(spec).into_iter().max()
}

/// The release of each that there is, once a seed has decided how many there are.
pub fn running(setup: &Setup) -> Vec<Version> {
    let count = setup.drawn.count(SERVERS.key).unwrap_or_default();
    releases(setup).into_iter().take(count as usize).collect()
}

/// The address that each advertises.
pub fn addresses(setup: &Setup, wiring: &Wiring) -> Vec<(Arc<str>, ProcId)> {
    let all = (1..).zip(wiring.ids(NAME));
    all.map(|(n, id)| (address(setup, n), id)).collect()
}

/// The address that the `n`-th (from 1) advertises.
fn address(setup: &Setup, n: usize) -> Arc<str> {
    // The load balancer is the hundredth of them.
    let n = match load_balancer::is_advertised(setup) {
        true => 100,
        false => n,
    };
    match setup.part::<PublishedOptions>().advertise_address_family {
        Family::IPv6 => format!("fd00::{n}").into(),
        Family::IPv4 => format!("10.0.0.{n}").into(),
    }
}

/// What says of an apiserver of this release that it is ready.
pub fn ready_probe(release: Version) -> &'static str {
    match release.has(BEGINS_WHEN_READY) {
        true => "/readyz",
        false => "/healthz",
    }
}

/// The reconciler of a scenario that has only one.
fn reconciler_of(spec: &Spec) -> Reconciler {
    reconcilers(spec)[0]
}

/// The reconcilers among which a seed chooses.
fn reconcilers(spec: &Spec) -> Vec<Reconciler> {
    let choices = spec.part::<Options>().endpoint_reconciler_type;
    choices.values().iter().map(|own| (*own).into()).collect()
}

/// Does a reconciler keep the Endpoints?
pub(crate) fn keeps_endpoints(spec: &Spec) -> bool {
    reconciler_of(spec) != Reconciler::None
}

/// Points at a number of processes in `topology` that need apiservers where there are none.
pub fn needed_by(key: &str, spec: &Spec, mistakes: &mut Mistakes) {
    if spec.count(key) > 0 {
        needed_for(key, spec, mistakes);
    }
}

/// Points at a key of `topology` that needs apiservers where there are none.
pub fn needed_for(key: &str, spec: &Spec, mistakes: &mut Mistakes) {
    if count(&spec.given) == 0 {
        let message = format!("`{key}` needs apiservers, and there are none");
        let help = format!("add `apiservers: 3`, or remove `{key}`");
        mistakes.key(Section::Topology, key, message, help);
    }
}

const SERVERS: Replicas = Replicas {
    most: 9,
    own_key: true,
    ..Replicas::counted("apiservers", "a", "")
};

/// What a shutdown takes besides the removal of the address: the delay, and the deletion of the identity.
fn shutdown_takes(setup: &Setup) -> Duration {
    let identity = match identity::is_on(setup) {
        true => IDENTITY_LIMIT,
        false => Duration::ZERO,
    };
    let decided: Decided = setup.decided();
    Duration::from_nanos(decided.shutdown_delay.nanos()) + identity
}

/// How long after calm the control plane has settled.
pub fn settles(setup: &Setup) -> Duration {
    settling(shutdown_takes(setup))
}

/// What is on in an apiserver of this version, with all of its parts.
fn selection(spec: &Spec, version: Version) -> Selection {
    let mut lists = vec![
        ServerDefect::LIST,
        BootstrapDefect::LIST,
        CacheDefect::LIST,
        ServiceDefect::LIST,
        RepairDefect::LIST,
        IdentityDefect::LIST,
        QuotaDefect::LIST,
        EvictionDefect::LIST,
    ];
    // Kubelets list these: they wait for what is deleted. Where there are none, it is as a release has it.
    if spec.count(nodes::KUBELETS) > 0 {
        lists.push(DeletionDefect::LIST);
    }
    spec.selection(version, &lists)
}

/// What is on in the generic apiserver.
fn server_defects(spec: &Spec, version: Version) -> wavetank_apiserver::Defects {
    let mut all = wavetank_apiserver::Defects::of(&selection(spec, version));
    if spec.count(nodes::KUBELETS) == 0 {
        all.deletion = Set::shipped_with(version);
    }
    all
}

fn hooks(setup: &Setup, config: &Config) -> Vec<Bootstrap> {
    let decided: Decided = setup.decided();
    vec![Bootstrap {
        server: Arc::new(config.clone()),
        reconciler: decided.endpoint_reconciler_type.into(),
        apiserver_count: decided.apiserver_count,
        identity: identity::is_on(setup),
        services: services::ranges(setup).map(Arc::new),
        published: Arc::new(setup.part::<PublishedOptions>().published()),
        defects: Defects::of(&selection(setup, config.release)),
    }]
}

/// The oldest release of all that run one beside another, as if an operator had set `--min-compatibility-version`.
fn min_compatibility(setup: &Setup) -> MinCompatibility {
    let running = running(setup).into_iter();
    let all: BTreeSet<Version> = running
        .flat_map(|own| [own, rollout::before(setup, own).unwrap_or(own)])
        .collect();
    MinCompatibility(all.first().copied().filter(|_| all.len() > 1))
}

/// The `n`-th apiserver (from 0), of this release.
fn config(setup: &Setup, wiring: &Wiring, n: usize, release: Version) -> Config {
    let decided: Decided = setup.decided();
    Config {
        release,
        defects: server_defects(setup, release),
        me: wiring.ids(NAME)[n],
        etcd: etcd_options::servers(setup, wiring, n),
        etcd_connections: etcd_options::connections(setup),
        address: address(setup, n + 1),
        shutdown_delay: Duration::from_nanos(decided.shutdown_delay.nanos()),
        hooks: 1,
        number: n as u32 + 1,
        kinds: setup.kinds.clone(),
        namespace_lifecycle: admission(setup).look_at_namespaces(),
        managed_fields: match custom_resources::are_served(setup) || setup.applies {
            true => ManagedFields::Kept,
            false => ManagedFields::default(),
        },
        custom_resources: custom_resources::served(setup, wiring, release),
        admission: Admission {
            defaults: guests::come(setup),
            policies: admission(setup).has(AdmissionPlugin::ValidatingAdmissionPolicy),
            quota: admission(setup).has(AdmissionPlugin::ResourceQuota),
            ..Admission::default()
        },
        events_etcd: None,
        watch_cache: watch_cache::is_on(setup).then(|| etcd::release(setup)),
        compaction: watch_cache::compaction(setup),
        audit: AuditLog::Off,
        min_compatibility: min_compatibility(setup),
    }
}

fn admission(spec: &Spec) -> AdmissionOptions {
    spec.part()
}

/// Has anything been said about apiservers that is not the default?
fn has_options(spec: &Spec) -> bool {
    fn given<P: Part + PartialEq>(spec: &Spec) -> bool {
        spec.part::<P>() != P::default()
    }
    given::<Options>(spec)
        || given::<EtcdOptions>(spec)
        || given::<AdmissionOptions>(spec)
        || given::<PublishedOptions>(spec)
        || given::<services::Options>(spec)
        || given::<watch_cache::Options>(spec)
        || given::<identity::Options>(spec)
}

impl Component for KubeApiserver {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> bool {
        true
    }

    fn about(&self) -> &'static str {
        "apiservers, with the bootstrap controllers that keep the Endpoints `kubernetes`"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![
            Keys::of::<Topology>(),
            Keys::of::<EtcdOptions>(),
            Keys::of::<Options>(),
            Keys::of::<PublishedOptions>(),
            Keys::of::<AdmissionOptions>(),
        ]
    }

    fn replicas(&self) -> Option<Replicas> {
        Some(SERVERS)
    }

    fn count(&self, given: &Given) -> u32 {
        count(given)
    }

    fn check_count(&self, given: &Given, mistakes: &mut Mistakes) {
        let count = count(given);
        if count > SERVERS.most {
            let message = format!("a cluster of {count} apiservers is not possible");
            let help = "give 1 to 9 of them";
            mistakes.value(Section::Topology, SERVERS.key, message, help);
        }
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if count(&spec.given) == 0 {
            if has_options(spec) {
                let message = "these are options of apiservers, and there are none";
                let help = "remove `options`, or add `apiservers: 3` to `topology`";
                mistakes.at(Path::of("options"), Focus::Key, message, help);
            }
            if spec.release != Default::default() {
                let message = "this is the release of apiservers, and there are none";
                let help = "remove `release`; that of etcd is written `etcd: {release: v3.5.21}`";
                mistakes.at(Path::of("release"), Focus::Key, message, help);
            }
        }
        spec.part::<Options>().check(mistakes);
        spec.part::<PublishedOptions>().check(spec, mistakes);
    }

    fn releases(&self, spec: &Spec) -> Vec<Version> {
        releases(spec)
    }

    /// What its reconcilers keep, as far as the releases know of it.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let keeps = reconcilers(spec).iter().any(|own| *own != Reconciler::None);
        let mut releases = all_releases(spec).into_iter();
        let slices = keeps && releases.any(|release| release.has(gates::ENDPOINT_SLICES));
        let endpoints = keeps.then_some(&ENDPOINTS);
        let namespaces = admission(spec).look_at_namespaces();
        let quotas = admission(spec).has(AdmissionPlugin::ResourceQuota);
        endpoints
            .into_iter()
            .chain(slices.then_some(&ENDPOINT_SLICES))
            .chain(namespaces.then_some(&NAMESPACES))
            .chain(quotas.then_some(&RESOURCE_QUOTAS))
            .collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let releases = running(setup).into_iter().enumerate();
        for ((n, release), name) in releases.zip(wiring.names(NAME)) {
            let own = config(setup, wiring, n, release);
            let hooks_of_own = hooks(setup, &own);
            let server = match rollout::before(setup, release) {
                Some(before) if before != release => {
                    let before = config(setup, wiring, n, before);
                    let server = ApiServer::new(before.clone(), hooks(setup, &before));
                    server.upgraded_to(own, hooks_of_own)
                }
                _ => ApiServer::new(own, hooks_of_own),
            };
            wiring.process(name, server);
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, max: u32) -> Option<Hit> {
        Some(Hit {
            may_stay_away: true,
            ..Hit::at_most(max).in_turn(0)
        })
    }

    fn defects(&self) -> Vec<List> {
        vec![
            ServerDefect::LIST,
            BootstrapDefect::LIST,
            QuotaDefect::LIST,
            EvictionDefect::LIST,
        ]
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![
            NAME,
            identity::NAME,
            clients::NAME,
            rollout::NAME,
            QUOTAS,
            DISRUPTION,
        ]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        settles(setup)
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        describe::note(note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        describe::stored(key, value)
    }
}
