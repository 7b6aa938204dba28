//! Kinds without rules of their own.

use crate::strategy::Strategy;

/// No rules but those of metadata.
pub struct Plain {
    /// May an update create?
    pub creates: bool,
}

impl Strategy for Plain {
    fn allow_create_on_update(&self) -> bool {
        self.creates
    }
}
