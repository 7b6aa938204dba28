//! What a resource adds to the generic registry: its own `Create`, `Update` and `Delete` around those of the store
//! (`apiserver/pkg/registry/rest`), and the hooks of upstream's `Store` (`Decorator`, `BeginCreate`, `BeginUpdate`,
//! `AfterDelete`). `crate::storages` says which resource adds what.

use std::fmt;
use std::pin::Pin;

use wavetank_api::Status;
use wavetank_api::json::Json;
use wavetank_api::options::DeleteOptions;
use wavetank_api::strategy::{Context, Part};
use wavetank_engine::Rx;

use crate::options::Preconditions;
use crate::registry::{Change, Deletion, Made, Registry, Update, Warnings};

/// The work of a hook.
pub type Hooked<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a hook has begun, if it has begun anything.
pub type Begun<'a> = Option<Box<dyn Finish + 'a>>;

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// One object.
    One,
    /// Each of a list.
    List,
    /// Each of a watch.
    Watch,
}

/// Which way an object went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// By a deletion.
    Deleted,
    /// By an update that took its last finalizer.
    Emptied,
}

/// The storage of a resource, around its strategy. Without anything added it is the generic one.
pub trait RestStorage: fmt::Debug + Send + Sync {
    /// What its strategy has to know beyond the release and the time.
    fn complete(&self, _cx: &mut Context) {}

    /// `Create`. The outcome of an error may be unknown.
    fn create<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: Json,
        warnings: &'a mut Warnings,
    ) -> Hooked<'a, Result<Made, Status>> {
        Box::pin(registry.create(rx, object, warnings))
    }

    /// `Update`. The outcome of an error may be unknown.
    fn update<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        preconditions: &'a Preconditions,
        change: &'a dyn Change,
        warnings: &'a mut Warnings,
    ) -> Hooked<'a, Result<Update, Status>> {
        Box::pin(registry.update(rx, name, preconditions, change, warnings))
    }

    /// `Delete`. The outcome of an error may be unknown.
    fn delete<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        options: DeleteOptions,
    ) -> Hooked<'a, Result<Deletion, Status>> {
        Box::pin(registry.delete(rx, name, options))
    }

    /// Is what is read completed before it is shown?
    fn decorates(&self, _part: Part, _reading: Reading) -> bool {
        false
    }

    /// `Decorator`: completes an object that is read.
    fn decorator(&self, _object: &mut Json) {}

    /// `BeginCreate`
    fn begin_create<'a, 'o>(
        &'a self,
        _rx: Rx,
        _registry: &'a Registry,
        _object: &'o mut Json,
    ) -> Hooked<'o, Result<Begun<'a>, Status>>
    where
        'a: 'o,
    {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// `BeginUpdate`
    fn begin_update<'a, 'o>(
        &'a self,
        _rx: Rx,
        _registry: &'a Registry,
        _object: &'o mut Json,
        _old: &'o mut Json,
    ) -> Hooked<'o, Result<Begun<'a>, Status>>
    where
        'a: 'o,
    {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// `AfterDelete`; `late` if somebody else was faster.
    fn after_delete<'a>(
        &'a self,
        _rx: Rx,
        _registry: &'a Registry,
        _object: &'a Made,
        _gone: Gone,
        _late: bool,
    ) -> Hooked<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a hook has begun: to be ended as the write of the object ends.
pub trait Finish: Send {
    /// `FinishFunc`
    fn finish_func<'a>(self: Box<Self>, rx: Rx, success: bool) -> Hooked<'a, ()>
    where
        Self: 'a;

    /// Does an update end it after the write of the object? Upstream ends it before.
    fn waits_for_write(&self) -> bool {
        false
    }

    /// Ends it as the write has ended, of which nobody may know whether it was done.
    fn conclude<'a>(self: Box<Self>, rx: Rx, failed: Option<&'a Status>) -> Hooked<'a, ()>
    where
        Self: 'a;
}

/// A resource that adds nothing.
#[derive(Clone, Copy, Debug)]
pub struct Generic;

impl RestStorage for Generic {}
