//! From a path to the storage of a custom resource (`crdHandler.ServeHTTP`).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::apiextensions::conditions::{
    find_crd_condition, has_served_crd_version, is_crd_condition_true,
};
use wavetank_api::apiextensions::default_deprecation_warning;
use wavetank_api::json;
use wavetank_api::strategy::Part;
use wavetank_api::{Method, Request, Resource, Response, Stamp, Status, Stored, WatchPart};
use wavetank_engine::{Caller, Outcome, Payload, Rx, Task, mutant};

use super::informers;
use super::serving_info::{self, get_or_create_serving_info_for};
use crate::endpoints::{Api, Watching};
use crate::registry::{Warnings, warn};
use crate::server::{Config, WATCH};

/// A definition that was established so lately may be unknown to other servers.
const JUST_CREATED: Duration = Duration::from_secs(2);

/// What a path names that is of no kind of the table (`RequestInfo`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CustomPath {
    /// The group.
    pub group: Arc<str>,
    /// The version.
    pub version: Arc<str>,
    /// The resource.
    pub plural: Arc<str>,
    /// The namespace; empty if the path has none.
    pub namespace: Arc<str>,
    /// The object; `None` for the collection.
    pub name: Option<Arc<str>>,
    /// The subresource.
    pub subresource: Option<Arc<str>>,
    /// Is it a watch?
    pub watch: bool,
}

/// The storage that serves a custom resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InUse {
    /// The number of its info.
    pub info: u32,
    /// The number of its watch cache.
    pub build: u32,
    /// Is its definition on its way out? Then nothing is created.
    pub terminating: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What serves it.
    pub api: Api,
    /// Warnings of its version.
    pub warnings: Warnings,
}

/// The delegate of the handler: nothing is there.
fn delegate() -> Response {
    Response::text(404, "404 page not found\n")
}

impl CustomPath {
    /// The verb of a request, as `RequestInfo` has it.
    fn verb(&self, method: Method) -> &'static str {
        match (method, self.name.is_some()) {
            (Method::Get | Method::Head, _) if self.watch => "watch",
            (Method::Get | Method::Head, true) => "get",
            (Method::Get | Method::Head, false) => "list",
            (Method::Post, _) => "create",
            (Method::Put, _) => "update",
            (Method::Patch, _) => "patch",
            (Method::Delete, true) => "delete",
            (Method::Delete, false) => "deletecollection",
            (Method::Options, _) => "",
        }
    }
}

/// Upstream's `ServeHTTP`: what serves a request, which uses it from now on.
///
/// # Errors
/// The answer.
pub(crate) async fn resolve(
    rx: Rx,
    config: &Config,
    path: &CustomPath,
    method: Method,
) -> Result<Found, Response> {
    let (_, lister) = informers(config);
    let name = format!("{}.{}", path.plural, path.group);
    let crd = lister.get(rx, &name).ok_or_else(delegate)?;
    let definition = crd.object.json();
    let verb = path.verb(method);
    let namespaced = json::text(definition, &["spec", "scope"]) == "Namespaced";
    let misplaced = match (namespaced, path.namespace.is_empty()) {
        (false, false) => true,
        (true, true) => !matches!(verb, "list" | "watch"),
        _ => false,
    };
    let is_accepted = ["NamesAccepted", "Established"]
        .into_iter()
        .any(|condition| is_crd_condition_true(definition, condition));
    let is_accepted = is_accepted
        || mutant!(
            "unaccepted-is-served",
            "a definition whose names are not accepted is served"
        );
    if misplaced || !has_served_crd_version(definition, &path.version) || !is_accepted {
        return Err(delegate());
    }
    let info = get_or_create_serving_info_for(rx, config, crd.object.uid(), &name).await;
    let info = info.map_err(|why| match why {
        None => delegate(),
        Some(_) => Response::status(Status::new_internal_error("error resolving resource")),
    })?;
    let resource = info.definition.version(&path.version);
    let resource = resource.ok_or_else(delegate)?;
    let mut warnings = Warnings::new();
    let deprecated = default_deprecation_warning(info.made_of.json(), &path.version);
    warn(&mut warnings, deprecated.into_iter().collect());
    let part = match part_of(path, resource, verb) {
        Ok(part) => part,
        Err(status) => {
            let refused = Response::status(status);
            return Err(Response {
                warnings,
                ..refused
            });
        }
    };
    let in_use = InUse {
        info: info.number,
        build: info.build(&path.version),
        terminating: is_crd_condition_true(definition, "Terminating"),
    };
    if verb == "create" {
        wait_if_just_created(rx, &crd).await;
    }
    if verb != "watch" {
        serving_info::begin(rx, info.number);
    }
    Ok(Found {
        api: Api {
            resource,
            namespace: path.namespace.clone(),
            name: path.name.clone(),
            part,
            subresource: path.subresource.clone().filter(|_| part == Part::Whole),
            watch: verb == "watch",
            custom: Some(in_use),
            version: Default::default(),
        },
        warnings,
    })
}

/// The part of the object that a path names (`serveResource`, `serveStatus`, `serveScale`).
fn part_of(path: &CustomPath, resource: &'static Resource, verb: &str) -> Result<Part, Status> {
    let Some(subresource) = path.subresource.as_deref() else {
        return Ok(Part::Whole);
    };
    let custom = resource.strategy.custom();
    let part = match subresource {
        "status" if resource.strategy.has(Part::Status) => Part::Status,
        "scale" if custom.is_some_and(|custom| custom.scale().is_some()) => Part::Whole,
        _ => {
            let name = path.name.as_deref().unwrap_or_default();
            return Err(Status::new_not_found(resource, name));
        }
    };
    match verb {
        "get" | "update" | "patch" => Ok(part),
        verb => Err(Status::new_method_not_supported(
            resource.group,
            resource.plural,
            verb,
        )),
    }
}

/// A create waits until other servers know a new definition, too.
async fn wait_if_just_created(rx: Rx, crd: &Stored) {
    let established = find_crd_condition(crd.object.json(), "Established");
    let since = established.map(|condition| json::text(condition, &["lastTransitionTime"]));
    let since = since.and_then(Stamp::parse).and_then(Stamp::clock);
    let now = rx.clock();
    if since.is_some_and(|since| now < since || now.since(since) < JUST_CREATED) {
        rx.sleep(JUST_CREATED).await;
    }
}

/// The request that began in [`resolve`] is over.
pub(crate) fn done(rx: Rx, api: &Api) {
    if let Some(in_use) = api.custom {
        serving_info::end(rx, in_use.info);
    }
}

/// A watch of a custom resource goes on as any, once it is known what serves it.
pub(crate) async fn watch(
    rx: Rx,
    config: Arc<Config>,
    caller: Caller,
    request: Payload,
    path: CustomPath,
) -> Outcome {
    let method = request.expect::<Request>().method;
    match resolve(rx, &config, &path, method).await {
        Ok(Found { api, .. }) => {
            let open = None;
            let watching = Watching {
                caller,
                api,
                request,
                open,
                form: Default::default(),
            };
            Outcome::Become(Task::new(WATCH, watching))
        }
        Err(response) => {
            rx.reply(caller, Payload::new(WatchPart::Refused(response)));
            Outcome::Done
        }
    }
}
