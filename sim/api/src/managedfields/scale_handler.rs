//! Who manages the field that a Scale shows (`managedfields/scalehandler.go`).

use super::managed::{Managed, decode_managed_fields, encode_managed_fields};
use crate::json::Json;
use crate::smd::fieldpath::{Path, PathElement, Set, VersionedSet};

/// `scaleGroupVersion`
const SCALE: &str = "autoscaling/v1";

/// `ScaleHandler`: between the managers of an object and those of its Scale.
pub struct ScaleHandler<'a> {
    /// `parentEntries`
    parent: &'a [Json],
    /// The version of the object.
    api_version: String,
    /// Where the object says how many replicas there are to be.
    replicas: Path,
}

fn path(names: &[&str]) -> Path {
    names
        .iter()
        .map(|name| PathElement::field_name_element(*name))
        .collect()
}

impl<'a> ScaleHandler<'a> {
    /// Of the entries of an object in its one version.
    pub fn new(parent: &'a [Json], api_version: String, replicas: &[&str]) -> ScaleHandler<'a> {
        ScaleHandler {
            parent,
            api_version,
            replicas: path(replicas),
        }
    }

    /// `ToSubresource`
    ///
    /// # Errors
    /// What is wrong with an entry.
    pub fn to_subresource(&self) -> Result<Vec<Json>, String> {
        let Managed { fields, times } = decode_managed_fields(self.parent)?;
        let owns =
            |of: &VersionedSet| of.api_version == self.api_version && of.set.has(&self.replicas);
        let of_scale = |of: VersionedSet| VersionedSet {
            set: Set::of([path(&["spec", "replicas"])]),
            api_version: SCALE.to_owned(),
            applied: of.applied,
        };
        let fields = fields.into_iter().filter(|(_, of)| owns(of));
        let fields = fields
            .map(|(manager, of)| (manager, of_scale(of)))
            .collect();
        Ok(encode_managed_fields(&Managed { fields, times }))
    }

    /// `ToParent`
    ///
    /// # Errors
    /// What is wrong with an entry.
    pub fn to_parent(&self, scale: &[Json]) -> Result<Vec<Json>, String> {
        let parent = decode_managed_fields(self.parent)?;
        let mut scale = decode_managed_fields(scale)?.fields;
        let mut managed = Managed {
            times: parent.times,
            ..Managed::default()
        };
        let replicas = Set::of([self.replicas.clone()]);
        for (manager, mut of) in parent.fields {
            if of.api_version != self.api_version {
                continue;
            }
            // What the Scale's manager is not any more, that of the object is not either.
            if of.set.has(&self.replicas) && scale.remove(&manager).is_none() {
                of.set = of.set.difference(&replicas);
                if of.set.is_empty() {
                    continue;
                }
            }
            managed.fields.insert(manager, of);
        }
        let in_scale = path(&["spec", "replicas"]);
        for (manager, of) in scale.into_iter().filter(|(_, of)| of.set.has(&in_scale)) {
            let of = VersionedSet {
                set: replicas.clone(),
                api_version: self.api_version.clone(),
                applied: of.applied,
            };
            managed.fields.insert(manager, of);
        }
        Ok(encode_managed_fields(&managed))
    }
}
