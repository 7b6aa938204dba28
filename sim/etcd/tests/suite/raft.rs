//! Raft on a network that loses, delays and reorders: what must never happen, and that it gets on.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wavetank_etcd::raft::{Body, Config, MemberId, Message, Output, Raft, ReadContext, Role};

type Node = Raft<u32, Vec<u32>>;

/// Members, what is under way between them, and what each has applied.
struct Net {
    nodes: Vec<Node>,
    flying: Vec<(MemberId, MemberId, Message<u32, Vec<u32>>)>,
    applied: Vec<Vec<u32>>,
    applied_to: Vec<u64>,
    cut: Option<MemberId>,
    /// The leader of each term.
    leaders: BTreeMap<u64, MemberId>,
    /// The longest sequence that anybody has applied.
    agreed: Vec<u32>,
    /// Read rounds: how far anybody had applied when it began.
    rounds: BTreeMap<ReadContext, u64>,
    reads_done: usize,
    proposed: u32,
}

impl Net {
    fn new(members: u8, pre_vote: bool) -> Net {
        let node = |n| Node::new(MemberId(n), members, Config { pre_vote });
        Net {
            nodes: (0..members).map(node).collect(),
            flying: Vec::new(),
            applied: vec![Vec::new(); usize::from(members)],
            applied_to: vec![0; usize::from(members)],
            cut: None,
            leaders: BTreeMap::new(),
            agreed: Vec::new(),
            rounds: BTreeMap::new(),
            reads_done: 0,
            proposed: 0,
        }
    }

    /// After anything was done with member `n`.
    fn settle(&mut self, n: usize) {
        self.apply(n);
        for output in self.nodes[n].take_outputs() {
            match output {
                Output::Send(to, message) => {
                    let from = MemberId(n as u8);
                    if self.cut != Some(from) && self.cut != Some(to) {
                        self.flying.push((from, to, message));
                    }
                }
                Output::NeedsSnapshot(to) => {
                    let (index, state) = (self.applied_to[n], self.applied[n].clone());
                    self.nodes[n].snapshot(to, index, state);
                    self.settle(n);
                }
                Output::Install { index, state } => {
                    assert!(state.len() >= self.applied[n].len(), "state went back");
                    self.applied[n] = state;
                    self.applied_to[n] = index;
                }
                Output::Appended { term, index } => {
                    assert_eq!(self.nodes[n].log().term(index), Some(term));
                }
                Output::ReadReady { context, index } => {
                    let began = self.rounds[&context];
                    assert!(index >= began, "a stale read: {index} is before {began}");
                    self.reads_done += 1;
                }
            }
        }
        self.apply(n);
        let node = &self.nodes[n];
        if node.leads() {
            let leader = *self.leaders.entry(node.term()).or_insert(node.me());
            assert_eq!(leader, node.me(), "two leaders in term {}", node.term());
        }
    }

    fn apply(&mut self, n: usize) {
        while self.applied_to[n] < self.nodes[n].committed() {
            let Some(entry) = self.nodes[n].log().get(self.applied_to[n] + 1) else {
                return; // a snapshot is about to be installed
            };
            self.applied[n].extend(entry.data);
            self.applied_to[n] += 1;
        }
        let (mine, all) = (&self.applied[n], &mut self.agreed);
        let common = mine.len().min(all.len());
        assert_eq!(mine[..common], all[..common], "members disagree");
        if mine.len() > all.len() {
            *all = mine.clone();
        }
    }

    fn deliver(&mut self, at: usize) {
        let (from, to, message) = self.flying.remove(at);
        let n = usize::from(to.0);
        self.nodes[n].step(from, message, false);
        self.settle(n);
    }

    fn act(&mut self, act: &Act) {
        let member = |n: u8| usize::from(n) % self.nodes.len();
        match *act {
            Act::Deliver(at) if !self.flying.is_empty() => self.deliver(at % self.flying.len()),
            Act::Deliver(_) => {}
            Act::Lose(at) if !self.flying.is_empty() => {
                self.flying.remove(at % self.flying.len());
            }
            Act::Lose(_) => {}
            Act::Election(n) => {
                let n = member(n);
                self.nodes[n].election_due();
                self.settle(n);
            }
            Act::Heartbeat(n) => {
                let n = member(n);
                self.nodes[n].heartbeat_due();
                self.settle(n);
            }
            Act::Propose(n) => {
                let n = member(n);
                self.proposed += 1;
                let _ = self.nodes[n].propose(self.proposed);
                self.settle(n);
            }
            Act::Read(n) => {
                let n = member(n);
                let number = self.rounds.len() as u64;
                let context = ReadContext {
                    member: MemberId(n as u8),
                    number,
                };
                let furthest = self.applied_to.iter().copied().max();
                self.rounds.insert(context, furthest.unwrap_or(0));
                self.nodes[n].read_index(context);
                self.settle(n);
            }
            Act::Restart(n) => {
                let n = member(n);
                self.nodes[n].restart();
                self.settle(n);
            }
            Act::CutLog(n) => {
                let n = member(n);
                let index = self.applied_to[n];
                self.nodes[n].cut_log(index);
            }
            Act::Isolate(n) => self.cut = n.map(|n| MemberId(member(n) as u8)),
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Deliver(usize),
    Lose(usize),
    Election(u8),
    Heartbeat(u8),
    Propose(u8),
    Read(u8),
    Restart(u8),
    CutLog(u8),
    Isolate(Option<u8>),
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        30 => any::<usize>().prop_map(Act::Deliver),
        3 => any::<usize>().prop_map(Act::Lose),
        2 => any::<u8>().prop_map(Act::Election),
        5 => any::<u8>().prop_map(Act::Heartbeat),
        5 => any::<u8>().prop_map(Act::Propose),
        4 => any::<u8>().prop_map(Act::Read),
        1 => any::<u8>().prop_map(Act::Restart),
        1 => any::<u8>().prop_map(Act::CutLog),
        1 => any::<Option<u8>>().prop_map(Act::Isolate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn members_never_disagree_and_get_on_when_the_network_does(
        members in 1_u8..=5,
        pre_vote: bool,
        acts in prop::collection::vec(acts(), 0..400),
    ) {
        let mut net = Net::new(members, pre_vote);
        for act in &acts {
            net.act(act);
        }
        // The network heals: somebody stands for election, and all catch up.
        net.cut = None;
        for round in 0..200 {
            let leader = net.nodes.iter().position(|n| n.leads());
            match leader {
                Some(n) => net.act(&Act::Heartbeat(n as u8)),
                None => net.act(&Act::Election(round as u8)),
            }
            while !net.flying.is_empty() {
                net.deliver(0);
            }
        }
        let leader = net.nodes.iter().position(|n| n.role() == Role::Leader);
        let leader = leader.expect("somebody leads");
        net.act(&Act::Propose(leader as u8));
        let before = net.reads_done;
        net.act(&Act::Read(leader as u8));
        for _ in 0..20 {
            net.act(&Act::Heartbeat(leader as u8));
            while !net.flying.is_empty() {
                net.deliver(0);
            }
        }
        prop_assert!(net.reads_done > before, "the read is answered");
        for n in 0..net.nodes.len() {
            prop_assert_eq!(net.applied[n].last(), Some(&net.proposed), "member {} lags", n);
            prop_assert_eq!(&net.applied[n], &net.agreed);
        }
    }
}

#[test]
fn a_single_member_leads_and_commits_at_once() {
    let mut net = Net::new(1, true);
    net.act(&Act::Election(0));
    net.act(&Act::Propose(0));
    net.act(&Act::Read(0));
    assert_eq!(net.agreed, [1]);
    assert_eq!(net.reads_done, 1);
}

#[test]
fn a_leader_without_a_quorum_steps_down() {
    let mut net = Net::new(3, true);
    net.act(&Act::Election(0));
    while !net.flying.is_empty() {
        net.deliver(0);
    }
    assert!(net.nodes[0].leads());
    net.act(&Act::Isolate(Some(0)));
    for _ in 0..20 {
        net.act(&Act::Heartbeat(0));
    }
    assert_eq!(net.nodes[0].role(), Role::Follower);
    assert_eq!(net.nodes[0].lead(), None);
}

#[test]
fn whoever_hears_a_leader_votes_for_nobody_else() {
    let mut net = Net::new(3, false);
    net.act(&Act::Election(0));
    while !net.flying.is_empty() {
        net.deliver(0);
    }
    let term = net.nodes[0].term();
    net.nodes[2].election_due();
    net.settle(2);
    let votes = std::mem::take(&mut net.flying);
    assert_eq!(votes.len(), 2);
    for (from, to, vote) in votes {
        net.nodes[usize::from(to.0)].step(from, vote, true);
        net.settle(usize::from(to.0));
    }
    assert!(net.nodes[0].leads() && net.nodes[0].term() == term);
    assert_eq!(net.nodes[1].lead(), Some(MemberId(0)));
}

/// Delivers the first message under way that is wanted.
fn deliver_where(
    net: &mut Net,
    wanted: impl Fn(&(MemberId, MemberId, Body<u32, Vec<u32>>)) -> bool,
) {
    let found = net
        .flying
        .iter()
        .position(|(from, to, message)| wanted(&(*from, *to, message.body.clone())));
    net.deliver(found.expect("it is under way"));
}

/// etcd#20418: a follower that hears nothing asks again. An old leader that wakes up has both
/// questions before it, two answers to its heartbeat of long ago, and a read that came later. What
/// the second answer confirms depends on the number under which the follower asked again.
#[test]
fn an_old_leader_confirms_no_read_by_a_heartbeat_of_long_ago() {
    let confirms_a_later_read = |second: u64| {
        let (old, follower, new) = (MemberId(0), MemberId(1), MemberId(2));
        let mut net = Net::new(3, true);
        for act in [Act::Election(0), Act::Propose(0)] {
            net.act(&act);
            while !net.flying.is_empty() {
                net.deliver(0);
            }
        }
        let ask = |net: &mut Net, member: MemberId, number| {
            let context = ReadContext { member, number };
            net.rounds.insert(context, 0);
            net.nodes[usize::from(member.0)].read_index(context);
            net.settle(usize::from(member.0));
        };
        ask(&mut net, follower, 1);
        deliver_where(&mut net, |(_, to, _)| *to == old);
        // The leader falls asleep: both others have answered its heartbeat, one asks again.
        for member in [follower, new] {
            deliver_where(&mut net, |(_, to, _)| *to == member);
        }
        ask(&mut net, follower, second);
        let waiting = std::mem::take(&mut net.flying);
        // The others elect another one, which commits.
        net.act(&Act::Election(2));
        let mut late = Vec::new();
        while let Some(at) = net.flying.iter().position(|(_, to, _)| *to != old) {
            net.deliver(at);
            if net.nodes[2].leads() && net.proposed == 1 {
                net.act(&Act::Propose(2));
            }
            late.extend(net.flying.extract_if(.., |(_, to, _)| *to == old));
        }
        assert!(net.nodes[2].leads() && net.applied[2].len() == 2);
        // It wakes up, reads what the follower sent, and is asked by a client of its own.
        let before = net.reads_done;
        net.flying = waiting;
        deliver_where(&mut net, |(from, _, _)| *from == follower);
        ask(&mut net, old, 1);
        deliver_where(&mut net, |(from, to, _)| (*from, *to) == (follower, old));
        assert_eq!(net.reads_done, before, "not confirmed by anybody yet");
        deliver_where(&mut net, |(from, to, _)| (*from, *to) == (new, old));
        net.reads_done > before
    };
    assert!(confirms_a_later_read(1), "asked again under its number");
    assert!(!confirms_a_later_read(2), "under another");
}
