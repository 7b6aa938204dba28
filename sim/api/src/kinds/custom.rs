//! Custom objects: the rules that the server has for an object of which it knows `metadata`, `spec` and `status`
//! (`apiextensions-apiserver/pkg/registry/customresource/strategy.go`, `status_strategy.go`). What is in `spec` and
//! `status` is a tree that nobody looks into; other fields are pruned.

use super::pods::{count_generation, keep};
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of a custom kind. A kind with further rules has a [`Strategy`] of its own, which may ask this one first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CustomResource {
    /// Has it the subresource `status`? Then only that writes `status`, and nothing else.
    pub status: bool,
}

impl CustomResource {
    /// `metadata` and `spec` are written by one path, `status` by the other.
    pub const WITH_STATUS: CustomResource = CustomResource { status: true };
    /// One path writes everything.
    pub const WITHOUT_STATUS: CustomResource = CustomResource { status: false };
}

/// Does anything differ that counts as a generation: all but `metadata`, and but a status with its own path?
fn differs(new: &Json, old: &Json, has_status: bool) -> bool {
    new.get("spec") != old.get("spec") || (!has_status && new.get("status") != old.get("status"))
}

fn validate(object: &Json) -> ErrorList {
    // Whether there must be a namespace the registry asks of every object.
    let namespaced = !json::text(object, &["metadata", "namespace"]).is_empty();
    metadata::validate_object_meta(object, namespaced, &names::name_is_dns_subdomain)
}

impl Strategy for CustomResource {
    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["metadata"], &["spec"]],
            _ if self.status => &[&["status"]],
            _ => &[],
        }
    }

    fn prepare_for_create(&self, _cx: &Context, object: &mut Json) {
        if self.status {
            json::remove(object, &["status"]);
        }
        json::set(object, &["metadata", "generation"], 1);
    }

    fn validate(&self, _cx: &Context, object: &Json) -> ErrorList {
        validate(object)
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, object: &mut Json, old: &Json) {
        if part == Part::Status {
            // Who manages the object now is what this request changed.
            let own = ["resourceVersion", "managedFields"].map(|field| {
                let value = json::at(object, &["metadata", field]).cloned();
                (field, value)
            });
            keep(object, old, &["spec"]);
            keep(object, old, &["metadata"]);
            for (field, value) in own {
                match value {
                    Some(value) => json::set(object, &["metadata", field], value),
                    None if field == "managedFields" => {
                        json::remove(object, &["metadata", field]);
                    }
                    None => {}
                }
            }
            return;
        }
        if self.status {
            keep(object, old, &["status"]);
        }
        keep(object, old, &["metadata", "generation"]);
        if differs(object, old, self.status) {
            count_generation(object, old);
        }
    }

    fn validate_update(&self, _cx: &Context, _part: Part, object: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(object, old);
        errors.extend(validate(object));
        errors
    }

    /// `AllowUnconditionalUpdate`: an update of a custom object says what it updates.
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn has(&self, part: Part) -> bool {
        part == Part::Whole || (part == Part::Status && self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::Stamp;
    use serde_json::json;
    use wavetank_version::Version;

    fn context() -> Context {
        Context {
            release: Version::LATEST,
            now: Stamp::of(wavetank_engine::Time::ZERO),
            dual_stack: false,
        }
    }

    fn object(spec: i64, status: i64) -> Json {
        json!({
            "metadata": {"namespace": "n", "name": "o", "generation": 4, "resourceVersion": "1"},
            "spec": spec,
            "status": status,
        })
    }

    fn updated(kind: CustomResource, part: Part) -> Json {
        let (old, mut new) = (object(1, 1), object(2, 2));
        json::set(&mut new, &["metadata", "labels"], json!({"a": "b"}));
        json::set(&mut new, &["metadata", "generation"], 9);
        kind.prepare_for_update(&context(), part, &mut new, &old);
        new
    }

    #[test]
    fn a_status_is_written_by_its_own_path_only() {
        let kind = CustomResource::WITH_STATUS;
        let mut new = object(1, 1);
        kind.prepare_for_create(&context(), &mut new);
        assert_eq!(
            (new.get("status"), &new["metadata"]["generation"]),
            (None, &json!(1))
        );
        let whole = updated(kind, Part::Whole);
        assert_eq!((&whole["spec"], &whole["status"]), (&json!(2), &json!(1)));
        assert_eq!(whole["metadata"]["generation"], 5);
        let status = updated(kind, Part::Status);
        assert_eq!((&status["spec"], &status["status"]), (&json!(1), &json!(2)));
        assert_eq!(status["metadata"], object(1, 1)["metadata"]);
        assert!(kind.has(Part::Status) && !CustomResource::WITHOUT_STATUS.has(Part::Status));
    }

    #[test]
    fn without_a_path_of_its_own_a_status_counts_as_a_generation() {
        let kind = CustomResource::WITHOUT_STATUS;
        let (old, mut new) = (object(1, 1), object(1, 2));
        kind.prepare_for_update(&context(), Part::Whole, &mut new, &old);
        assert_eq!(new["metadata"]["generation"], 5);
        assert_eq!(new["status"], 2);
        let mut same = object(1, 1);
        json::set(&mut same, &["metadata", "labels"], json!({"a": "b"}));
        kind.prepare_for_update(&context(), Part::Whole, &mut same, &old);
        assert_eq!(same["metadata"]["generation"], 4);
    }
}
