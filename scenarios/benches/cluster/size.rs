//! How large a cluster is, what it is asked to do, and what that cost.

use std::fmt;
use std::str::FromStr;

use wavetank::api::json;
use wavetank::api::kinds::PODS;
use wavetank_components::view::ClusterView;
use wavetank_engine::World;

/// So many Services, and a Deployment behind each.
const SERVICES: u32 = 20;

/// So often who runs pods looks at them while a cluster comes up, and while some of them are rolled out, each 100 ms.
const ROLL_OUT_LOOKS: u32 = 400;

/// The size of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    nodes: u32,
    pods: u32,
}

impl Size {
    pub const SMALL: Size = Size {
        nodes: 10,
        pods: 100,
    };
    pub const LARGE: Size = Size {
        nodes: 100,
        pods: 1_000,
    };

    /// As an argument.
    pub fn argument(self) -> String {
        format!("{},{}", self.nodes, self.pods)
    }

    /// A scenario that lasts so many minutes.
    pub fn scenario(self, minutes: u64, has_kubelets: bool) -> String {
        let Size { nodes, pods } = self;
        let (replicas, storm) = (pods / SERVICES, 60 * minutes);
        let mut plan = String::new();
        let mut tell = |at: f64, process: &str, with: &str| {
            let line = format!(
                "  - {{at: {at}s, tell: {{process: {process}, what: use, with: {{{with}}}}}}}\n"
            );
            plan.push_str(&line);
        };
        for number in 0..SERVICES {
            let at = 10.0 + f64::from(number) / 10.0;
            tell(
                at,
                "q1",
                &format!("what: create, service: web{number}, kind: ''"),
            );
            let with = format!(
                "what: create, deployment: web{number}, replicas: {replicas}, strategy: RollingUpdate, image: 'image:1'"
            );
            tell(at + 2.0, "v1", &with);
        }
        let at = 60.0 * (minutes - 1) as f64 + 5.0;
        tell(
            at,
            "v1",
            "what: roll-out, deployment: web0, image: 'image:2'",
        );
        let (topology, workload) = match has_kubelets {
            true => (format!("kubelets: {nodes}"), ""),
            false => (format!("nodes: {nodes}\n  pod-runners: 1"), ""),
        };
        // Who runs pods looks at all of them each time, and so is not told to when there is nothing to run.
        for look in 0..ROLL_OUT_LOOKS {
            for begins in [14.0, 60.0 * (minutes - 1) as f64 + 6.0] {
                let at = begins + f64::from(look) / 10.0;
                if !has_kubelets {
                    plan.push_str(&format!(
                        "  - {{at: {at:.1}s, tell: {{process: p1, what: run}}}}\n"
                    ));
                }
            }
        }
        format!(
            "\
name: cluster
about: A cluster of {nodes} nodes comes up, runs {pods} pods behind {SERVICES} Services, and rolls out some of them.
release: v1.36
topology:
  etcd: 1
  apiservers: 2
  controller-managers: 2
  {topology}
  binders: 1
  deployment-users: 1
  service-users: 1
  watch-cache: true
options:
  endpoint-reconciler-type: none
  service-cluster-ip-range: 10.96.0.0/24
  node-heartbeats: true
  controllers:
    - deployment-controller
    - replicaset-controller
    - endpointslice-controller
    - garbage-collector-controller
    - node-lifecycle-controller
    - taint-eviction-controller
workload:
  bind-pods: {{every: 2s}}{workload}
storm: {storm}s
calm: 1s
plan:
{plan}"
        )
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes and {} pods", self.nodes, self.pods)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong = || {
            format!(
                "--size wants two numbers, such as 10,100, and not {text}; pods are a multiple of {SERVICES}"
            )
        };
        let (nodes, pods) = text.split_once(',').ok_or_else(wrong)?;
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(wrong)
        };
        let size = Size {
            nodes: number(nodes)?,
            pods: number(pods)?,
        };
        match size.pods % SERVICES {
            0 => Ok(size),
            _ => Err(wrong()),
        }
    }
}

/// A simulated minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// How long it took.
    pub nanos: u64,
    pub events: u64,
    /// In KiB, at its end.
    pub memory: u64,
    /// How many pods were ready at its end.
    pub pods_ready: u64,
}

/// What a cluster cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    pub phases: Vec<Phase>,
    /// That of the world at the end: it is the same in all builds that mean the same.
    pub digest: String,
}

impl Phase {
    fn millis(self) -> f64 {
        self.nanos as f64 / 1e6
    }

    fn events_a_second(self) -> f64 {
        self.events as f64 * 1e9 / self.nanos as f64
    }
}

impl Figures {
    /// As one line for the parent.
    pub fn line(&self) -> String {
        let phases = self.phases.iter().map(|own| {
            format!(
                "{} {} {} {}",
                own.nanos, own.events, own.memory, own.pods_ready
            )
        });
        let phases: Vec<String> = phases.collect();
        format!("{};{}", phases.join(","), self.digest)
    }

    /// Reads that.
    pub fn read(text: &str) -> Result<Figures, String> {
        let wrong = || format!("no figures: {text}");
        let line = text.lines().last().ok_or_else(wrong)?;
        let (phases, digest) = line.split_once(';').ok_or_else(wrong)?;
        let phase = |text: &str| {
            let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
            let numbers: [u64; 4] = numbers.ok()?.try_into().ok()?;
            let [nanos, events, memory, pods_ready] = numbers;
            Some(Phase {
                nanos,
                events,
                memory,
                pods_ready,
            })
        };
        let phases: Option<Vec<Phase>> = phases.split(',').map(phase).collect();
        Ok(Figures {
            phases: phases.filter(|all| !all.is_empty()).ok_or_else(wrong)?,
            digest: digest.to_owned(),
        })
    }

    /// How long a simulated minute takes, in milliseconds.
    pub fn time_a_minute(&self) -> f64 {
        let all: f64 = self.phases.iter().map(|own| own.millis()).sum();
        all / self.phases.len() as f64
    }

    fn whole(&self) -> Phase {
        let last = self.phases[self.phases.len() - 1];
        Phase {
            nanos: self.phases.iter().map(|own| own.nanos).sum(),
            events: self.phases.iter().map(|own| own.events).sum(),
            ..last
        }
    }

    /// How each minute, and the whole, has grown.
    pub fn grown_from(&self, small: &Figures) -> String {
        let mut text = "growth                time    events    memory\n".to_owned();
        let mut add = |what: &str, large: Phase, small: Phase| {
            text.push_str(&format!(
                "  {what:<14} {:>9.1} {:>9.1} {:>9.1}\n",
                large.millis() / small.millis(),
                large.events as f64 / small.events as f64,
                large.memory as f64 / small.memory as f64,
            ));
        };
        for (minute, (large, small)) in self.phases.iter().zip(&small.phases).enumerate() {
            add(&format!("minute {}", minute + 1), *large, *small);
        }
        add("all", self.whole(), small.whole());
        text.pop();
        text
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "                 real ms  simulated to real      events  events a second  memory, MiB  pods ready"
        )?;
        let mut add = |what: &str, own: Phase, minutes: usize| {
            writeln!(
                f,
                "  {what:<12} {:>9.0} {:>18.1} {:>11} {:>16.0} {:>12.1} {:>11}",
                own.millis(),
                60e3 * minutes as f64 / own.millis(),
                own.events,
                own.events_a_second(),
                own.memory as f64 / 1024.0,
                own.pods_ready,
            )
        };
        for (minute, own) in self.phases.iter().enumerate() {
            add(&format!("minute {}", minute + 1), *own, 1)?;
        }
        add("all", self.whole(), self.phases.len())?;
        write!(f, "  digest of the last world {}", self.digest)
    }
}

/// How much memory the process has, in KiB (`VmRSS`); 0 where the system does not say it.
pub fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    number.unwrap_or_default()
}

/// How long the process has been on a CPU, in nanoseconds: others on the machine are no part of that. `None` where the system does not
/// say it.
pub fn on_cpu() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// How many pods are ready.
pub fn pods_ready(world: &World) -> u64 {
    let pods = ClusterView(world).all(PODS.registry);
    let is_ready = |conditions: &[json::Json]| {
        let mut all = conditions.iter();
        all.any(|own| own["type"] == "Ready" && own["status"] == "True")
    };
    let ready = pods
        .iter()
        .filter(|pod| is_ready(json::list(pod.json(), &["status", "conditions"])));
    ready.count() as u64
}
