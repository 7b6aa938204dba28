//! What workers do with a node (`pkg/controller/garbagecollector/garbagecollector.go`): whether an object has to be
//! deleted is decided by what apiservers say of it and of its owners, and not by the graph.

use std::sync::Arc;

use wavetank_api::{Reason, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::GarbageCollector;
use super::controller::{ATTEMPT_TO_DELETE, enqueue_change};
use super::defects::CollectorDefect;
use super::graph::{
    DELETE_DEPENDENTS, Metadata, NodeId, ORPHAN_DEPENDENTS, ObjectReference, OwnerReference,
    has_finalizer, owner_references,
};
use super::graph_builder::{Event, EventType};
use super::notes::{Attempts, EndsForeground, EndsOrphaning, Of, Orphans, Releases};
use super::operations::{
    Error, MergePatch, generate_delete_owner_ref_strategic_merge_bytes,
    unblock_owner_references_strategic_merge_patch,
};

/// `requeueItem`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Requeue;

/// The owners of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Classified {
    /// They are there.
    solid: Vec<OwnerReference>,
    /// They are not.
    dangling: Vec<OwnerReference>,
    /// They wait in the foreground for who depends on them to go.
    waiting_for_dependents_deletion: Vec<OwnerReference>,
}

fn uids(references: &[OwnerReference]) -> impl Iterator<Item = Arc<str>> {
    references.iter().map(|reference| reference.uid.clone())
}

impl GarbageCollector {
    /// `attemptToDeleteWorker`
    pub(super) async fn attempt_to_delete_worker(&self, rx: Rx, item: Item) -> Result<(), Requeue> {
        let id = NodeId::of(&item);
        let (is_virtual, uid) =
            self.node(rx, id, |node| (node.is_virtual, node.identity.uid.clone()));
        if is_virtual {
            let is_virtual_still = self.graph(rx, |graph| {
                graph
                    .read(&uid)
                    .is_some_and(|known| graph.node(known).is_virtual)
            });
            if !is_virtual_still {
                return Ok(());
            }
        }
        match self.attempt_to_delete_item(rx, id).await {
            Err(Error::EnqueuedVirtualDelete | Error::NamespacedOwner) => Ok(()),
            Err(_) => Err(Requeue),
            Ok(()) if self.node(rx, id, |node| node.is_virtual) => Err(Requeue),
            Ok(()) => Ok(()),
        }
    }

    /// `enqueueVirtualDeleteEvent`
    fn enqueue_virtual_delete_event(&self, rx: Rx, gone: &ObjectReference) -> Error {
        enqueue_change(
            rx,
            Event {
                is_virtual: true,
                event_type: EventType::Delete,
                object: Metadata::bare(gone.clone()),
                old: None,
            },
        );
        Error::EnqueuedVirtualDelete
    }

    /// `attemptToDeleteItem`
    async fn attempt_to_delete_item(&self, rx: Rx, id: NodeId) -> Result<(), Error> {
        let (being_deleted, deleting_dependents) = self.node(rx, id, |node| {
            (node.being_deleted, node.deleting_dependents)
        });
        if being_deleted && !deleting_dependents {
            return Ok(());
        }
        let item = self.identity(rx, id);
        if !self.node(rx, id, |node| node.is_virtual) {
            rx.note(Attempts {
                object: (&item).into(),
            });
        }
        let latest = match self.get_object(rx, &item).await {
            Err(error) if error.is(Reason::NotFound) => {
                return Err(self.enqueue_virtual_delete_event(rx, &item));
            }
            read => read?,
        };
        if latest.object.uid() != &*item.uid {
            return Err(self.enqueue_virtual_delete_event(rx, &item));
        }
        if self.node(rx, id, |node| node.deleting_dependents) {
            return self.process_deleting_dependents_item(rx, id, &item).await;
        }
        let references = match self.defects.has(CollectorDefect::ReferencesFromGraph) {
            true => self.node(rx, id, |node| node.owners.clone()),
            false => owner_references(latest.object.json()),
        };
        if references.is_empty() {
            return Ok(());
        }
        let classified = self.classify_references(rx, &item, &references).await?;
        if !classified.solid.is_empty() {
            self.release(rx, &item, &classified).await?;
            return match self.defects.has(CollectorDefect::OwnedItemsAreRequeued) {
                true => Err(Error::Failed),
                false => Ok(()),
            };
        }
        let waits = !classified.waiting_for_dependents_deletion.is_empty();
        let policy = if waits && self.node(rx, id, |node| !node.dependents.is_empty()) {
            self.unblock_a_cycle(rx, id, &item).await?;
            "Foreground"
        } else if has_finalizer(latest.object.json(), ORPHAN_DEPENDENTS) {
            "Orphan"
        } else if has_finalizer(latest.object.json(), DELETE_DEPENDENTS) {
            "Foreground"
        } else {
            "Background"
        };
        self.delete_item(rx, &item, &latest, policy).await
    }

    /// The deletion of an item. One that is gone leaves the graph.
    async fn delete_item(
        &self,
        rx: Rx,
        item: &ObjectReference,
        latest: &Stored,
        policy: &'static str,
    ) -> Result<(), Error> {
        match self.delete_object(rx, item, latest, policy).await {
            Err(error) if error.is(Reason::NotFound) => {
                Err(self.enqueue_virtual_delete_event(rx, item))
            }
            deleted => deleted,
        }
    }

    /// The object has an owner that stays: the references to others are taken away.
    async fn release(
        &self,
        rx: Rx,
        item: &ObjectReference,
        classified: &Classified,
    ) -> Result<(), Error> {
        let waiting = &classified.waiting_for_dependents_deletion;
        let stay = !waiting.is_empty() && self.defects.has(CollectorDefect::WaitingReferencesStay);
        let waiting = match stay {
            true => &[][..],
            false => waiting,
        };
        let owners: Arc<[Arc<str>]> = uids(&classified.dangling).chain(uids(waiting)).collect();
        if owners.is_empty() {
            return Ok(());
        }
        rx.note(Releases {
            object: item.into(),
            owners: owners.clone(),
        });
        let patch = generate_delete_owner_ref_strategic_merge_bytes(&item.uid, &owners);
        self.patch(rx, item, patch, MergePatch::DeleteOwners(&owners))
            .await
    }

    /// An owner of the item and one that depends on it wait both: so that they do not wait for each other, the item no
    /// longer blocks its owners.
    async fn unblock_a_cycle(
        &self,
        rx: Rx,
        id: NodeId,
        item: &ObjectReference,
    ) -> Result<(), Error> {
        let waits = self.graph(rx, |graph| {
            let mut dependents = graph.get_dependents(id).into_iter();
            dependents.any(|dependent| graph.node(dependent).deleting_dependents)
        });
        if !waits {
            return Ok(());
        }
        let owners = self.node(rx, id, |node| node.owners.clone());
        let patch = unblock_owner_references_strategic_merge_patch(&item.uid, &owners);
        self.patch(rx, item, patch, MergePatch::Unblock(&owners))
            .await
    }

    /// `classifyReferences`
    async fn classify_references(
        &self,
        rx: Rx,
        item: &ObjectReference,
        references: &[OwnerReference],
    ) -> Result<Classified, Error> {
        let mut classified = Classified::default();
        for reference in references {
            let into = match self.is_dangling(rx, reference, item).await? {
                None => &mut classified.dangling,
                Some(owner)
                    if owner.object.is_being_deleted()
                        && has_finalizer(owner.object.json(), DELETE_DEPENDENTS) =>
                {
                    &mut classified.waiting_for_dependents_deletion
                }
                Some(_) => &mut classified.solid,
            };
            into.push(reference.clone());
        }
        Ok(classified)
    }

    /// Is the owner known to be absent, wherever it would lie?
    fn is_known_to_be_absent(
        &self,
        rx: Rx,
        reference: &OwnerReference,
        item: &ObjectReference,
    ) -> bool {
        let of_cluster = reference.owner_reference_coordinates("");
        let namespaced = reference.owner_reference_coordinates(&item.namespace);
        let is_known =
            self.absent_owners(rx, |known| known.has(&of_cluster) || known.has(&namespaced));
        is_known
            || self.absent_owners(rx, |known| known.has_like(|own| own.uid == reference.uid))
                && self.defects.has(CollectorDefect::AbsentOwnersByUid)
    }

    /// `isDangling`: the owner, if it is there.
    async fn is_dangling(
        &self,
        rx: Rx,
        reference: &OwnerReference,
        item: &ObjectReference,
    ) -> Result<Option<Stored>, Error> {
        if self.is_known_to_be_absent(rx, reference, item) {
            return Ok(None);
        }
        let mapping = self
            .api_resource(rx, &reference.api_version, &reference.kind)
            .await?;
        if mapping.namespaced && item.namespace.is_empty() {
            return Err(Error::NamespacedOwner);
        }
        let is_unseen = self.graph(rx, |graph| {
            let known = graph.read(&reference.uid);
            known.is_none_or(|known| graph.node(known).is_virtual)
        });
        if is_unseen && self.defects.has(CollectorDefect::OwnersFromGraph) {
            return Ok(None);
        }
        let namespace = match mapping.namespaced {
            true => &*item.namespace,
            false => "",
        };
        let absent = reference.owner_reference_coordinates(namespace);
        match self.get(rx, &mapping, namespace, &reference.name).await {
            Err(error) if error.is(Reason::NotFound) => {}
            Err(error) => return Err(error),
            Ok(owner) if owner.object.uid() == &*reference.uid => return Ok(Some(owner)),
            Ok(_) => {}
        }
        self.absent_owners(rx, |known| known.add(absent));
        Ok(None)
    }

    /// `processDeletingDependentsItem`
    async fn process_deleting_dependents_item(
        &self,
        rx: Rx,
        id: NodeId,
        item: &ObjectReference,
    ) -> Result<(), Error> {
        let blocking = self.graph(rx, |graph| {
            let blocking = graph.blocking_dependents(id).into_iter();
            blocking
                .map(|id| (id, graph.node(id).deleting_dependents))
                .collect::<Vec<_>>()
        });
        if blocking.is_empty() || self.defects.has(CollectorDefect::ForegroundIsNotAwaited) {
            rx.note(EndsForeground { owner: item.into() });
            return self.remove_finalizer(rx, item, DELETE_DEPENDENTS).await;
        }
        for (dependent, deletes_dependents) in blocking {
            if !deletes_dependents {
                ATTEMPT_TO_DELETE.add(rx, dependent.item());
            }
        }
        Ok(())
    }

    /// `attemptToOrphanWorker`
    pub(super) async fn attempt_to_orphan_worker(&self, rx: Rx, item: Item) -> Result<(), Requeue> {
        let id = NodeId::of(&item);
        let owner = self.identity(rx, id);
        let dependents = self.graph(rx, |graph| {
            let dependents = graph.get_dependents(id).into_iter();
            dependents
                .map(|dependent| graph.node(dependent).identity.clone())
                .collect::<Vec<_>>()
        });
        rx.note(Orphans {
            owner: (&owner).into(),
            dependents: dependents.iter().map(Of::from).collect(),
        });
        if !self.orphan_dependents(rx, &owner, &dependents).await {
            return Err(Requeue);
        }
        rx.note(EndsOrphaning {
            owner: (&owner).into(),
        });
        let removed = self.remove_finalizer(rx, &owner, ORPHAN_DEPENDENTS).await;
        removed.map_err(|_| Requeue)
    }

    /// `orphanDependents`: all at once. False if one of them may still refer to the owner.
    async fn orphan_dependents(
        &self,
        rx: Rx,
        owner: &ObjectReference,
        dependents: &[ObjectReference],
    ) -> bool {
        let owners = [owner.uid.clone()];
        let all = dependents.iter().map(|dependent| {
            let patch = generate_delete_owner_ref_strategic_merge_bytes(&dependent.uid, &owners);
            let patched = self.patch(rx, dependent, patch, MergePatch::DeleteOwners(&owners));
            Box::pin(patched) as Member<'_, Result<(), Error>>
        });
        let all = wait_group(all.collect()).await;
        all.into_iter().all(|patched| match patched {
            Ok(()) => true,
            Err(error) if error.is(Reason::NotFound) => true,
            Err(_) => self.defects.has(CollectorDefect::OrphansAnyway),
        })
    }
}
