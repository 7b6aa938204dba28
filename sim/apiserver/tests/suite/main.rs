//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod cacher;
mod common;
mod connections;
mod custom_resources;
mod discovery;
mod emptied;
mod evicted;
mod grace;
mod handlers;
mod mixed;
mod namespaces;
mod quotas;
mod shutdown;
