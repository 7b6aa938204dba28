//! A member that applies more slowly than it is asked to write.

use crate::common;

use wavetank_engine::drive::Stepped;
use wavetank_etcd::{EtcdError, Sizes};
use wavetank_version::{EtcdVersion, Set};

use common::{Cluster, LIMIT};

/// `v3_server.go` `processInternalRaftRequestOnce` takes nothing more while too many entries are
/// committed and not applied. Members apply at once, but where etcd#13766 needs the time between.
#[test]
fn too_many_requests_are_not_taken() {
    let release = EtcdVersion { minor: 5, patch: 1 };
    let sizes = Sizes {
        apply_backlog: 20,
        ..Sizes::of(release)
    };
    let mut cluster = Cluster::new(1, release, Set::shipped_with(release), sizes, 0);
    let calls: Vec<u64> = (0..30)
        .map(|n| cluster.send(0, &format!("write {n}")))
        .collect();
    cluster.run(LIMIT.as_secs_f64());
    let taken = calls.iter().filter(|call| match &cluster.answers[call] {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(*error, EtcdError::TooManyRequests);
            false
        }
    });
    // They came together, before the first of them was applied.
    assert_eq!(taken.copied().collect::<Vec<_>>(), calls[..21]);
    assert!(cluster.ask(0, "write again").is_ok());
    assert_eq!(cluster.member(0).store().revision(), 1 + 21 + 1);
}
