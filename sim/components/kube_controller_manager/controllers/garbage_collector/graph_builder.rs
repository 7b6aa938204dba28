//! What informers show becomes the graph (`pkg/controller/garbagecollector/graph_builder.go`, from
//! `processGraphChanges` on). This is pure: what is to be looked at comes back in the order in which upstream puts it into
//! its queues.

use std::sync::Arc;

use wavetank_version::Set;

use super::defects::CollectorDefect;
use super::graph::{Graph, Metadata, Node, NodeId, ObjectReference, OwnerReference};
use super::uid_cache::ReferenceCache;

/// `eventType`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum EventType {
    Add,
    Update,
    Delete,
}

/// `event`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Event {
    /// It comes from no informer: a worker has found that there is no such object.
    pub is_virtual: bool,
    pub event_type: EventType,
    pub object: Metadata,
    pub old: Option<Metadata>,
}

/// What a change of the graph puts into a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Enqueued {
    Delete(NodeId),
    /// `AddRateLimited`
    DeleteLater(NodeId),
    Orphan(NodeId),
}

/// `GraphBuilder`, while it processes one event.
#[derive(Debug)]
pub(super) struct GraphBuilder<'a> {
    pub graph: &'a mut Graph,
    pub absent_owners: &'a mut ReferenceCache,
    pub defects: Set<CollectorDefect>,
    pub enqueued: Vec<Enqueued>,
    /// What an informer had shown, and a virtual event took away.
    pub forgotten: Option<ObjectReference>,
}

/// `referencesDiffs`: those that were added, that were removed, and that changed.
type Diffs = (
    Vec<OwnerReference>,
    Vec<OwnerReference>,
    Vec<(OwnerReference, OwnerReference)>,
);

/// `referencesDiffs`. Of several references to one UID the last old one and the first new one count.
fn references_diffs(old: &[OwnerReference], new: &[OwnerReference]) -> Diffs {
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    let mut left: Vec<&OwnerReference> = Vec::new();
    for reference in old {
        left.retain(|known| known.uid != reference.uid);
        left.push(reference);
    }
    for reference in new {
        match left.iter().position(|known| known.uid == reference.uid) {
            Some(at) => {
                let known = left.remove(at);
                if known != reference {
                    changed.push((known.clone(), reference.clone()));
                }
            }
            None => added.push(reference.clone()),
        }
    }
    let removed = left.into_iter().cloned().collect();
    (added, removed, changed)
}

/// `deletionStartsWithFinalizer`: is the object being deleted with this finalizer, and was not before?
fn deletion_starts_with_finalizer(
    old: Option<&Metadata>,
    new: &Metadata,
    has: fn(&Metadata) -> bool,
) -> bool {
    let is = |object: &Metadata| object.being_deleted && has(object);
    is(new) && !old.is_some_and(is)
}

impl GraphBuilder<'_> {
    fn add(&mut self, id: NodeId) {
        self.enqueued.push(Enqueued::Delete(id));
    }

    /// `processGraphChanges`, of one event.
    pub fn process_graph_changes(&mut self, event: &Event) {
        let uid = &event.object.identity.uid;
        let mut found = self.graph.read(uid);
        if let Some(existing) = found
            && !event.is_virtual
            && self.graph.node(existing).is_virtual
        {
            found = Some(self.observe(existing, &event.object.identity));
        }
        match (event.event_type, found) {
            (EventType::Add | EventType::Update, None) => {
                let id = self.graph.write(Node::observed(&event.object));
                self.add_dependent_to_owners(id, &event.object.owners);
                self.process_transitions(event, id);
            }
            (EventType::Add | EventType::Update, Some(id)) => {
                self.update_owners(id, &event.object.owners);
                if event.object.being_deleted {
                    self.graph.node_mut(id).being_deleted = true;
                }
                self.process_transitions(event, id);
            }
            (EventType::Delete, None) => {}
            (EventType::Delete, Some(id)) => {
                if !event.is_virtual || self.is_removed_by(id, &event.object.identity) {
                    let node = self.graph.node(id);
                    let is_forgotten = event.is_virtual && !node.is_virtual;
                    self.forgotten = is_forgotten.then(|| node.identity.clone());
                    self.remove_existing(id, &event.object.identity);
                }
            }
        }
    }

    /// A node to which somebody referred is seen by an informer. If it is another than was thought, a node with its real
    /// identity takes its place.
    fn observe(&mut self, existing: NodeId, observed: &ObjectReference) -> NodeId {
        let mut id = existing;
        if self.graph.node(id).identity != *observed {
            let (_, invalid) = self.partition_dependents(id, observed);
            if !self
                .defects
                .has(CollectorDefect::InvalidReferencesUnchecked)
            {
                for dependent in invalid {
                    self.add(dependent);
                }
            }
            let mut node = self.graph.node(id).clone();
            node.identity = observed.clone();
            id = self.graph.write(node);
        }
        self.graph.node_mut(id).is_virtual = false;
        id
    }

    /// An object's references have changed, perhaps.
    fn update_owners(&mut self, id: NodeId, owners: &Arc<[OwnerReference]>) {
        let (added, removed, changed) = references_diffs(&self.graph.node(id).owners, owners);
        if added.is_empty() && removed.is_empty() && changed.is_empty() {
            return;
        }
        self.add_unblocked_owners_to_delete_queue(&removed, &changed);
        self.graph.node_mut(id).owners = owners.clone();
        self.add_dependent_to_owners(id, &added);
        // Upstream does not look whether there is such an owner, as it does where an object is made with this reference.
        if !changed.is_empty()
            && self
                .defects
                .has(CollectorDefect::FixChangedReferencesAreChecked)
        {
            let changed: Vec<_> = changed.into_iter().map(|(_, new)| new).collect();
            self.add_dependent_to_owners(id, &changed);
        }
        self.remove_dependent_from_owners(id, &removed);
    }

    /// `addDependentToOwners`: owners that nobody knows become virtual nodes, and are looked for.
    fn add_dependent_to_owners(&mut self, id: NodeId, owners: &[OwnerReference]) {
        let namespace = self.graph.node(id).identity.namespace.clone();
        let mut has_potentially_invalid_reference = false;
        for owner in owners {
            let known = self.graph.read(&owner.uid);
            let owner_id = known.unwrap_or_else(|| {
                let identity = owner.owner_reference_coordinates(&namespace);
                self.graph.write(Node::virtual_of(identity))
            });
            self.graph.node_mut(owner_id).dependents.insert(id);
            if known.is_none() {
                if !self.defects.has(CollectorDefect::VirtualOwnersUnasked) {
                    self.add(owner_id);
                }
                continue;
            }
            let node = self.graph.node(owner_id);
            let is_namespaced = !node.identity.namespace.is_empty();
            let lies_elsewhere = node.identity.namespace != namespace;
            // A reference to another namespace, or with other coordinates, or to what lies in none as far as is known.
            has_potentially_invalid_reference |= !owner
                .owner_reference_matches_coordinates(&node.identity)
                || lies_elsewhere && (is_namespaced || node.is_virtual);
        }
        if has_potentially_invalid_reference
            && !self
                .defects
                .has(CollectorDefect::InvalidReferencesUnchecked)
        {
            self.add(id);
        }
    }

    /// `removeDependentFromOwners`
    fn remove_dependent_from_owners(&mut self, id: NodeId, owners: &[OwnerReference]) {
        for owner in owners {
            if let Some(owner) = self.graph.read(&owner.uid) {
                self.graph.node_mut(owner).dependents.remove(&id);
            }
        }
    }

    /// `addUnblockedOwnersToDeleteQueue`
    fn add_unblocked_owners_to_delete_queue(
        &mut self,
        removed: &[OwnerReference],
        changed: &[(OwnerReference, OwnerReference)],
    ) {
        let removed = removed.iter().filter(|reference| reference.blocks());
        let changed = changed
            .iter()
            .filter(|(old, new)| old.blocks() && !new.blocks());
        let unblocked = removed.chain(changed.map(|(_, new)| new));
        let unblocked: Vec<NodeId> = unblocked
            .filter_map(|reference| self.graph.read(&reference.uid))
            .collect();
        if unblocked.is_empty() || self.defects.has(CollectorDefect::UnblockedOwnersStay) {
            return;
        }
        for owner in unblocked {
            self.add(owner);
        }
    }

    /// `processTransitions`
    fn process_transitions(&mut self, event: &Event, id: NodeId) {
        let (old, new) = (event.old.as_ref(), &event.object);
        if deletion_starts_with_finalizer(old, new, |object| object.orphans_dependents) {
            self.enqueued.push(Enqueued::Orphan(id));
            return;
        }
        if deletion_starts_with_finalizer(old, new, |object| object.deletes_dependents) {
            self.graph.node_mut(id).deleting_dependents = true;
            for dependent in self.graph.get_dependents(id) {
                self.add(dependent);
            }
            self.add(id);
        }
    }

    /// Does a virtual event remove this node? Somebody may refer to another object by the same UID.
    fn is_removed_by(&mut self, id: NodeId, deleted: &ObjectReference) -> bool {
        let is_virtual = self.graph.node(id).is_virtual;
        let is_other = self.graph.node(id).identity != *deleted;
        let (matching, nonmatching) = self.partition_dependents(id, deleted);
        let stays = match is_virtual {
            // Nobody is sure what it is: those who think of another object keep it.
            true => !nonmatching.is_empty(),
            false => {
                is_other
                    && !self
                        .defects
                        .has(CollectorDefect::VirtualEventRemovesObserved)
            }
        };
        if !stays {
            return true;
        }
        if !matching.is_empty() {
            self.absent_owners.add(deleted.clone());
            for dependent in matching {
                self.add(dependent);
            }
        }
        if is_virtual && !is_other {
            let alternate = self.get_alternate_owner_identity(&nonmatching, deleted);
            if let Some(identity) = alternate {
                let mut node = self.graph.node(id).clone();
                node.identity = identity;
                let replacement = self.graph.write(node);
                self.enqueued.push(Enqueued::DeleteLater(replacement));
            }
        }
        false
    }

    /// The node leaves the graph. Who depended on it, and who waits for it, is looked at.
    fn remove_existing(&mut self, id: NodeId, gone: &ObjectReference) {
        let owners = self.graph.node(id).owners.clone();
        let uid = self.graph.node(id).identity.uid.clone();
        self.graph.delete(&uid);
        self.remove_dependent_from_owners(id, &owners);
        let dependents = self.graph.get_dependents(id);
        if !dependents.is_empty() {
            self.absent_owners.add(gone.clone());
        }
        for dependent in dependents {
            self.add(dependent);
        }
        for owner in &*owners {
            let owner = self.graph.read(&owner.uid);
            let waits = |id: &NodeId| self.graph.node(*id).deleting_dependents;
            if let Some(owner) = owner.filter(waits) {
                self.add(owner);
            }
        }
    }

    /// `partitionDependents`: those that refer to this UID with these coordinates, and those that do with others. One that
    /// does both is among both.
    fn partition_dependents(
        &self,
        of: NodeId,
        identity: &ObjectReference,
    ) -> (Vec<NodeId>, Vec<NodeId>) {
        let (mut matching, mut nonmatching) = (Vec::new(), Vec::new());
        for id in self.graph.get_dependents(of) {
            let dependent = self.graph.node(id);
            let namespace = &dependent.identity.namespace;
            if !identity.namespace.is_empty() && identity.namespace != *namespace {
                nonmatching.push(id);
                continue;
            }
            let own = || {
                dependent
                    .owners
                    .iter()
                    .filter(|own| own.uid == identity.uid)
            };
            if own().any(|owner| owner.owner_reference_matches_coordinates(identity)) {
                matching.push(id);
            }
            if own().any(|owner| !owner.owner_reference_matches_coordinates(identity)) {
                nonmatching.push(id);
            }
        }
        (matching, nonmatching)
    }

    /// `getAlternateOwnerIdentity`: what else the owner could be, as these dependents have it: the next one in order, or
    /// the first of all.
    fn get_alternate_owner_identity(
        &self,
        dependents: &[NodeId],
        absent: &ObjectReference,
    ) -> Option<ObjectReference> {
        let is_of_cluster = absent.namespace.is_empty();
        let mut alternates: Vec<ObjectReference> = Vec::new();
        for id in dependents {
            let dependent = self.graph.node(*id);
            let namespace = &dependent.identity.namespace;
            for owner in dependent.owners.iter().filter(|own| own.uid == absent.uid) {
                if owner.owner_reference_matches_coordinates(absent)
                    && (is_of_cluster || absent.namespace == *namespace)
                {
                    continue;
                }
                let mut alternate = owner.owner_reference_coordinates(namespace);
                if is_of_cluster
                    && alternate.api_version == absent.api_version
                    && alternate.kind == absent.kind
                {
                    alternate = alternate.of_cluster();
                }
                if alternate != *absent {
                    alternates.push(alternate);
                }
            }
        }
        alternates.sort();
        let following = alternates.iter().find(|alternate| *alternate > absent);
        following.or(alternates.first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    #[derive(Default)]
    struct Lab {
        graph: Graph,
        absent_owners: ReferenceCache,
    }

    /// An owner: kind, name and uid.
    type Owner<'a> = (&'a str, &'a str, &'a str);

    fn metadata(namespace: &str, uid: &str, owners: &[Owner<'_>]) -> Metadata {
        let owners = owners.iter().map(|(kind, name, uid)| {
            json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true})
        });
        let object = json!({"metadata": {
            "name": uid, "namespace": namespace, "uid": uid, "ownerReferences": owners.collect::<Vec<_>>(),
        }});
        Metadata::of("v1", "ConfigMap", &Object::new(object))
    }

    fn event(event_type: EventType, object: Metadata) -> Event {
        Event {
            is_virtual: false,
            event_type,
            object,
            old: None,
        }
    }

    impl Lab {
        /// The UIDs of what is put into the queue of deletions.
        fn process(&mut self, event: &Event) -> Vec<String> {
            let mut builder = GraphBuilder {
                graph: &mut self.graph,
                absent_owners: &mut self.absent_owners,
                defects: Set::NONE,
                enqueued: Vec::new(),
                forgotten: None,
            };
            builder.process_graph_changes(event);
            let enqueued = builder.enqueued;
            let names = enqueued.into_iter().map(|enqueued| match enqueued {
                Enqueued::Delete(id) => self.graph.node(id).identity.uid.to_string(),
                Enqueued::DeleteLater(id) => format!("later {}", self.graph.node(id).identity),
                Enqueued::Orphan(id) => format!("orphan {}", self.graph.node(id).identity.uid),
            });
            names.collect()
        }

        fn add(&mut self, object: Metadata) -> Vec<String> {
            self.process(&event(EventType::Add, object))
        }

        fn virtual_delete(&mut self, identity: ObjectReference) -> Vec<String> {
            self.process(&Event {
                is_virtual: true,
                ..event(EventType::Delete, Metadata::bare(identity))
            })
        }
    }

    const A: Owner<'static> = ("ConfigMap", "a", "a");

    #[test]
    fn an_owner_that_nobody_knows_is_looked_for_once() {
        let mut lab = Lab::default();
        assert_eq!(lab.add(metadata("default", "b", &[A])), ["a"]);
        assert!(lab.add(metadata("default", "c", &[A])).is_empty());
        // Now it is seen, as it was thought to be.
        assert!(lab.add(metadata("default", "a", &[])).is_empty());
        let a = lab.graph.read("a").unwrap();
        assert!(!lab.graph.node(a).is_virtual && lab.graph.get_dependents(a).len() == 2);
        // And is gone.
        let gone = lab.process(&event(EventType::Delete, metadata("default", "a", &[])));
        assert_eq!(gone, ["b", "c"]);
        assert!(
            lab.absent_owners
                .has(&metadata("default", "a", &[]).identity)
        );
    }

    #[test]
    fn who_refers_to_another_namespace_is_looked_at() {
        let mut lab = Lab::default();
        lab.add(metadata("default", "a", &[]));
        assert_eq!(lab.add(metadata("other", "b", &[A])), ["b"]);
        assert!(lab.add(metadata("default", "c", &[A])).is_empty());
        // Or in the other order: the one with the real identity takes the place of the virtual one.
        let mut lab = Lab::default();
        assert_eq!(lab.add(metadata("other", "b", &[A])), ["a"]);
        assert_eq!(lab.add(metadata("default", "c", &[A])), ["c"]);
        assert_eq!(lab.add(metadata("default", "a", &[])), ["b"]);
        let a = lab.graph.read("a").unwrap();
        assert_eq!(*lab.graph.node(a).identity.namespace, *"default");
    }

    #[test]
    fn a_virtual_event_keeps_the_node_of_those_who_mean_another() {
        let mut lab = Lab::default();
        lab.add(metadata("other", "b", &[A]));
        lab.add(metadata("default", "c", &[A]));
        let absent = metadata("other", "a", &[]).identity;
        let enqueued = lab.virtual_delete(absent.clone());
        assert_eq!(enqueued, ["b", "later ConfigMap default/a"]);
        assert!(lab.absent_owners.has(&absent));
        // The other one is there, and a late event about the first does not take it away.
        lab.add(metadata("default", "a", &[]));
        assert_eq!(lab.virtual_delete(absent), ["b"]);
        assert!(lab.graph.read("a").is_some());
        lab.virtual_delete(metadata("default", "a", &[]).identity);
        assert!(lab.graph.read("a").is_none());
    }

    #[test]
    fn a_reference_that_no_longer_blocks_frees_its_owner() {
        let mut lab = Lab::default();
        lab.add(metadata("default", "a", &[]));
        lab.add(metadata("default", "b", &[A]));
        let mut freed = metadata("default", "b", &[A]);
        let mut owner = freed.owners[0].clone();
        owner.block_owner_deletion = None;
        freed.owners = [owner].into();
        assert_eq!(lab.process(&event(EventType::Update, freed)), ["a"]);
        let none = metadata("default", "b", &[]);
        assert!(lab.process(&event(EventType::Update, none)).is_empty());
        let a = lab.graph.read("a").unwrap();
        assert!(lab.graph.get_dependents(a).is_empty());
    }

    #[test]
    fn transitions_are_seen_once() {
        let mut lab = Lab::default();
        let before = metadata("default", "a", &[]);
        lab.add(before.clone());
        lab.add(metadata("default", "b", &[A]));
        let marked = Metadata {
            being_deleted: true,
            deletes_dependents: true,
            ..before.clone()
        };
        let update = |old: &Metadata, new: &Metadata| Event {
            old: Some(old.clone()),
            ..event(EventType::Update, new.clone())
        };
        assert_eq!(lab.process(&update(&before, &marked)), ["b", "a"]);
        assert!(lab.process(&update(&marked, &marked)).is_empty());
        let orphans = Metadata {
            orphans_dependents: true,
            ..marked.clone()
        };
        assert_eq!(lab.process(&update(&marked, &orphans)), ["orphan a"]);
        // Who waits is looked at when one that blocked it is gone.
        let gone = event(EventType::Delete, metadata("default", "b", &[A]));
        assert_eq!(lab.process(&gone), ["a"]);
    }
}
