//! Work queues of controllers (`client-go/util/workqueue`): `queue` holds what is to be done, `delaying` what
//! is to be done later, `limiters` say how much later. These are pure and free of time. `work` puts them
//! together for the routines of a process.

mod delaying;
mod limiters;
mod queue;
mod work;

pub use delaying::{Delaying, Ticket};
pub use limiters::{Bucket, ItemBackoff, Limiter};
pub use queue::Queue;
pub use work::{Item, WorkQueue};
