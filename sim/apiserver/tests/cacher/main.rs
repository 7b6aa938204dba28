//! The watch cache over a real (simulated) etcd.

mod lab;

mod begins;
mod follows;
