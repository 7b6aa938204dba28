//! POST, PUT, PATCH and DELETE (`endpoints/handlers/create.go`, `update.go`, `patch.go`,
//! `delete.go`): reading, checks in upstream's order, admission, and the registry.

use std::pin::Pin;

use wavetank_api::json::{self, Json};
use wavetank_api::{Body, Content, List, Request, Response, Status};
use wavetank_engine::Rx;

use crate::door::admission::{Operation, namespace_lifecycle};
use crate::door::{Api, answer, query, registry};
use crate::options::Preconditions;
use crate::registry::{Change, DeleteOptions, Warnings, ensure_namespace, wipe_system_fields};
use crate::server::Config;

fn is_dry_run(request: &Request) -> bool {
    request.query.all("dryRun").any(|value| value == "All")
}

fn read_object(request: &Request) -> Result<Json, Status> {
    match &request.body {
        Body::Json(json) => Ok((**json).clone()),
        Body::Bytes(bytes) => {
            serde_json::from_slice(bytes).map_err(|e| Status::bad_request(e.to_string()))
        }
        Body::Empty => Ok(Json::Null),
    }
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
    let mut object = read_object(request)?;
    let resource = api.resource;
    resource.strategy.default(&mut object);
    wipe_system_fields(&mut object);
    ensure_namespace(resource, &api.namespace, &mut object)?;
    let name = json::text(&object, &["metadata", "name"]).to_owned();
    let create = Operation::Create;
    namespace_lifecycle(rx, config, create, resource, &api.namespace, &name).await?;
    let registry = registry(config, api, is_dry_run(request));
    let made = registry.create(rx, object, warnings).await?;
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
    let mut object = read_object(request)?;
    resource.strategy.default(&mut object);
    ensure_namespace(resource, &api.namespace, &mut object)?;
    check_name(&object, name)?;
    let registry = registry(config, api, is_dry_run(request));
    let preconditions = Preconditions::default();
    let change = Writing {
        config,
        api,
        how: How::Put(object),
    };
    let update = registry.update(rx, name, &preconditions, &change, warnings);
    let update = update.await?;
    Ok(answer(if update.created { 201 } else { 200 }, update.made))
}

/// `checkName`.
fn check_name(object: &Json, name: &str) -> Result<(), Status> {
    let named = json::text(object, &["metadata", "name"]);
    if named.is_empty() {
        return Err(Status::bad_request("name must be provided"));
    }
    if named != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({name})"
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
    let name = api.name.as_deref().unwrap_or_default();
    let patch = read_object(request)?;
    let registry = registry(config, api, is_dry_run(request));
    let preconditions = Preconditions::default();
    let change = Writing {
        config,
        api,
        how: How::Patch(patch),
    };
    let update = registry.update(rx, name, &preconditions, &change, warnings);
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
    Patch(Json),
}

impl Change for Writing<'_> {
    fn change<'a>(
        &'a self,
        rx: Rx,
        old: Option<&'a Json>,
        _warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>> {
        Box::pin(self.object(rx, old))
    }
}

impl Writing<'_> {
    async fn object(&self, rx: Rx, old: Option<&Json>) -> Result<Json, Status> {
        let (config, api) = (self.config, self.api);
        let name = api.name.as_deref().unwrap_or_default();
        let new = match (&self.how, old) {
            (How::Put(object), _) => object.clone(),
            (How::Patch(_), None) => return Err(Status::not_found(api.resource, name)),
            (How::Patch(patch), Some(old)) => {
                let mut new = old.clone();
                merge(&mut new, patch);
                new
            }
        };
        let operation = match old {
            None => Operation::Create,
            Some(_) => Operation::Update,
        };
        namespace_lifecycle(rx, config, operation, api.resource, &api.namespace, name).await?;
        Ok(new)
    }
}

fn merge(target: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let map = json::map_mut(target, &[]);
    for (field, value) in patch {
        if value.is_null() {
            map.remove(field);
        } else {
            merge(map.entry(field.clone()).or_insert(Json::Null), value);
        }
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
    let options = DeleteOptions::default();
    let delete = Operation::Delete;
    namespace_lifecycle(rx, config, delete, api.resource, &api.namespace, name).await?;
    let registry = registry(config, api, is_dry_run(request));
    let deletion = registry.delete(rx, name, options.clone()).await?;
    let accepted = !deletion.deleted && options.orphan_dependents == Some(false);
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
    let list = query::list_options(&request.query, None)?;
    let options = DeleteOptions::default();
    let registry = registry(config, api, is_dry_run(request));
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
