//! wavetank

pub mod file;
