//! Reviews: questions about who may do what. What is posted is answered and kept nowhere
//! (`kubernetes/pkg/registry/authorization`, `authentication`; `pkg/apis/authorization/validation/validation.go`). The
//! simulated server tells nobody apart and allows everything, as with `--authorization-mode=AlwaysAllow`.

use serde_json::json;

use crate::decode::Target;
use crate::discovery::ApiResource;
use crate::json::{self, Json};
use crate::status::Status;
use crate::times::Stamp;
use crate::validation::ErrorList;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// A kind of review.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Review {
    /// Its group.
    pub group: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// What a body is read as.
    pub target: Target,
    /// Is it asked in a namespace?
    pub namespaced: bool,
}

const fn authorization(kind: &'static str, plural: &'static str) -> Review {
    Review {
        group: AUTHORIZATION,
        plural,
        target: Target {
            api_version: "authorization.k8s.io/v1",
            kind,
        },
        namespaced: false,
    }
}

const fn authentication(kind: &'static str, plural: &'static str) -> Review {
    Review {
        group: AUTHENTICATION,
        target: Target {
            api_version: "authentication.k8s.io/v1",
            kind,
        },
        ..authorization(kind, plural)
    }
}

/// All of them, by group and name.
pub static ALL: [Review; 6] = [
    authentication("SelfSubjectReview", "selfsubjectreviews"),
    authentication("TokenReview", "tokenreviews"),
    Review {
        namespaced: true,
        ..authorization("LocalSubjectAccessReview", "localsubjectaccessreviews")
    },
    authorization("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    authorization("SelfSubjectRulesReview", "selfsubjectrulesreviews"),
    authorization("SubjectAccessReview", "subjectaccessreviews"),
];

impl Review {
    /// The one that a path names.
    pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Review> {
        let mut all = ALL.iter();
        all.find(|own| (own.group, "v1", own.plural) == (group, version, plural))
    }

    /// As discovery lists it.
    pub fn api_resource(&self) -> ApiResource {
        ApiResource {
            name: self.plural.to_owned(),
            singular_name: self.target.kind.to_lowercase(),
            namespaced: self.namespaced,
            kind: self.target.kind.to_owned(),
            verbs: vec!["create".to_owned()],
            ..ApiResource::default()
        }
    }

    /// `Create`: what is answered to a review that was asked in this namespace, at this time.
    ///
    /// # Errors
    /// A Status, of a question that makes no sense.
    pub fn create(&self, mut asked: Json, namespace: &str, now: Stamp) -> Result<Json, Status> {
        ensure_object_namespace_matches_request_namespace(&mut asked, namespace)?;
        match self.target.kind {
            "SelfSubjectReview" => {
                // Whoever shows no certificate and no token.
                let user = json!({
                    "username": "system:anonymous",
                    "groups": ["system:unauthenticated"],
                });
                json::set(
                    &mut asked,
                    &["metadata"],
                    json!({"creationTimestamp": now.seconds()}),
                );
                json::set(&mut asked, &["status"], json!({"userInfo": user}));
            }
            "TokenReview" => {
                if json::text(&asked, &["spec", "token"]).is_empty() {
                    let message = "token is required for TokenReview in authentication";
                    return Err(Status::new_bad_request(message));
                }
                json::set(&mut asked, &["status"], json!({"user": {}}));
            }
            "SelfSubjectRulesReview" => {
                if json::text(&asked, &["spec", "namespace"]).is_empty() {
                    return Err(Status::new_bad_request("no namespace on request"));
                }
                json::set(&mut asked, &["spec"], json!({}));
                json::set(&mut asked, &["status"], rules_for());
            }
            _ => {
                self.validate(&asked)?;
                json::set(&mut asked, &["status"], json!({"allowed": true}));
            }
        }
        Ok(asked)
    }

    /// Those of access (`ValidateSubjectAccessReview`, `ValidateSelfSubjectAccessReview`, `ValidateLocalSubjectAccessReview`).
    fn validate(&self, asked: &Json) -> Result<(), Status> {
        let mut errors = ErrorList::default();
        let spec = |field: &str| json::at(asked, &["spec", field]).filter(|own| !own.is_null());
        let (of_resource, other) = (spec("resourceAttributes"), spec("nonResourceAttributes"));
        match (of_resource, other) {
            (Some(_), Some(other)) => errors.invalid(
                "spec.nonResourceAttributes",
                other,
                "cannot be specified in combination with resourceAttributes",
            ),
            (None, None) => errors.invalid(
                "spec.resourceAttributes",
                &Json::Null,
                "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
            _ => {}
        }
        let is_of_others = self.target.kind != "SelfSubjectAccessReview";
        let groups = json::list(asked, &["spec", "groups"]);
        if is_of_others && json::text(asked, &["spec", "user"]).is_empty() && groups.is_empty() {
            errors.invalid(
                "spec.user",
                "",
                "at least one of user or group must be specified",
            );
        }
        let metadata = asked["metadata"].as_object().into_iter().flatten();
        let mut said = metadata
            .filter(|(name, value)| !(value.is_null() || *name == "namespace" && self.namespaced));
        if said.next().is_some() {
            let detail = match self.namespaced {
                true => "must be empty except for namespace",
                false => "must be empty",
            };
            errors.invalid("metadata", &asked["metadata"], detail);
        }
        if self.namespaced {
            let namespace = json::text(asked, &["spec", "resourceAttributes", "namespace"]);
            if of_resource.is_some() && namespace != json::text(asked, &["metadata", "namespace"]) {
                let detail = "must match metadata.namespace";
                errors.invalid("spec.resourceAttributes.namespace", namespace, detail);
            }
            if let Some(other) = other {
                let detail = "disallowed on this kind of request";
                errors.invalid("spec.nonResourceAttributes", other, detail);
            }
        }
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Status::new_invalid(
                self.target.kind,
                self.group,
                "",
                &errors,
            )),
        }
    }
}

/// `EnsureObjectNamespaceMatchesRequestNamespace`
fn ensure_object_namespace_matches_request_namespace(
    asked: &mut Json,
    namespace: &str,
) -> Result<(), Status> {
    const PATH: [&str; 2] = ["metadata", "namespace"];
    let said = json::text(asked, &PATH);
    if said == namespace {
        return Ok(());
    }
    match (said, namespace) {
        ("", _) => json::set(asked, &PATH, namespace),
        (_, "") => drop(json::remove(asked, &PATH)),
        _ => {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::new_bad_request(message));
        }
    }
    Ok(())
}

/// `alwaysAllowAuthorizer.RulesFor`
fn rules_for() -> Json {
    json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(plural: &str, spec: Json, namespace: &str) -> Result<Json, (u16, String)> {
        let group = match plural {
            "selfsubjectreviews" | "tokenreviews" => AUTHENTICATION,
            _ => AUTHORIZATION,
        };
        let review = Review::find(group, "v1", plural).expect("there is one");
        let body =
            json!({"metadata": {"creationTimestamp": null, "namespace": namespace}, "spec": spec});
        let mut body = body;
        if namespace.is_empty() {
            json::remove(&mut body, &["metadata", "namespace"]);
        }
        let now = Stamp::of(wavetank_engine::Time::ZERO);
        let answer = review.create(body, namespace, now);
        answer
            .map(|answer| answer["status"].clone())
            .map_err(|status| (status.code, status.message))
    }

    #[test]
    fn everything_is_allowed_to_everybody() {
        let pods = json!({"resourceAttributes": {"verb": "create", "resource": "pods"}});
        let allowed = Ok(json!({"allowed": true}));
        assert_eq!(asked("selfsubjectaccessreviews", pods.clone(), ""), allowed);
        let of_jane = json!({"user": "jane", "resourceAttributes": {"namespace": "n"}});
        assert_eq!(asked("subjectaccessreviews", of_jane.clone(), ""), allowed);
        assert_eq!(asked("localsubjectaccessreviews", of_jane, "n"), allowed);
        let rules = asked("selfsubjectrulesreviews", json!({"namespace": "n"}), "");
        assert_eq!(rules.expect("there are some")["incomplete"], false);
        let me = asked("selfsubjectreviews", json!({}), "").expect("somebody");
        assert_eq!(me["userInfo"]["username"], "system:anonymous");
    }

    #[test]
    fn a_question_that_makes_no_sense_is_refused() {
        let refused =
            |plural, spec, namespace| asked(plural, spec, namespace).expect_err("no sense");
        let (code, message) = refused("selfsubjectaccessreviews", json!({}), "");
        assert_eq!(code, 422);
        assert_eq!(
            message,
            "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: \
             exactly one of nonResourceAttributes or resourceAttributes must be specified"
        );
        let nobody = json!({"nonResourceAttributes": {"path": "/"}});
        let (_, message) = refused("subjectaccessreviews", nobody, "");
        assert!(
            message.contains("at least one of user or group"),
            "{message}"
        );
        let elsewhere = json!({"user": "jane", "resourceAttributes": {"namespace": "m"}});
        let (_, message) = refused("localsubjectaccessreviews", elsewhere, "n");
        assert!(
            message.contains("must match metadata.namespace"),
            "{message}"
        );
        assert_eq!(refused("tokenreviews", json!({}), "").0, 400);
        assert_eq!(refused("selfsubjectrulesreviews", json!({}), "").0, 400);
    }
}
