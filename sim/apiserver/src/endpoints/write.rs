//! POST, PUT, PATCH and DELETE (`endpoints/handlers/create.go`, `update.go`, `patch.go`,
//! `delete.go`): reading, checks in upstream's order, admission, and the registry.

use std::pin::Pin;

use wavetank_api::decode::{self, Reading};
use wavetank_api::json::{self, Json};
use wavetank_api::options::{DeleteOptions, WriteOptions};
use wavetank_api::patch::{self, PatchKind};
use wavetank_api::strategy::Part;
use wavetank_api::versions::{convert_from_hub, convert_to_hub};
use wavetank_api::{Body, Content, List, Reason, Request, Response, Status};
use wavetank_engine::Rx;

use crate::apiextensions::CREATE_NOT_ALLOWED;
use crate::endpoints::admission::{Operation, admission, mutate};
use crate::endpoints::admit_pods::admit;
use crate::endpoints::{Api, RequestContext, answer, query};
use crate::options::Preconditions;
use crate::registry::{
    Change, Warnings, ensure_object_namespace_matches_request_namespace, warn,
    wipe_object_meta_system_fields,
};

/// `MaxRequestBodyBytes`
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// `limitedReadBody`.
fn limited_read_body(request: &Request) -> Result<(), Status> {
    match &request.body {
        Body::Bytes(bytes) if bytes.len() > LARGEST_BODY => Err(Status::of(
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {LARGEST_BODY}"),
        )),
        _ => Ok(()),
    }
}

fn content_type(request: &Request) -> Option<&str> {
    request.content_type.as_deref()
}

/// POST.
///
/// # Errors
/// A Status.
pub async fn create(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    if cx.api.name.is_some() {
        return Err(Status::method_not_allowed());
    }
    let resource = cx.api.resource;
    limited_read_body(cx.request)?;
    let options = WriteOptions::of_create(&cx.request.query, cx.config.release)?;
    let (mut object, unknown) = decode_body(&cx, options.reading)?;
    warn(warnings, unknown);
    decode::accepts_group_version(resource, &object)?;
    wipe_object_meta_system_fields(&mut object);
    ensure_object_namespace_matches_request_namespace(resource, &cx.api.namespace, &mut object)?;
    if let Some(fields) = cx.field_manager() {
        object = fields.update_no_errors(
            None,
            cx.unmanaged(object),
            &cx.manager_or_user_agent(&options),
        );
    }
    let mut object = convert_to_hub(cx.api.served(), object);
    let name = json::text(&object, &["metadata", "name"]).to_owned();
    let create = Operation::Create;
    forbid_create_admission(cx.api, &name)?;
    admission(cx.rx, cx.config, create, resource, &cx.api.namespace, &name).await?;
    let Api {
        part, namespace, ..
    } = cx.api;
    admit(cx.rx, cx.config, resource, *part, namespace, &mut object).await?;
    mutate(resource, cx.api.part, &mut object, None);
    let registry = cx.registry(options.dry_run);
    let made = registry.rest.create(cx.rx, &registry, object, warnings);
    Ok(answer(201, made.await?))
}

/// PUT. What its body has too much is warned of first, also if it is refused.
///
/// # Errors
/// A Status.
pub async fn put(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    limited_read_body(cx.request)?;
    let options = WriteOptions::of_update(&cx.request.query, cx.config.release)?;
    let (object, unknown) = decode_body(&cx, options.reading)?;
    let response = put_object(cx, &options, object, warnings).await;
    let mut all = Warnings::new();
    warn(&mut all, unknown);
    warnings.splice(0..0, all);
    response
}

async fn put_object(
    cx: RequestContext<'_>,
    options: &WriteOptions,
    mut object: Json,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    let name = cx.name();
    let resource = cx.api.resource;
    decode::accepts_group_version(resource, &object)?;
    ensure_object_namespace_matches_request_namespace(resource, &cx.api.namespace, &mut object)?;
    check_name(&object, name, &cx.api.namespace)?;
    let registry = cx.registry(options.dry_run);
    // `defaultUpdatedObjectInfo.Preconditions`: a uid in the object is one.
    let uid = json::text(&object, &["metadata", "uid"]);
    let preconditions = Preconditions {
        uid: Some(uid.into()).filter(|_| !uid.is_empty()),
        resource_version: None,
    };
    let change = Writing {
        cx,
        how: How::Put(cx.unmanaged(object)),
        manager: cx.manager_or_user_agent(options),
    };
    let update = registry
        .rest
        .update(cx.rx, &registry, name, &preconditions, &change, warnings);
    let update = update.await?;
    Ok(answer(if update.created { 201 } else { 200 }, update.made))
}

/// `forbidCreateAdmission`: nothing is made by a definition that is on its way out.
fn forbid_create_admission(api: &Api, name: &str) -> Result<(), Status> {
    match api.custom.is_some_and(|in_use| in_use.terminating) {
        true => Err(Status::new_forbidden(
            api.resource,
            name,
            CREATE_NOT_ALLOWED,
        )),
        false => Ok(()),
    }
}

/// The object in the body, and the fields of it that nobody knows.
fn decode_body(cx: &RequestContext<'_>, reading: Reading) -> Result<(Json, Vec<String>), Status> {
    let (body, of) = (&cx.request.body, content_type(cx.request));
    decode::object(body, of, cx.api.served(), reading)
}

/// `checkName`.
pub(super) fn check_name(object: &Json, name: &str, namespace: &str) -> Result<(), Status> {
    let named = json::text(object, &["metadata", "name"]);
    if named.is_empty() {
        return Err(Status::new_bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if named != name {
        return Err(Status::new_bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({name})"
        )));
    }
    let in_namespace = json::text(object, &["metadata", "namespace"]);
    if !namespace.is_empty() && !in_namespace.is_empty() && in_namespace != namespace {
        return Err(Status::new_bad_request(format!(
            "the namespace of the object ({in_namespace}) does not match the namespace on the \
             request ({namespace})"
        )));
    }
    Ok(())
}

/// PATCH.
///
/// # Errors
/// A Status.
pub async fn patch(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    let kind = patch::kind_for(content_type(cx.request), cx.api.resource)?;
    limited_read_body(cx.request)?;
    let options = WriteOptions::of_patch(&cx.request.query, kind, cx.config.release)?;
    let registry = cx.registry(options.dry_run);
    let preconditions = Preconditions::default();
    let how = match kind {
        PatchKind::Apply if cx.config.keeps_managed_fields() => How::Apply {
            body: cx.request.body.clone(),
            force: options.force,
        },
        kind => How::Patch(kind, cx.request.body.clone(), options.reading),
    };
    let change = Writing {
        cx,
        how,
        manager: cx.manager_or_user_agent(&options),
    };
    let (rx, name) = (cx.rx, cx.name());
    let update = registry
        .rest
        .update(rx, &registry, name, &preconditions, &change, warnings);
    let update = update.await?;
    Ok(answer(if update.created { 201 } else { 200 }, update.made))
}

/// A PUT or PATCH, between the stored object and the registry.
struct Writing<'a> {
    cx: RequestContext<'a>,
    how: How,
    /// Who then manages what it changes.
    manager: String,
}

enum How {
    Put(Json),
    Patch(PatchKind, Body, Reading),
    /// `applyPatcher`
    Apply {
        body: Body,
        force: bool,
    },
}

impl Change for Writing<'_> {
    fn change<'a>(
        &'a self,
        rx: Rx,
        old: Option<&'a Json>,
        warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>> {
        Box::pin(self.object(rx, old, warnings))
    }

    fn force_allow_create(&self) -> bool {
        matches!(self.how, How::Apply { .. }) && self.cx.api.part == Part::Whole
    }
}

impl Writing<'_> {
    async fn object(
        &self,
        rx: Rx,
        old: Option<&Json>,
        warnings: &mut Warnings,
    ) -> Result<Json, Status> {
        let (config, api, name) = (self.cx.config, self.cx.api, self.cx.name());
        // What is stored, in the version of the request.
        let converted = match (api.served() == api.resource, old) {
            (false, Some(old)) => Some(convert_from_hub(api.served(), old.clone())),
            _ => None,
        };
        let stored = old;
        let old = converted.as_ref().or(stored);
        let manage = |new: Json| match self.cx.field_manager() {
            Some(fields) => fields.update_no_errors(old, new, &self.manager),
            None => new,
        };
        let new = match (&self.how, old) {
            (How::Put(object), _) => manage(object.clone()),
            (How::Patch(..), None) => return Err(Status::new_not_found(api.resource, name)),
            (How::Patch(kind, body, reading), Some(old)) => {
                let (new, unknown) = patch::apply(*kind, old, body, api.served(), *reading)?;
                warn(warnings, unknown);
                self.patched(manage(new))?
            }
            (How::Apply { body, force }, old) => {
                let fields = self.cx.field_manager();
                let fields = fields.expect("apply is served where fields are managed");
                let config = patch::apply_configuration(body)?;
                let new = fields.apply(old, &config, &self.manager, *force)?;
                let uid = json::text(&new, &["metadata", "uid"]);
                if old.is_none() && !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(Status::new_conflict(api.resource, name, &why));
                }
                self.patched(new)?
            }
        };
        let mut new = convert_to_hub(api.served(), new);
        let old = stored;
        let operation = match old {
            None => Operation::Create,
            Some(_) => Operation::Update,
        };
        if operation == Operation::Create {
            forbid_create_admission(api, name)?;
        }
        admission(rx, config, operation, api.resource, &api.namespace, name).await?;
        if operation == Operation::Create {
            let Api {
                part, namespace, ..
            } = api;
            admit(rx, config, api.resource, *part, namespace, &mut new).await?;
        }
        mutate(api.resource, api.part, &mut new, old);
        Ok(new)
    }

    /// Is what a patch has made still the object of the request?
    fn patched(&self, mut new: Json) -> Result<Json, Status> {
        let api = self.cx.api;
        ensure_object_namespace_matches_request_namespace(api.resource, &api.namespace, &mut new)?;
        check_name(&new, self.cx.name(), &api.namespace)?;
        Ok(new)
    }
}

/// DELETE of one object.
///
/// # Errors
/// A Status.
pub async fn delete(cx: RequestContext<'_>) -> Result<Response, Status> {
    let name = cx.name();
    limited_read_body(cx.request)?;
    let options = DeleteOptions::of(
        &cx.request.query,
        &cx.request.body,
        content_type(cx.request),
        cx.config.release,
    )?;
    let delete = Operation::Delete;
    admission(
        cx.rx,
        cx.config,
        delete,
        cx.api.resource,
        &cx.api.namespace,
        name,
    )
    .await?;
    let registry = cx.registry(options.dry_run);
    let deletion = registry
        .rest
        .delete(cx.rx, &registry, name, options.clone());
    let deletion = deletion.await?;
    let accepted = !deletion.deleted && options.orphan == Some(false);
    Ok(answer(if accepted { 202 } else { 200 }, deletion.made))
}

/// DELETE of a collection.
///
/// # Errors
/// A Status.
pub async fn delete_collection(cx: RequestContext<'_>) -> Result<Response, Status> {
    let (list, _) =
        query::list_options(&cx.request.query, cx.api.served(), None, cx.config.release)?;
    limited_read_body(cx.request)?;
    let options = DeleteOptions::of(
        &cx.request.query,
        &cx.request.body,
        content_type(cx.request),
        cx.config.release,
    )?;
    let registry = cx.registry(options.dry_run);
    let listed = registry.delete_collection(cx.rx, &options, &list).await?;
    let list = Content::List(List {
        of: cx.api.resource,
        items: listed.items,
        resource_version: listed.revision,
        continues: listed.continues,
        remaining: listed.remaining,
    });
    Ok(Response::of(200, list))
}
