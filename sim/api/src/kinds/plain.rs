//! Kinds without rules of their own.

use crate::strategy::Strategy;

/// No rules but those of metadata.
pub struct Plain;

impl Strategy for Plain {
    fn name_errors(&self, _name: &str, _prefix: bool) -> Vec<String> {
        Vec::new()
    }
}
