//! Custom resource definitions, without a server (`apiextensions-apiserver`): the kind itself with its rules, the schemas
//! in it, and what they mean for objects. How definitions are served and what their controllers do belongs to the
//! apiserver.
//!
//! - `definition`: the rules of the kind; `internal` is the form in which upstream checks it, `rules`,
//!   `field_rules` and `schema_rules` what is checked, `shown` how messages show it;
//! - `props`: schemas; `structural` which of them are structural, `default_rules` which defaults are;
//! - `pruning`, `object_meta`, `list_type`, `openapi`: what a schema does to an object and says of it;
//! - `custom`: the rules of one version of a kind that a definition makes, `served` how one is made; `webhook`: what one
//!   that converts is asked and answers;
//! - `conditions`: the status of a definition; `discovered` what discovery lists of it, `columns` what tables show of its
//!   objects, by the paths of `jsonpath`.

mod apply_types;
mod columns;
pub mod conditions;
mod custom;
mod default_rules;
pub mod definition;
mod discovered;
mod field_rules;
mod internal;
mod jsonpath;
mod list_type;
mod object_meta;
mod openapi;
mod paths;
mod patterns;
pub mod props;
mod pruning;
mod rules;
mod scale;
mod schema_rules;
mod served;
mod shown;
pub mod structural;
mod webhook;

pub use columns::Columns;
pub use custom::CustomVersion;
pub use discovered::{discovered_resources, discovered_versions};
pub use scale::CustomScale;
pub use served::{Definition, default_deprecation_warning, served_version};
pub use webhook::{Asked, Conversion, Webhook};

use crate::kinds::Resource;

/// apiextensions.k8s.io customresourcedefinitions
pub static CUSTOM_RESOURCE_DEFINITIONS: Resource = Resource {
    group: "apiextensions.k8s.io",
    version: "v1",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    namespaced: false,
    registry: "/registry/apiextensions.k8s.io/customresourcedefinitions",
    strategy: &definition::CustomResourceDefinitions,
};

/// `CustomResourceCleanupFinalizer`
pub const CUSTOM_RESOURCE_CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
