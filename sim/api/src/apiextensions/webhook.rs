//! What a conversion webhook is asked and answers (`pkg/apiserver/conversion/webhook_converter.go`, v1.36.2). Who calls one is in
//! `wavetank_apiserver`.

use serde_json::json;

use crate::json::{self, Json};
use crate::metadata;
use crate::validation::ErrorList;

/// `apiextensions.k8s.io`, in which the reviews are.
const GROUP: &str = "apiextensions.k8s.io";
/// The versions of reviews that servers know.
const KNOWN: [&str; 2] = ["v1", "v1beta1"];

/// The webhook of a definition (`spec.conversion.webhook`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Webhook {
    /// The host of `clientConfig.url`; `None` if a Service is named instead.
    pub host: Option<String>,
    /// `conversionReviewVersions`
    pub review_versions: Vec<String>,
}

impl Webhook {
    /// That of a definition whose strategy is `Webhook`.
    pub(super) fn of(crd: &Json) -> Option<Webhook> {
        const CONVERSION: [&str; 2] = ["spec", "conversion"];
        let conversion = json::at(crd, &CONVERSION)?;
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        let url = json::text(conversion, &["webhook", "clientConfig", "url"]);
        let host = url.strip_prefix("https://").map(|rest| {
            let end = rest.find(['/', ':']).unwrap_or(rest.len());
            rest[..end].to_owned()
        });
        let versions = json::list(conversion, &["webhook", "conversionReviewVersions"]).iter();
        let versions = versions.filter_map(|version| version.as_str());
        Some(Webhook {
            host,
            review_versions: versions.map(str::to_owned).collect(),
        })
    }
}

/// What becomes of an object that is to be of another version.
#[derive(Clone, PartialEq, Debug)]
pub enum Conversion {
    /// This.
    Done(Json),
    /// What a webhook makes of it.
    ByWebhook(Asked),
}

/// What a webhook is to convert.
#[derive(Clone, PartialEq, Debug)]
pub struct Asked {
    /// The object as it is.
    pub object: Json,
    /// The version that it is to be of, with its group.
    pub desired: String,
}

/// `GROUP/VERSION, Kind=KIND`, as Go prints it.
fn gvk(object: &Json) -> String {
    let version = json::text(object, &["apiVersion"]);
    format!("{version}, Kind={}", json::text(object, &["kind"]))
}

impl Asked {
    /// The beginning of an error about it.
    pub fn failed(&self, why: &str) -> String {
        format!("conversion webhook for {} failed: {why}", gvk(&self.object))
    }

    /// Upstream's `createConversionReviewObjects`: the first version that is known.
    ///
    /// # Errors
    /// None is.
    pub fn review(&self, versions: &[String], uid: &str) -> Result<Json, String> {
        let known = versions.iter().find(|own| KNOWN.contains(&own.as_str()));
        let version = known.ok_or("no supported conversion review versions")?;
        Ok(json!({
            "apiVersion": format!("{GROUP}/{version}"),
            "kind": "ConversionReview",
            "request": {"uid": uid, "desiredAPIVersion": self.desired, "objects": [self.object]},
        }))
    }

    /// The object out of the answer, with the metadata that a webhook may not change, unless `believes` says that it may.
    ///
    /// # Errors
    /// The answer is of no use.
    pub fn converted(
        &self,
        review: &Json,
        answer: &Json,
        believes: impl FnOnce() -> bool,
    ) -> Result<Json, String> {
        let all = get_converted_objects_from_response(review, answer);
        let all = all.map_err(|why| self.failed(&why))?;
        let [converted] = all else {
            let (of, count) = (gvk(&self.object), all.len());
            return Err(format!(
                "conversion webhook for {of} returned {count} objects, expected 1"
            ));
        };
        let mut converted = converted.clone();
        let returned = |what: &str, why: String| {
            format!(
                "conversion webhook for {} returned invalid {what}: {why}",
                gvk(&self.object)
            )
        };
        for (field, name, expected) in [
            ("apiVersion", "groupVersion", &*self.desired),
            ("kind", "kind", json::text(&self.object, &["kind"])),
        ] {
            let got = json::text(&converted, &[field]);
            if got != expected {
                let why = format!("invalid {name} (expected {expected}, received {got})");
                return Err(returned("object at index 0", why));
            }
        }
        validate_converted_object(&self.object, &converted)
            .map_err(|why| returned("object", why))?;
        let answered = converted["metadata"].clone();
        restore_object_meta(&self.object, &mut converted)
            .map_err(|why| returned("metadata", why))?;
        if converted["metadata"] != answered && believes() {
            converted["metadata"] = answered;
        }
        Ok(converted)
    }
}

/// Upstream's `getConvertedObjectsFromResponse`; reviews in v1beta1 are not held to kind and uid.
fn get_converted_objects_from_response<'a>(
    review: &Json,
    answer: &'a Json,
) -> Result<&'a [Json], String> {
    let asked = &review["apiVersion"];
    if *asked == "apiextensions.k8s.io/v1" {
        if (asked, &review["kind"]) != (&answer["apiVersion"], &answer["kind"]) {
            let (expected, got) = (gvk(review), gvk(answer));
            return Err(format!(
                "expected webhook response of {expected}, got {got}"
            ));
        }
        let uid = json::text(review, &["request", "uid"]);
        let got = json::text(answer, &["response", "uid"]);
        if json::at(answer, &["response"]).is_some() && got != uid {
            return Err(format!("expected response.uid={uid:?}, got {got:?}"));
        }
    }
    let response = json::at(answer, &["response"]).ok_or("no response provided")?;
    let status = json::text(response, &["result", "status"]);
    if status != "Success" {
        let message = json::text(response, &["result", "message"]);
        return Err(match message.is_empty() {
            false => message.to_owned(),
            true => format!("response.result.status was '{status}', not 'Success'"),
        });
    }
    Ok(json::list(response, &["convertedObjects"]))
}

/// Upstream's `validateConvertedObject`: what says which object it is may not change.
fn validate_converted_object(original: &Json, converted: &Json) -> Result<(), String> {
    for (path, name) in [
        (&["kind"][..], "kind"),
        (&["metadata", "name"], "name"),
        (&["metadata", "namespace"], "namespace"),
        (&["metadata", "uid"], "UID"),
    ] {
        let (is, was) = (json::text(converted, path), json::text(original, path));
        if is != was {
            return Err(format!("must have the same {name}: {was} != {is}"));
        }
    }
    Ok(())
}

/// Upstream's `restoreObjectMeta`: of the metadata only labels and annotations are the webhook's.
fn restore_object_meta(original: &Json, converted: &mut Json) -> Result<(), String> {
    let answered = converted.get("metadata").cloned();
    let answered = answered.ok_or("missing metadata in converted object")?;
    if !answered.is_object() {
        return Err("invalid metadata of a type that is no object in converted object".to_owned());
    }
    let mut metadata = original
        .get("metadata")
        .cloned()
        .unwrap_or_else(|| json!({}));
    for field in ["labels", "annotations"] {
        let path = [field];
        let Some(made) = answered.get(field).filter(|made| !made.is_null()) else {
            json::remove(&mut metadata, &path);
            continue;
        };
        let Some(all) = made.as_object() else {
            return Err(format!(
                "invalid metadata.{field} of a type that is no object in converted object"
            ));
        };
        if let Some((key, _)) = all.iter().find(|(_, value)| !value.is_string()) {
            return Err(format!(
                "metadata.{field}[{key}] must be a string in converted object"
            ));
        }
        if metadata.get(field) != Some(made) {
            let mut errors = ErrorList::default();
            match field {
                "labels" => {
                    metadata::validate_labels(&answered, &path, "metadata.labels", &mut errors)
                }
                _ => metadata::validate_annotations(
                    &answered,
                    &path,
                    "metadata.annotation",
                    &mut errors,
                ),
            }
            if !errors.is_empty() {
                return Err(errors.to_string());
            }
        }
        json::set(&mut metadata, &path, made.clone());
    }
    converted["metadata"] = metadata;
    Ok(())
}
