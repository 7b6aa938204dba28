//! POST, PUT, PATCH and DELETE (`endpoints/handlers/create.go`, `update.go`, `patch.go`,
//! `delete.go`): reading, checks in upstream's order, admission, and the registry.

use std::pin::Pin;

use wavetank_api::decode::{self, FieldValidation};
use wavetank_api::json::{self, Json};
use wavetank_api::options::{DeleteOptions, WriteOptions};
use wavetank_api::patch::{self, PatchKind};
use wavetank_api::{Body, Content, List, Reason, Request, Response, Status, kinds};
use wavetank_engine::Rx;

use crate::door::admission::{Operation, mutate, namespace_lifecycle};
use crate::door::{Api, answer, layer, query, registry};
use crate::options::Preconditions;
use crate::registry::{
    Change, Registry, Update, Warnings, ensure_namespace, warn, wipe_system_fields,
};
use crate::server::Config;
use crate::services::Layer;

/// `MaxRequestBodyBytes`
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// `limitedReadBody`.
fn check_size(request: &Request) -> Result<(), Status> {
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
pub async fn create(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    if api.name.is_some() {
        return Err(Status::method_not_allowed());
    }
    let resource = api.resource;
    check_size(request)?;
    let options = WriteOptions::of_create(&request.query, config.release)?;
    let validation = options.validation;
    let (mut object, unknown) =
        decode::object(&request.body, content_type(request), resource, validation)?;
    warn(warnings, unknown);
    wipe_system_fields(&mut object);
    ensure_namespace(resource, &api.namespace, &mut object)?;
    let name = json::text(&object, &["metadata", "name"]).to_owned();
    let create = Operation::Create;
    namespace_lifecycle(rx, config, create, resource, &api.namespace, &name).await?;
    mutate(resource, api.part, &mut object, None);
    let registry = registry(rx, config, api, options.dry_run);
    let made = match &layer(rx, config, api) {
        None => registry.create(rx, object, warnings).await?,
        Some(allocators) => {
            let layer = Layer {
                registry: &registry,
                allocators,
            };
            layer.create(rx, object, warnings).await?
        }
    };
    Ok(answer(201, made))
}

/// PUT.
///
/// # Errors
/// A Status.
pub async fn put(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    let name = api.name.as_deref().unwrap_or_default();
    let resource = api.resource;
    check_size(request)?;
    let options = WriteOptions::of_update(&request.query, config.release)?;
    let validation = options.validation;
    let (mut object, unknown) =
        decode::object(&request.body, content_type(request), resource, validation)?;
    ensure_namespace(resource, &api.namespace, &mut object)?;
    check_name(&object, name, &api.namespace)?;
    let registry = registry(rx, config, api, options.dry_run);
    // `defaultUpdatedObjectInfo.Preconditions`: a uid in the object is one.
    let uid = json::text(&object, &["metadata", "uid"]);
    let preconditions = Preconditions {
        uid: Some(uid.into()).filter(|_| !uid.is_empty()),
        resource_version: None,
    };
    let change = Writing {
        config,
        api,
        how: How::Put(object),
    };
    let update = change.write(rx, &registry, &preconditions, warnings);
    let update = update.await?;
    let mut all = Warnings::new();
    warn(&mut all, unknown);
    warnings.splice(0..0, all);
    Ok(answer(if update.created { 201 } else { 200 }, update.made))
}

/// `checkName`.
fn check_name(object: &Json, name: &str, namespace: &str) -> Result<(), Status> {
    let named = json::text(object, &["metadata", "name"]);
    if named.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if named != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({name})"
        )));
    }
    let in_namespace = json::text(object, &["metadata", "namespace"]);
    if !namespace.is_empty() && !in_namespace.is_empty() && in_namespace != namespace {
        return Err(Status::bad_request(format!(
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
pub async fn patch(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    let kind = PatchKind::of(content_type(request))?;
    check_size(request)?;
    let options = WriteOptions::of_patch(&request.query, kind, config.release)?;
    let registry = registry(rx, config, api, options.dry_run);
    let preconditions = Preconditions::default();
    let change = Writing {
        config,
        api,
        how: How::Patch(kind, request.body.clone(), options.validation),
    };
    let update = change.write(rx, &registry, &preconditions, warnings);
    Ok(answer(200, update.await?.made))
}

/// A PUT or PATCH, between the stored object and the registry.
struct Writing<'a> {
    config: &'a Config,
    api: &'a Api,
    how: How,
}

enum How {
    Put(Json),
    Patch(PatchKind, Body, FieldValidation),
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
}

impl Writing<'_> {
    /// Has the registry, or the layer before it, write.
    async fn write(
        &self,
        rx: Rx,
        registry: &Registry,
        preconditions: &Preconditions,
        warnings: &mut Warnings,
    ) -> Result<Update, Status> {
        let name = self.api.name.as_deref().unwrap_or_default();
        match &layer(rx, self.config, self.api) {
            None => {
                let update = registry.update(rx, name, preconditions, self, warnings);
                update.await
            }
            Some(allocators) => {
                let layer = Layer {
                    registry,
                    allocators,
                };
                layer.update(rx, name, self, warnings).await
            }
        }
    }

    async fn object(
        &self,
        rx: Rx,
        old: Option<&Json>,
        warnings: &mut Warnings,
    ) -> Result<Json, Status> {
        let (config, api) = (self.config, self.api);
        let name = api.name.as_deref().unwrap_or_default();
        let mut new = match (&self.how, old) {
            (How::Put(object), _) => object.clone(),
            (How::Patch(..), None) => return Err(Status::not_found(api.resource, name)),
            (How::Patch(kind, body, validation), Some(old)) => {
                let (new, unknown) = patch::apply(*kind, old, body, api.resource, *validation)?;
                warn(warnings, unknown);
                let mut new = new;
                ensure_namespace(api.resource, &api.namespace, &mut new)?;
                check_name(&new, name, &api.namespace)?;
                new
            }
        };
        let operation = match old {
            None => Operation::Create,
            Some(_) => Operation::Update,
        };
        namespace_lifecycle(rx, config, operation, api.resource, &api.namespace, name).await?;
        mutate(api.resource, api.part, &mut new, old);
        Ok(new)
    }
}

/// DELETE of one object.
///
/// # Errors
/// A Status.
pub async fn delete(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
) -> Result<Response, Status> {
    let name = api.name.as_deref().unwrap_or_default();
    check_size(request)?;
    let options = DeleteOptions::of(&request.query, &request.body, content_type(request))?;
    let delete = Operation::Delete;
    namespace_lifecycle(rx, config, delete, api.resource, &api.namespace, name).await?;
    let registry = registry(rx, config, api, options.dry_run);
    let deletion = match &layer(rx, config, api) {
        None => registry.delete(rx, name, options.clone()).await?,
        Some(allocators) => {
            let layer = Layer {
                registry: &registry,
                allocators,
            };
            layer.delete(rx, name, options.clone()).await?
        }
    };
    let accepted = !deletion.deleted && options.orphan == Some(false);
    Ok(answer(if accepted { 202 } else { 200 }, deletion.made))
}

/// DELETE of a collection.
///
/// # Errors
/// A Status.
pub async fn delete_collection(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
) -> Result<Response, Status> {
    // The layer of Services has no such method.
    if *api.resource == kinds::SERVICES
        && !config.release.has(crate::services::gates::REGISTRY_HOOKS)
    {
        return Err(Status::method_not_allowed());
    }
    let (list, _) = query::list_options(&request.query, api.resource, None, config.release)?;
    check_size(request)?;
    let options = DeleteOptions::of(&request.query, &request.body, content_type(request))?;
    let registry = registry(rx, config, api, options.dry_run);
    let listed = registry.delete_collection(rx, &options, &list).await?;
    Ok(Response {
        code: 200,
        content: Content::List(List {
            of: api.resource,
            items: listed.items,
            resource_version: listed.revision,
            continues: listed.continues,
            remaining: listed.remaining,
        }),
        warnings: Vec::new(),
        retry_after: None,
    })
}
