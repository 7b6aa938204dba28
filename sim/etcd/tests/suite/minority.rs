//! A member without a majority: it answers serializable reads from what it has, however old that
//! is, and nothing else.

use crate::common;

use wavetank_engine::drive::Stepped;
use wavetank_etcd::{EtcdError, Sizes};
use wavetank_version::Set;

use common::{Cluster, LIMIT, found};

fn is_old_at_a_minority_and_fresh_after(draws: u64, of_leader: bool) {
    let release = wavetank_releases::etcd::LATEST;
    let mut cluster = Cluster::new(3, release, Set::NONE, Sizes::of(release), draws);
    let leader = cluster.leader().expect("somebody leads");
    let cut = if of_leader { leader } else { (leader + 1) % 3 };
    let other = (leader + 2) % 3;
    assert!(cluster.ask(other, "write old").is_ok());

    cluster.strike(cluster.links(cut, true));
    // At this moment the former leader still believes that it leads, and a follower that it has one.
    let mut early = vec![cluster.send(cut, "read")];
    if of_leader {
        // A follower's may reach the leader once the links heal; this one never gets a majority.
        early.push(cluster.send(cut, "write lost"));
    }
    // Not even it answers what it cannot make sure of.
    cluster.run(6.0);
    assert!(early.iter().all(|call| !cluster.answers.contains_key(call)));
    let written = cluster.ask(other, "write new");
    assert!(written.is_ok(), "{written:?}");
    for call in early {
        let error = cluster.answers[&call].as_ref().expect_err("it has waited");
        assert!(error.is_unknown(), "{error}");
    }

    assert_eq!(cluster.stale, 0);
    assert_eq!(found(&cluster.ask(cut, "read-local")), ("old".into(), 2));
    assert_eq!(cluster.stale, 1, "the monitor has seen how old it is");
    assert_eq!(found(&cluster.ask(other, "read")), ("new".into(), 3));
    assert_eq!(cluster.ask(cut, "read"), Err(EtcdError::Timeout));
    // Nobody takes the write from a member that knows of no leader: that is certain.
    let refused = cluster.ask(cut, "write never");
    assert_eq!(refused, Err(EtcdError::DeadlineExceeded));
    assert_eq!(found(&cluster.ask(cut, "read-local")), ("old".into(), 2));

    // One that waits while the links heal is told the truth, or nothing.
    let waiting = cluster.send(cut, "read");
    cluster.run(3.0);
    cluster.strike(cluster.links(cut, false));
    cluster.run(LIMIT.as_secs_f64());
    match &cluster.answers[&waiting] {
        Err(error) => assert_eq!(*error, EtcdError::LeaderChanged),
        answer => assert_eq!(found(answer), ("new".into(), 3)),
    }
    for what in ["read", "read-local"] {
        assert_eq!(found(&cluster.ask(cut, what)), ("new".into(), 3));
    }
    assert!(cluster.ask(cut, "write newer").is_ok());
    assert_eq!(found(&cluster.ask(other, "read")), ("newer".into(), 4));
}

#[test]
fn a_follower_that_is_cut_off_serves_old_reads_only_if_they_may_be_old() {
    for draws in 0..8 {
        is_old_at_a_minority_and_fresh_after(draws, false);
    }
}

#[test]
fn a_leader_that_is_cut_off_serves_old_reads_only_if_they_may_be_old() {
    for draws in 0..8 {
        is_old_at_a_minority_and_fresh_after(draws, true);
    }
}
