//! The health checks of a load balancer: each server is asked at an interval, is out after some failures in a row,
//! and in again after some successes, as with `fall` and `rise` of HAProxy, which has them all in at first. The
//! balancer runs on the machine of its client, as where each node has one of its own: between the two nothing is
//! lost.

use std::time::Duration;

use wavetank_api::{Method, Request, Response};
use wavetank_engine::{Cx, Name, Outcome, Payload, ProcId, RoutineFuture, Rx, Task};

use crate::load_balancer::LoadBalancer;
use crate::transport::HTTPS;

const CHECK: Name = Name::new("health-check");

/// How servers are checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HealthChecks {
    /// What is asked for: anything but a 200 in time is a failure.
    pub path: &'static str,
    /// From the end of a check to the next one.
    pub every: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// A server is out after so many failures in a row.
    pub fall: u32,
    /// It is in again after so many successes in a row.
    pub rise: u32,
    /// Are connections to a server that is out cut? Otherwise they stay while they live.
    pub cuts: bool,
}

/// A note: a balancer has taken a server out, or in again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checked {
    /// The server.
    pub server: ProcId,
    /// Is it in?
    pub healthy: bool,
}

/// One server's checks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Check {
    server: usize,
    /// So many in a row say that it is not what it is taken for.
    against: u32,
}

impl HealthChecks {
    /// Begins to check these servers.
    pub fn boot(&self, cx: &mut Cx<'_>, balancer: &LoadBalancer) {
        for server in 0..balancer.servers.len() {
            cx.spawn(Task::new(CHECK, Check { server, against: 0 }));
        }
    }

    /// The routine of a task, if that is one of its own.
    pub fn routine(self, balancer: &LoadBalancer, task: &Task) -> Option<RoutineFuture> {
        if task.kind() != CHECK {
            return None;
        }
        let balancer = balancer.clone();
        let check = *task.args::<Check>();
        Some(Box::pin(self.check(Rx::new(), balancer, check)))
    }

    async fn check(self, rx: Rx, balancer: LoadBalancer, check: Check) -> Outcome {
        let server = balancer.servers[check.server];
        let ask = Payload::new(Request::new(Method::Get, self.path));
        let answer = rx.timeout(self.timeout, rx.call(&HTTPS, server, ask));
        let answer = answer.await.and_then(Result::ok);
        let passed = answer.is_some_and(|answer| answer.expect::<Response>().code == 200);
        let mut against = match passed == balancer.is_healthy(rx, check.server) {
            true => 0,
            false => check.against + 1,
        };
        let enough = match passed {
            true => self.rise,
            false => self.fall,
        };
        if against >= enough {
            balancer.take(rx, check.server, passed, self.cuts);
            let healthy = passed;
            rx.note(Checked { server, healthy });
            against = 0;
        }
        rx.sleep(self.every).await;
        Outcome::Become(Task::new(CHECK, Check { against, ..check }))
    }
}
