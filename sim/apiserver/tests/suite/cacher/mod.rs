//! The watch cache over a real (simulated) etcd.

mod lab;

mod begins;
mod bookmarks;
mod compacts;
mod fills;
mod follows;
mod reads;
mod slow;
mod storm;
mod streams;
