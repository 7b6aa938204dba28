//! A cluster in a few words, for tests: what a scenario file and flags would ask for.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use wavetank_client::leader_election::LockKind;
use wavetank_client::{ElectionDefect, LoadBalancer, Policy, RestClient, Servers};
use wavetank_cluster::{Components, Named};
use wavetank_component::{Component, Drawn, Section, Setup, Spec, Wiring};
use wavetank_components::kube_apiserver;
use wavetank_components::kube_apiserver::bootstrap::{Published, Reconciler};
use wavetank_components::services::ServiceRanges;
use wavetank_engine::{LinkSpec, World};
use wavetank_etcd::{EtcdDefect, Sizes};
use wavetank_kube_controller_manager::{
    ControllerManager, controller_context, new_controller_descriptors,
};
use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, EtcdVersion, Listed, Selection, Set, Version};

/// A kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apiserver {
    pub release: Version,
    pub defects: Selection,
}

/// The etcd under everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdCluster {
    pub members: u32,
    pub release: EtcdVersion,
    pub defects: Set<EtcdDefect>,
    pub sizes: Sizes,
}

impl EtcdCluster {
    /// One member of this release, with these defects.
    pub fn single(release: EtcdVersion, defects: Set<EtcdDefect>) -> EtcdCluster {
        EtcdCluster {
            members: 1,
            release,
            defects,
            sizes: Sizes::of(release),
        }
    }
}

/// A controller manager, of the release of the apiservers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    pub release: Version,
    pub defects: Set<ElectionDefect>,
    pub lock: LockKind,
    pub releases: bool,
}

/// How a load balancer checks apiservers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    pub every: Duration,
    pub timeout: Duration,
    pub fall: u32,
    pub rise: u32,
    pub cuts: bool,
}

/// A rollout: what each apiserver is before. Where there is none it is what it will be.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rollout {
    pub before: Vec<Apiserver>,
}

/// What stands in front of the apiservers, who replaces them, and how they know each other.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Front {
    pub rollout: Option<Rollout>,
    pub checks: Option<Checks>,
    pub advertised: bool,
    pub keeps: bool,
    pub identity: bool,
    pub published: Published,
    pub six: bool,
}

/// What not every cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Watching {
    pub cache: bool,
    pub managers: Vec<Manager>,
    pub front: Front,
}

/// A cluster: etcd, apiservers, in-cluster clients, clients of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub apiservers: Vec<Apiserver>,
    pub etcd: EtcdCluster,
    pub etcd_clients: u32,
    pub clients: u32,
    pub watching: Watching,
    pub services: Option<ServiceRanges>,
    pub service_writers: u32,
    pub reconciler: Reconciler,
    pub apiserver_count: u32,
    pub shutdown_delay: Duration,
}

fn numbered(letter: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{letter}{n}")).collect()
}

fn object(json: Json) -> Map<String, Json> {
    let Json::Object(map) = json else {
        panic!("{json} is no mapping");
    };
    map
}

fn written(duration: Duration) -> String {
    format!("{}ns", duration.as_nanos())
}

/// All defects and fixes but those of etcd.
fn known() -> impl Iterator<Item = &'static Defect> {
    let all: Vec<&Defect> = Components::default()
        .defects()
        .into_iter()
        .map(|(_, _, defect)| defect)
        .collect();
    all.into_iter().filter(|defect| !defect.is_of_etcd())
}

/// What a version shipped with.
pub fn shipped_with(version: Version) -> Selection {
    Components::default().selection(&Composition::default(), version)
}

/// All defects off and all fixes on.
pub fn fixed() -> Selection {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    Components::default().selection(&fixed, Version::LATEST)
}

impl Topology {
    /// The names of the apiservers.
    pub fn apiserver_names(&self) -> Vec<String> {
        numbered("a", self.apiservers.len())
    }

    /// The names of the clients.
    pub fn client_names(&self) -> Vec<String> {
        numbered("c", self.clients as usize)
    }

    /// The name of whoever replaces apiservers.
    pub fn roller_names(&self) -> Vec<String> {
        numbered("r", self.watching.front.rollout.iter().len())
    }

    /// The names of all processes.
    pub fn names(&self) -> Vec<String> {
        let setup = self.setup();
        let all = self.components().processes(&setup, Some(&setup.drawn));
        let all = all.expect("it is possible").into_iter();
        all.flat_map(|(_, names)| names).collect()
    }

    /// The managers that are alike, and the others.
    fn managers(&self) -> (&[Manager], &[Manager]) {
        let all = &self.watching.managers;
        let alike = all.iter().take_while(|own| **own == all[0]).count();
        all.split_at(alike)
    }

    /// All components; managers that differ from the first are one of their own.
    pub fn components(&self) -> Components {
        let (alike, others) = self.managers();
        match others {
            [] => Components::default(),
            others => Components::default().with(OtherManagers {
                after: alike.len(),
                managers: others.to_vec(),
            }),
        }
    }

    /// What it asks for.
    pub fn setup(&self) -> Setup {
        let components = self.components();
        let mut given = components.nothing_given();
        given.add(Section::Topology, self.topology());
        given.add(Section::Options, self.options());
        given.add(Section::Workload, self.workload());
        let sizes = self.etcd.sizes;
        let etcd = json!({
            "release": self.etcd.release.to_string(),
            "snapshot-count": sizes.snapshot_count,
            "catch-up-entries": sizes.catch_up_entries,
            "pending-revokes": sizes.pending_revokes,
            "watch-channel": sizes.watch_channel,
            "watch-window": sizes.watch_window,
        });
        given.add(Section::Own("etcd"), object(etcd));
        let spec = Spec {
            given,
            composition: self.composition(),
            ..Spec::default()
        };
        for server in &self.apiservers {
            let got = components.selection(&spec.composition, server.release);
            let is_so = |defect: &Defect| {
                !defect.fits(server.release) || got.contains(defect) == self.wants(server, defect)
            };
            assert!(known().all(is_so), "no composition has these defects");
        }
        let drawn: Drawn = components.draw(&spec, 0);
        Setup { spec, drawn }
    }

    fn topology(&self) -> Map<String, Json> {
        let front = &self.watching.front;
        let servers = self.apiservers.iter();
        let releases = servers.map(|own| json!({"release": Release::of(own.release).name}));
        let servers = match self.apiservers.is_empty() {
            true => json!(0),
            false => releases.collect(),
        };
        let mut topology = object(json!({
            "etcd": self.etcd.members,
            "apiservers": servers,
            "clients": self.clients,
            "etcd-clients": self.etcd_clients,
            "service-writers": self.service_writers,
            "controller-managers": self.managers().0.len(),
            "watch-cache": self.watching.cache,
        }));
        if let Some(checks) = &front.checks {
            let balancer = json!({
                "every": written(checks.every),
                "timeout": written(checks.timeout),
                "fall": checks.fall,
                "rise": checks.rise,
                "existing": if checks.cuts { "cut" } else { "keep" },
                "advertised": front.advertised,
            });
            topology.insert("load-balancer".into(), balancer);
        }
        if let Some(rollout) = &front.rollout {
            let before = rollout.before.first().map(|own| own.release);
            let own = self.apiservers[0].release;
            let from = match before {
                Some(before) if before != own => {
                    assert_eq!(before, Release::before(own).version);
                    "previous"
                }
                _ => "same",
            };
            topology.insert("rollout".into(), json!({"from": from}));
        }
        topology
    }

    fn options(&self) -> Map<String, Json> {
        let reconciler = match self.reconciler {
            Reconciler::Lease => "lease",
            Reconciler::MasterCount => "master-count",
            Reconciler::None => "none",
        };
        let front = &self.watching.front;
        let additional = front.published.additional.iter();
        let additional = additional
            .map(|own| json!({"name": &*own.name, "port": own.port, "target-port": own.target}));
        let mut options = object(json!({
            "endpoint-reconciler-type": reconciler,
            "apiserver-count": self.apiserver_count,
            "shutdown-delay": written(self.shutdown_delay),
            "etcd-compaction-interval": "0s",
            "apiserver-identity": front.identity,
            "additional-ports": additional.collect::<Json>(),
            "advertise-address-family": if front.six { "IPv6" } else { "IPv4" },
        }));
        let mut add = |key: &str, value: Json| options.insert(key.to_owned(), value);
        if front.published.node_port != 0 {
            let port = front.published.node_port;
            add("kubernetes-service-node-port", port.into());
        }
        if let Some(ranges) = &self.services {
            let (first, count) = ranges.node_ports;
            let last = first + count - 1;
            let ranges = ranges.cluster_ips.join(",");
            add("service-cluster-ip-range", ranges.into());
            add("service-node-port-range", format!("{first}-{last}").into());
        }
        if let Some(manager) = self.watching.managers.first() {
            let lock = format!("{:?}", manager.lock).to_lowercase();
            add("leader-elect-resource-lock", lock.into());
            add("leader-elect-release-on-cancel", manager.releases.into());
        }
        options
    }

    fn workload(&self) -> Map<String, Json> {
        let keep = self.watching.front.keeps;
        object(json!({"connect": {"every": "1s", "keep": keep}}))
    }

    /// Is it on in a server, or is it one of elections that is on in the managers beside it?
    fn wants(&self, server: &Apiserver, defect: &Defect) -> bool {
        let manager = self.watching.managers.first();
        let of_elections = ElectionDefect::LIST
            .defects
            .iter()
            .any(|own| own.is(defect));
        match manager.filter(|_| of_elections) {
            Some(manager) => manager.defects.iter().any(|own| own.is(defect)),
            None => server.defects.contains(defect),
        }
    }

    /// What flags would have to say.
    fn composition(&self) -> Composition {
        let mut composition = Composition::default();
        let mut differ = |defect: &'static Defect, ships: bool, is: bool| {
            let list = match is {
                true => &mut composition.on,
                false => &mut composition.off,
            };
            if ships != is && !list.contains(&defect) {
                list.push(defect);
            }
        };
        let before = self.watching.front.rollout.iter();
        let before = before.flat_map(|rollout| &rollout.before);
        for own in self.apiservers.iter().chain(before) {
            for defect in known() {
                differ(
                    defect,
                    defect.ships_with(own.release),
                    self.wants(own, defect),
                );
            }
        }
        for defect in EtcdDefect::LIST.defects {
            let is = self.etcd.defects.iter().any(|own| own.is(defect));
            differ(defect, defect.ships_with(self.etcd.release), is);
        }
        composition
    }

    /// The world at time zero, everything down, with these properties.
    pub fn world(&self, properties: &[Named]) -> World {
        let world = self
            .components()
            .world(&self.setup(), properties, LinkSpec::default());
        world.unwrap_or_else(|why| panic!("{why}"))
    }

    /// The properties that such a cluster is held to.
    pub fn properties(&self) -> Vec<Named> {
        self.components().fitting(&self.setup())
    }
}

/// Controller managers that differ from the others, which no scenario file can say.
struct OtherManagers {
    after: usize,
    managers: Vec<Manager>,
}

impl Component for OtherManagers {
    fn name(&self) -> &'static str {
        "other-managers"
    }

    fn about(&self) -> &'static str {
        "controller managers with another lock"
    }

    fn processes(&self, _: &Spec, _: Option<&Drawn>) -> Result<Vec<String>, String> {
        let all = numbered("m", self.after + self.managers.len());
        Ok(all[self.after..].to_vec())
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        for (name, own) in wiring.names(self.name()).iter().zip(&self.managers) {
            let balancer = LoadBalancer {
                servers: wiring.ids(kube_apiserver::NAME),
                policy: Policy::Drawn,
                window: None,
            };
            let rest = RestClient::new(own.release, Servers::Balanced(balancer));
            let mut controllers = new_controller_descriptors().to_vec();
            controllers.retain(|controller| !controller.is_disabled_by_default());
            let context = controller_context(rest, Selection::NONE);
            let manager = ControllerManager::new(
                name,
                setup,
                context,
                &controllers,
                own.defects,
                own.lock,
                own.releases,
            );
            wiring.process(name, manager);
        }
    }
}
