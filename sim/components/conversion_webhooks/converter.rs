//! The process: it answers each ConversionReview at once, and keeps nothing. The versions of what it converts differ in
//! nothing but their names, so a good one gives back what it was given, but for the generation.

use serde_json::{Value as Json, json};
use wavetank_apiserver::ConversionReview;
use wavetank_apiserver::gates::CUSTOM_RESOURCES;
use wavetank_engine::{Caller, Cx, Payload, Process};
use wavetank_version::{Defect, Gate, Set, defects};

const WEBHOOK_FORGETS_FIELDS: Defect = Defect::known(
    "webhook-forgets-fields",
    "as operators have had it: the type of one version has no such field",
    "a webhook converts to v1 through a type that has no `fields`: what was written in v2 is lost where v1 is stored",
)
.ships(Gate::NEVER)
.fits_only(CUSTOM_RESOURCES);

const WEBHOOK_KEEPS_THE_VERSION: Defect = Defect::known(
    "webhook-keeps-the-version",
    "as operators have had it: an object that is converted already is given back as it is",
    "a webhook gives an object back without the version that was asked for",
)
.ships(Gate::NEVER)
.fits_only(CUSTOM_RESOURCES);

defects! {
    /// What may be wrong with a webhook.
    pub enum WebhookDefect in "conversion webhooks" {
        ForgetsFields = WEBHOOK_FORGETS_FIELDS,
        KeepsTheVersion = WEBHOOK_KEEPS_THE_VERSION,
    }
}

/// A webhook.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Converter {
    defects: Set<WebhookDefect>,
}

impl Converter {
    /// One with these defects.
    pub(super) fn new(defects: Set<WebhookDefect>) -> Converter {
        Converter { defects }
    }

    fn convert(&self, object: &Json, desired: &str) -> Json {
        let mut object = object.clone();
        if !self.defects.has(WebhookDefect::KeepsTheVersion) {
            object["apiVersion"] = desired.into();
        }
        if self.defects.has(WebhookDefect::ForgetsFields)
            && desired.ends_with("/v1")
            && let Some(spec) = object["spec"].as_object_mut()
        {
            spec.remove("fields");
        }
        // As many do, it makes the object anew; a server restores all metadata but labels and annotations.
        let metadata = object.get_mut("metadata").and_then(Json::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("generation");
        }
        object
    }

    /// The answer to a review.
    fn answer(&self, review: &Json) -> Json {
        let request = &review["request"];
        let desired = request["desiredAPIVersion"].as_str().unwrap_or_default();
        let objects = request["objects"].as_array().into_iter().flatten();
        let converted: Vec<Json> = objects
            .map(|object| self.convert(object, desired))
            .collect();
        json!({
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": {
                "uid": request["uid"],
                "result": {"status": "Success"},
                "convertedObjects": converted,
            },
        })
    }
}

impl Process for Converter {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn crash(&mut self) {}

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let review = &body.expect::<ConversionReview>().0;
        let answer = ConversionReview::new(self.answer(review.json()));
        cx.reply(caller, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_answered_for_each_object() {
        let object = |version: &str| json!({"apiVersion": format!("storm.example/{version}"), "spec": {"fields": {"a": 1}}});
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {
                "uid": "u", "desiredAPIVersion": "storm.example/v1", "objects": [object("v2"), object("v2")],
            },
        });
        let answered = |defects| Converter::new(defects).answer(&review);
        let good = answered(Set::NONE);
        assert_eq!(good["response"]["uid"], "u");
        let converted = json!([object("v1"), object("v1")]);
        assert_eq!(good["response"]["convertedObjects"], converted);
        let wrong = answered(Set::NONE.with(WebhookDefect::ForgetsFields, true));
        assert_eq!(wrong["response"]["convertedObjects"][0]["spec"], json!({}));
    }
}
