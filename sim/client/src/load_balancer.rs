//! What stands between a client and the apiservers. A connection stays where it is while it lives; a new
//! one may go to another server, and only to those that health checks (`health_checks`) have not taken out. It knows
//! nothing of what is asked.

use wavetank_engine::{Cell, Condition, Cx, ProcId, Rx, mutant};

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
pub const MOVED: Condition = Condition::new("moved", 0);

/// The state of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Balanced {
    /// The server that the connection goes to, if there is one.
    current: Option<u32>,
    /// How many connections were given out.
    given: u32,
    /// How often connections were taken away.
    pub moves: u32,
    /// The servers that are out, one bit each.
    out: u64,
}

impl Balanced {
    fn moved(&mut self, server: u32) {
        self.current = Some(server);
        self.moves += 1;
    }

    /// Is this server out?
    fn is_out(&self, server: u32) -> bool {
        self.out >> server & 1 == 1
    }

    /// Those of `count` servers that are in; all, if none is.
    fn healthy(&self, count: u32) -> Vec<u32> {
        let healthy: Vec<u32> = (0..count).filter(|server| !self.is_out(*server)).collect();
        match healthy.is_empty() {
            true => (0..count).collect(),
            false => healthy,
        }
    }
}

/// The servers behind it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LoadBalancer {
    /// In the order in which `RoundRobin` takes them.
    pub servers: Vec<ProcId>,
    /// How one is picked.
    pub policy: Policy,
    /// How many parts of a stream may come before the client takes one; as many as with Go's HTTP/2 if it is not said.
    pub window: Option<u32>,
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
        let drawn = self.draw(rx).await;
        // Another routine may have been faster: there is one connection.
        let current = rx.update(&BALANCED, |balanced| *balanced.current.get_or_insert(drawn));
        self.servers[current as usize]
    }

    /// The server for the next request, by number.
    pub async fn number(&self, rx: Rx) -> usize {
        let server = self.server(rx).await;
        let found = self.servers.iter().position(|own| *own == server);
        found.expect("it is one of them")
    }

    /// Does the connection still go to this server?
    pub fn goes_to(&self, rx: Rx, server: usize) -> bool {
        rx.look(&BALANCED, |balanced| {
            balanced.current == Some(server as u32)
        })
    }

    /// Any of the servers that are in: the driver draws it.
    pub async fn draw(&self, rx: Rx) -> u32 {
        let count = self.servers.len() as u32;
        let healthy = rx.look(&BALANCED, |balanced| balanced.healthy(count));
        let drawn = rx.choose(healthy.len() as u64).await;
        healthy[drawn as usize]
    }

    /// Is this server in?
    pub fn is_healthy(&self, rx: Rx, server: usize) -> bool {
        rx.look(&BALANCED, |balanced| !balanced.is_out(server as u32))
    }

    /// Takes a server in or out. Its connections may be cut then.
    pub(crate) fn take(&self, rx: Rx, server: usize, healthy: bool, cuts: bool) {
        let server = server as u32;
        let cut = rx.update(&BALANCED, |balanced| {
            balanced.out &= !(1 << server);
            balanced.out |= u64::from(!healthy) << server;
            let cut = !healthy && cuts && balanced.current == Some(server);
            if cut {
                balanced.current = None;
                balanced.moves += 1;
            }
            cut
        });
        if cut {
            rx.broadcast(MOVED);
        }
    }

    /// The connection to this server is gone.
    pub fn broke(&self, rx: Rx, server: ProcId) {
        let index = self.servers.iter().position(|own| *own == server);
        let index = index.map(|index| index as u32);
        rx.update(&BALANCED, |balanced| {
            if balanced.current == index
                && !mutant!(
                    "balancer-sticks",
                    "a client goes on to a server whose connection broke"
                )
            {
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
    pub async fn move_somewhere(&self, rx: Rx) {
        let drawn = rx.choose(self.servers.len() as u64).await as u32;
        rx.update(&BALANCED, |balanced| balanced.moved(drawn));
        rx.broadcast(MOVED);
    }
}
