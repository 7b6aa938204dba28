//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod apply;
mod bad_requests;
mod controllers;
mod openapi;
mod oracle;
mod timing;
