//! What a kind does differently: the hooks that the generic registry calls
//! (`apiserver/pkg/registry/rest`: `RESTCreateStrategy`, `RESTUpdateStrategy`,
//! `RESTGracefulDeleteStrategy`). All of them are pure.

use std::borrow::Cow;

use wavetank_version::Version;

use crate::apiextensions::CustomVersion;
use crate::discovery::Shown;
use crate::json::{self, Json};
use crate::times::Stamp;
use crate::validation::ErrorList;
use crate::versions::Versioned;

/// What a hook may want to know beside the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The release of the server.
    pub release: Version,
    /// The server's clock.
    pub now: Stamp,
    /// Has it ranges of both families for Services?
    pub dual_stack: bool,
}

impl Context {
    /// That of a server without ranges for Services.
    pub fn new(release: Version, now: Stamp) -> Context {
        Context {
            release,
            now,
            dual_stack: false,
        }
    }
}

/// Which objects of a subresource a strategy is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// The object itself.
    Whole,
    /// `/status`
    Status,
    /// `/finalize` of a namespace.
    Finalize,
    /// `/ephemeralcontainers` of a pod.
    EphemeralContainers,
    /// `/resize` of a pod.
    Resize,
}

/// How an object that is asked to go goes (`BeforeDelete`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Grace {
    /// At once: the kind knows no graceful deletion.
    None,
    /// After this many seconds.
    Seconds(i64),
}

/// The rules of one kind.
///
/// Trees are complete objects with `apiVersion`, `kind` and `metadata`; `old` is what is stored.
pub trait Strategy: Sync {
    /// Defaults of the versioned type; applied to what a client sends and to what is read.
    fn default(&self, _object: &mut Json) {}

    /// `PrepareForCreate`: clears what a client may not set.
    fn prepare_for_create(&self, _cx: &Context, _object: &mut Json) {}

    /// `Validate`: all of the object, its metadata included. The registry checks metadata once more
    /// by the rules for every kind ([`metadata::validate_common`](crate::metadata::validate_common)),
    /// after this on a create, before it on an update; errors that come twice are upstream's.
    fn validate(&self, _cx: &Context, _object: &Json) -> ErrorList {
        ErrorList::default()
    }

    /// `PrepareForUpdate`: keeps what this part may not change, counts `generation`.
    fn prepare_for_update(&self, _cx: &Context, _part: Part, _object: &mut Json, _old: &Json) {}

    /// `ValidateUpdate`, metadata included.
    fn validate_update(
        &self,
        _cx: &Context,
        _part: Part,
        _object: &Json,
        _old: &Json,
    ) -> ErrorList {
        ErrorList::default()
    }

    /// `WarningsOnCreate`, `WarningsOnUpdate` (`old` is then given); updates of a status have none.
    fn warnings(&self, _cx: &Context, _object: &Json, _old: Option<&Json>) -> Vec<String> {
        Vec::new()
    }

    /// Errors of a name, as `ValidateName` (a name or, with `prefix`, a generateName).
    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        crate::names::name_is_dns_subdomain(name, prefix)
    }

    /// `GetResetFields`: fields that requests to this part do not set, with all that is below them; so nobody owns them by
    /// such a request.
    fn get_reset_fields(&self, _part: Part) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// `Canonicalize`: after validation, before it is stored.
    fn canonicalize(&self, _object: &mut Json) {}

    /// `ConvertFieldLabel`: the label by which a selector may name a field, or why it may not.
    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name" | "metadata.namespace" => Ok(label),
            label => Err(format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                crate::quote::quote(label)
            )),
        }
    }

    /// May an update create?
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Does the kind have reasons of its own, beside `metadata.finalizers`, not to be gone yet?
    fn is_held(&self, _object: &Json) -> bool {
        false
    }

    /// May all objects of a collection be deleted at once?
    fn deletes_collections(&self, _release: Version) -> bool {
        true
    }

    /// May an update come without a resourceVersion?
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// `CheckGracefulDelete`: how long the object may take to go if the request asks for so many
    /// seconds, or for none in particular.
    fn check_graceful_delete(&self, _object: &Json, _asked: Option<i64>) -> Grace {
        Grace::None
    }

    /// Does a deletion answer with the object, and not with a Status (`ReturnDeletedObject`)?
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// How many seconds an object lives (`TTLFunc`); for ever if it is none.
    fn ttl(&self) -> Option<u64> {
        None
    }

    /// Does a part exist, as a subresource?
    fn has(&self, part: Part) -> bool {
        part == Part::Whole
    }

    /// The value of a selectable field; empty if it has none.
    fn field<'a>(&self, object: &'a Json, field: &str) -> Cow<'a, str> {
        let path: Vec<&str> = field.split('.').collect();
        json::text(object, &path).into()
    }

    /// The version of a custom kind, if a definition has made the resource.
    fn custom(&'static self) -> Option<&'static CustomVersion> {
        None
    }

    /// Tells rules apart that are those of the same resource at different times; 0 where they never change.
    fn revision(&self) -> u64 {
        0
    }

    /// How discovery shows the kind, beside its verbs and the parts that it has.
    fn shown(&self) -> Shown {
        Shown::PLAIN
    }

    /// How its objects are stored in the version of another resource, if they are: the rules, but for defaults and
    /// labels of fields, are then about objects of that version.
    fn versioned(&self) -> Option<&'static Versioned> {
        None
    }
}
