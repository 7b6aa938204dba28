//! How members ask the leader's lessor (`v3_server.go` `LeaseRenew`, `leasehttp`), and how whoever
//! asks is answered. What the answer is does not belong here.

use wavetank_engine::{Caller, Cx, Timer};

use crate::api::{EtcdError, Request, Response, TimeToLive, Value};
use crate::raft::MemberId;
use crate::server::Etcd;
use crate::server::peers::Peer;
use crate::server::reads::Ask;
use crate::server::writes::REQUEST_TIMEOUT;

use super::{ASK_AGAIN, ASK_AGAIN_AFTER, Asker, FORWARD, Forward, LeaseAnswer, LeaseAsk};

/// The other members' side: they ask the leader.
impl<V: Value> Etcd<V> {
    pub(in crate::server) fn ask_lessor(
        &mut self,
        cx: &mut Cx<'_>,
        caller: Caller,
        request: &Request<V>,
    ) {
        let ask = match request {
            Request::LeaseKeepAlive(id) => LeaseAsk::Renew(*id),
            Request::LeaseTimeToLive { id, keys } => LeaseAsk::TimeToLive(*id, *keys),
            other => unreachable!("{other:?} is not for the lessor"),
        };
        if self.raft.leads() {
            self.asked(cx, Asker::Client(caller), ask);
        } else {
            self.forward(cx, caller, ask);
        }
    }

    pub(in crate::server) fn asked_by_peer(
        &mut self,
        cx: &mut Cx<'_>,
        from: MemberId,
        number: u64,
        ask: LeaseAsk,
    ) {
        if self.raft.leads() {
            self.asked(cx, Asker::Peer(from, number), ask);
        }
    }

    fn asked(&mut self, cx: &mut Cx<'_>, asker: Asker, ask: LeaseAsk) {
        match ask {
            LeaseAsk::Renew(_) if !self.takes_itself_for_leader(cx) => {
                self.read(cx, Ask::Lease(asker, ask));
            }
            ask => self.answer_lease(cx, asker, ask),
        }
    }

    fn forward(&mut self, cx: &mut Cx<'_>, caller: Caller, ask: LeaseAsk) {
        self.lessor.number += 1;
        let number = self.lessor.number;
        let forward = Forward {
            number,
            caller,
            ask,
        };
        self.lessor.forwards.push(forward);
        cx.arm(Timer::new(FORWARD, number), REQUEST_TIMEOUT);
        self.ask_leader(cx, &[forward]);
        if cx.remaining(ASK_AGAIN).is_none() {
            cx.arm(ASK_AGAIN, ASK_AGAIN_AFTER);
        }
    }

    fn ask_leader(&self, cx: &mut Cx<'_>, forwards: &[Forward]) {
        let me = self.config.me;
        if let Some(lead) = self.raft.lead().filter(|lead| *lead != me) {
            for forward in forwards {
                let number = u64::from(self.life) << 32 | forward.number;
                self.say(cx, lead, Peer::Lease(number, forward.ask));
            }
        }
    }

    /// Asks again what has not been answered; this member may have become the leader itself.
    pub(in crate::server) fn ask_leader_again(&mut self, cx: &mut Cx<'_>) {
        if self.lessor.forwards.is_empty() {
            return;
        }
        cx.arm(ASK_AGAIN, ASK_AGAIN_AFTER);
        if !self.raft.leads() {
            let forwards = self.lessor.forwards.clone();
            return self.ask_leader(cx, &forwards);
        }
        if !self.lessor.is_primary() && self.takes_itself_for_leader(cx) {
            return; // it would ask itself until it is promoted
        }
        for forward in std::mem::take(&mut self.lessor.forwards) {
            cx.disarm(Timer::new(FORWARD, forward.number));
            self.asked(cx, Asker::Client(forward.caller), forward.ask);
        }
    }

    pub(in crate::server) fn answered_by_leader(
        &mut self,
        cx: &mut Cx<'_>,
        number: u64,
        answer: &LeaseAnswer,
    ) {
        let (life, number) = (number >> 32, number & u64::from(u32::MAX));
        let forwards = &mut self.lessor.forwards;
        let found = forwards.iter().position(|f| f.number == number);
        if let Some(at) = found
            && life == u64::from(self.life)
        {
            let forward = forwards.remove(at);
            cx.disarm(Timer::new(FORWARD, number));
            let asker = Asker::Client(forward.caller);
            self.tell_asker(cx, asker, forward.ask, Ok(answer.clone()));
        }
    }

    pub(in crate::server) fn forward_timed_out(&mut self, cx: &mut Cx<'_>, number: u64) {
        let forwards = &mut self.lessor.forwards;
        if let Some(at) = forwards.iter().position(|f| f.number == number) {
            let caller = forwards.remove(at).caller;
            let error = match self.raft.lead() {
                None => EtcdError::NoLeader,
                Some(_) => EtcdError::Timeout,
            };
            cx.reply(caller, Response::<V>::Error(error));
        }
    }

    pub(in crate::server) fn refuse_lease_asks(&mut self, cx: &mut Cx<'_>, error: EtcdError) {
        cx.disarm(ASK_AGAIN);
        for forward in std::mem::take(&mut self.lessor.forwards) {
            cx.disarm(Timer::new(FORWARD, forward.number));
            cx.reply(forward.caller, Response::<V>::Error(error));
        }
    }

    pub(in crate::server) fn tell_asker(
        &mut self,
        cx: &mut Cx<'_>,
        asker: Asker,
        ask: LeaseAsk,
        answer: Result<LeaseAnswer, EtcdError>,
    ) {
        let revision = self.state.store.revision();
        match (asker, answer) {
            (Asker::Peer(to, number), Ok(answer)) => {
                self.say(cx, to, Peer::LeaseAnswer(number, answer));
            }
            // It asks again.
            (Asker::Peer(..), Err(_)) => {}
            // Whoever leads now is asked.
            (Asker::Client(caller), Err(EtcdError::NotPrimary)) => {
                self.forward(cx, caller, ask);
            }
            (Asker::Client(caller), Err(error)) => {
                cx.reply(caller, Response::<V>::Error(error));
            }
            (Asker::Client(caller), Ok(LeaseAnswer::Renewed { ttl })) => {
                cx.reply(caller, Response::<V>::LeaseKeepAlive { revision, ttl });
            }
            (Asker::Client(caller), Ok(LeaseAnswer::TimeToLive { ttl, granted, keys })) => {
                let told = TimeToLive {
                    revision,
                    ttl,
                    granted,
                    keys,
                };
                cx.reply(caller, Response::<V>::LeaseTimeToLive(told));
            }
        }
    }
}
