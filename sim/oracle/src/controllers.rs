//! What the simulated controllers write, against recordings of a real kube-controller-manager.
//!
//! A recording is a script of requests and pauses, and after each of them all writes of others until there was silence.
//! The script is played against a simulated server, beside which a simulated controller manager runs. What controllers
//! write that are not simulated is played like the script (`stand_in`), each write once those before it were seen.
//!
//! Each recording is of two runs, and each step says how far these agree. So much is asked of the simulation, too
//! (`compare`): the same writes in the same order of each object (`exact`), of each object and user (`per-user`), in any
//! order (`bag`), or with other bodies (`brief`). Steps in which the real one differs from itself are played and not
//! compared.
//!
//! Two runs may agree by chance: which of two old pods a DaemonSet deletes first is the order of a Go map. So a recording
//! is played with several streams of draws, and the nearest counts: what was recorded is one of the runs that there may
//! be, and so it has to be one of those that are simulated.
//!
//! `write` is a write and its essential body, `names` what differs from run to run, `heartbeats` keeps nodes alive.

mod compare;
mod heartbeats;
mod names;
mod score;
mod stand_in;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use serde_json::{Value as Json, json};
use wavetank_api::{Method, Stamp};
use wavetank_apiserver::AuditLog;
use wavetank_kube_controller_manager::SERVICE_ACCOUNTS;

use crate::corpus::{self, Recording};
use crate::head;
use crate::lab::{Cluster, Lab};
use crate::lines::OF_CONTROLLERS;
use crate::manager;
use crate::replay::{Difference, Replayed, asked_for};
use compare::{Agree, compare};
use heartbeats::Heartbeats;
use names::Names;
use write::{SERVER, Write};

pub use score::ControllerScore;

static BUNDLED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/controllers");

/// The list of differences that comes with the sources.
pub const KNOWN: &str = include_str!("../known-differences-of-controllers.txt");

/// Nobody writes for so long: a step is over. One that binds a pod is over sooner, as it was recorded.
const QUIET: Duration = Duration::from_millis(1200);
const QUIET_ONCE_BOUND: Duration = Duration::from_millis(500);
/// One that changes a node whose heartbeats count is over later: nodes are looked at every 2 s, and pods go after 3 s more.
const QUIET_OF_A_NODE: Duration = Duration::from_secs(8);
/// So often the recorder looked.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// The longest that a step may take.
const LONGEST: Duration = Duration::from_secs(25);
/// With so many streams of draws a recording is played at most.
const STREAMS: u64 = 8;
/// Until controllers lead, and have filled their caches.
const BEGINS: Duration = Duration::from_secs(20);

/// What the replay of a recording came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conformed {
    /// The topic.
    pub name: String,
    /// How many writes of each user are equal, and how many there are: of the real one or of ours.
    pub users: BTreeMap<String, (u64, u64)>,
    /// The writes that differ.
    pub differences: Vec<Difference>,
    /// How many steps were compared, and how many were not.
    pub steps: (u64, u64),
}

impl Conformed {
    /// The same as of a recording of requests, whose steps are the writes.
    pub fn replayed(&self) -> Replayed {
        Replayed {
            name: self.name.clone(),
            steps: self.users.values().map(|(_, all)| all).sum(),
            differences: self.differences.clone(),
        }
    }
}

/// The recordings that are part of this crate, by name.
///
/// # Errors
/// What is wrong with one of them.
pub fn bundled() -> Result<Vec<Recording>, String> {
    corpus::in_folder(&BUNDLED)
}

/// The recording of this topic.
///
/// # Errors
/// There is none; which there are.
pub fn topic(name: &str) -> Result<Recording, String> {
    let path = Path::new(name);
    if path.is_file() {
        return corpus::read_file(path);
    }
    let all = bundled()?;
    let names: Vec<String> = all.iter().map(|own| own.name.clone()).collect();
    let found = all.into_iter().find(|own| own.name == name);
    found.ok_or_else(|| format!("there is no topic `{name}`; there are {}", names.join(", ")))
}

/// Plays a recording, and compares what controllers write: the nearest of the runs with all streams of draws.
///
/// # Errors
/// The recording is of servers that cannot be simulated, or a line asks what no server is asked.
pub fn replay(recording: &Recording) -> Result<Conformed, String> {
    let mut nearest = play(recording, 0, &|_| true)?;
    for stream in 1..STREAMS {
        if nearest.differences.is_empty() {
            break;
        }
        let played = play(recording, stream, &|_| true)?;
        if played.differences.len() < nearest.differences.len() {
            nearest = played;
        }
    }
    Ok(nearest)
}

/// Plays a recording until this says after a line that no more is wanted: the first run in which it never does, or the
/// first of all.
///
/// # Errors
/// As those of `replay`.
pub fn replay_while(
    recording: &Recording,
    goes_on: impl Fn(&Conformed) -> bool,
) -> Result<Conformed, String> {
    let first = play(recording, 0, &goes_on)?;
    if goes_on(&first) {
        return Ok(first);
    }
    for stream in 1..STREAMS {
        let played = play(recording, stream, &goes_on)?;
        if goes_on(&played) {
            return Ok(played);
        }
    }
    Ok(first)
}

/// Plays a recording with the draws of one stream.
fn play(
    recording: &Recording,
    stream: u64,
    goes_on: &dyn Fn(&Conformed) -> bool,
) -> Result<Conformed, String> {
    let head = OF_CONTROLLERS.knows_head(&recording.lines[0]["cluster"]);
    let cluster = head.and_then(|()| cluster(&recording.lines));
    let cluster = cluster.map_err(|what| recording.wrong(0, &what))?;
    let mut lab = Lab::new(&cluster);
    lab.draw_from(stream);
    lab.start(manager::NAME);
    lab.run(BEGINS);
    lab.audited();
    let flags = cluster.manager.clone().unwrap_or_default();
    let controllers = manager::controllers(&flags);
    let users = controllers.iter().map(|own| own.service_account());
    let mut replay = Replay {
        lab,
        names: Names::new(&recording.lines),
        users: users.collect(),
        heartbeats: manager::is_about_nodes(&flags).then(Heartbeats::default),
        seen: Vec::new(),
        read: BTreeSet::new(),
    };
    let mut conformed = Conformed {
        name: recording.name.clone(),
        users: BTreeMap::new(),
        differences: Vec::new(),
        steps: (0, 0),
    };
    for (at, line) in recording.lines.iter().enumerate().skip(1) {
        let played = OF_CONTROLLERS
            .knows(line)
            .and_then(|()| replay.play(line, &mut conformed));
        played.map_err(|what| recording.wrong(at, &what))?;
        if !goes_on(&conformed) {
            break;
        }
    }
    Ok(conformed)
}

/// The cluster that a recording is of: its first line has the flags as on a command line.
fn cluster(lines: &[Json]) -> Result<Cluster, String> {
    let head = &lines[0]["cluster"];
    let flags = |of: &str| {
        let all = head["flags"][of].as_array().into_iter().flatten();
        all.filter_map(|flag| flag.as_str().map(str::to_owned))
    };
    // Where it listens and is stored, and that it is audited, is no matter of what it answers.
    let elsewhere = [
        "etcd-servers",
        "secure-port",
        "bind-address",
        "audit-log-mode",
    ];
    let mut kept = json!({});
    for flag in flags("kube-apiserver") {
        if let Some((name, value)) = flag.trim_start_matches("--").split_once('=')
            && !elsewhere.contains(&name)
        {
            kept[name] = value.into();
        }
    }
    let described = json!({"apiserver": head["kube-apiserver"], "etcd": "3.6.0", "flags": kept});
    let mut cluster = head::cluster(&described, asked_for(lines))?;
    cluster.etcd = wavetank_releases::etcd::LATEST;
    cluster.audit = AuditLog::On;
    let flags: Vec<String> = flags("kube-controller-manager").collect();
    let setup = manager::setup(&flags);
    for controller in manager::controllers(&flags) {
        cluster.asked_for.extend(controller.uses(&setup));
    }
    let written = lines
        .iter()
        .flat_map(|line| line["writes"].as_array().into_iter().flatten());
    let named = written.filter_map(|own| write::resource_of(own["resource"].as_str()?));
    cluster
        .asked_for
        .extend(named.map(|(resource, _)| resource));
    cluster.manager = Some(flags);
    Ok(cluster)
}

struct Replay {
    lab: Lab,
    names: Names,
    /// The users that are simulated.
    users: Vec<&'static str>,
    /// Where nodes have heartbeats, which no recording has: who lives.
    heartbeats: Option<Heartbeats>,
    /// What they wrote in this step.
    seen: Vec<Write>,
    /// The paths of what controllers read in this step, object by object.
    read: BTreeSet<String>,
}

impl Replay {
    fn play(&mut self, line: &Json, conformed: &mut Conformed) -> Result<(), String> {
        self.seen.clear();
        self.read.clear();
        if let Some(heartbeats) = &mut self.heartbeats {
            heartbeats.learn(line);
        }
        let none = Vec::new();
        let recorded = line["writes"].as_array().unwrap_or(&none);
        if let Some(request) = line.get("do") {
            self.request(request, recorded)?;
        } else if let Some(seconds) = line["wait"].as_u64() {
            self.pass(Duration::from_secs(seconds))?;
        } else {
            return Ok(());
        }
        self.stand_in(recorded)?;
        let path = line["do"]["path"].as_str().unwrap_or_default();
        let changes_node = path.starts_with("/api/v1/nodes/") && self.heartbeats.is_some();
        self.settle(match line["note"] == "scheduler" {
            true => QUIET_ONCE_BOUND,
            false if changes_node => QUIET_OF_A_NODE,
            false => QUIET,
        })?;
        let Some(agree) = line["agree"].as_str().and_then(Agree::of) else {
            conformed.steps.1 += 1;
            return Ok(());
        };
        conformed.steps.0 += 1;
        let recorded = recorded.iter().map(Write::recorded);
        let recorded: Vec<Write> = recorded
            .filter(|own| self.is_compared(&own.user, &own.resource, &own.body))
            .collect();
        let step = line["step"].as_u64().unwrap_or(0);
        let seen = std::mem::take(&mut self.seen);
        for (user, result) in compare(agree, &recorded, &seen, self.names.uids()) {
            let (equal, all) = conformed.users.entry(user).or_default();
            *all += 1;
            match result {
                Ok(()) => *equal += 1,
                Err((what, unequal)) => conformed.differences.push(Difference {
                    step,
                    what,
                    unequal,
                }),
            }
        }
        Ok(())
    }

    /// Is it a controller that is simulated, or a quota that the server charges? What else that writes goes past its API here.
    /// Of those that share a user the one that gives nodes their ranges is always simulated: nobody else writes these.
    fn is_compared(&self, user: &str, resource: &str, body: &Json) -> bool {
        let gives_ranges = resource == "nodes" && !body["spec"]["podCIDR"].is_null();
        let is_simulated = match user == manager::OF_NODES_ACCOUNT && !gives_ranges {
            true => self.heartbeats.is_some(),
            false => self.users.contains(&user),
        };
        is_simulated || user == SERVER && resource.starts_with("resourcequotas")
    }

    /// A request of the script, and what was written after that. Where the first write is one that made another's fail, that one
    /// has begun before the script had its answer.
    fn request(&mut self, recorded: &Json, writes: &[Json]) -> Result<(), String> {
        let now = Stamp::of(self.lab.now()).seconds();
        let path = self
            .names
            .fill_text(recorded["path"].as_str().unwrap_or_default());
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: Json = query
            .map(|(key, value)| (key.to_owned(), Json::from(value)))
            .collect();
        let body = self
            .names
            .fill(&recorded["body"], &now, &self.lab.all("/registry/"));
        let content_type = match recorded["method"].as_str() {
            // Who has heartbeats has several conditions, of which one is written.
            Some("PATCH") if self.heartbeats.is_some() && path.ends_with("/status") => {
                "application/strategic-merge-patch+json"
            }
            Some("PATCH") => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = json!({
            "method": recorded["method"], "path": path, "query": query, "body": body,
            "contentType": (!body.is_null()).then_some(content_type),
        });
        if self.is_conflict_of(writes) {
            crate::lab::request(&request)?;
            self.lab.send(&request, false);
            self.await_read(&writes[0]);
            return Ok(());
        }
        self.send(&request)
    }

    fn send(&mut self, request: &Json) -> Result<(), String> {
        crate::lab::request(request)?;
        let number = self.lab.send(request, false);
        self.lab.run_until(LONGEST, |lab| lab.answer(number).over);
        self.look();
        Ok(())
    }

    /// Takes note of what was written.
    fn look(&mut self) {
        for audited in self.lab.audited() {
            self.names.learn(&audited);
            let request = &audited.request;
            if request.method == Method::Get && request.user_agent.contains(SERVICE_ACCOUNTS) {
                self.read.insert(request.path.to_string());
            }
            if let Some(mut write) = Write::audited(&audited)
                && self.is_compared(&write.user, &write.resource, &write.body)
            {
                self.names.normalise(&mut write);
                self.seen.push(write);
            }
        }
    }

    /// Until nobody has written for so long.
    fn settle(&mut self, quiet: Duration) -> Result<(), String> {
        let end = self.lab.now() + LONGEST;
        let mut last = self.lab.now();
        while self.lab.now() < last + quiet && self.lab.now() < end {
            let before = self.seen.len();
            self.pass(LOOKS_EVERY)?;
            self.look();
            if self.seen.len() > before {
                last = self.lab.now();
            }
        }
        Ok(())
    }

    /// So much time passes, in which nodes that live say so.
    fn pass(&mut self, time: Duration) -> Result<(), String> {
        let end = self.lab.now() + time;
        while let Some(heartbeats) = &self.heartbeats {
            let next = heartbeats.next();
            if next > end {
                break;
            }
            let now = self.lab.now();
            self.lab.run(next.since(now));
            self.beat()?;
        }
        let now = self.lab.now();
        self.lab.run(end.since(now));
        Ok(())
    }

    /// All nodes that live renew their Leases.
    fn beat(&mut self) -> Result<(), String> {
        let now = self.lab.now();
        let stored = self.lab.all("/registry/leases/");
        let beats = self.heartbeats.as_mut();
        for request in beats.map_or(Vec::new(), |own| own.beat(now, &stored)) {
            self.send(&request)?;
        }
        Ok(())
    }
}
