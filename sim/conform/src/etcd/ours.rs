//! The simulated etcd as a [`Side`]: a world of one member and a puppet that is its client, stepped
//! by virtual time. Nothing of the real world is in it: it answers alike in every run.
//!
//! What the puppet does is in `puppet.rs`, which names leases have in `naming.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::{Action, Event, Fault, NetError, Report, Time, What, World, WorldBuilder};
use wavetank_etcd::{
    Client, Config, Etcd, EtcdError, Request, Response, Sizes, WatchId, WatchPart, WatchRequest,
};
use wavetank_version::{EtcdVersion, Set};

use crate::etcd::expiry::Timed;
use crate::etcd::naming;
use crate::etcd::puppet::{Answered, Came, Pull, Puppet, Strings};
use crate::etcd::side::{
    Bytes, ERRORS, Item, LeaseNames, Log, Message, Outcome, Side, StreamId, Until, gather,
};

const MEMBER: &str = "etcd";
const PUPPET: &str = "puppet";

/// How long something is waited for, by the clock of the world: all of a member's own doings that
/// sequences see (passes over watches that lag, the end of short leases) take less.
const PATIENCE: Duration = Duration::from_secs(15);

/// A simulated etcd.
#[derive(Debug)]
pub struct Ours {
    release: EtcdVersion,
    world: World,
    strings: Strings,
    leases: LeaseNames,
    log: Log,
    /// The number under which the puppet knows each stream that is open.
    streams: BTreeMap<StreamId, u64>,
    opened: u64,
    answer: Option<Result<Response<Bytes>, EtcdError>>,
}

impl Ours {
    /// One that behaves as this release does, with the defects that it has.
    pub fn new(release: EtcdVersion) -> Ours {
        let strings = Strings::default();
        Ours {
            release,
            world: world(release, &strings),
            strings,
            leases: LeaseNames::default(),
            log: Log::new(),
            streams: BTreeMap::new(),
            opened: 0,
            answer: None,
        }
    }

    /// Lets the puppet do something.
    fn pull(&mut self, pull: Pull) {
        self.strings.pull(pull);
        let now = self.world.now();
        self.nudge(now);
    }

    /// Tells the puppet at this time to do what its strings say, if they say anything.
    fn nudge(&mut self, at: Time) {
        let action = Action::Command {
            process: PUPPET.to_owned(),
            what: "pull".to_owned(),
            args: serde_json::Value::Null,
        };
        let report = act(&mut self.world, at, &action);
        self.hear(report);
    }

    /// Whatever happens next, if that is not after `limit`.
    fn step(&mut self, limit: Time) -> bool {
        let next = self.world.next_entry().copied();
        let Some(entry) = next.filter(|entry| entry.at <= limit) else {
            return false;
        };
        // How far apart progress notifications are matters to nobody here.
        let event = match entry.what {
            What::Choose { .. } => Event::Choice(entry.seq, 0),
            _ => Event::Pending(entry.seq),
        };
        let report = self
            .world
            .apply(entry.at, event, &mut |sent| sent.nominal)
            .expect("it is pending");
        self.hear(report);
        true
    }

    fn hear(&mut self, report: Box<Report>) {
        for note in &report.notes {
            if let Some(Answered(answer)) = note.body.get() {
                self.answer = Some(answer.clone());
            } else if let Some(Came(number, part)) = note.body.get() {
                let mut open = self.streams.iter();
                // Else it was closed, and this is lost.
                if let Some((&stream, _)) = open.find(|(_, known)| *known == number) {
                    self.record(stream, part.clone());
                }
            }
        }
        World::recycle(report);
    }

    fn record(&mut self, stream: StreamId, part: Result<Option<WatchPart<Bytes>>, NetError>) {
        let end = match part {
            Ok(Some(WatchPart::Message(mut came))) => {
                for event in &mut came.events {
                    naming::change_out(&self.leases, event);
                }
                let message = Message {
                    id: came.id,
                    revision: came.revision,
                    created: came.created,
                    canceled: came.canceled,
                    compact_revision: came.compact_revision,
                    cancel_reason: came.cancel_reason.to_owned(),
                    events: came.events,
                };
                return gather(&mut self.log, stream, message);
            }
            Ok(Some(WatchPart::Failed(error))) => error.message().to_owned(),
            Ok(None) => "the stream ended".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        let items = self.log.entry((stream, None)).or_default();
        items.push(Item::Broken(end));
    }
}

/// A member without a past, and its client; both run.
fn world(release: EtcdVersion, strings: &Strings) -> World {
    let server = WorldBuilder::id_of(MEMBER, &[MEMBER, PUPPET]);
    let config = Config {
        release,
        defects: Set::shipped_with(release),
        sizes: Sizes::of(release),
        ..Config::single(server)
    };
    let client = Client::new(server).without_retries();
    let mut builder = WorldBuilder::new();
    builder.process(MEMBER, Etcd::<Bytes>::new(config));
    builder.process(PUPPET, Puppet::new(client, strings.clone()));
    let mut world = builder.build();
    for process in [MEMBER, PUPPET] {
        let process = process.to_owned();
        act(
            &mut world,
            Time::ZERO,
            &Action::Fault(Fault::Start { process }),
        );
    }
    world
}

fn act(world: &mut World, at: Time, action: &Action) -> Box<Report> {
    world
        .apply(at, Event::Act(action), &mut |sent| sent.nominal)
        .expect("both processes are there, and the puppet obeys")
}

impl Side for Ours {
    fn name(&self) -> String {
        format!("wavetank's etcd {}", self.release)
    }

    fn restart(&mut self) -> Result<(), String> {
        *self = Ours::new(self.release);
        Ok(())
    }

    fn call(&mut self, request: &Request<Bytes>) -> Outcome {
        self.answer = None;
        self.pull(Pull::Call(naming::inbound(&self.leases, request)));
        let limit = self.world.now() + PATIENCE;
        while self.answer.is_none() && self.step(limit) {}
        match self.answer.take() {
            None => Outcome::Unexpected("no answer".to_owned()),
            Some(Err(error)) if ERRORS.contains(&error) => Outcome::Answer(Response::Error(error)),
            Some(Err(error)) => {
                Outcome::Unexpected(format!("{:?}: {}", error.code(), error.message()))
            }
            Some(Ok(mut answer)) => {
                naming::outbound(&self.leases, &mut answer);
                if let (Request::LeaseGrant { id: None, .. }, Response::LeaseGrant { id, .. }) =
                    (request, &mut answer)
                {
                    *id = self.leases.granted(id.0);
                }
                Outcome::Answer(answer)
            }
        }
    }

    fn watch(&mut self, stream: StreamId, request: &WatchRequest) {
        let number = match self.streams.get(&stream) {
            Some(number) => *number,
            None => {
                self.opened += 1;
                self.streams.insert(stream, self.opened);
                self.pull(Pull::Open(self.opened));
                self.opened
            }
        };
        self.pull(Pull::Send(number, request.clone()));
    }

    fn close(&mut self, stream: StreamId) {
        if let Some(number) = self.streams.remove(&stream) {
            self.pull(Pull::Close(number));
        }
    }

    fn wait(&mut self, stream: StreamId, id: Option<WatchId>, until: Until) -> bool {
        let limit = self.world.now() + PATIENCE;
        while !until.is_met(&self.log, stream, id) {
            if !self.step(limit) {
                return false;
            }
        }
        true
    }

    fn take(&mut self) -> Log {
        std::mem::take(&mut self.log)
    }
}

impl Timed for Ours {
    fn now(&self) -> Duration {
        self.world.now().since(Time::ZERO)
    }

    fn pass(&mut self, time: Duration) {
        let end = self.world.now() + time;
        while self.step(end) {}
        // The clock of a world goes on with its events only.
        self.nudge(end);
    }
}
