//! Work queues of controllers (`client-go/util/workqueue`): `queue` holds what is to be done, `delaying` what
//! is to be done later, `limiters` say how much later. All are pure and free of time: delays are waited
//! for by whoever uses them.

mod delaying;
mod limiters;
mod queue;

pub use delaying::{Delaying, Ticket};
pub use limiters::{Bucket, ItemBackoff, Limiter};
pub use queue::Queue;
