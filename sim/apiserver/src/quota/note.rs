//! What the plugin tells.

use std::sync::Arc;

/// An object that quotas bind may be stored now.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Admitted {
    /// `namespace/name`
    pub object: Arc<str>,
    /// The UID of it.
    pub uid: Arc<str>,
    /// The UIDs of the quotas that it was charged to.
    pub charged: Vec<Arc<str>>,
    /// Those of quotas that refused it, and were not asked again.
    pub refused_by: Vec<Arc<str>>,
}
