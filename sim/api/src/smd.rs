//! The structured merge of server-side apply (`sigs.k8s.io/structured-merge-diff` v6, as Kubernetes v1.36 has it): who
//! owns which fields of an object, and what becomes of both when somebody applies or updates it.
//!
//! - `value`: order, equality and text of values;
//! - `schema`: what types are to a merge, and those of the table;
//! - `fieldpath`: paths to fields, sets of paths, and how managedFields write them;
//! - `typed`: values of a type: checked, compared, merged, taken apart by sets;
//! - `merge`: what an update or an apply does to an object and to its managers.
//!
//! Nothing here knows of requests, of time or of how managers are written in an object: that is `crate::managedfields`.

pub(crate) mod fieldpath;
pub(crate) mod merge;
pub(crate) mod schema;
pub(crate) mod typed;
pub(crate) mod value;

#[cfg(test)]
mod tests;
