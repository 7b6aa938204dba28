//! The node of an apiserver, as far as a rollout needs it: it runs the server as a static pod, and when the
//! manifest changes it stops the old one (SIGTERM) and starts what the manifest says now.
//!
//! The manifest is on disk: a server that crashes while it stops comes back as the new one. Node and server are
//! one process here.

use std::time::Duration;

use wavetank_engine::{Name, Transport};

/// How an operator reaches a node.
pub static NODE: Transport = Transport {
    name: Name::new("node"),
    dial_timeout: Duration::from_secs(5),
    keepalive: None,
    window: None,
};

/// What an operator asks of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeOrder {
    /// Write the new manifest.
    Replace,
    /// Say how far that is.
    Look,
}

/// A node's answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeAnswer {
    /// Has the server still to make way for the one of the new manifest?
    pub replacing: bool,
}
