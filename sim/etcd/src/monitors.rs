//! The library of monitors of etcd: what it promises its clients, checked against what clients and
//! members tell. This is their table; each kind has a file.

mod calls;
pub mod leases;
pub mod members;
mod replay;
pub mod serializable;
mod truth;
pub mod watch;
pub mod watches;

#[cfg(test)]
mod testing;

use wavetank_engine::{Check, Violation};

pub use truth::{Content, Learned, Truth};

fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}
