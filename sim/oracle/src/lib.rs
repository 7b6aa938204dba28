//! The simulated kube-apiserver against recorded transcripts of a real one.
//!
//! - `bootstrap`: what a real server writes when it starts, beside what is simulated;
//! - `corpus`: the recorded files;
//! - `head`: which servers a recording is of, and the flags they ran with;
//! - `lab`: a world of one etcd, some apiservers and somebody who sends what was recorded;
//! - `endpoints`: what was done to several servers, and their leases and addresses;
//! - `causes`: what is wrong with a custom object, in one order;
//! - `managed_fields`: who manages objects, which not all recordings tell;
//! - `recorder`: what the recorder did and its lines do not tell;
//! - `symbols`: uids, revisions, names and times, which differ from run to run;
//! - `replay`: one file, line by line, in one pass from an empty store;
//! - `timing`: how long a server that is gone stays in the Endpoints;
//! - `ask`: requests of one's own to the same server;
//! - `front_door`: requests as no client means them;
//! - `score`: how many steps are equal, and the list of those that may differ;
//! - `manager`: a simulated kube-controller-manager beside the server;
//! - `controllers`: what controllers write, against recordings of real ones.

mod ask;
mod bookmarks;
mod bootstrap;
mod causes;
pub mod controllers;
pub mod corpus;
mod endpoints;
pub mod front_door;
pub mod head;
mod lab;
mod lines;
mod managed_fields;
mod manager;
mod recorder;
mod replay;
mod score;
mod symbols;
pub mod timing;

pub use ask::{Server, ask};
pub use replay::{Difference, Replayed, replay};
pub use score::{Known, Score};
pub use symbols::Unequal;
