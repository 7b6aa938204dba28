//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

#[cfg(feature = "real-apiserver")]
mod apiserver;
#[cfg(feature = "real-etcd")]
mod differential;
#[cfg(feature = "real-etcd")]
mod expiry;
mod itself;
mod mutations;
