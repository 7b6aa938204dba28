//! A session, as `client/v3/concurrency` keeps it: a lease with a key of this client's own, kept
//! alive as long as the client runs. Kubernetes' own leases live in the same way.

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Outcome, ProcId, Rx, Task};
use wavetank_etcd::{LeaseId, Put, Request, Response, Value};

use super::{Config, Dice, OPERATION_LIMIT, SESSION, ask, numbered};

/// In seconds; a storm is too short for the 60 s of upstream's default.
const TTLS: [u64; 3] = [3, 5, 8];
/// `retryConnWait`: after a failure.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Where a session is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Session {
    me: ProcId,
    /// The member that it talks to.
    member: usize,
    lease: Option<Kept>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kept {
    id: LeaseId,
    ttl: u64,
    /// So many attempts in a row were in vain.
    failures: u32,
}

impl Session {
    pub fn new(me: ProcId) -> Session {
        Session {
            me,
            member: me.index(),
            lease: None,
        }
    }
}

/// One turn of the loop: begins a session, or keeps it alive once.
pub(super) async fn turn<V: Value>(rx: Rx, config: Arc<Config<V>>, session: Session) -> Outcome {
    let (lease, failed) = match session.lease {
        None => begin(rx, &config, session).await,
        Some(kept) => keep(rx, &config, session, kept).await,
    };
    Outcome::Become(Task::new(
        SESSION,
        Session {
            lease,
            // A client that fails goes to the next member, as clientv3's balancer does.
            member: session.member + usize::from(failed),
            ..session
        },
    ))
}

async fn begin<V: Value>(rx: Rx, config: &Config<V>, session: Session) -> (Option<Kept>, bool) {
    let Session { me, member, .. } = session;
    let mut dice = Dice::throw(rx).await;
    let ttl = TTLS[dice.pick(TTLS.len() as u64) as usize];
    let call = numbered::<V>(rx, me);
    let request = Request::LeaseGrant { id: None, ttl };
    let granted = ask(rx, config, call, member, request, OPERATION_LIMIT).await;
    let Ok(Response::LeaseGrant { id, ttl, .. }) = granted else {
        rx.sleep(RETRY_AFTER).await;
        return (None, true);
    };
    let call = numbered::<V>(rx, me);
    let put = Put {
        lease: Some(id),
        ..Put::new(
            format!("/user/session-{}", me.index()),
            config.value(me, call),
        )
    };
    let limit = Duration::from_secs(ttl);
    let kept = Kept {
        id,
        ttl,
        failures: 0,
    };
    match ask(rx, config, call, member, Request::Put(put), limit).await {
        Ok(_) => (Some(kept), false),
        Err(_) => (None, true),
    }
}

/// Three times as often as the lease needs (`keepAliveOnce` at a third of the TTL).
async fn keep<V: Value>(
    rx: Rx,
    config: &Config<V>,
    session: Session,
    kept: Kept,
) -> (Option<Kept>, bool) {
    let period = Duration::from_secs(kept.ttl) / 3;
    rx.sleep(if kept.failures > 0 {
        RETRY_AFTER
    } else {
        period
    })
    .await;
    let call = numbered::<V>(rx, session.me);
    let request = Request::LeaseKeepAlive(kept.id);
    match ask(rx, config, call, session.member, request, period).await {
        Ok(Response::LeaseKeepAlive { ttl: 0, .. }) => (None, false),
        Ok(_) => (
            Some(Kept {
                failures: 0,
                ..kept
            }),
            false,
        ),
        // It is likely over: another session begins.
        Err(_) if kept.failures >= 3 => (None, true),
        Err(_) => (
            Some(Kept {
                failures: kept.failures + 1,
                ..kept
            }),
            true,
        ),
    }
}
