//! The nodes of processes: a node begins with a life of its process, and is killed when that ends.

use std::collections::BTreeMap;
use std::future::pending;

use madsim::net::Endpoint;
use madsim::runtime::Handle;
use madsim::task::NodeId;
use wavetank_engine::{ProcId, Status};

use crate::cluster::{Cluster, State, address, spawn_on};

/// Which node is whose.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// By process.
    nodes: BTreeMap<ProcId, Node>,
    /// Where what belongs to no process happens: faults, deadlines of properties, and what the machine of a dead process
    /// answers.
    outside: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    id: NodeId,
    /// Which life of the process runs here.
    life: Option<u32>,
    /// It belongs to a service of a user, who begins and ends it.
    is_foreign: bool,
}

impl Nodes {
    pub fn id(&self, process: ProcId) -> NodeId {
        let node = self.nodes.get(&process);
        node.map_or_else(|| self.outside(), |node| node.id)
    }

    pub fn outside(&self) -> NodeId {
        self.outside.expect("made with the cluster")
    }

    /// Runs a task where the process runs.
    pub fn spawn(&self, process: ProcId, task: impl Future<Output = ()> + Send + 'static) {
        spawn_on(self.id(process), task);
    }

    /// A process that runs on somebody's node.
    pub fn add_foreign(&mut self, process: ProcId, id: NodeId) {
        let node = Node {
            id,
            life: None,
            is_foreign: true,
        };
        self.nodes.insert(process, node);
    }
}

impl Cluster {
    /// A node for each process, and one for what is none.
    pub(crate) fn make_nodes(&self) {
        let handle = Handle::current();
        let outside = handle.create_node().name("outside").build();
        let mut state = self.lock();
        state.nodes.outside = Some(outside.id());
        let processes = state.world.processes();
        for process in processes {
            let name = state.world.name(process).to_owned();
            let cluster = self.clone();
            let builder = handle.create_node().name(name).ip(address(process).ip());
            let node = builder.init(move || host(cluster.clone(), process)).build();
            let node = Node {
                id: node.id(),
                life: None,
                is_foreign: false,
            };
            state.nodes.nodes.insert(process, node);
        }
    }

    /// A process that has ended has its node killed, with all tasks and connections; one that has begun a life has its
    /// node started. A node is killed, too, where one life follows on another within an event.
    pub(crate) fn follow_lives(&self, state: &mut State) {
        let handle = Handle::current();
        for process in state.world.processes() {
            let is_up = state.world.status(process) == Status::Up;
            let life = is_up.then(|| state.world.incarnation(process));
            let Some(node) = state.nodes.nodes.get_mut(&process) else {
                continue;
            };
            let before = std::mem::replace(&mut node.life, life);
            if before == life {
                continue;
            }
            let Node { id, is_foreign, .. } = *node;
            match life {
                _ if is_foreign => {}
                Some(_) => {
                    // It is this that closes its sockets.
                    handle.kill(id);
                    handle.restart(id);
                }
                None => handle.kill(id),
            }
            if before.is_some() {
                self.cut_off(state, process);
            }
        }
    }
}

/// What runs on a node from its start on: it takes connections.
async fn host(cluster: Cluster, process: ProcId) {
    if cluster.look(|world| world.status(process)) != Status::Up {
        // The node is made before the process begins.
        return;
    }
    let listener = Endpoint::bind(address(process)).await;
    let listener = listener.expect("the port of its own node is free");
    loop {
        match listener.accept1().await {
            Ok((out, line, _)) => {
                let cluster = cluster.clone();
                drop(madsim::task::spawn(async move {
                    cluster.serve(out, line).await
                }));
            }
            Err(_) => pending().await,
        }
    }
}
