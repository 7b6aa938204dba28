//! Which member a call goes to where a client knows several: grpc's `round_robin` over the connections that are ready
//! (`client/v3/internal/resolver`, grpc-go `balancer/endpointsharding`). A client that knows one has nothing to pick.

use std::time::Duration;

use wavetank_engine::{Cell, Condition, Name, Outcome, ProcId, RoutineFuture, Rx, Task};

use super::{CONNECT_BACKOFF, CONNECT_BACKOFF_LIMIT, Client, Endpoints};

const CONNECTION: Name = Name::new("etcd-connection");

/// `pickerWithChildStates`: what is ready, and whose turn it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Picker {
    /// Are there routines that keep the connections?
    dialled: bool,
    ready: Vec<ProcId>,
    next: usize,
}

impl Picker {
    /// `Pick`; `None`: nothing is ready.
    fn pick(&mut self) -> Option<ProcId> {
        self.next += 1;
        let at = self.next.checked_rem(self.ready.len())?;
        self.next = at;
        Some(self.ready[at])
    }
}

/// Keeps the connection of a client to one of its members (`SubConn`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Connection {
    client: Client,
    member: ProcId,
    backoff: Duration,
}

/// The future of a task that is a client's.
pub fn routine(task: &Task) -> Option<RoutineFuture> {
    (task.kind() == CONNECTION)
        .then(|| -> RoutineFuture { Box::pin(keep(Rx::new(), *task.args::<Connection>())) })
}

impl Client {
    /// The same, at the member whose turn it is. Who finds none ready waits for one (`WaitForReady`).
    pub async fn pick(self, rx: Rx) -> Client {
        if self.endpoints.only().is_some() {
            return self;
        }
        self.dial(rx);
        loop {
            if let Some(member) = rx.update(&self.picker(), Picker::pick) {
                let endpoints = Endpoints::from(member);
                return Client { endpoints, ..self };
            }
            rx.changed(self.ready()).await;
        }
    }

    fn picker(self) -> Cell<Picker> {
        Cell::numbered(self.transport.name.as_str(), 0)
    }

    fn ready(self) -> Condition {
        Condition::new(self.transport.name.as_str(), 0)
    }

    /// All members are dialled at once, when the client is first used.
    fn dial(self, rx: Rx) {
        let dialled = |picker: &mut Picker| std::mem::replace(&mut picker.dialled, true);
        if rx.update(&self.picker(), dialled) {
            return;
        }
        for member in self.endpoints.all() {
            let connection = Connection {
                client: self,
                member: *member,
                backoff: CONNECT_BACKOFF,
            };
            rx.spawn(Task::new(CONNECTION, connection));
        }
    }

    /// `updateState`: a new picker, which begins anywhere.
    async fn update_state(self, rx: Rx, member: ProcId, is_ready: bool) {
        let count = rx.update(&self.picker(), |picker| {
            picker.ready.retain(|other| *other != member);
            if is_ready {
                picker.ready.push(member);
                picker.ready.sort();
            }
            picker.ready.len()
        });
        rx.broadcast(self.ready());
        if count > 1 {
            let first = rx.choose(count as u64).await as usize;
            rx.update(&self.picker(), |picker| picker.next = first);
        }
    }
}

/// From one attempt to connect to the next. One that was lost is dialled again at once, one that was not made after a
/// pause.
async fn keep(rx: Rx, connection: Connection) -> Outcome {
    let Connection {
        client,
        member,
        backoff,
    } = connection;
    let stream = rx.connect(client.transport, member);
    let again = match rx.next(stream).await {
        Ok(_) => {
            client.update_state(rx, member, true).await;
            // It has no other part.
            let _ = rx.next(stream).await;
            client.update_state(rx, member, false).await;
            CONNECT_BACKOFF
        }
        Err(_) => {
            rx.sleep(backoff).await;
            (backoff * 8 / 5).min(CONNECT_BACKOFF_LIMIT)
        }
    };
    rx.close_stream(stream);
    let backoff = again;
    Outcome::Become(Task::new(
        CONNECTION,
        Connection {
            backoff,
            ..connection
        },
    ))
}
