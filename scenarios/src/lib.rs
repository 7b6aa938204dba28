//! wavetank

pub mod case;
pub mod file;
