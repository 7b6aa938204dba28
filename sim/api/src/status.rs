//! `metav1.Status`: how the API says no, worded as upstream words it
//! (`apimachinery/pkg/api/errors/errors.go`).

use std::fmt;

use serde_json::json;

use crate::json::Json;
use crate::kinds::Resource;
use crate::validation::ErrorList;

/// `metav1.StatusReason`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Reason {
    /// None given, as for an error of the server that has no type.
    Unknown,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    ServerTimeout,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    Expired,
    ServiceUnavailable,
}

impl Reason {
    /// As on the wire; empty for [`Reason::Unknown`].
    pub fn name(self) -> &'static str {
        match self {
            Reason::Unknown => "",
            Reason::Unauthorized => "Unauthorized",
            Reason::Forbidden => "Forbidden",
            Reason::NotFound => "NotFound",
            Reason::AlreadyExists => "AlreadyExists",
            Reason::Conflict => "Conflict",
            Reason::Gone => "Gone",
            Reason::Invalid => "Invalid",
            Reason::ServerTimeout => "ServerTimeout",
            Reason::Timeout => "Timeout",
            Reason::TooManyRequests => "TooManyRequests",
            Reason::BadRequest => "BadRequest",
            Reason::MethodNotAllowed => "MethodNotAllowed",
            Reason::NotAcceptable => "NotAcceptable",
            Reason::RequestEntityTooLarge => "RequestEntityTooLarge",
            Reason::UnsupportedMediaType => "UnsupportedMediaType",
            Reason::InternalError => "InternalError",
            Reason::Expired => "Expired",
            Reason::ServiceUnavailable => "ServiceUnavailable",
        }
    }

    /// The HTTP status code that goes with it.
    pub fn code(self) -> u16 {
        match self {
            Reason::Unauthorized => 401,
            Reason::Forbidden => 403,
            Reason::NotFound => 404,
            Reason::MethodNotAllowed => 405,
            Reason::NotAcceptable => 406,
            Reason::AlreadyExists | Reason::Conflict => 409,
            Reason::Gone | Reason::Expired => 410,
            Reason::RequestEntityTooLarge => 413,
            Reason::UnsupportedMediaType => 415,
            Reason::Invalid => 422,
            Reason::TooManyRequests => 429,
            Reason::Unknown | Reason::InternalError | Reason::ServerTimeout => 500,
            Reason::ServiceUnavailable => 503,
            Reason::Timeout => 504,
            Reason::BadRequest => 400,
        }
    }
}

/// `metav1.StatusCause`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cause {
    /// `reason`, `FieldValueInvalid`.
    pub reason: String,
    /// `message`
    pub message: String,
    /// `field`
    pub field: String,
}

/// `metav1.StatusDetails`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Details {
    /// `name`
    pub name: String,
    /// `group`
    pub group: String,
    /// `kind`: a kind, or a resource.
    pub kind: String,
    /// `uid`
    pub uid: String,
    /// `causes`
    pub causes: Vec<Cause>,
    /// `retryAfterSeconds`, 0 for none.
    pub retry_after: u32,
}

/// A Status.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Did it succeed? Deletions that are over answer so.
    pub success: bool,
    /// `code`; 0 if it is left out.
    pub code: u16,
    /// `reason`
    pub reason: Reason,
    /// `message`
    pub message: String,
    /// `details`
    pub details: Option<Box<Details>>,
    /// `metadata.continue`: a list can go on with it, inconsistently.
    pub continues: Option<String>,
}

fn failure(reason: Reason, message: impl Into<String>, details: Option<Details>) -> Status {
    let details = details.map(Box::new);
    Status {
        success: false,
        code: reason.code(),
        reason,
        message: message.into(),
        details,
        continues: None,
    }
}

/// `details` of one object: the resource stands where a kind would.
fn of(resource: &Resource, name: &str) -> Option<Details> {
    Some(Details {
        name: name.to_owned(),
        group: resource.group.to_owned(),
        kind: resource.plural.to_owned(),
        ..Details::default()
    })
}

impl Status {
    /// `NewNotFound`.
    pub fn new_not_found(resource: &Resource, name: &str) -> Status {
        let message = format!("{} {name:?} not found", resource.qualified());
        failure(Reason::NotFound, message, of(resource, name))
    }

    /// `NewAlreadyExists`.
    pub fn new_already_exists(resource: &Resource, name: &str) -> Status {
        let message = format!("{} {name:?} already exists", resource.qualified());
        failure(Reason::AlreadyExists, message, of(resource, name))
    }

    /// `NewGenerateNameConflict`.
    pub fn new_generate_name_conflict(resource: &Resource, name: &str) -> Status {
        let message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for \
             the object",
            resource.qualified()
        );
        failure(Reason::AlreadyExists, message, of(resource, name))
    }

    /// `NewConflict`.
    pub fn new_conflict(resource: &Resource, name: &str, why: &str) -> Status {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            resource.qualified()
        );
        failure(Reason::Conflict, message, of(resource, name))
    }

    /// `NewForbidden`.
    pub fn new_forbidden(resource: &Resource, name: &str, why: &str) -> Status {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} {name:?} is forbidden: {why}", resource.qualified())
        };
        failure(Reason::Forbidden, message, of(resource, name))
    }

    /// `NewInvalid`: `qualified` is a kind with its group, `Deployment.apps`.
    pub fn new_invalid(kind: &str, group: &str, name: &str, errors: &ErrorList) -> Status {
        let qualified = match group {
            "" => kind.to_owned(),
            group => format!("{kind}.{group}"),
        };
        let mut message = format!("{qualified} {name:?} is invalid");
        if !errors.is_empty() {
            message = format!("{message}: {errors}");
        }
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: errors.causes(),
            ..Details::default()
        };
        failure(Reason::Invalid, message, Some(details))
    }

    /// `NewBadRequest`.
    pub fn new_bad_request(message: impl Into<String>) -> Status {
        failure(Reason::BadRequest, message, None)
    }

    /// `NewGenericServerResponse` for a path that serves other methods.
    pub fn method_not_allowed() -> Status {
        let message = "the server does not allow this method on the requested resource";
        failure(Reason::MethodNotAllowed, message, Some(Details::default()))
    }

    /// `NewMethodNotSupported`
    pub fn new_method_not_supported(group: &str, plural: &str, action: &str) -> Status {
        let qualified = match group {
            "" => plural.to_owned(),
            group => format!("{plural}.{group}"),
        };
        let message = format!("{action} is not supported on resources of kind {qualified:?}");
        let details = Details {
            group: group.to_owned(),
            kind: plural.to_owned(),
            ..Details::default()
        };
        failure(Reason::MethodNotAllowed, message, Some(details))
    }

    /// `NewGenericServerResponse` for a path of the API that serves nothing.
    pub fn no_such_path() -> Status {
        let message = "the server could not find the requested resource";
        failure(Reason::NotFound, message, Some(Details::default()))
    }

    /// An error that has no Status of its own (`responsewriters.ErrorToAPIStatus`): 500 without a
    /// reason.
    pub fn untyped(message: impl Into<String>) -> Status {
        failure(Reason::Unknown, message, None)
    }

    /// `NewInternalError`.
    pub fn new_internal_error(error: impl fmt::Display) -> Status {
        let message = format!("Internal error occurred: {error}");
        let cause = Cause {
            message: error.to_string(),
            ..Cause::default()
        };
        let details = Details {
            causes: vec![cause],
            ..Details::default()
        };
        failure(Reason::InternalError, message, Some(details))
    }

    /// `NewResourceExpired`.
    pub fn new_resource_expired(message: impl Into<String>) -> Status {
        failure(Reason::Expired, message, None)
    }

    /// `NewServerTimeout`: the operation on the resource may be tried again after `retry_after`
    /// seconds.
    pub fn new_server_timeout(resource: &Resource, operation: &str, retry_after: u32) -> Status {
        let message = format!(
            "The {operation} operation against {} could not be completed at this time, please try \
             again.",
            resource.qualified()
        );
        let details = Details {
            group: resource.group.to_owned(),
            kind: resource.plural.to_owned(),
            name: operation.to_owned(),
            retry_after,
            ..Details::default()
        };
        failure(Reason::ServerTimeout, message, Some(details))
    }

    /// `NewTimeoutError`; with `retry_after` seconds.
    pub fn new_timeout_error(message: &str, retry_after: u32) -> Status {
        let details = Details {
            retry_after,
            ..Details::default()
        };
        failure(
            Reason::Timeout,
            format!("Timeout: {message}"),
            Some(details),
        )
    }

    /// `storage.NewTooLargeResourceVersionError`.
    pub fn new_too_large_resource_version_error(
        asked: u64,
        current: u64,
        retry_after: u32,
    ) -> Status {
        let what = format!("Too large resource version: {asked}, current: {current}");
        let mut status = Status::new_timeout_error(&what, retry_after);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "ResourceVersionTooLarge".to_owned(),
                message: "Too large resource version".to_owned(),
                field: String::new(),
            });
        }
        status
    }

    /// `NewTooManyRequests`.
    pub fn new_too_many_requests(message: impl Into<String>, retry_after: u32) -> Status {
        let details = Details {
            retry_after,
            ..Details::default()
        };
        failure(Reason::TooManyRequests, message, Some(details))
    }

    /// Any other.
    pub fn of(reason: Reason, message: impl Into<String>) -> Status {
        failure(reason, message, None)
    }

    /// Done.
    pub fn success() -> Status {
        Status {
            success: true,
            code: 0,
            reason: Reason::Unknown,
            message: String::new(),
            details: None,
            continues: None,
        }
    }

    /// What a deletion answers once the object is gone.
    pub fn deleted(resource: &Resource, name: &str, uid: &str) -> Status {
        let details = Details {
            name: name.to_owned(),
            group: resource.group.to_owned(),
            kind: resource.plural.to_owned(),
            uid: uid.to_owned(),
            ..Details::default()
        };
        Status {
            success: true,
            code: 0,
            reason: Reason::Unknown,
            message: String::new(),
            details: Some(Box::new(details)),
            continues: None,
        }
    }

    /// Is it this refusal?
    pub fn is(&self, reason: Reason) -> bool {
        !self.success && self.reason == reason
    }

    /// Does it have a cause of this reason (`errors.HasStatusCause`)?
    pub fn has_cause(&self, reason: &str) -> bool {
        let mut causes = self.details.iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == reason)
    }

    /// `Retry-After`, in seconds.
    pub fn retry_after(&self) -> Option<u32> {
        let details = self.details.as_ref()?;
        Some(details.retry_after).filter(|seconds| *seconds > 0)
    }

    /// As on the wire.
    pub fn json(&self) -> Json {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": if self.success { "Success" } else { "Failure" },
        });
        if let Some(token) = &self.continues {
            status["metadata"]["continue"] = token.as_str().into();
        }
        let mut put = |field: &str, text: &str| {
            if !text.is_empty() {
                status[field] = text.into();
            }
        };
        put("message", &self.message);
        put("reason", self.reason.name());
        if let Some(details) = &self.details {
            status["details"] = details.json();
        }
        if self.code != 0 {
            status["code"] = self.code.into();
        }
        status
    }
}

impl Details {
    fn json(&self) -> Json {
        let mut json = json!({});
        let texts = [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ];
        for (field, text) in texts {
            if !text.is_empty() {
                json[field] = text.as_str().into();
            }
        }
        if !self.causes.is_empty() {
            json["causes"] = self.causes.iter().map(Cause::json).collect();
        }
        if self.retry_after > 0 {
            json["retryAfterSeconds"] = self.retry_after.into();
        }
        json
    }
}

impl Cause {
    fn json(&self) -> Json {
        let mut json = json!({});
        let texts = [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ];
        for (field, text) in texts {
            if !text.is_empty() {
                json[field] = text.as_str().into();
            }
        }
        json
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}
