//! Allocation is not part of the request that asks for it: upstream gives it a context of its own
//! (`context.TODO()`, `context.Background()`), so that it goes on, and is undone, when the client has
//! gone or the request's time is over. Here it is a routine of its own, for which the request waits.

use wavetank_api::{Request, Response};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Channel, Name, Outcome, Payload, RoutineFuture, Rx, Task};

use super::range_allocation::{RangeAllocation, Refusal, Use};

const ALLOCATE: Name = Name::new("allocate");
/// Counts them, so that each answers its own request.
static NUMBER: Cell<u64> = Cell::new("allocations");

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Job {
    RangeAllocation(Box<RangeAllocation>, Use),
    Loopback(RestClient, Request),
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Done {
    RangeAllocation(Result<Option<u32>, Refusal>),
    Loopback(Result<Response, Failure>),
}

/// Uses an allocation.
pub async fn with_allocation(
    rx: Rx,
    allocation: &RangeAllocation,
    work: Use,
) -> Result<Option<u32>, Refusal> {
    match run(rx, Job::RangeAllocation(Box::new(allocation.clone()), work)).await {
        Done::RangeAllocation(done) => done,
        Done::Loopback(_) => unreachable!("an allocation was used"),
    }
}

/// Sends a request to the server itself.
pub async fn through_loopback(
    rx: Rx,
    loopback: RestClient,
    request: Request,
) -> Result<Response, Failure> {
    match run(rx, Job::Loopback(loopback, request)).await {
        Done::Loopback(done) => done,
        Done::RangeAllocation(_) => unreachable!("a request was sent"),
    }
}

async fn run(rx: Rx, job: Job) -> Done {
    let number = rx.update(&NUMBER, |number| {
        *number += 1;
        *number
    });
    let answer = answer(number);
    rx.make(answer, 1);
    rx.spawn(Task::new(ALLOCATE, (number, job)));
    let done = rx.recv(answer).await;
    done.expect("it is answered once").expect::<Done>().clone()
}

fn answer(number: u64) -> Channel {
    Channel::new("allocated", number)
}

/// The future of a task that is an allocation's.
pub fn routine(task: &Task) -> Option<RoutineFuture> {
    if task.kind() != ALLOCATE {
        return None;
    }
    let (number, job) = task.args::<(u64, Job)>().clone();
    Some(Box::pin(async move {
        let rx = Rx::new();
        let done = match job {
            Job::RangeAllocation(allocation, work) => {
                Done::RangeAllocation(allocation.carry_out(rx, work).await)
            }
            Job::Loopback(loopback, request) => Done::Loopback(loopback.request(rx, request).await),
        };
        rx.try_send(answer(number), Payload::new(done));
        rx.close(answer(number));
        Outcome::Done
    }))
}
