//! The yardstick: single-decree Paxos of three servers and two clients under stateright's own actors,
//! as its example has it: each client writes once and reads once, and the register is linearizable.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use stateright::actor::register::{RegisterActor, RegisterMsg};
use stateright::actor::{Actor, ActorModel, Id, Network, Out};
use stateright::semantics::LinearizabilityTester;
use stateright::semantics::register::Register;
use stateright::{Expectation, Model};

const SERVERS: u64 = 3;
const CLIENTS: u64 = 2;

type Ballot = (u64, Id);
/// Who asked, for what value.
type Proposal = (u64, Id, char);
type Accepted = Option<(Ballot, Proposal)>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Msg {
    Prepare(Ballot),
    Prepared(Ballot, Accepted),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    ballot: Ballot,
    proposal: Option<Proposal>,
    promises: BTreeMap<Id, Accepted>,
    accepts: BTreeSet<Id>,
    accepted: Accepted,
    decided: Option<Proposal>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    peers: Vec<Id>,
}

type Wire = RegisterMsg<u64, char, Msg>;

fn majority(count: usize) -> bool {
    count as u64 > SERVERS / 2
}

impl Server {
    fn broadcast(&self, msg: Msg, out: &mut Out<Server>) {
        out.broadcast(&self.peers, &Wire::Internal(msg));
    }

    fn put(&self, id: Id, state: &mut State, proposal: Proposal, out: &mut Out<Server>) {
        state.ballot = (state.ballot.0 + 1, id);
        state.proposal = Some(proposal);
        state.promises = BTreeMap::from([(id, state.accepted)]);
        state.accepts.clear();
        self.broadcast(Msg::Prepare(state.ballot), out);
    }

    fn promised(&self, id: Id, state: &mut State, src: Id, last: Accepted, out: &mut Out<Server>) {
        state.promises.insert(src, last);
        if state.promises.len() as u64 != SERVERS / 2 + 1 {
            return;
        }
        let latest = state.promises.values().max().copied().flatten();
        let proposal = latest.map(|(_, proposal)| proposal).or(state.proposal);
        let proposal = proposal.expect("somebody has put something");
        state.proposal = Some(proposal);
        state.accepted = Some((state.ballot, proposal));
        state.accepts.insert(id);
        self.broadcast(Msg::Accept(state.ballot, proposal), out);
    }

    fn accepted(&self, state: &mut State, src: Id, out: &mut Out<Server>) {
        state.accepts.insert(src);
        if !majority(state.accepts.len()) || state.decided.is_some() {
            return;
        }
        let proposal = state.proposal.expect("it was proposed");
        state.decided = Some(proposal);
        self.broadcast(Msg::Decided(state.ballot, proposal), out);
        out.send(proposal.1, Wire::PutOk(proposal.0));
    }
}

impl Actor for Server {
    type Msg = Wire;
    type State = State;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Server>) -> State {
        State::default()
    }

    fn on_msg(
        &self,
        id: Id,
        state: &mut Cow<'_, State>,
        src: Id,
        msg: Wire,
        out: &mut Out<Server>,
    ) {
        if let Some((_, _, value)) = state.decided {
            // What is decided is answered, and nothing else.
            if let Wire::Get(request) = msg {
                out.send(src, Wire::GetOk(request, value));
            }
            return;
        }
        match msg {
            Wire::Put(request, value) if state.proposal.is_none() => {
                self.put(id, state.to_mut(), (request, src, value), out);
            }
            Wire::Internal(Msg::Prepare(ballot)) if state.ballot < ballot => {
                state.to_mut().ballot = ballot;
                out.send(src, Wire::Internal(Msg::Prepared(ballot, state.accepted)));
            }
            Wire::Internal(Msg::Prepared(ballot, last)) if ballot == state.ballot => {
                self.promised(id, state.to_mut(), src, last, out);
            }
            Wire::Internal(Msg::Accept(ballot, proposal)) if state.ballot <= ballot => {
                let state = state.to_mut();
                state.ballot = ballot;
                state.accepted = Some((ballot, proposal));
                out.send(src, Wire::Internal(Msg::Accepted(ballot)));
            }
            Wire::Internal(Msg::Accepted(ballot)) if ballot == state.ballot => {
                self.accepted(state.to_mut(), src, out);
            }
            Wire::Internal(Msg::Decided(ballot, proposal)) => {
                let state = state.to_mut();
                state.ballot = ballot;
                state.accepted = Some((ballot, proposal));
                state.decided = Some(proposal);
            }
            _ => {}
        }
    }
}

type History = LinearizabilityTester<Id, Register<char>>;
type Actors = ActorModel<RegisterActor<Server>, (), History>;

/// The model.
pub fn model() -> Actors {
    let server = |own: u64| {
        let peers = (0..SERVERS)
            .filter(|peer| *peer != own)
            .map(|peer| Id::from(peer as usize));
        RegisterActor::Server(Server {
            peers: peers.collect(),
        })
    };
    let client = |_| RegisterActor::Client {
        put_count: 1,
        server_count: SERVERS as usize,
    };
    ActorModel::new((), LinearizabilityTester::new(Register(char::default())))
        .actors((0..SERVERS).map(server))
        .actors((0..CLIENTS).map(client))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "linearizable", |_, state| {
            state.history.serialized_history().is_some()
        })
        .record_msg_in(Wire::record_returns)
        .record_msg_out(Wire::record_invocations)
}

/// All of it, depth first.
pub fn check(threads: usize) -> impl stateright::Checker<Actors> {
    use stateright::Checker as _;
    model().checker().threads(threads).spawn_dfs().join()
}
