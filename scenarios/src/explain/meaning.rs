//! What somebody who looks for causes has to know of messages and notes, beyond what a story tells of them.

use std::fmt;

use wavetank_engine::{Note, Payload};

/// What a client read of a store.
pub struct Reading {
    /// In words, if there are any.
    pub text: Option<String>,
    /// As of which revision.
    pub revision: u64,
    /// Was this key asked for?
    pub covers: Box<dyn Fn(&str) -> bool>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({:?} at {})", self.text, self.revision)
    }
}

/// What is written at once: the keys, and the revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Keys that are written, with what is written there as JSON, and those that are deleted.
    pub keys: Vec<(String, Option<String>)>,
    /// The revision.
    pub revision: u64,
}

/// Says what messages and notes mean. Whoever says nothing is explained by frames, timers and memory alone.
pub trait Meaning {
    /// What a request asks a server to do.
    fn asked(&self, _request: &Payload) -> Option<String> {
        None
    }

    /// What an answer says, if that is no success.
    fn refused(&self, _answer: &Payload) -> Option<String> {
        None
    }

    /// What was read of a store.
    fn read(&self, _request: &Payload, _answer: &Payload) -> Option<Reading> {
        None
    }

    /// What a note says is written.
    fn written(&self, _note: &Note) -> Option<Written> {
        None
    }
}

/// Nobody knows.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

impl Meaning for Unknown {}
