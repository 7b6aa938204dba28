//! Quotas: what objects use of them, and what a request may still use (`apiserver/pkg/quota/v1`,
//! `kubernetes/pkg/quota/v1/evaluator/core`, v1.36.2). `resources` is the arithmetic, `evaluator` says which resources are
//! counted of which kind, with a file for each kind of which more than the number is; `check` is how a request is weighed.
//!
//! Who keeps quotas belongs elsewhere: the admission plugin to the apiserver, the recount to its controller.

mod check;
mod claims;
mod evaluator;
mod pods;
mod resources;
mod scopes;
mod services;

pub use check::{Attributes, Operation, ResourceQuota, check_request};
pub use evaluator::{Evaluator, calculate_usage};
pub use pods::quota_v1_pod;
pub use resources::{ResourceList, milli_value};
