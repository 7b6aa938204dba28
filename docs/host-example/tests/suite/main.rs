//! The operators in the simulated cluster. One program, since each is linked with all of Wavetank.

mod cluster;
mod found;
mod same;
mod sieve;
mod storm;
mod wiring;
