//! The tests of this crate: one program.

#[cfg(madsim)]
mod connections;
#[cfg(madsim)]
mod control_plane;
#[cfg(madsim)]
mod defects;
mod flag;
#[cfg(madsim)]
mod services;
