//! Properties of elections, each judged for every lock by itself: who leads under one lock says nothing of another.
//! Locks become known by what candidates tell, which is before anything is written to them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use wavetank_api::Object;
use wavetank_client::leader_election::{ElectionNote, Lock, OfElection, Record};
use wavetank_components::changes::all_changes;
use wavetank_engine::{Check, Class, Note, ProcId, Property, World};
use wavetank_etcd::{Change, Key, KeyValue};

/// A property of one lock, and of those who are candidates for it.
pub(super) trait OfLock:
    Clone + Eq + Hash + Debug + Default + Send + Sync + 'static
{
    /// The name of the property.
    const NAME: &'static str;
    /// Does a violation decide the verdict?
    const CLASS: Class = Class::Guarantee;

    /// A candidate tells something.
    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        let _ = (world, lock, process, note);
        Check::Idle
    }

    /// The record of the lock is written.
    fn written(&mut self, world: &World, lock: Lock, record: Written<'_>) -> Check {
        let _ = (world, lock, record);
        Check::Idle
    }
}

/// A write of the record of a lock. Who needs a record has it read: most do not need both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a>(&'a Change<Object>);

impl Written<'_> {
    /// What it was.
    pub fn before(self) -> Record {
        record(&self.0.before)
    }

    /// What it is.
    pub fn now(self) -> Record {
        record(&self.0.now)
    }
}

/// It, of each lock that there is: by the key of its primary object, which candidates with several kinds of lock share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EachLock<P>(BTreeMap<Key, (Lock, P)>);

impl<P> Default for EachLock<P> {
    fn default() -> EachLock<P> {
        EachLock(BTreeMap::new())
    }
}

impl<P: OfLock> Property for EachLock<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn class(&self) -> Class {
        P::CLASS
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(OfElection { lock, note: told }) = note.body.get() {
            let known = self.0.values_mut().find(|(known, _)| known == lock);
            let (_, own) = match known {
                Some(known) => known,
                None => self.0.entry(lock.key()).or_insert((*lock, P::default())),
            };
            return own.told(world, *lock, note.process, told);
        }
        for change in all_changes(note) {
            let Some((lock, own)) = self.0.get_mut(&change.key) else {
                continue;
            };
            let check = own.written(world, *lock, Written(change));
            if check != Check::Idle {
                return check;
            }
        }
        Check::Idle
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let is_told = note.body.get::<OfElection>().is_some();
        let concerned = is_told
            || all_changes(note)
                .iter()
                .any(|change| self.0.contains_key(&change.key));
        (!concerned).then_some(Check::Idle)
    }
}

fn record(kv: &Option<KeyValue<Object>>) -> Record {
    let record = kv
        .as_ref()
        .and_then(|kv| Record::in_object(kv.value.json()));
    record.unwrap_or_default()
}
