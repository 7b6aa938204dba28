//! What a world begins with, where that is the content of another one.

use serde_json::Value as Json;

use crate::part::Section;

/// A key of a component whose value is a list, and the list with which it begins as it is in some world.
#[derive(Clone, Debug, PartialEq)]
pub struct BeginsAs {
    /// The section of the key.
    pub section: Section,
    /// The key.
    pub key: &'static str,
    /// The list. Each of them may be left out.
    pub parts: Vec<Json>,
}
