//! The chain of managers (`managedfields/internal`): each does one thing around the next.

mod build_manager_info;
mod cap_managers;
mod last_applied;
mod managed_fields_updater;
mod skip_non_applied;
mod strip_meta;
mod structured_merge;

use super::managed::Managed;
use crate::apiextensions::CustomVersion;
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::quote;
use crate::smd::merge::Conflicts;
use crate::smd::schema::{SCHEMA, Schema, TypeRef};
use crate::status::{Reason, Status};
use crate::times::Stamp;

pub(super) use build_manager_info::BuildManagerInfo;
pub(super) use cap_managers::CapManagers;
pub(super) use last_applied::{LastAppliedManager, LastAppliedUpdater};
pub(super) use managed_fields_updater::ManagedFieldsUpdater;
pub(super) use skip_non_applied::SkipNonApplied;
pub(super) use strip_meta::StripMeta;
pub(super) use structured_merge::StructuredMerge;
pub(crate) use structured_merge::prepare;

/// `Manager`
pub(super) trait Manager {
    /// `Update`: of an object that is merged already; it comes without managedFields.
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure>;

    /// `Apply`; no object is made if nothing changes.
    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure>;
}

/// Why it failed.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Failure {
    Conflicts(Conflicts),
    Status(Box<Status>),
    Other(String),
}

impl Failure {
    /// As a request is refused.
    pub(super) fn status(self) -> Status {
        match self {
            Failure::Conflicts(conflicts) => super::field_manager::new_conflict_error(&conflicts),
            Failure::Status(status) => *status,
            Failure::Other(why) => Status::untyped(why),
        }
    }

    /// `fmt.Errorf`
    pub(super) fn because(self, doing: &str) -> Failure {
        let why = match self {
            Failure::Conflicts(conflicts) => conflicts.to_string(),
            Failure::Status(status) => status.message,
            Failure::Other(why) => why,
        };
        Failure::Other(format!("{doing}: {why}"))
    }

    pub(super) fn bad_request(why: impl Into<String>) -> Failure {
        Failure::Status(Box::new(Status::of(Reason::BadRequest, why)))
    }
}

/// What objects are managed (`GroupVersionKind`), and how they are made whole.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) api_version: String,
    pub(super) kind: &'static str,
    /// Its type in the schema.
    pub(super) ty: TypeRef,
    /// Whose defaults it has; none for what is no resource, a Scale.
    pub(super) resource: Option<&'static Resource>,
    /// The Scale of a custom object: what has no Go type, as a configuration has not, the converter of custom objects takes
    /// for one of these, and cannot convert it.
    pub(super) of_custom_scale: bool,
    /// The server's clock.
    pub(super) now: Stamp,
}

impl Scope {
    /// What the converter says of an object without a Go type.
    pub(super) fn converts(&self, object: &Json, which: &str) -> Result<(), Failure> {
        if !self.of_custom_scale {
            return Ok(());
        }
        Err(Failure::Other(format!(
            "failed to convert {which} object ({}) to proper version: request to convert CR to an \
             invalid group/version: {}",
            object_gvknn(object),
            self.api_version
        )))
    }

    /// The rules of its resource, if a definition has made that.
    pub(super) fn custom(&self) -> Option<&'static CustomVersion> {
        self.resource?.strategy.custom()
    }

    /// The types that it is merged by.
    pub(super) fn schema(&self) -> &'static Schema {
        match self.custom() {
            Some(custom) => custom.types(),
            None => &SCHEMA,
        }
    }

    /// `ObjectCreater.New`
    pub(super) fn new_object(&self) -> Json {
        if self.custom().is_some() {
            return serde_json::json!({"apiVersion": self.api_version, "kind": self.kind});
        }
        let id = crate::schema::kind_or_custom(&self.api_version, self.kind);
        let mut object = id
            .map(|id| crate::decode::typed::zero_of(id, None))
            .unwrap_or_default();
        json::set(&mut object, &["apiVersion"], self.api_version.as_str());
        json::set(&mut object, &["kind"], self.kind);
        object
    }
}

/// `GroupVersionKind.String`
pub(super) fn gvk(object: &Json) -> String {
    let api_version = json::text(object, &["apiVersion"]);
    let gv = match api_version.contains('/') {
        true => api_version.to_owned(),
        false => format!("/{api_version}"),
    };
    format!("{gv}, Kind={}", json::text(object, &["kind"]))
}

/// `objectGVKNN`
pub(super) fn object_gvknn(object: &Json) -> String {
    let text = |field| json::text(object, &["metadata", field]);
    format!("{}/{}; {}", text("namespace"), text("name"), gvk(object))
}

/// `printManager`
pub(super) fn print_manager(manager: &str) -> String {
    let Some(of) = super::managed::Identifier::parse(manager) else {
        return quote::quote(manager);
    };
    let mut shown = quote::quote(&of.manager);
    if !of.subresource.is_empty() {
        shown = format!("{shown} with subresource {}", quote::quote(&of.subresource));
    }
    match of.applies {
        true => shown,
        false => format!("{shown} using {}", of.api_version),
    }
}
