//! The graph of who owns whom (`pkg/controller/garbagecollector/graph.go`). A node is named by a number where upstream has
//! a pointer: one that left the graph lives on as long as a queue or another node knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use wavetank_api::{Json, Object, json};
use wavetank_client::workqueue::Item;

/// `metav1.OwnerReference`
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OwnerReference {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub controller: Option<bool>,
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    fn of(reference: &Json) -> OwnerReference {
        let text = |field| json::text(reference, &[field]).into();
        OwnerReference {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            controller: reference["controller"].as_bool(),
            block_owner_deletion: reference["blockOwnerDeletion"].as_bool(),
        }
    }

    /// As it is written into a patch.
    pub fn json(&self) -> Json {
        let mut reference = serde_json::json!({
            "apiVersion": &*self.api_version,
            "kind": &*self.kind,
            "name": &*self.name,
            "uid": &*self.uid,
        });
        if let Some(controller) = self.controller {
            reference["controller"] = controller.into();
        }
        if let Some(blocks) = self.block_owner_deletion {
            reference["blockOwnerDeletion"] = blocks.into();
        }
        reference
    }

    /// Does the owner wait for who has this reference?
    pub fn blocks(&self) -> bool {
        self.block_owner_deletion == Some(true)
    }

    /// `ownerReferenceCoordinates`, in a namespace.
    pub fn owner_reference_coordinates(&self, namespace: &str) -> ObjectReference {
        ObjectReference {
            kind: self.kind.clone(),
            api_version: self.api_version.clone(),
            namespace: namespace.into(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }

    /// `ownerReferenceMatchesCoordinates`
    pub fn owner_reference_matches_coordinates(&self, other: &ObjectReference) -> bool {
        self.uid == other.uid
            && self.name == other.name
            && self.kind == other.kind
            && self.api_version == other.api_version
    }
}

/// `objectReference`. The order of its fields is that of `referenceLessThan`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ObjectReference {
    pub kind: Arc<str>,
    pub api_version: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

impl ObjectReference {
    /// The same without a namespace: what lies in none.
    pub fn of_cluster(mut self) -> ObjectReference {
        self.namespace = "".into();
        self
    }

    /// As stories name it: `namespace/name`, or the name of what lies in no namespace.
    pub fn key(&self) -> String {
        match &*self.namespace {
            "" => self.name.to_string(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

impl fmt::Display for ObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key())
    }
}

/// What the collector knows of an object: its metadata, as far as that matters here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Metadata {
    pub identity: ObjectReference,
    pub owners: Arc<[OwnerReference]>,
    pub being_deleted: bool,
    /// `hasDeleteDependentsFinalizer`
    pub deletes_dependents: bool,
    /// `hasOrphanFinalizer`
    pub orphans_dependents: bool,
}

/// `metadata.ownerReferences`
pub(super) fn owner_references(object: &Json) -> Arc<[OwnerReference]> {
    let all = json::list(object, &["metadata", "ownerReferences"]);
    all.iter().map(OwnerReference::of).collect()
}

/// `hasFinalizer`
pub(super) fn has_finalizer(object: &Json, finalizer: &str) -> bool {
    let mut all = json::list(object, &["metadata", "finalizers"]).iter();
    all.any(|own| own == finalizer)
}

/// `metav1.FinalizerDeleteDependents`
pub(super) const DELETE_DEPENDENTS: &str = "foregroundDeletion";
/// `metav1.FinalizerOrphanDependents`
pub(super) const ORPHAN_DEPENDENTS: &str = "orphan";

impl Metadata {
    /// Of an object of this kind.
    pub fn of(api_version: &str, kind: &str, object: &Object) -> Metadata {
        let tree = object.json();
        Metadata {
            identity: ObjectReference {
                kind: kind.into(),
                api_version: api_version.into(),
                namespace: object.namespace().into(),
                name: object.name().into(),
                uid: object.uid().into(),
            },
            owners: owner_references(tree),
            being_deleted: object.is_being_deleted(),
            deletes_dependents: has_finalizer(tree, DELETE_DEPENDENTS),
            orphans_dependents: has_finalizer(tree, ORPHAN_DEPENDENTS),
        }
    }

    /// Of which nothing but its identity is known.
    pub fn bare(identity: ObjectReference) -> Metadata {
        Metadata {
            identity,
            owners: [].into(),
            being_deleted: false,
            deletes_dependents: false,
            orphans_dependents: false,
        }
    }
}

/// Which node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct NodeId(u32);

impl NodeId {
    /// As queues know it.
    pub fn item(self) -> Item {
        self.0.to_string().into()
    }

    /// # Panics
    /// If that is no node's item.
    pub fn of(item: &Item) -> NodeId {
        NodeId(item.parse().expect("queues of nodes hold nodes"))
    }
}

/// `node`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    pub identity: ObjectReference,
    pub dependents: BTreeSet<NodeId>,
    /// It waits in the foreground for its dependents to go.
    pub deleting_dependents: bool,
    pub being_deleted: bool,
    /// No informer has shown it: somebody refers to it.
    pub is_virtual: bool,
    pub owners: Arc<[OwnerReference]>,
}

impl Node {
    /// A node without dependents, as an informer shows it.
    pub fn observed(object: &Metadata) -> Node {
        Node {
            identity: object.identity.clone(),
            dependents: BTreeSet::new(),
            deleting_dependents: object.being_deleted && object.deletes_dependents,
            being_deleted: object.being_deleted,
            is_virtual: false,
            owners: object.owners.clone(),
        }
    }

    /// A node to which somebody refers.
    pub fn virtual_of(identity: ObjectReference) -> Node {
        Node {
            is_virtual: true,
            ..Node::observed(&Metadata::bare(identity))
        }
    }
}

/// All nodes, and which of them are in the graph (`concurrentUIDToNode`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<NodeId, Node>,
    uid_to_node: BTreeMap<Arc<str>, NodeId>,
}

impl Graph {
    /// `Read`
    pub fn read(&self, uid: &str) -> Option<NodeId> {
        self.uid_to_node.get(uid).copied()
    }

    /// `Write`, of a node that is new.
    pub fn write(&mut self, node: Node) -> NodeId {
        let id = self.free_id();
        self.uid_to_node.insert(node.identity.uid.clone(), id);
        self.nodes.insert(id, node);
        id
    }

    /// `Delete`: the node lives on for those who know it.
    pub fn delete(&mut self, uid: &str) {
        self.uid_to_node.remove(uid);
    }

    /// The smallest number that no node has.
    fn free_id(&self) -> NodeId {
        let mut free = 0;
        for NodeId(taken) in self.nodes.keys() {
            if *taken != free {
                break;
            }
            free += 1;
        }
        NodeId(free)
    }

    /// A node that somebody knows.
    ///
    /// # Panics
    /// If nobody does.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(&id).expect("a node that somebody knows")
    }

    /// The same, to be changed.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes.get_mut(&id).expect("a node that somebody knows")
    }

    /// `getDependents`, in the order of their UIDs.
    pub fn get_dependents(&self, id: NodeId) -> Vec<NodeId> {
        let mut all: Vec<NodeId> = self.node(id).dependents.iter().copied().collect();
        all.sort_by(|a, b| self.node(*a).identity.uid.cmp(&self.node(*b).identity.uid));
        all
    }

    /// `blockingDependents`
    pub fn blocking_dependents(&self, id: NodeId) -> Vec<NodeId> {
        let uid = &self.node(id).identity.uid;
        let mut blocking = self.get_dependents(id);
        blocking.retain(|dependent| {
            let mut owners = self.node(*dependent).owners.iter();
            owners.any(|owner| owner.uid == *uid && owner.blocks())
        });
        blocking
    }

    /// Forgets the nodes that have left the graph and that nobody knows: no queue does, and no node that is known.
    pub fn sweep(&mut self, in_queue: impl Fn(NodeId) -> bool) {
        if self.nodes.len() == self.uid_to_node.len() {
            return;
        }
        let queued = self.nodes.keys().copied().filter(|id| in_queue(*id));
        let mut open: Vec<NodeId> = self.uid_to_node.values().copied().chain(queued).collect();
        let mut known = BTreeSet::new();
        while let Some(id) = open.pop() {
            if known.insert(id) {
                open.extend(&self.node(id).dependents);
            }
        }
        self.nodes.retain(|id, _| known.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reference(uid: &str) -> ObjectReference {
        let owner = OwnerReference::of(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid,
        }));
        owner.owner_reference_coordinates("default")
    }

    #[test]
    fn kinds_come_before_versions_and_namespaces_before_names() {
        let a = reference("a");
        let other = |kind: &str, namespace: &str, name: &str| ObjectReference {
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
            ..a.clone()
        };
        let sorted = [
            other("A", "z", "z"),
            other("B", "y", "z"),
            other("B", "z", "a"),
            other("B", "z", "b"),
        ];
        assert!(sorted.is_sorted());
    }

    #[test]
    fn a_node_that_left_lives_as_long_as_somebody_knows_it() {
        let mut graph = Graph::default();
        let [owner, own, other] =
            ["a", "b", "c"].map(|uid| graph.write(Node::observed(&Metadata::bare(reference(uid)))));
        graph.node_mut(owner).dependents.insert(own);
        for uid in ["a", "b", "c"] {
            graph.delete(uid);
        }
        graph.sweep(|id| id == owner);
        assert_eq!(graph.get_dependents(owner), [own]);
        assert_eq!(
            graph.write(Node::observed(&Metadata::bare(reference("d")))),
            other
        );
        graph.sweep(|_| false);
        assert_eq!(graph.nodes.len(), 1);
    }

    #[test]
    fn only_true_blocks() {
        let mut graph = Graph::default();
        let owner = graph.write(Node::observed(&Metadata::bare(reference("a"))));
        for (uid, blocks) in [("b", Some(true)), ("c", Some(false)), ("d", None)] {
            let mut own = Metadata::bare(reference(uid));
            let mut to = OwnerReference::of(&json!({"uid": "a"}));
            to.block_owner_deletion = blocks;
            own.owners = [to].into();
            let own = graph.write(Node::observed(&own));
            graph.node_mut(owner).dependents.insert(own);
        }
        let blocking = graph.blocking_dependents(owner);
        assert_eq!(blocking.len(), 1);
        assert_eq!(*graph.node(blocking[0]).identity.uid, *"b");
    }
}
