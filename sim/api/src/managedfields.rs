//! `metadata.managedFields` (`apimachinery/pkg/util/managedfields`): who owns which fields, as objects carry it, and what
//! requests do to it.
//!
//! - `managed`: the entries, read and written;
//! - `manager`: the chain of managers that upstream builds around the structured merge, a file each;
//! - `field_manager`: the chain as requests call it;
//! - `scale_handler`: the managers of the field that a Scale shows;
//! - `equality`: a write that changes nothing but when somebody wrote is none.
//!
//! The merge itself is in `crate::smd`. When managedFields are kept at all is the server's to say.

mod equality;
mod field_manager;
mod managed;
mod manager;
mod scale_handler;

#[cfg(test)]
mod tests;

pub(crate) use manager::prepare;

pub use equality::ignore_managed_fields_timestamps_transformer;
pub use field_manager::{FieldManager, manager_or_user_agent};
pub use scale_handler::ScaleHandler;
