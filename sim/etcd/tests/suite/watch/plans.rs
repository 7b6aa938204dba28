//! Random plans against the guarantees of a watch. A plan is a list of steps; a client of each
//! stream checks each response. Each quirk has to be found by the same search.

use proptest::prelude::TestCaseError;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wavetank_etcd::{
    Channel, Filters, History, Limits, Revision, WatchGroup, WatchId, WatchQuirks, WatchRequest,
    WatchStart, Watches,
};

use crate::watch::client::Client;
use crate::watch::log::{Bytes, Log};
use crate::watch::steps::{Create, KEYS, Plan, STREAMS, Step, plan};

struct Run {
    log: Log,
    watches: Watches<Bytes, u8>,
    clients: [Client; 2],
}

impl Run {
    fn new(limits: Limits, quirks: WatchQuirks) -> Run {
        let mut watches = Watches::new(limits, quirks);
        for stream in STREAMS {
            watches.open(stream);
        }
        Run {
            log: Log::new(),
            watches,
            clients: Default::default(),
        }
    }

    fn write(&mut self, ops: &[(usize, bool)]) -> Option<Revision> {
        let mut ops = ops.to_vec();
        ops.sort_unstable();
        ops.dedup_by_key(|(key, _)| *key);
        let value: &[u8] = &self.log.revision().to_be_bytes()[7..];
        let ops = ops
            .iter()
            .map(|&(key, put)| (KEYS[key], put.then_some(value)));
        self.log.write(&ops.collect::<Vec<_>>())
    }

    fn write_and_notify(&mut self, ops: &[(usize, bool)]) {
        if let Some(revision) = self.write(ops) {
            let (_, changes) = self.log.commits().last().expect("just written");
            self.watches.notify(revision, changes);
        }
    }

    fn compact(&mut self, below: u64) {
        let revision = self.log.revision().saturating_sub(below);
        if revision > self.log.compacted() {
            self.log.compact(revision);
        }
    }

    fn start(&self, create: &Create) -> WatchStart {
        let at = |offset: i64| self.log.revision().saturating_add_signed(offset).max(1);
        WatchStart {
            prev_kv: create.prev_kv,
            fragment: create.fragment,
            progress_notify: true,
            filters: Filters {
                no_put: create.no_put,
                no_delete: create.no_delete,
            },
            ..WatchStart::of(create.keys.clone(), create.start.map_or(0, at))
        }
    }

    fn read(&mut self, stream: u8, first: Channel) -> Result<bool, String> {
        let client = &mut self.clients[usize::from(stream)];
        let Some(response) = self.watches.next_from(&self.log, stream, first) else {
            client.read_all();
            return Ok(false);
        };
        let what = format!("stream {stream}: {response:?}");
        client
            .receive(response, &self.log)
            .map_err(|why| format!("{why}\nat {what}"))?;
        Ok(true)
    }

    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Write(ops) => self.write_and_notify(ops),
            Step::Install(ops, compact) => {
                for op in ops {
                    self.write(&[*op]);
                }
                if let Some(below) = compact {
                    self.compact(*below);
                }
                self.watches.restore();
            }
            Step::Compact(below) => self.compact(*below),
            Step::Create(stream, create) => {
                let start = self.start(create);
                self.clients[usize::from(*stream)].creates(start.clone(), None);
                self.watches
                    .request(&self.log, *stream, WatchRequest::Create(start));
            }
            Step::CreateAround(stream, create, op) => {
                let start = self.start(create);
                let client = &mut self.clients[usize::from(*stream)];
                if self.watches.begin_create(&self.log, *stream, start.clone()) {
                    client.creates(start, Some(self.log.revision()));
                    self.write_and_notify(&[*op]);
                    self.watches.finish_create(&self.log, *stream);
                } else {
                    client.creates(start, None);
                }
            }
            Step::Cancel(stream, id) => {
                let client = &mut self.clients[usize::from(*stream)];
                if client.cancels(WatchId(*id)) {
                    let request = WatchRequest::Cancel(WatchId(*id));
                    self.watches.request(&self.log, *stream, request);
                }
            }
            Step::Progress(stream) => {
                self.clients[usize::from(*stream)].asks_progress();
                self.watches
                    .request(&self.log, *stream, WatchRequest::Progress);
            }
            Step::Tick(stream) => self.watches.tick_progress(&self.log, *stream),
            Step::Sync => {
                self.watches.sync(&self.log);
            }
            Step::Retry => {
                self.watches.retry_victims(&self.log);
            }
            Step::Read(stream, times, events) => {
                let first = if *events {
                    Channel::Events
                } else {
                    Channel::Control
                };
                for _ in 0..*times {
                    self.read(*stream, first)?;
                }
            }
            Step::Reopen(stream) => {
                self.watches.open(*stream);
                self.clients[usize::from(*stream)] = Client::default();
            }
        }
        Ok(())
    }

    /// In the calm every watch gets all that it is owed, and requests for progress an answer.
    fn calm(&mut self) -> Result<(), String> {
        for _ in 0..1000 {
            for stream in STREAMS {
                while self.read(stream, Channel::Events)? {}
                let ended: Vec<WatchId> = self.clients[usize::from(stream)].ended().collect();
                for id in ended {
                    self.clients[usize::from(stream)].cancels(id);
                    self.watches
                        .request(&self.log, stream, WatchRequest::Cancel(id));
                }
            }
            self.watches.retry_victims(&self.log);
            self.watches.sync(&self.log);
            if self.watches.is_idle() {
                break;
            }
        }
        if !self.watches.is_idle() {
            return Err("no rest".into());
        }
        for stream in STREAMS {
            let client = &self.clients[usize::from(stream)];
            client.complete(&self.log)?;
            let own = || self.watches.watches().filter(|w| w.stream == stream);
            let owed = own().count() > 0;
            if own().any(|w| w.group != WatchGroup::Synced || w.start > self.log.revision()) {
                continue;
            }
            let before = client.progresses;
            self.watches
                .request(&self.log, stream, WatchRequest::Progress);
            while self.read(stream, Channel::Events)? {}
            let told = self.clients[usize::from(stream)].progresses - before;
            if told == 0 && owed {
                return Err(format!("stream {stream}: no answer about progress"));
            }
        }
        Ok(())
    }
}

fn run((limits, steps): &Plan, quirks: WatchQuirks) -> Result<(), String> {
    let mut run = Run::new(*limits, quirks);
    for step in steps {
        run.take(step)?;
    }
    run.calm()
}

fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn holds(quirks: WatchQuirks, cases: u32) -> Result<(), String> {
    let fails = runner(cases).run(&plan(), |plan| {
        run(&plan, quirks).map_err(TestCaseError::fail)
    });
    fails.map_err(|error| error.to_string())
}

#[test]
fn the_guarantees_hold() {
    if let Err(why) = holds(WatchQuirks::default(), 6000) {
        panic!("{why}");
    }
}

#[test]
fn the_guarantees_hold_with_the_old_order_of_creation() {
    let quirks = WatchQuirks {
        created_header_before: true,
        ..WatchQuirks::default()
    };
    if let Err(why) = holds(quirks, 2000) {
        panic!("{why}");
    }
}

#[test]
fn each_quirk_is_found() {
    type Set = fn(&mut WatchQuirks);
    let all: [(&str, Set, &str); 6] = [
        (
            "15220",
            |q| q.progress_overtakes_events = true,
            "progress above",
        ),
        (
            "17507",
            |q| q.progress_latch = true,
            "no answer about progress",
        ),
        ("17529", |q| q.full_channel_hides_compaction = true, "miss"),
        ("15271", |q| q.min_rev_stays = true, "again"),
        (
            "20221a",
            |q| q.progress_below_start = true,
            "below its start",
        ),
        (
            "20221b",
            |q| q.sync_lowers_min_rev = true,
            "below its start",
        ),
    ];
    for (name, set, text) in all {
        let mut quirks = WatchQuirks::default();
        set(&mut quirks);
        let why = holds(quirks, 20_000).expect_err(name);
        assert!(
            why.contains(text),
            "{name} was found as something else: {why}"
        );
    }
}
