//! What stands between a client and the apiservers. A connection stays where it is while it lives; a new
//! one may go to another server. It knows nothing of what is asked.

use wavetank_engine::{Cell, Condition, Cx, ProcId, Rx};

/// How the server of a new connection is picked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// Always the first, as for a client with a fixed address.
    Fixed,
    /// The next one each time.
    RoundRobin,
    /// Any: the driver draws it.
    Drawn,
}

/// Where the connections of a process go.
pub(crate) static BALANCED: Cell<Balanced> = Cell::new("balanced");

/// Those who have a stream open are told when their connection is taken away.
pub(crate) const MOVED: Condition = Condition::new("moved", 0);

/// The state of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Balanced {
    /// The server that the connection goes to, if there is one.
    current: Option<u32>,
    /// How many connections were given out.
    given: u32,
    /// How often connections were taken away.
    pub moves: u32,
}

impl Balanced {
    fn moved(&mut self, server: u32) {
        self.current = Some(server);
        self.moves += 1;
    }
}

/// The servers behind it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LoadBalancer {
    /// In the order in which `RoundRobin` takes them.
    pub servers: Vec<ProcId>,
    /// How one is picked.
    pub policy: Policy,
}

impl LoadBalancer {
    /// The server for the next request: that of the connection, or of a new one.
    pub(crate) async fn server(&self, rx: Rx) -> ProcId {
        let count = self.servers.len() as u32;
        let policy = self.policy;
        let picked = rx.update(&BALANCED, |balanced| {
            let next = match policy {
                _ if balanced.current.is_some() => balanced.current,
                Policy::Fixed => Some(0),
                Policy::RoundRobin => Some(balanced.given % count),
                Policy::Drawn => None,
            };
            if balanced.current.is_none() && next.is_some() {
                balanced.given += 1;
                balanced.current = next;
            }
            next
        });
        if let Some(picked) = picked {
            return self.servers[picked as usize];
        }
        let drawn = rx.choose(u64::from(count)).await as u32;
        // Another routine may have been faster: there is one connection.
        let current = rx.update(&BALANCED, |balanced| *balanced.current.get_or_insert(drawn));
        self.servers[current as usize]
    }

    /// The connection to this server is gone.
    pub(crate) fn broke(&self, rx: Rx, server: ProcId) {
        let index = self.servers.iter().position(|own| *own == server);
        let index = index.map(|index| index as u32);
        rx.update(&BALANCED, |balanced| {
            if balanced.current == index {
                balanced.current = None;
            }
        });
    }

    /// Takes the connections away; new ones go to this server until they break.
    ///
    /// # Errors
    /// If there is no such server.
    pub fn move_to(&self, cx: &mut Cx<'_>, server: usize) -> Result<(), String> {
        if server >= self.servers.len() {
            return Err(format!("has {} servers, not {server}", self.servers.len()));
        }
        cx.cell(&BALANCED).moved(server as u32);
        cx.broadcast(MOVED);
        Ok(())
    }

    /// The same, to a server that the driver draws.
    pub(crate) async fn move_somewhere(&self, rx: Rx) {
        let drawn = rx.choose(self.servers.len() as u64).await as u32;
        rx.update(&BALANCED, |balanced| balanced.moved(drawn));
        rx.broadcast(MOVED);
    }
}
