//! Single algorithms as models of their own, as small as an exam answer: they teach why a constant or
//! an order is as it is. Each has a weaker form that violates the property. No world, no requests:
//! whoever wants to know whether Kubernetes does so looks at the scopes.

pub mod bookmark;
pub mod lease;
pub mod repair;
