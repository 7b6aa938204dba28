//! What it costs to tell watches of a write: from the commit to the response that goes out, without
//! connections. Each write is told before the next one, as an idle member does.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wavetank_etcd::{
    Channel, Keys, Leases, Limits, Put, Store, WatchQuirks, WatchRequest, WatchStart, Watches,
};

use super::{Bytes, KEYS, Key, ROUNDS, filled, key, resident};

const WATCHES: usize = 1000;
/// In a round.
const WRITES: usize = 100;

/// What watches watch.
#[derive(Clone, Copy)]
enum Watched {
    /// All the same prefix, with all keys: each write is an event for each of them.
    Prefix,
    /// A key each, and those are written: each write is an event for one of them.
    OneKeyEach,
    /// A key each, and others are written.
    NothingThatChanges,
}

struct Member {
    store: Store<Bytes>,
    watches: Watches<Bytes, usize>,
    streams: usize,
}

impl Member {
    /// The watches are spread evenly over so many streams.
    fn new(store: Store<Bytes>, keys: &[Key], watched: Watched, streams: usize) -> Member {
        // No watch is to fall behind for want of room on its stream.
        let limits = Limits {
            channel: WATCHES + 1,
            control: WATCHES + 1,
            ..Limits::default()
        };
        let mut member = Member {
            store,
            watches: Watches::new(limits, WatchQuirks::default()),
            streams,
        };
        (0..streams).for_each(|stream| member.watches.open(stream));
        for number in 0..WATCHES {
            let keys = match watched {
                Watched::Prefix => Keys::prefix("/registry/pods/"),
                Watched::OneKeyEach | Watched::NothingThatChanges => {
                    Keys::One(keys[number].clone())
                }
            };
            let create = WatchRequest::Create(WatchStart::of(keys, 0));
            let stream = number % streams;
            member.watches.request(&member.store, stream, create);
        }
        assert_eq!(member.drain(), 0);
        member
    }

    fn put(&mut self, key: &Key, value: &Bytes) {
        let put = Put::new(key.clone(), value.clone());
        let done = self.store.put(&put, &Leases::default());
        let (done, changes) = done.expect("a put");
        self.watches.notify(done.revision, &changes);
    }

    /// Takes what there is to send; how many events are in it?
    fn drain(&mut self) -> usize {
        let mut events = 0;
        for stream in 0..self.streams {
            while let Some(response) = self.watches.next_from(&self.store, stream, Channel::Events)
            {
                events += response.events.len();
                black_box(response);
            }
        }
        events
    }
}

/// The nanoseconds of a write and what it causes, and how many events that is.
fn nanos(keys: &[Key], value: &Bytes, watched: Watched, streams: usize) -> (f64, usize) {
    let own = filled(keys, value);
    let (mut best, mut events) = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let mut member = Member::new(own.clone(), keys, watched, streams);
        // What is copied at the first write does not count.
        keys.iter().for_each(|key| {
            let put = Put::new(key.clone(), value.clone());
            black_box(member.store.put(&put, &Leases::default()).expect("a put"));
        });
        let offset = match watched {
            Watched::NothingThatChanges => WATCHES,
            Watched::Prefix | Watched::OneKeyEach => 0,
        };
        events = 0;
        let start = Instant::now();
        for write in 0..WRITES {
            member.put(&keys[offset + write * 7919 % WATCHES], value);
            events += member.drain();
        }
        best = best.min(start.elapsed());
    }
    (best.as_nanos() as f64 / WRITES as f64, events / WRITES)
}

pub fn time(put: f64) {
    let keys: Vec<Key> = (0..KEYS).map(key).collect();
    let value = Bytes::from([0; 100]);
    println!(
        "a write among {KEYS} keys and {WATCHES} watches     ns a write   events   ns an event   to a put"
    );
    for (what, watched) in [
        ("all of the prefix", Watched::Prefix),
        ("of a key each", Watched::OneKeyEach),
        ("of keys that do not change", Watched::NothingThatChanges),
    ] {
        for (streams, on) in [(1, "one stream"), (WATCHES, "a stream each")] {
            let (nanos, events) = nanos(&keys, &value, watched, streams);
            let told = nanos - put;
            let each = told / events.max(1) as f64;
            println!(
                "  {:<42} {nanos:>10.0} {events:>8} {each:>13.0} {:>10.2}",
                format!("{what}, {on}"),
                each / put
            );
        }
    }
}

fn watching(store: &Store<Bytes>, keys: &[Key], streams: usize) -> Watches<Bytes, usize> {
    let mut watches = Watches::new(Limits::default(), WatchQuirks::default());
    for (stream, keys) in keys.chunks(keys.len() / streams).enumerate() {
        watches.open(stream);
        for key in keys {
            let start = WatchStart::of(Keys::One(key.clone()), 0);
            watches.request(store, stream, WatchRequest::Create(start));
            while watches.next(store, stream).is_some() {}
        }
    }
    watches
}

/// What watches hold that nothing happens to.
pub fn memory() {
    const MANY: usize = 10_000;
    let store = Store::default();
    let keys: Vec<Key> = (0..MANY).map(key).collect();
    let Some(before) = resident() else {
        return;
    };
    let together = watching(&store, &keys, 10);
    let with_some = resident().unwrap_or(before);
    let apart = watching(&store, &keys, MANY);
    let with_all = resident().unwrap_or(with_some);
    println!("memory, in bytes, of {MANY} each");
    for (what, from, to) in [
        ("a watch, 1000 to a stream", before, with_some),
        ("a watch with a stream of its own", with_some, with_all),
    ] {
        println!("  {what:<48} {:>9}", (to - from) / MANY);
    }
    black_box((together, apart));
}
