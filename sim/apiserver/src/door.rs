//! The front door: what happens to a request between the wire and the registry
//! (`apiserver/pkg/endpoints`): routing, reading, admission, and the answer. What a kind wants is in
//! `wavetank_api::kinds`; how objects are stored is behind the registry.

mod admission;
mod health;
mod query;
mod read;
mod route;
mod subresource;
mod watch;
mod write;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::strategy::Part;
use wavetank_api::{Content, Method, Request, Response, Status, kinds};
use wavetank_engine::{Outcome, Payload, Rx};
use wavetank_version::Version;

use crate::gates;
use crate::registry::{Made, Registry, Warnings, warn};
use crate::server::{Config, InFlight, Serve};
use crate::services::Allocators;
use crate::storages::rest_storage;

pub use route::Api;
pub(crate) use route::{Route, route};
pub(crate) use watch::{Watching, routine, watch};

/// `apiserver/pkg/server/config.go` `NewConfig`: requests other than watches.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves one request that is not a watch.
pub(crate) async fn serve(rx: Rx, config: Arc<Config>, served: Serve) -> Outcome {
    InFlight::Request.begin(rx);
    let mut work = std::pin::pin!(handle(rx, &config, &served));
    let response = rx.timeout(REQUEST_TIMEOUT, work.as_mut()).await;
    let in_time = response.is_some();
    let response = response.unwrap_or_else(|| {
        let late = "request did not complete within the allotted timeout";
        Response::status(Status::of(wavetank_api::Reason::Timeout, late))
    });
    rx.reply(served.caller, Payload::new(response));
    InFlight::Request.end(rx);
    // Up to v1.20 (`WithTimeoutForNonLongRunningRequests`) the client is answered and the handler
    // goes on; v1.36 (`WithRequestDeadline`) ends its context, and with it the calls to etcd. What is
    // left of it then only matters to who has something to give back.
    if !in_time && !config.release.has(gates::REQUESTS_HAVE_DEADLINES) {
        let _ = work.await;
    } else if !in_time && config.services.is_some() {
        rx.deadline(Duration::ZERO);
        let _ = work.await;
    }
    Outcome::Done
}

async fn handle(rx: Rx, config: &Config, served: &Serve) -> Response {
    match &served.route {
        Route::Probe(probe) => health::check(rx, config, *probe).await,
        Route::Refused(response) => response.clone(),
        Route::Api(api) => {
            let request: &Request = served.request.expect();
            let mut warnings = Warnings::new();
            // Boxed: it is large, and most requests are probes.
            let work = Box::pin(serve_api(rx, config, request, api, &mut warnings));
            let answer = work.await;
            let mut response = answer.unwrap_or_else(Response::status);
            response.warnings = deprecation(config.release, api);
            response.warnings.extend(warnings);
            if request.method == Method::Head {
                response.content = Content::Text("".into());
            }
            response
        }
    }
}

/// What is said of a deprecated kind, whatever becomes of the request (`endpoints/installer.go`).
fn deprecation(release: Version, api: &Api) -> Warnings {
    let mut warnings = Warnings::new();
    if release.has(gates::ENDPOINTS_ARE_DEPRECATED) && *api.resource == kinds::ENDPOINTS {
        let endpoints =
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
        warn(&mut warnings, vec![endpoints.to_owned()]);
    }
    warnings
}

async fn serve_api(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    // What is of all namespaces can be read, and nothing else.
    let everywhere = api.resource.namespaced && api.namespace.is_empty();
    if api.subresource.is_some() {
        return subresource::serve(rx, config, request, api, warnings).await;
    }
    // `FinalizeREST` has no `Get`, and so no `Patch` either.
    if api.part == Part::Finalize && request.method != Method::Put {
        return Err(Status::method_not_allowed());
    }
    let collections = api.resource.strategy.deletes_collections();
    match (request.method, api.name.is_some()) {
        (Method::Delete, false) if !collections => Err(Status::method_not_allowed()),
        (Method::Post | Method::Delete, _) if everywhere => Err(Status::method_not_allowed()),
        (Method::Get, true) => read::get(rx, config, request, api).await,
        (Method::Get, false) => read::list(rx, config, request, api).await,
        (Method::Post, _) => write::create(rx, config, request, api, warnings).await,
        (Method::Put, true) => write::put(rx, config, request, api, warnings).await,
        (Method::Patch, true) => write::patch(rx, config, request, api, warnings).await,
        (Method::Delete, true) => write::delete(rx, config, request, api).await,
        (Method::Delete, false) => write::delete_collection(rx, config, request, api).await,
        _ => Err(Status::method_not_allowed()),
    }
}

/// The registry for a request.
fn registry(rx: Rx, config: &Config, api: &Api, dry_run: bool) -> Registry {
    Registry {
        resource: api.resource,
        storage: config.storage_of(api.resource),
        cacher: config.cacher(rx, api.resource),
        part: api.part,
        namespace: api.namespace.clone(),
        rest: rest_storage(rx, config, api.resource),
        dry_run,
        me: config.number,
    }
}

/// What a request for a Service allocates from. An update of the status allocates nothing, but it may
/// take the last finalizer.
fn allocators(rx: Rx, config: &Config, api: &Api) -> Option<Allocators> {
    let concerned = *api.resource == kinds::SERVICES;
    concerned.then(|| Allocators::of(rx, config)).flatten()
}

/// The allocators of the layer before the registry that Services had until v1.20.
fn layer(rx: Rx, config: &Config, api: &Api) -> Option<Allocators> {
    let has =
        api.part == Part::Whole && !config.release.has(crate::services::gates::REGISTRY_HOOKS);
    allocators(rx, config, api).filter(|_| has)
}

fn answer(code: u16, made: Made) -> Response {
    let content = match made {
        Made::Stored(stored) => Content::One(stored),
        Made::Unsaved(tree) => Content::Tree(tree),
        Made::Status(status) => Content::Status(status),
    };
    Response {
        code,
        content,
        warnings: Vec::new(),
        retry_after: None,
    }
}
