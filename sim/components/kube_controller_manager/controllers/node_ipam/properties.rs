//! What networks of pods rely on: no address belongs to two nodes, and once all has been well for a while each node has its ranges as
//! long as there are any, those that are taken are those that nodes have, and no node is given any more.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::kinds::NODES;
use wavetank_api::{Object, json};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::changes::{changes, is_of};
use wavetank_components::promises::{always, reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Change;

use super::cidr_set::Cidr;
use super::controller::{CONTROLLER, pod_cidrs};
use super::notes::{Assigns, Books, Did};
use super::{NEEDED, USE, USERS};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

/// A node for which there was no range is tried again after up to 1000 s.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(1000 + 2 * 60);

/// There have to be nodes that come and go.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "1"),
    Entry::new("workload", USE, "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "node-ranges-do-not-overlap",
            "no address is in the ranges of two nodes",
            NEEDED,
            |_| Box::new(always("node-ranges-do-not-overlap", do_not_overlap)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "nodes-have-ranges",
            "some time after calm each node has a range of each family, as long as there are any",
            NEEDED,
            |settled| Box::new(AtTheEnd::new("nodes-have-ranges", settled, have_ranges)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "taken-ranges-are-those-of-nodes",
            "some time after calm the controller takes those ranges for taken that nodes have, and no others",
            NEEDED,
            |settled| Box::new(AtTheEnd::new("taken-ranges-are-those-of-nodes", settled, add_up)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "ranges-are-quiet",
            "some time after calm no node is given a range any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "ranges-ran-out",
            "a node was to have a range of a family, and there was none left",
            NEEDED,
            |_, note| note.body.get().is_some_and(|own: &Books| own.ran_out),
        )
        .fits(users),
    ]
}

/// The ranges of a node that are ranges.
fn ranges(node: &Object) -> Vec<Cidr> {
    pod_cidrs(node.json()).into_iter().flatten().collect()
}

fn do_not_overlap(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &NODES) {
        let Some(now) = &change.now else {
            continue;
        };
        let own = ranges(&now.value);
        if own.is_empty() {
            continue;
        }
        checked = Check::Held;
        let name = now.value.name();
        for other in ClusterView(world).all(NODES.registry) {
            let theirs = ranges(other);
            let mut shared = theirs
                .iter()
                .filter(|cidr| own.iter().any(|own| own.overlaps(**cidr)));
            if let Some(shared) = shared.next().filter(|_| other.name() != name) {
                let message = format!("{name} and {} have {shared}", other.name());
                return violated("range", &shared.to_string(), message);
            }
        }
    }
    checked
}

/// What is looked at once all has been well for a while, by the books of who leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct AtTheEnd {
    name: &'static str,
    after: Duration,
    judge: wavetank_engine::NotState<fn(&World, &Books) -> Check>,
    leader: Option<ProcId>,
    books: Option<Books>,
}

impl AtTheEnd {
    fn new(name: &'static str, after: Duration, judge: fn(&World, &Books) -> Check) -> AtTheEnd {
        AtTheEnd {
            name,
            after,
            judge: wavetank_engine::NotState(judge),
            leader: None,
            books: None,
        }
    }
}

impl Property for AtTheEnd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        note.body.get::<Books>().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(books) = note.body.get::<Books>() {
            if books.did == Did::Begins {
                self.leader = Some(note.process);
            }
            if self.leader == Some(note.process) {
                self.books = Some(books.clone());
            }
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        match &self.books {
            Some(books) if somebody_runs(world, CONTROLLER) => (self.judge)(world, books),
            _ => Check::Idle,
        }
    }
}

fn have_ranges(world: &World, books: &Books) -> Check {
    let mut checked = Check::Idle;
    for node in ClusterView(world).all(NODES.registry) {
        if node.is_being_deleted() {
            continue;
        }
        checked = Check::Held;
        let has = json::list(node.json(), &["spec", "podCIDRs"]).len();
        if has == 0 && !books.is_full {
            let name = node.name();
            let message = format!("{name} has no range, and the controller has some left");
            return violated("node", name, message);
        }
    }
    checked
}

fn add_up(world: &World, books: &Books) -> Check {
    let nodes = ClusterView(world).all(NODES.registry);
    let owned: BTreeSet<Cidr> = nodes.iter().flat_map(|node| ranges(node)).collect();
    let used: BTreeSet<Cidr> = books.used.iter().copied().collect();
    if let Some(leaked) = used.difference(&owned).next() {
        let message = format!("{leaked} is taken, and no node has it");
        return violated("range", &leaked.to_string(), message);
    }
    match owned.difference(&used).next() {
        None if nodes.is_empty() => Check::Idle,
        None => Check::Held,
        Some(free) => {
            let message = format!("{free} is free, and a node has it");
            violated("range", &free.to_string(), message)
        }
    }
}

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let of = change.now.as_ref().or(change.before.as_ref());
    let own = of.filter(|_| is_of(change, &NODES));
    own.map(|kv| kv.value.name().into()).into_iter().collect()
}

const REST: Rest = Rest {
    property: "ranges-are-quiet",
    controller: CONTROLLER,
    kind: "node",
    acts: |node| format!("{node} is given a range"),
    act: |note| {
        let own: &Assigns = note.body.get()?;
        let name = own.node.clone();
        Some(Act {
            on: name.clone(),
            name,
        })
    },
    concerns,
    follows: |_, node, changed| changed.contains(node),
};
