//! A world of one etcd, some apiservers and a recorder that sends what it is told. Stepped by hand
//! with nominal latencies, so that every replay is the same. `cluster` is how it is built, `recorder` who sends.

mod cluster;
mod recorder;

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::Object;
use wavetank_apiserver::{Audited, gates};
use wavetank_components::services::RepairNote;
use wavetank_components::services::allocators::Bitmap;
use wavetank_engine::*;
use wavetank_etcd::{Committed, Etcd, Keys};

pub use cluster::Cluster;
pub(crate) use cluster::address_of;
use cluster::{ETCD, EVENTS_ETCD, RECORDER, SERVERS};
use recorder::ANSWERS;
pub use recorder::Answer;
pub(crate) use recorder::request;

/// The messages of one round come within this time.
const ROUND: Duration = Duration::from_secs(60);

/// An apiserver that is asked to stop takes at most so long.
const STOPS_WITHIN: Duration = Duration::from_secs(90);

/// A write that was seen in etcd: what was done, the key and the revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// `PUT` or `DELETE`.
    pub what: &'static str,
    /// The key.
    pub key: String,
    /// The revision.
    pub revision: u64,
}

/// The world, and what was seen in it.
#[derive(Clone)]
pub struct Lab {
    world: World,
    now: Time,
    next: u64,
    writes: Vec<Write>,
    messages: Vec<(Time, String)>,
    audited: Vec<Audited>,
    /// Where the draws of addresses, ports and names are.
    drawn: u64,
}

impl Lab {
    /// The server that requests go to.
    pub const FIRST: &str = SERVERS[0];

    /// How many servers there can be.
    pub const MOST: usize = SERVERS.len();

    /// The server with this address.
    pub fn server_at(address: &str) -> Option<String> {
        let at = (0..SERVERS.len()).find(|at| address_of(*at) == address)?;
        Some(SERVERS[at].to_owned())
    }

    /// All are up, and the servers are ready.
    pub fn new(cluster: &Cluster) -> Lab {
        let mut lab = Lab {
            world: cluster.world(),
            now: Time::ZERO,
            next: 0,
            writes: Vec::new(),
            messages: Vec::new(),
            audited: Vec::new(),
            drawn: 0,
        };
        for name in [ETCD, EVENTS_ETCD, RECORDER] {
            lab.start(name);
        }
        // One after the other, as they were.
        for name in &SERVERS[..cluster.servers] {
            lab.start(name);
            lab.run(Duration::from_secs(3));
        }
        lab.make_what_servers_make();
        let bootstrapped = cluster.release.has(gates::AGGREGATED_DISCOVERY);
        let objects = bootstrapped.then(crate::bootstrap::objects);
        for (key, object) in objects.into_iter().flatten() {
            lab.put(&key, &object);
            lab.run(Duration::from_millis(20));
        }
        // Until the bootstrap controller has made its Service.
        lab.run(Duration::from_secs(12));
        lab.command(RECORDER, "mark", Json::Null);
        lab.run(Duration::from_secs(3));
        lab
    }

    /// What a real server writes at its start beside what is simulated, and lists show.
    fn make_what_servers_make(&mut self) {
        let tracking = json!({
            "method": "POST",
            "path": "/api/v1/namespaces/kube-system/configmaps",
            "contentType": "application/json",
            "headers": {"User-Agent": "kube-apiserver/v1"},
            "body": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking"},
                "data": {"since": "2026-01-01"},
            },
        });
        self.send(&tracking, false);
        self.run(Duration::from_secs(1));
    }

    fn etcd(&self, name: &str) -> &Etcd<Object> {
        let etcd = self.world.find(name).expect("it was built");
        self.world.process(etcd).expect("an etcd")
    }

    /// What is stored under a key: the object, its revision and its version.
    pub fn stored(&self, key: &str) -> Option<(Json, u64, u64)> {
        let etcd = self.etcd(ETCD);
        let found = etcd.store().get(key)?;
        Some((
            found.value.json().clone(),
            found.mod_revision,
            found.version,
        ))
    }

    /// All objects under a prefix with their keys, revisions and versions; of the etcd of Events, if `events`.
    pub fn range(&self, prefix: &str, events: bool) -> Vec<(String, Json, u64, u64)> {
        let etcd = self.etcd(if events { EVENTS_ETCD } else { ETCD });
        let keys = Keys::prefix(prefix);
        let shown = etcd.store().iter(&keys).map(|kv| {
            let object = kv.value.json().clone();
            (kv.key.to_string(), object, kv.mod_revision, kv.version)
        });
        shown.collect()
    }

    /// All objects under a prefix.
    pub fn all(&self, prefix: &str) -> Vec<Json> {
        let etcd = self.etcd(ETCD);
        let keys = Keys::prefix(prefix);
        let found = etcd.store().iter(&keys);
        found.map(|kv| kv.value.json().clone()).collect()
    }

    /// Writes past all servers.
    pub fn put(&mut self, key: &str, object: &Json) {
        self.command(RECORDER, "put", json!({"key": key, "object": object}));
    }

    /// Deletes past all servers.
    pub fn delete(&mut self, key: &str) {
        self.command(RECORDER, "delete", key.into());
    }

    /// What is stored under a prefix with a lease or without: key, object and the time granted.
    pub fn leased(&self, prefix: &str) -> Vec<(String, Json, Option<u64>)> {
        let etcd = self.etcd(ETCD);
        let keys = Keys::prefix(prefix);
        let found = etcd.store().iter(&keys).map(|kv| {
            let lease = kv.lease.and_then(|id| etcd.state().leases.get(id));
            let ttl = lease.map(|lease| lease.ttl);
            (kv.key.to_string(), kv.value.json().clone(), ttl)
        });
        found.collect()
    }

    /// What the repair loops had to say, by round.
    pub fn rounds(&self) -> Vec<Vec<String>> {
        let mut rounds: Vec<(Time, Vec<String>)> = Vec::new();
        for (at, message) in &self.messages {
            match rounds.last_mut() {
                Some((begin, round)) if *at < *begin + ROUND => round.push(message.clone()),
                _ => rounds.push((*at, vec![message.clone()])),
            }
        }
        rounds.into_iter().map(|(_, round)| round).collect()
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.etcd(ETCD).store().revision()
    }

    fn act(&mut self, action: &Action) {
        let acted = self
            .world
            .apply(self.now, Event::Act(action), &mut |s| s.nominal);
        self.see(&acted.expect("whatever is told is possible"));
    }

    fn see(&mut self, report: &Report) {
        for note in &report.notes {
            if let Some(repair) = note.body.get::<RepairNote>() {
                self.messages
                    .push((self.world.now(), repair.message.clone()));
            }
            if let Some(audited) = note.body.get::<Audited>() {
                self.audited.push(audited.clone());
            }
            let Some(commit) = note.body.get::<Committed<Object>>() else {
                continue;
            };
            if self.world.name(note.process) == EVENTS_ETCD {
                continue;
            }
            self.writes
                .extend(commit.changes.iter().map(|change| Write {
                    what: if change.now.is_some() {
                        "PUT"
                    } else {
                        "DELETE"
                    },
                    key: change.key.to_string(),
                    revision: change.revision,
                }));
        }
    }

    /// What was written since it was last asked.
    pub fn writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// What was asked and answered since it was last asked, where there is an audit log.
    pub fn audited(&mut self) -> Vec<Audited> {
        std::mem::take(&mut self.audited)
    }

    /// How many writes there were since.
    pub fn seen(&self) -> usize {
        self.writes.len()
    }

    /// Kills a process at once.
    pub fn crash(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Crash { process }));
    }

    /// SIGTERM.
    pub fn begin_stop(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Stop { process }));
    }

    /// SIGTERM; until it has exited.
    pub fn stop(&mut self, process: &str) {
        self.begin_stop(process);
        self.run_until(STOPS_WITHIN, |lab| !lab.is_up(process));
    }

    /// Is the process alive?
    pub fn is_up(&self, process: &str) -> bool {
        let process = self.world.find(process);
        process.is_some_and(|process| self.world.status(process) == Status::Up)
    }

    /// Starts a process.
    pub fn start(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Start { process }));
    }

    /// Has etcd compacted.
    pub fn compact(&mut self, revision: u64) {
        self.command(ETCD, "compact", json!(revision));
    }

    fn command(&mut self, process: &str, what: &str, args: Json) {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        });
    }

    /// Sends a request or opens a watch; its number.
    pub fn send(&mut self, request: &Json, watch: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let args = json!({"number": number, "watch": watch, "request": request});
        self.command(RECORDER, "send", args);
        number
    }

    /// What came back so far.
    pub fn answer(&self, number: u64) -> Answer {
        let recorder = self.world.find(RECORDER).expect("it was built");
        let answers = self.world.cell(recorder, &ANSWERS);
        answers.get(&number).cloned().unwrap_or_default()
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Time passes.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Time passes until this holds, or the limit is reached.
    pub fn run_until(&mut self, limit: Duration, holds: impl Fn(&Lab) -> bool) {
        let until = self.now + limit;
        while !holds(self) && self.step(until) {}
    }

    /// From here on it draws from the stream of this number. The first is the one that it begins with.
    pub fn draw_from(&mut self, stream: u64) {
        self.drawn = self.drawn.wrapping_add(stream);
    }

    /// Draws that hardly ever repeat themselves, the same in every replay.
    fn draw(&mut self) -> u64 {
        self.drawn = self
            .drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.drawn >> 33
    }

    fn step(&mut self, until: Time) -> bool {
        let next = self.world.next_entry().copied();
        let Some(entry) = next.filter(|entry| entry.at <= until) else {
            return false;
        };
        let event = match entry.what {
            What::Choose { .. } => Event::Choice(entry.seq, self.draw()),
            _ => Event::Pending(entry.seq),
        };
        let applied = self.world.apply(entry.at, event, &mut |s| s.nominal);
        self.now = self.world.now();
        self.see(&applied.expect("it is pending"));
        true
    }
}

/// What is taken of a stored range: how it is written, and the offsets.
pub fn taken(range: &Json) -> (String, Vec<u32>) {
    let data = range["data"].as_str().unwrap_or_default();
    let taken = Bitmap::parse(data).unwrap_or_default();
    (data.to_owned(), taken.taken().collect())
}
