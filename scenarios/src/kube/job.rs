//! A scenario with a composition of release, defects and fixes, as a case.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use wavetank_cluster::{Apiserver, EtcdCluster, Topology, properties, tell};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::seeded::Weather;
use wavetank_engine::drive::story::Teller;
use wavetank_engine::{LinkSpec, World};
use wavetank_release::{Composition, EtcdRelease, Kind, Reconciler, Release, Switch, Switches};

use super::weather;
use crate::case::{Case, Flip, Options};
use crate::file::{self, Choices, ReconcilerType, Scenario};

/// A scenario to be run.
#[derive(Clone, Debug)]
pub struct Job {
    scenario: Scenario,
    release: Option<Release>,
    composition: Composition,
    properties: Vec<properties::Name>,
}

/// What makes a job what it is, as it stands in a trace's head.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Identity {
    scenario: Scenario,
    release: Option<String>,
    fixed: bool,
    on: Vec<String>,
    off: Vec<String>,
    /// The switches that are on as a result, by apiserver: for readers.
    defects: Vec<Vec<String>>,
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
}

impl Job {
    /// A scenario under a release of its own or another, with this composition.
    ///
    /// # Errors
    /// A defect that has no place in it, or a planned fault that is none.
    pub fn new(
        scenario: Scenario,
        release: Option<Release>,
        composition: Composition,
    ) -> Result<Job, String> {
        let reconcilers: Vec<Reconciler> = scenario
            .options
            .endpoint_reconciler_type
            .values()
            .iter()
            .map(|r| reconciler(*r))
            .collect();
        let mut job = Job {
            scenario,
            release,
            composition,
            properties: Vec::new(),
        };
        let releases = job.releases();
        job.properties = match job.scenario.properties.as_slice() {
            [] => properties::Name::fitting(reconcilers[0], &releases),
            named => named
                .iter()
                .filter_map(|n| properties::Name::named(n))
                .collect(),
        };
        let unfit = job.composition.check(&releases, &reconcilers);
        unfit.map_err(|unfit| unfit.to_string())?;
        weather::directed(&job.scenario)?;
        Ok(job)
    }

    /// The job whose [`Case::identity`] this is.
    ///
    /// # Errors
    /// What does not fit.
    pub fn from_identity(identity: &serde_json::Value) -> Result<Job, String> {
        let identity: Identity =
            serde_json::from_value(identity.clone()).map_err(|error| error.to_string())?;
        let switches = |names: &[String]| -> Result<Vec<Switch>, String> {
            let named = |name: &String| {
                Switch::named(name).ok_or_else(|| format!("this build knows no defect `{name}`"))
            };
            names.iter().map(named).collect()
        };
        let release = identity.release.map(|name| {
            Release::named(&name).ok_or_else(|| format!("this build knows no release `{name}`"))
        });
        let composition = Composition {
            fixed: identity.fixed,
            on: switches(&identity.on)?,
            off: switches(&identity.off)?,
        };
        Job::new(identity.scenario, release.transpose()?, composition)
    }

    /// The releases of its apiservers.
    fn releases(&self) -> Vec<Release> {
        let of = |release: file::Release| match release {
            file::Release::V1_16 => Release::V1_16,
            file::Release::V1_20 => Release::V1_20,
            file::Release::V1_36 => Release::V1_36,
        };
        let own = self.scenario.releases();
        own.into_iter()
            .map(|r| self.release.unwrap_or(of(r)))
            .collect()
    }

    fn switches(&self) -> Vec<Switches> {
        let releases = self.releases().into_iter();
        releases.map(|r| self.composition.switches(r)).collect()
    }

    /// The etcd is the one of the newest apiserver.
    fn etcd(&self) -> EtcdCluster {
        let newest = self.releases().into_iter().max();
        let release = newest.map_or(EtcdRelease::LATEST, Release::etcd);
        EtcdCluster::single(release, self.composition.etcd(release))
    }

    fn derived(options: &Options) -> Result<Derived, String> {
        serde_json::from_value(options.clone()).map_err(|error| format!("the options: {error}"))
    }

    fn topology(&self, derived: &Derived) -> Topology {
        let apiservers = self.releases().into_iter().zip(self.switches());
        Topology {
            apiservers: apiservers
                .take(derived.apiservers)
                .map(|(release, switches)| Apiserver { release, switches })
                .collect(),
            etcd: self.etcd(),
            etcd_clients: 0,
            clients: derived.clients,
            reconciler: reconciler(derived.endpoint_reconciler_type),
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

fn names(switches: impl Iterator<Item = Switch>) -> Vec<String> {
    switches.map(|s| s.info().name.to_owned()).collect()
}

impl Case for Job {
    fn name(&self) -> &str {
        &self.scenario.name
    }

    fn identity(&self) -> serde_json::Value {
        let identity = Identity {
            scenario: self.scenario.clone(),
            release: self.release.map(|r| r.name().to_owned()),
            fixed: self.composition.fixed,
            on: names(self.composition.on.iter().copied()),
            off: names(self.composition.off.iter().copied()),
            defects: self.switches().iter().map(|s| names(s.iter())).collect(),
        };
        serde_json::to_value(identity).expect("a scenario is JSON")
    }

    fn derive(&self, seed: u64) -> Options {
        let mut stream = Stream::new(seed, "options");
        fn pick<T: Clone>(stream: &mut Stream, of: &Choices<T>) -> T {
            stream.pick(of.values()).expect("never empty").clone()
        }
        let options = &self.scenario.options;
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
        };
        serde_json::to_value(derived).expect("options are JSON")
    }

    fn world(&self, options: &Options) -> Result<World, String> {
        let derived = Job::derived(options)?;
        if derived.apiservers == 0 || derived.apiservers > self.releases().len() {
            return Err(format!("the options: {} apiservers", derived.apiservers));
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
        let on = self.switches();
        let releases = self.releases();
        let blamed = |info: &&wavetank_release::SwitchInfo| {
            let has = on.iter().any(|switches| switches.has(info.switch));
            let fits = releases.iter().any(|release| info.fits.contains(release));
            fits && has == (info.kind != Kind::Fix)
        };
        let flip = |info: &wavetank_release::SwitchInfo| Flip {
            name: info.name.to_owned(),
            about: format!("{} ({})", info.about, info.source),
        };
        Switch::TABLE.iter().filter(blamed).map(flip).collect()
    }

    fn flipped(&self, flips: &[&str]) -> Option<Box<dyn Case>> {
        let mut job = self.clone();
        for name in flips {
            let switch = Switch::named(name)?;
            let (to, from) = match switch.info().kind {
                Kind::Fix => (&mut job.composition.on, &mut job.composition.off),
                Kind::Defect | Kind::OpenDefect => {
                    (&mut job.composition.off, &mut job.composition.on)
                }
            };
            from.retain(|s| *s != switch);
            if !to.contains(&switch) {
                to.push(switch);
            }
        }
        Some(Box::new(job))
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
        let smaller = fewer_clients.chain(fewer_servers);
        smaller
            .map(|derived| serde_json::to_value(derived).expect("options are JSON"))
            .collect()
    }
}
