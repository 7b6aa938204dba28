//! The Scale of a custom object (`registry/customresource/etcd.go`, `ScaleREST`).

use serde_json::json;

use super::paths;
use crate::json::{self, Json};
use crate::quote;
use crate::status::Status;

/// Stands in a Scale for replicas that the object says nothing of.
const INVALID: i64 = i32::MIN as i64;

/// `CustomResourceSubresourceScale`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CustomScale {
    spec: String,
    status: String,
    selector: String,
}

impl CustomScale {
    /// The subresource, out of a definition.
    pub(super) fn of(scale: &Json) -> CustomScale {
        let text = |name: &str| json::text(scale, &[name]).to_owned();
        CustomScale {
            spec: text("specReplicasPath"),
            status: text("statusReplicasPath"),
            selector: text("labelSelectorPath"),
        }
    }

    /// Where the replicas are to be said.
    pub fn spec_path(&self) -> Vec<&str> {
        paths::split(&self.spec)
    }

    /// `.spec.replicas`
    pub(super) fn spec(&self) -> &str {
        &self.spec
    }

    /// `.status.replicas`
    pub(super) fn status(&self) -> &str {
        &self.status
    }

    /// `.status.selector`, empty if there is none.
    pub(super) fn selector(&self) -> &str {
        &self.selector
    }

    /// `scaleFromCustomResource`, and whether the object says how many replicas there are to be.
    ///
    /// # Errors
    /// A path leads through something that is no object, or to something else.
    pub fn scale_from_custom_resource(&self, object: &Json) -> Result<(Json, bool), Status> {
        let number = |path: &str| paths::nested_int64(object, path).map_err(Status::untyped);
        let replicas = number(&self.spec)?;
        let mut scale = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {},
            "spec": {},
            "status": {"replicas": number(&self.status)?.unwrap_or(0)},
        });
        for field in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        ] {
            if let Some(value) = json::at(object, &["metadata", field]) {
                json::set(&mut scale, &["metadata", field], value.clone());
            }
        }
        if let Some(replicas) = replicas.filter(|replicas| *replicas != 0) {
            json::set(&mut scale, &["spec", "replicas"], replicas);
        }
        if !self.selector.is_empty() {
            let selector = paths::nested_string(object, &self.selector);
            let selector = selector.map_err(Status::untyped)?.unwrap_or_default();
            if !selector.is_empty() {
                json::set(&mut scale, &["status", "selector"], selector);
            }
        }
        Ok((scale, replicas.is_some()))
    }

    /// `ScaleREST.Get`
    ///
    /// # Errors
    /// The object does not say how many replicas there are to be.
    pub fn get(&self, object: &Json) -> Result<Json, Status> {
        let (scale, found) = self.scale_from_custom_resource(object)?;
        if !found {
            let why = format!(
                "the spec replicas field {} does not exist",
                quote::quote(&self.spec)
            );
            return Err(Status::new_internal_error(why));
        }
        Ok(scale)
    }

    /// The Scale that an update begins with.
    ///
    /// # Errors
    /// See [`CustomScale::scale_from_custom_resource`].
    pub fn live(&self, object: &Json) -> Result<Json, Status> {
        let (mut scale, found) = self.scale_from_custom_resource(object)?;
        if !found {
            json::set(&mut scale, &["spec", "replicas"], INVALID);
        }
        Ok(scale)
    }

    /// The object with the replicas of its Scale (`scaleUpdatedObjectInfo.UpdatedObject`).
    ///
    /// # Errors
    /// 400 if the Scale does not say how many there are to be.
    pub fn rescale(&self, object: &Json, scale: &Json) -> Result<Json, Status> {
        let replicas = json::number(scale, &["spec", "replicas"]).unwrap_or(0);
        if replicas == INVALID {
            let field = quote::quote(&self.spec);
            let why = format!("the spec replicas field {field} cannot be empty");
            return Err(Status::new_bad_request(why));
        }
        let mut scaled = object.clone();
        let path = self.spec_path();
        let (_, parents) = path.split_last().expect("a path names a field");
        if json::at(object, parents).is_some_and(|parent| !parent.is_object()) {
            let why = format!(
                "value cannot be set because .{} is not a map",
                parents.join(".")
            );
            return Err(Status::untyped(why));
        }
        json::set(&mut scaled, &path, replicas);
        let version = json::text(scale, &["metadata", "resourceVersion"]);
        if !version.is_empty() {
            json::set(&mut scaled, &["metadata", "resourceVersion"], version);
        }
        Ok(scaled)
    }
}
