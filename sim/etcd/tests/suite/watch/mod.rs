//! The watch side of etcd: single rules, what each quirk breaks, and random plans against the
//! guarantees of a watch.

mod bench;
mod client;
mod groups;
mod log;
mod plans;
mod quirks;
mod requests;
mod sending;
mod steps;
