//! Lets both sides of a run come to rest, and compares what their watches got by then.
//!
//! What is done between two rests is in `run.rs`.

use std::collections::BTreeSet;

use wavetank_etcd::{Key, Keys, Put, Request, Revision, WatchId, WatchRequest, WatchStart};

use crate::etcd::run::{Run, What};
use crate::etcd::side::{Bytes, Item, Log, Side, StreamId, Until};

/// The key that shows, on a watch of its own, that all before it has come.
pub(crate) const REST: &str = "~";
/// Watches from this number on are the runner's own.
pub(crate) const OWN: u32 = 1 << 30;
/// A watch that catches up gets at most so many revisions at a time.
const REVISIONS_PER_PASS: Revision = 1000;

impl<L: Side, R: Side> Run<'_, L, R> {
    /// Sends this on a stream of both.
    pub(crate) fn send(&mut self, stream: StreamId, request: &WatchRequest) {
        self.left.watch(stream, request);
        self.right.watch(stream, request);
    }

    fn wait(&mut self, stream: StreamId, id: WatchId, until: Until) -> Result<(), What> {
        if !self.left.wait(stream, Some(id), until) {
            return Err(What::Silence(self.left.name()));
        }
        if !self.right.wait(stream, Some(id), until) {
            return Err(What::Silence(self.right.name()));
        }
        Ok(())
    }

    /// Opens a watch of the runner's own. What a server sends of itself (created, canceled) comes
    /// in the order of the requests: when it stands, all earlier ones are answered.
    fn open(&mut self, stream: StreamId, from: Revision) -> Result<WatchId, What> {
        let id = WatchId(self.own);
        self.own += 1;
        let start = WatchStart {
            id: Some(id),
            ..WatchStart::of(Keys::one(REST), from)
        };
        self.send(stream, &WatchRequest::Create(start));
        self.wait(stream, id, Until::Created)?;
        Ok(id)
    }

    fn shut(&mut self, stream: StreamId, id: WatchId) -> Result<(), What> {
        self.send(stream, &WatchRequest::Cancel(id));
        self.wait(stream, id, Until::Canceled)
    }

    /// Waits until all that was sent on a stream has its answer.
    pub(crate) fn flush(&mut self, stream: StreamId) -> Result<(), What> {
        let id = self.open(stream, 0)?;
        self.shut(stream, id)?;
        self.take();
        Ok(())
    }

    /// Writes the key that our own watches wait for.
    fn mark(&mut self) -> Result<Revision, What> {
        let put = Put::new(Key::from(REST), Bytes::from([]));
        self.call(&Request::Put(put))?;
        Ok(self.seen.current)
    }

    /// Waits until each watch has all that it must get, and compares what they got.
    ///
    /// All watches of a stream share one queue. A watch of our own that has to catch up gets its
    /// event in the same pass over all such watches (one for each 1000 revisions), and that pass
    /// holds a lock which the next write needs: so an event of a write after that is behind all
    /// others in the queue.
    pub(crate) fn rest(&mut self) -> Result<(), What> {
        let streams: Vec<StreamId> = self.streams.iter().copied().collect();
        if self.at_rest || streams.is_empty() {
            self.at_rest = true;
            return self.compare();
        }
        if let Some(from) = self.behind.take() {
            let passes = 1 + self.seen.current.saturating_sub(from) / REVISIONS_PER_PASS;
            let marked = self.mark()?;
            for _ in 0..passes {
                self.show(&streams, marked, marked)?;
            }
        }
        let next = self.seen.current + 1;
        let mut own = Vec::new();
        for &stream in &streams {
            own.push((stream, self.open(stream, 0)?));
        }
        self.mark()?;
        for (stream, id) in own {
            self.wait(stream, id, Until::Event(next))?;
            self.shut(stream, id)?;
        }
        self.at_rest = true;
        self.take();
        self.compare()
    }

    /// Opens a watch of our own on each stream and waits until it showed a revision.
    fn show(&mut self, streams: &[StreamId], from: Revision, until: Revision) -> Result<(), What> {
        let mut own = Vec::new();
        for &stream in streams {
            own.push((stream, self.open(stream, from)?));
        }
        for (stream, id) in own {
            self.wait(stream, id, Until::Event(until))?;
            self.shut(stream, id)?;
        }
        Ok(())
    }

    /// Collects what came, without what came to our own watches.
    fn take(&mut self) {
        let add = |log: &mut Log, new: Log| {
            for ((stream, id), items) in new {
                if id.is_none_or(|id| id.0 < OWN) {
                    log.entry((stream, id)).or_default().extend(items);
                }
            }
        };
        add(&mut self.logs.0, self.left.take());
        add(&mut self.logs.1, self.right.take());
    }

    /// Compares what watches got since it was last done.
    pub(crate) fn compare(&mut self) -> Result<(), What> {
        let (left, right) = std::mem::take(&mut self.logs);
        self.figures.log(&left);
        let watches: BTreeSet<_> = left.keys().chain(right.keys()).copied().collect();
        for watch in watches {
            let of = |log: &Log| log.get(&watch).cloned().unwrap_or_default();
            let (left, right) = (of(&left), of(&right));
            if left != right {
                let alike = left
                    .iter()
                    .zip(&right)
                    .take_while(|(left, right)| left == right);
                let alike = alike.count();
                let rest = |items: &[Item]| items.iter().skip(alike).take(3).cloned().collect();
                return Err(What::Watch(watch.0, watch.1, rest(&left), rest(&right)));
            }
        }
        Ok(())
    }
}
