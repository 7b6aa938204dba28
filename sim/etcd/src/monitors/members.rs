//! What members owe each other: the same content after the same entry, and no way back.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use imbl::OrdMap;
use wavetank_engine::{Check, Digest, Note, Property, World, digest};

use crate::api::{Revision, Value};
use crate::raft::MemberId;
use crate::server::{Applied, Etcd, Installed};
use crate::summed::Summed;

use super::violated;

/// So many entries are remembered: a member that lags more is not compared.
const REMEMBERED: usize = 1024;

/// `members-agree`: whoever has applied the same entries has the same keys, history and leases.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MembersAgree<V> {
    /// By entry, who was there first and what it had then.
    known: Summed<OrdMap<u64, (MemberId, Digest)>>,
    /// The sum of their digests: what is hashed.
    digest: Digest,
    value: PhantomData<V>,
}

impl<V> Default for MembersAgree<V> {
    fn default() -> Self {
        MembersAgree {
            known: Summed(OrdMap::new()),
            digest: 0,
            value: PhantomData,
        }
    }
}

/// Which member, its last entry, its revision.
fn applied(note: &Note) -> Option<(MemberId, u64, Revision)> {
    let applied = note.body.get::<Applied>();
    let applied = applied.map(|n| (n.member, n.index, n.revision));
    let installed = note.body.get::<Installed>();
    applied.or(installed.map(|n| (n.member, n.index, n.revision)))
}

impl<V: Value> MembersAgree<V> {
    fn compare(&mut self, world: &World, note: &Note, index: u64, content: Digest) -> Check {
        let (member, ..) = applied(note).expect("it was just now");
        let Some((first, known)) = self.known.get(&index) else {
            let (entry, oldest) = ((member, content), self.known.get_min().cloned());
            self.digest = self.digest.wrapping_add(digest(&(index, entry)));
            self.known.insert(index, entry);
            if let Some(oldest) = oldest.filter(|_| self.known.len() > REMEMBERED) {
                self.digest = self.digest.wrapping_sub(digest(&oldest));
                self.known.remove(&oldest.0);
            }
            return Check::Idle;
        };
        if *known == content {
            return Check::Held;
        }
        let name = world.name(note.process);
        let message = format!(
            "{name} and member {} differ after entry {index} of the log",
            first.0
        );
        violated("member", name, message)
    }
}

impl<V: Value> Property for MembersAgree<V> {
    fn name(&self) -> &'static str {
        "members-agree"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some((_, index, _)) = applied(note) else {
            return Check::Idle;
        };
        match world.process::<Etcd<V>>(note.process) {
            // Of several entries in one event only the last is seen.
            Some(member) if member.state().index == index => {
                let state = member.state();
                let content = digest(&(&state.store, &state.leases));
                self.compare(world, note, index, content)
            }
            _ => Check::Idle,
        }
    }
}

/// `revisions-never-go-back`: a member that has applied more has no older revision.
///
/// After a crash it may begin with less, and apply it again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RevisionsNeverGoBack {
    known: BTreeMap<MemberId, (u64, Revision)>,
}

impl Property for RevisionsNeverGoBack {
    fn name(&self) -> &'static str {
        "revisions-never-go-back"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some((member, index, revision)) = applied(note) else {
            return Check::Idle;
        };
        match self.known.insert(member, (index, revision)) {
            Some((before, known)) if before <= index && revision < known => {
                let name = world.name(note.process);
                let message = format!("{name} went back from revision {known} to {revision}");
                violated("member", name, message)
            }
            Some(_) => Check::Held,
            None => Check::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Bytes, is_violated};
    use super::*;

    fn applied(member: u8, index: u64, revision: Revision) -> Applied {
        Applied {
            member: MemberId(member),
            term: 1,
            index,
            revision,
        }
    }

    #[test]
    fn another_content_after_the_same_entry_is_found() {
        let bench = Bench::new();
        let mut monitor = MembersAgree::<Bytes>::default();
        let notes = [0, 1].map(|member| bench.note(applied(member, 5, 4)));
        let [first, second] = notes;
        assert_eq!(monitor.compare(&bench.world, &first, 5, 7), Check::Idle);
        let same = monitor.clone().compare(&bench.world, &second, 5, 7);
        assert_eq!(same, Check::Held);
        assert!(is_violated(&monitor.compare(&bench.world, &second, 5, 8)));
    }

    #[test]
    fn members_are_asked_for_their_content() {
        let bench = Bench::new();
        let mut monitor = MembersAgree::<Bytes>::default();
        let notes = [0, 1].map(|member| bench.note(applied(member, 0, 1)));
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
    }

    #[test]
    fn an_older_revision_is_found_unless_it_is_applied_again() {
        let bench = Bench::new();
        let mut monitor = RevisionsNeverGoBack::default();
        let mut feed = |index, revision| {
            let notes = [bench.note(applied(0, index, revision))];
            bench.feed(&mut monitor, &notes)
        };
        assert_eq!(feed(5, 4), Check::Idle);
        assert_eq!(feed(6, 4), Check::Held);
        assert_eq!(feed(3, 2), Check::Held);
        assert_eq!(feed(4, 3), Check::Held);
        assert!(is_violated(&feed(5, 2)));
    }
}
