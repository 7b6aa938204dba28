//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side. Informers are tested here, in a client that has nothing else.

mod apiservers;
mod common;
mod defects;
mod informers;
mod scopes;
mod storm;
