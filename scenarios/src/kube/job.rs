//! A scenario with a composition of release, defects and fixes, as a case.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use wavetank_cluster::{
    EtcdCluster, IDENTITY, InformerClient, LockKind, Manager, Named, Parts, Reconciler,
    ServiceRanges, Sizes, Topology, Watching, components, tell,
};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::seeded::Weather;
use wavetank_engine::drive::story::Teller;
use wavetank_engine::{LinkSpec, World};
use wavetank_releases::{AnyRelease, Release, etcd};
use wavetank_version::{Composition, EtcdVersion, Selection, Version};

use super::weather;
use crate::case::{Case, Flip, Options};
use crate::file::{
    self, BeforeRollout, Choices, Existing, PortRange, ReconcilerType, ResourceLock, Scenario,
};
use crate::search::Scope;

/// A scenario to be run.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) scenario: Scenario,
    /// That of all apiservers, if it is not the scenario's own.
    pub(super) release: Option<&'static Release>,
    etcd_release: EtcdVersion,
    pub(super) composition: Composition,
    pub(super) properties: Vec<Named>,
}

/// What a seed decides before the first event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Derived {
    pub endpoint_reconciler_type: ReconcilerType,
    pub apiserver_count: u32,
    pub shutdown_delay: file::Duration,
    pub apiservers: usize,
    pub clients: u32,
    /// Traces from before there were such have none.
    #[serde(default)]
    pub etcd_clients: u32,
    #[serde(default = "one")]
    pub etcd_members: u32,
    #[serde(default)]
    pub informers: u32,
    #[serde(default)]
    pub writers: u32,
    #[serde(default)]
    pub service_writers: u32,
    #[serde(default)]
    pub controller_managers: u32,
    #[serde(default)]
    pub leader_elect_resource_lock: Option<ResourceLock>,
    #[serde(default)]
    pub leader_elect_release_on_cancel: bool,
    #[serde(default = "five_minutes")]
    pub etcd_compaction_interval: file::Duration,
    #[serde(default)]
    pub rollout_from: Option<BeforeRollout>,
    #[serde(default)]
    pub balancer_cuts: bool,
    #[serde(default)]
    pub balancer_is_advertised: bool,
    #[serde(default)]
    pub connections_are_kept: bool,
}

/// `--etcd-compaction-interval`
fn five_minutes() -> file::Duration {
    file::Duration::from_secs(300)
}

fn one() -> u32 {
    1
}

impl Job {
    /// A scenario under a release of its own or another, with this composition. A release of
    /// Kubernetes is that of all apiservers, and brings its etcd if the scenario names none.
    ///
    /// # Errors
    /// A release of what there is none of, a defect that has no place in it, or a planned fault
    /// that is none.
    pub fn new(
        scenario: Scenario,
        release: Option<AnyRelease>,
        composition: Composition,
    ) -> Result<Job, String> {
        let (kubernetes, etcd_version) = match release {
            Some(AnyRelease::Kubernetes(release)) => (Some(release), None),
            Some(AnyRelease::Etcd(release)) => (None, Some(release)),
            None => (None, None),
        };
        let mut job = Job {
            scenario,
            release: kubernetes,
            etcd_release: etcd::LATEST,
            composition,
            properties: Vec::new(),
        };
        let (releases, reconcilers) = (job.all_releases(), job.reconcilers());
        if let Some(release) = kubernetes.filter(|_| releases.is_empty()) {
            return Err(format!(
                "`{}` has no apiservers that could be of {}; name a release of etcd, such \
                 as {}",
                job.scenario.name,
                release.name,
                etcd::LATEST
            ));
        }
        let own_etcd = |release: &'static Release| release.etcd;
        let of_newest = kubernetes.or_else(|| job.newest_release()).map(own_etcd);
        let own = job.scenario.etcd.release.map(|release| release.0);
        let version = etcd_version.or(own).or(of_newest);
        job.etcd_release = version.unwrap_or(etcd::LATEST);
        job.properties = match job.scenario.properties.as_slice() {
            [] => {
                let parts = job.parts();
                let knows_identity = releases.iter().any(|release| release.has(IDENTITY));
                let parts = Parts {
                    identity: parts.identity && knows_identity,
                    ..parts
                };
                Named::fitting(&releases, reconcilers[0], parts)
            }
            named => named.iter().filter_map(|n| Named::find(n)).collect(),
        };
        let (place, may_be) = (|defect: &_| job.missing_place(defect), |is| job.may_be(is));
        let unfit = job.composition.check(&releases, place, may_be);
        unfit.map_err(|unfit| unfit.to_string())?;
        weather::directed(&job.scenario)?;
        job.check_locks()?;
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
        let mut composition = self.composition;
        composition.fixed |= more.fixed;
        composition.off.retain(|defect| !more.on.contains(defect));
        composition.on.retain(|defect| !more.off.contains(defect));
        composition.on.extend(more.on);
        composition.off.extend(more.off);
        let own = self.release.map(AnyRelease::from);
        let job = Job::new(self.scenario, release.or(own), composition)?;
        Ok(match release {
            None => job.with_etcd(self.etcd_release),
            Some(_) => job,
        })
    }

    /// Controller managers are of the newest release that there is: does it know the locks?
    fn check_locks(&self) -> Result<(), String> {
        let locks = self.scenario.options.leader_elect_resource_lock.as_ref();
        let locks = locks.map_or(&[][..], Choices::values);
        let Some(newest) = self.releases().into_iter().max() else {
            return Ok(());
        };
        match locks.iter().find(|of| !lock(**of).fits(newest)) {
            None => Ok(()),
            Some(of) => Err(format!(
                "controller managers of {newest} have no lock {of:?}"
            )),
        }
    }

    /// The same with an etcd of this release.
    pub(super) fn with_etcd(self, release: EtcdVersion) -> Job {
        Job {
            etcd_release: release,
            ..self
        }
    }

    /// The reconcilers among which a seed chooses.
    pub(super) fn reconcilers(&self) -> Vec<Reconciler> {
        let choices = &self.scenario.options.endpoint_reconciler_type;
        choices.values().iter().map(|r| reconciler(*r)).collect()
    }

    /// The versions of its apiservers.
    pub(super) fn releases(&self) -> Vec<Version> {
        let own = self.scenario.releases().into_iter();
        let of = |release: file::Release| self.release.unwrap_or(release.0).version;
        own.map(of).collect()
    }

    /// The newest release of its apiservers before a rollout, and after it.
    fn newest_release(&self) -> Option<&'static Release> {
        let newest = self.all_releases().into_iter().max()?;
        Some(Release::of(newest))
    }

    /// What is on in a process of this version.
    pub(super) fn selection(&self, version: Version) -> Selection {
        components::selection(&self.composition, version)
    }

    /// What is on in the etcd.
    pub(super) fn etcd_selection(&self) -> Selection {
        components::selection(&self.composition, self.etcd_release)
    }

    /// What is on in each apiserver.
    pub(super) fn selections(&self) -> Vec<Selection> {
        let releases = self.all_releases().into_iter();
        releases.map(|release| self.selection(release)).collect()
    }

    /// The etcd, with all of its members.
    pub(super) fn etcd(&self) -> EtcdCluster {
        let (asked, release) = (&self.scenario.etcd, self.etcd_release);
        let default = Sizes::of(release);
        let or = |asked: Option<u32>, default: u64| asked.map_or(default, u64::from);
        EtcdCluster {
            members: self.scenario.topology.etcd,
            release,
            defects: self.etcd_selection().of(),
            sizes: Sizes {
                snapshot_count: or(asked.snapshot_count, default.snapshot_count),
                catch_up_entries: or(asked.catch_up_entries, default.catch_up_entries),
                watch_channel: asked.watch_channel.unwrap_or(default.watch_channel),
                watch_window: asked.watch_window.unwrap_or(default.watch_window),
                ..default
            },
        }
    }

    fn derived(options: &Options) -> Result<Derived, String> {
        serde_json::from_value(options.clone()).map_err(|error| format!("the options: {error}"))
    }

    /// Informers are of the newest release that there is.
    fn watching(&self, derived: &Derived) -> Watching {
        let newest = self.releases().into_iter().max();
        let client = newest.map(|release| InformerClient {
            release,
            defects: self.selection(release).of(),
        });
        let count = derived.informers as usize;
        Watching {
            cache: self.scenario.topology.watch_cache,
            compaction: Duration::from_nanos(derived.etcd_compaction_interval.nanos()),
            informers: client.into_iter().cycle().take(count).collect(),
            writers: derived.writers,
            managers: self.managers(derived),
            front: self.front(derived),
        }
    }

    /// Controller managers, of the newest release, too.
    fn managers(&self, derived: &Derived) -> Vec<Manager> {
        let newest = self.releases().into_iter().max();
        let manager = newest.map(|release| Manager {
            release,
            defects: self.selection(release).of(),
            lock: derived
                .leader_elect_resource_lock
                .map_or(LockKind::of(release), lock),
            releases: derived.leader_elect_release_on_cancel,
        });
        let count = derived.controller_managers as usize;
        manager.into_iter().cycle().take(count).collect()
    }

    /// What the apiservers give to Services.
    pub(super) fn ranges(&self) -> Option<ServiceRanges> {
        let options = &self.scenario.options;
        let cluster_ips = options.service_cluster_ip_range.as_ref()?;
        let cluster_ips: Vec<&str> = cluster_ips.0.iter().map(String::as_str).collect();
        let ranges = ServiceRanges::of(&cluster_ips);
        Some(match options.service_node_port_range {
            None => ranges,
            Some(PortRange { first, last }) => ServiceRanges {
                node_ports: (first, last - first + 1),
                ..ranges
            },
        })
    }

    fn topology(&self, derived: &Derived) -> Topology {
        let releases = self.releases().into_iter().take(derived.apiservers);
        Topology {
            apiservers: releases.map(|release| self.apiserver(release)).collect(),
            etcd: EtcdCluster {
                members: derived.etcd_members,
                ..self.etcd()
            },
            etcd_clients: derived.etcd_clients,
            clients: derived.clients,
            watching: self.watching(derived),
            reconciler: reconciler(derived.endpoint_reconciler_type),
            services: self.ranges(),
            service_writers: derived.service_writers,
            apiserver_count: derived.apiserver_count,
            shutdown_delay: Duration::from_nanos(derived.shutdown_delay.nanos()),
        }
    }
}

fn reconciler(of: ReconcilerType) -> Reconciler {
    match of {
        ReconcilerType::Lease => Reconciler::Lease,
        ReconcilerType::MasterCount => Reconciler::MasterCount,
        ReconcilerType::None => Reconciler::None,
    }
}

fn lock(of: ResourceLock) -> LockKind {
    match of {
        ResourceLock::Endpoints => LockKind::Endpoints,
        ResourceLock::ConfigMaps => LockKind::ConfigMaps,
        ResourceLock::Leases => LockKind::Leases,
        ResourceLock::EndpointsLeases => LockKind::EndpointsLeases,
        ResourceLock::ConfigMapsLeases => LockKind::ConfigMapsLeases,
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
        let mut stream = Stream::new(seed, "options");
        fn pick<T: Clone>(stream: &mut Stream, of: &Choices<T>) -> T {
            stream.pick(of.values()).expect("never empty").clone()
        }
        let options = &self.scenario.options;
        let balancer = self.scenario.topology.load_balancer.as_ref();
        let connect = self.scenario.workload.connect.as_ref();
        let derived = Derived {
            endpoint_reconciler_type: pick(&mut stream, &options.endpoint_reconciler_type),
            // `--apiserver-count` is 1 by default (`options.NewServerRunOptions`, MasterCount).
            apiserver_count: match &options.apiserver_count {
                Some(counts) => pick(&mut stream, counts),
                None => 1,
            },
            shutdown_delay: pick(&mut stream, &options.shutdown_delay),
            apiservers: self.releases().len(),
            clients: self.scenario.topology.clients,
            etcd_clients: self.scenario.topology.etcd_clients,
            etcd_members: self.scenario.topology.etcd,
            informers: self.scenario.topology.informers,
            writers: self.scenario.topology.writers,
            service_writers: self.scenario.topology.service_writers,
            controller_managers: self.scenario.topology.controller_managers,
            leader_elect_resource_lock: options
                .leader_elect_resource_lock
                .as_ref()
                .map(|locks| pick(&mut stream, locks)),
            leader_elect_release_on_cancel: options
                .leader_elect_release_on_cancel
                .as_ref()
                .is_some_and(|may| pick(&mut stream, may)),
            etcd_compaction_interval: match &options.etcd_compaction_interval {
                Some(intervals) => pick(&mut stream, intervals),
                None => five_minutes(),
            },
            rollout_from: self
                .scenario
                .topology
                .rollout
                .as_ref()
                .map(|rollout| pick(&mut stream, &rollout.from)),
            balancer_cuts: balancer
                .is_some_and(|own| pick(&mut stream, &own.existing) == Existing::Cut),
            balancer_is_advertised: balancer.is_some_and(|own| pick(&mut stream, &own.advertised)),
            connections_are_kept: connect
                .and_then(|connect| connect.keep.as_ref())
                .is_some_and(|keep| pick(&mut stream, keep)),
        };
        serde_json::to_value(derived).expect("options are JSON")
    }

    fn world(&self, options: &Options) -> Result<World, String> {
        let derived = Job::derived(options)?;
        let all = self.releases().len();
        if derived.apiservers > all || (derived.apiservers == 0 && all > 0) {
            return Err(format!("the options: {} apiservers", derived.apiservers));
        }
        let members = derived.etcd_members;
        if !(1..=self.scenario.topology.etcd).contains(&members) {
            return Err(format!("the options: {members} members of etcd"));
        }
        let topology = self.topology(&derived);
        Ok(topology.world(&self.properties, LinkSpec::default()))
    }

    fn weather(&self, options: &Options) -> Weather {
        let derived = Job::derived(options).expect("checked when the world was built");
        weather::of(&self.scenario, &self.topology(&derived))
    }

    fn calm(&self) -> Duration {
        Duration::from_nanos(self.scenario.calm.nanos())
    }

    fn teller(&self) -> Teller {
        tell
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

    fn places(&self) -> Vec<&'static str> {
        self.showing().map(|defect| defect.name).collect()
    }

    fn take_passed(&self) -> Vec<&'static str> {
        let passed = components::take_passed().into_iter();
        passed.map(|defect| defect.name).collect()
    }

    /// An expectation is of the scenario as it is written: mended it expects nothing.
    fn expects(&self) -> Option<&str> {
        let as_written = !self.composition.fixed && self.composition.off.is_empty();
        self.scenario.expect.as_deref().filter(|_| as_written)
    }

    fn smaller(&self, options: &Options) -> Vec<Options> {
        let Ok(derived) = Job::derived(options) else {
            return Vec::new();
        };
        let fewer_clients = (0..derived.clients).map(|clients| Derived {
            clients,
            ..derived.clone()
        });
        let fewer_servers = (1..derived.apiservers).map(|apiservers| Derived {
            apiservers,
            ..derived.clone()
        });
        let fewer_etcd_clients = (1..derived.etcd_clients).map(|etcd_clients| Derived {
            etcd_clients,
            ..derived.clone()
        });
        let fewer_informers = (1..derived.informers).map(|informers| Derived {
            informers,
            ..derived.clone()
        });
        let fewer_writers = (0..derived.writers).map(|writers| Derived {
            writers,
            ..derived.clone()
        });
        let fewer_service_writers = (1..derived.service_writers).map(|service_writers| Derived {
            service_writers,
            ..derived.clone()
        });
        let fewer_managers = (1..derived.controller_managers).map(|managers| Derived {
            controller_managers: managers,
            ..derived.clone()
        });
        // An only member is called otherwise, and an even number of them gains nothing.
        let fewer_members = (3..derived.etcd_members).step_by(2);
        let fewer_members = fewer_members.map(|etcd_members| Derived {
            etcd_members,
            ..derived.clone()
        });
        let smaller = fewer_clients
            .chain(fewer_servers)
            .chain(fewer_etcd_clients)
            .chain(fewer_informers)
            .chain(fewer_writers)
            .chain(fewer_service_writers)
            .chain(fewer_managers)
            .chain(fewer_members);
        smaller
            .map(|derived| serde_json::to_value(derived).expect("options are JSON"))
            .collect()
    }
}
