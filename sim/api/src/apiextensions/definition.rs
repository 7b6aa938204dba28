//! The rules of the kind CustomResourceDefinition (`registry/customresourcedefinition/strategy.go`,
//! `apis/apiextensions/v1/defaults.go`).

use super::rules;
use crate::discovery::{API_EXTENSIONS, Shown};
use crate::json::{self, Json};
use crate::kinds::pods::keep;
use crate::quote;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// Definitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CustomResourceDefinitions;

const WEBHOOK_SERVICE: [&str; 5] = ["spec", "conversion", "webhook", "clientConfig", "service"];
const STORED: [&str; 2] = ["status", "storedVersions"];

/// The storage version is among those that are stored.
fn store_version(crd: &mut Json) {
    let Some(version) = super::conditions::get_crd_storage_version(crd).map(Json::from) else {
        return;
    };
    let mut stored = json::list(crd, &STORED).to_vec();
    if !stored.contains(&version) {
        stored.push(version);
        json::set(crd, &STORED, stored);
    }
}

impl Strategy for CustomResourceDefinitions {
    /// Upstream's `SetDefaults_CustomResourceDefinition`
    fn shown(&self) -> Shown {
        Shown {
            short_names: &["crd", "crds"],
            categories: API_EXTENSIONS,
            ..Shown::PLAIN
        }
    }

    fn default(&self, crd: &mut Json) {
        let kind = json::text(crd, &["spec", "names", "kind"]).to_owned();
        let is_empty =
            |crd: &Json, name: &str| json::text(crd, &["spec", "names", name]).is_empty();
        if is_empty(crd, "singular") && !kind.is_empty() {
            json::set(crd, &["spec", "names", "singular"], kind.to_lowercase());
        }
        if is_empty(crd, "listKind") && !kind.is_empty() {
            json::set(crd, &["spec", "names", "listKind"], format!("{kind}List"));
        }
        if json::at(crd, &["spec", "conversion"]).is_none() {
            json::set(crd, &["spec", "conversion", "strategy"], "None");
        }
        if json::at(crd, &WEBHOOK_SERVICE).is_some_and(|service| service.get("port").is_none()) {
            let port = [&WEBHOOK_SERVICE[..], &["port"]].concat();
            json::set(crd, &port, 443);
        }
        if json::list(crd, &STORED).is_empty() {
            store_version(crd);
        }
    }

    fn prepare_for_create(&self, _cx: &Context, crd: &mut Json) {
        let empty = serde_json::json!({
            "conditions": null,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": null,
        });
        json::set(crd, &["status"], empty);
        json::set(crd, &["metadata", "generation"], 1);
        store_version(crd);
    }

    fn validate(&self, _cx: &Context, crd: &Json) -> ErrorList {
        rules::validate_custom_resource_definition(crd)
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, crd: &mut Json, old: &Json) {
        if part == Part::Status {
            keep(crd, old, &["spec"]);
            // `ResetObjectMetaForStatus` resets to what the object itself says.
            return;
        }
        keep(crd, old, &["status"]);
        if crd.get("spec") != old.get("spec") {
            let generation = json::number(old, &["metadata", "generation"]).unwrap_or(0);
            json::set(crd, &["metadata", "generation"], generation + 1);
        }
        store_version(crd);
    }

    fn validate_update(&self, _cx: &Context, part: Part, crd: &Json, old: &Json) -> ErrorList {
        match part {
            Part::Status => rules::validate_update_custom_resource_definition_status(crd, old),
            _ => rules::validate_custom_resource_definition_update(crd, old),
        }
    }

    fn warnings(&self, _cx: &Context, crd: &Json, old: Option<&Json>) -> Vec<String> {
        let before = old
            .map(rules::get_unrecognized_formats_in_crd)
            .unwrap_or_default();
        let new = rules::get_unrecognized_formats_in_crd(crd).into_iter();
        let new = new.filter(|format| !before.contains(format));
        new.map(|format| format!("unrecognized format {}", quote::quote(&format)))
            .collect()
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn returns_deleted_object(&self) -> bool {
        false
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }
}
