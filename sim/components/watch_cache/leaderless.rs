//! What watch caches make of an etcd that cannot tell them anything.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_apiserver::cacher::CacheNote;
use wavetank_engine::{Check, Instant, Note, ProcId, Property, Status, World};
use wavetank_etcd::Etcd;

use crate::promises::violated;
use crate::view::ClusterView;

/// A member looks three times, a second apart, before it ends watches that require a leader; that comes
/// through, or the connection was dead: etcd's keep-alive notices that within 40 s, and a new one may be
/// dialled as late. A routine that gets no turn may need 20 s more.
const NOTICED: Duration = Duration::from_secs(75);

/// An apiserver whose member of etcd has no leader does not go on as if its watch caches were up to date
/// (k/k#89488): they are filled no longer. Caches that were held are not looked at until they are filled anew.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderlessCachesEnd {
    /// Since when the member of an apiserver has had no leader, with all else well.
    since: BTreeMap<ProcId, Instant>,
    /// Caches that are filled, of this life of a server.
    filled: BTreeMap<ProcId, (u32, BTreeSet<&'static str>)>,
    /// Servers that were judged since then.
    judged: BTreeSet<ProcId>,
}

impl LeaderlessCachesEnd {
    fn noted(&mut self, world: &World, process: ProcId, note: &CacheNote) {
        let life = world.incarnation(process);
        let (of, filled) = self.filled.entry(process).or_default();
        if *of != life {
            (*of, *filled) = (life, BTreeSet::new());
        }
        match note {
            CacheNote::Filled(resource, _) => {
                filled.insert(resource.registry);
            }
            CacheNote::Broke(resource, _)
            | CacheNote::TornDown(resource)
            | CacheNote::Held(resource) => {
                filled.remove(resource.registry);
            }
            _ => {}
        }
    }

    fn look(&mut self, world: &World) -> Check {
        let runs = |process| world.status(process) == Status::Up && !world.is_paused(process);
        let mut check = Check::Idle;
        for (server, state) in ClusterView(world).apiservers() {
            // Who knows several goes on with another.
            let Some(member) = state.config().etcd.only() else {
                continue;
            };
            let leads = world.process::<Etcd<Object>>(member);
            let leaderless = leads.is_some_and(|member| !member.has_leader());
            // Who does not reach it hears nothing: etcd's client tries again and again, and waits.
            let cut = world.is_cut(server, member) || world.is_cut(member, server);
            if !leaderless || cut || !runs(server) || !runs(member) {
                self.since.remove(&server);
                self.judged.remove(&server);
                continue;
            }
            let since = *self.since.entry(server).or_insert(Instant(world.now()));
            if world.now().since(since.0) < NOTICED || !self.judged.insert(server) {
                continue;
            }
            let filled = self.filled.get(&server);
            let filled = filled.filter(|(life, _)| *life == world.incarnation(server));
            if let Some(cache) = filled.and_then(|(_, filled)| filled.first()) {
                let (server, member) = (world.name(server), world.name(member));
                let message = format!(
                    "the cache of {cache} in {server} seems to be up to date, and {member} has had \
                     no leader for {} s",
                    NOTICED.as_secs()
                );
                return violated("cache", server, message);
            }
            check = Check::Held;
        }
        check
    }
}

impl Property for LeaderlessCachesEnd {
    fn name(&self) -> &'static str {
        "leaderless-caches-end"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(own) = note.body.get::<CacheNote>() {
            self.noted(world, note.process, own);
        }
        self.look(world)
    }
}
