//! What the API of Kubernetes means, without a server: objects, kinds and their rules, requests and
//! answers as on the wire, patches, selectors, Statuses.
//!
//! Everything here is a pure function of its input. Nothing here knows of time passing, of storage
//! or of a network; instants and names that are drawn come in as arguments.

pub mod addresses;
pub mod apiextensions;
pub mod cron;
pub mod decode;
mod diff;
pub mod discovery;
pub mod gates;
pub mod http;
mod internal;
pub mod json;
pub mod kinds;
pub mod managedfields;
pub mod metadata;
pub mod names;
mod object;
pub mod openapi;
pub mod options;
pub mod patch;
mod prepared;
pub mod printers;
pub mod quota;
pub mod quote;
mod render;
pub mod reviews;
mod schema;
pub mod selector;
mod smd;
pub mod status;
pub mod strategy;
mod times;
pub mod validation;
pub mod versions;
pub mod views;

pub use http::{
    Body, Content, Header, List, Method, Query, Request, Response, WatchEvent, WatchKind, WatchPart,
};
pub use json::Json;
pub use kinds::Resource;
pub use object::{Object, Stored};
pub use prepared::prepare;
pub use status::{Reason, Status};
pub use times::Stamp;
