//! How actions from outside change the world.

use crate::conn::{ConnId, Dir, Ends, Frame};
use crate::fault::{Action, Fault};
use crate::name::{ProcId, RoutineId};
use crate::queue::{FrameHead, Sought, What};
use crate::slot::{Clock, Slot, Status};

use super::{After, ApplyError, World};

impl World {
    /// Do all processes exist that the action names?
    pub(super) fn resolve(&self, action: &Action) -> Result<(), ApplyError> {
        let names = match action {
            Action::Fault(fault) => fault.processes(),
            Action::Command { process, .. } => vec![process.as_str()],
        };
        match names
            .into_iter()
            .find(|name| self.view.find(name).is_none())
        {
            Some(name) => Err(ApplyError::NoProcess(name.to_owned())),
            None => Ok(()),
        }
    }

    /// Did it find its target?
    pub(super) fn act(&mut self, action: &Action) -> Result<bool, ApplyError> {
        match action {
            Action::Fault(fault) => Ok(self.strike(fault)),
            Action::Command {
                process,
                what,
                args,
            } => {
                let p = self.id(process);
                if self.view.slot(p).status != Status::Up {
                    return Ok(false);
                }
                self.callback(p, |process, cx| process.command(cx, what, args))
                    .map(|()| true)
                    .map_err(|why| ApplyError::NotUnderstood(format!("`{process}` {why}")))
            }
        }
    }

    /// Can this fault find its target now? False only if it surely cannot, though it exists.
    pub fn may_strike(&self, fault: &Fault) -> bool {
        let is = |process: &str, fits: &dyn Fn(&Slot) -> bool| {
            self.view
                .find(process)
                .is_none_or(|p| fits(self.view.slot(p)))
        };
        let is_up = |slot: &Slot| slot.status == Status::Up;
        match fault {
            Fault::Stop { process } | Fault::Pause { process } => {
                is(process, &|slot| is_up(slot) && !slot.paused)
            }
            Fault::Crash { process } | Fault::PowerLoss { process } => is(process, &is_up),
            Fault::Start { process } => is(process, &|slot| !is_up(slot)),
            Fault::Resume { process, .. } => is(process, &|slot| is_up(slot) && slot.paused),
            _ => true,
        }
    }

    fn id(&self, name: &str) -> ProcId {
        self.view.find(name).expect("resolved before")
    }

    fn strike(&mut self, fault: &Fault) -> bool {
        if !self.may_strike(fault) {
            return false;
        }
        match fault {
            Fault::Stop { process } => {
                let p = self.id(process);
                self.view.slot_mut(p).stopping = true;
                self.callback(p, |process, cx| process.stop(cx));
                true
            }
            Fault::Crash { process } => {
                self.end_process(self.id(process), Status::Down);
                true
            }
            Fault::PowerLoss { process } => {
                self.end_process(self.id(process), Status::Off);
                true
            }
            Fault::Start { process } => self.begin_life(self.id(process)),
            Fault::Pause { process } => {
                let p = self.id(process);
                self.view.slot_mut(p).paused = true;
                self.view.park();
                true
            }
            Fault::Resume { process, order } => {
                let p = self.id(process);
                self.view.slot_mut(p).paused = false;
                self.view.unpark(After::Pause { order: *order });
                true
            }
            Fault::Deschedule { process, routine } => self.hold(process, routine, true),
            Fault::Reschedule { process, routine } => self.hold(process, routine, false),
            Fault::Partition {
                left,
                right,
                one_way,
            } => self.cut(left, right, *one_way, true),
            Fault::Heal {
                left,
                right,
                one_way,
            } => self.cut(left, right, *one_way, false),
            Fault::Stall { from, to } => self.cut(
                std::slice::from_ref(from),
                std::slice::from_ref(to),
                true,
                true,
            ),
            Fault::Unstall { from, to } => self.cut(
                std::slice::from_ref(from),
                std::slice::from_ref(to),
                true,
                false,
            ),
            Fault::Reset {
                client,
                server,
                transport,
            } => match self.between(client, server, transport) {
                Some(id) => {
                    self.reset(id, true);
                    true
                }
                None => false,
            },
            Fault::HalfOpen {
                client,
                server,
                transport,
            } => match self.between(client, server, transport) {
                Some(id) => {
                    self.blackhole(id);
                    true
                }
                None => false,
            },
            Fault::Slow { a, b, factor } => self.slow(a, b, *factor),
            Fault::Unslow { a, b } => self.slow(a, b, 1),
            Fault::Delay { from, to, nanos } => self.delay(from, to, *nanos),
            Fault::LoseAnswer { client, server } => self.lose_answer(client, server),
            Fault::ClockRate { process, ppm } => {
                let p = self.id(process);
                self.view.slot_mut(p).clock.rate_ppm = *ppm;
                true
            }
            Fault::ClockJump { process, millis } => {
                let p = self.id(process);
                self.view.slot_mut(p).clock.ahead += millis * 1_000_000;
                true
            }
            Fault::HealAll {} => {
                self.view.links_mut().heal();
                for p in self.processes() {
                    if self.view.slot(p).clock != Clock::default() {
                        self.view.slot_mut(p).clock = Clock::default();
                    }
                }
                self.view.unpark(After::Cut);
                true
            }
        }
    }

    pub(super) fn begin_life(&mut self, p: ProcId) -> bool {
        let slot = self.view.slot_mut(p);
        if slot.status == Status::Up {
            return false;
        }
        slot.status = Status::Up;
        slot.incarnation += 1;
        self.callback(p, |process, cx| process.boot(cx));
        true
    }

    fn hold(&mut self, process: &str, routine: &str, hold: bool) -> bool {
        let p = self.id(process);
        let named = |id: &RoutineId| id.to_string() == routine;
        let mut routines = self.view.slot(p).routines.iter().map(|routine| routine.id);
        let Some(id) = routines.find(named) else {
            return false;
        };
        let held = self.view.slot_mut(p).routine_mut(id).expect("found above");
        if held.descheduled == hold {
            return false;
        }
        held.descheduled = hold;
        if hold {
            self.view.park();
        } else {
            let inbox = std::mem::take(&mut held.inbox);
            for (op, answer) in inbox {
                self.answer(p, id, op, answer);
            }
            self.view.unpark(After::Hold);
        }
        true
    }

    fn cut(&mut self, left: &[String], right: &[String], one_way: bool, cut: bool) -> bool {
        let mut changed = false;
        for l in left {
            for r in right {
                let (l, r) = (self.id(l), self.id(r));
                let ways = [(l, r), (r, l)];
                for (from, to) in &ways[..if one_way { 1 } else { 2 }] {
                    self.view.links_mut().change(*from, *to, |link| {
                        changed |= cut || link.cuts > 0;
                        link.cuts = match cut {
                            true => link.cuts + 1,
                            false => link.cuts.saturating_sub(1),
                        };
                    });
                }
            }
        }
        match cut {
            true => self.view.park(),
            false => self.view.unpark(After::Cut),
        }
        changed
    }

    fn slow(&mut self, a: &str, b: &str, factor: u32) -> bool {
        let (a, b) = (self.id(a), self.id(b));
        let before = self.view.link(a, b).slow;
        for (from, to) in [(a, b), (b, a)] {
            self.view
                .links_mut()
                .change(from, to, |link| link.slow = factor.max(1));
        }
        before != factor.max(1)
    }

    /// The living connection of `client` to `server` with this transport.
    fn between(&self, client: &str, server: &str, transport: &str) -> Option<ConnId> {
        let (client, server) = (self.id(client), self.id(server));
        let mut all = self.living(client, server);
        let (id, _) = all.find(|(_, ends)| ends.transport.name.as_str() == transport)?;
        Some(id)
    }

    /// The living connections of one to another, in the order in which they were opened.
    pub(super) fn living(
        &self,
        client: ProcId,
        server: ProcId,
    ) -> impl Iterator<Item = (ConnId, &Ends)> {
        let all = self.view.state().conns.iter();
        let all = all.map(|(id, conn)| (*id, &**conn.ends));
        all.filter(move |(_, ends)| {
            (ends.client.process, ends.server) == (client, server)
                && ends.open
                && ends.client_end
                && ends.server_end
                && !ends.dead
        })
    }

    fn lose_answer(&mut self, client: &str, server: &str) -> bool {
        let route = (self.id(client), self.id(server));
        let found = self.view.state().conns.iter().find(|(_, c)| {
            (c.client.process, c.server) == route
                && c.client_end
                && c.server_end
                && c.down
                    .iter()
                    .any(|f| matches!(*f.frame, Frame::Response { .. }))
        });
        let Some(id) = found.map(|(id, _)| *id) else {
            return false;
        };
        self.reset(id, false);
        true
    }

    fn delay(&mut self, from: &str, to: &str, nanos: u64) -> bool {
        let route = (self.id(from), self.id(to));
        let by = std::time::Duration::from_nanos(nanos);
        let mut injected = false;
        let state = self.view.state_mut();
        let ids: Vec<ConnId> = state.conns_where(|_| true).collect();
        for id in ids {
            for dir in [Dir::Up, Dir::Down] {
                let conn = state.conn_mut(id).expect("exists");
                if conn.route(dir) != route || conn.flights(dir).is_empty() {
                    continue;
                }
                injected = true;
                let flights = conn.flights_mut(dir);
                flights.iter_mut().for_each(|f| f.at = f.at + by);
                let at = flights[0].at;
                let head = What::Frame(FrameHead { conn: id, dir });
                state.remove(Sought::new(route.1, head));
                state.enter(at, route.1, head);
            }
        }
        injected
    }
}
