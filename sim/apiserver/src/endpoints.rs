//! The handlers: what happens to a request between the wire and the registry
//! (`apiserver/pkg/endpoints`): routing, reading, admission, and the answer. What a kind wants is in
//! `wavetank_api::kinds`; how objects are stored is behind the registry.

pub(crate) mod admission;
mod admit_pods;
pub mod discovery;
pub(crate) mod eviction;
mod forms;
mod health;
pub mod namespace_lifecycle;
mod openapi;
mod query;
mod read;
mod reviews;
mod route;
mod subresource;
mod watch;
mod write;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::decode::{self, protobuf};
use wavetank_api::json::{self, Json};
use wavetank_api::managedfields::{FieldManager, manager_or_user_agent};
use wavetank_api::options::WriteOptions;
use wavetank_api::patch::PatchKind;
use wavetank_api::strategy::Part;
use wavetank_api::{Content, Method, Request, Response, Stamp, Status, kinds};
use wavetank_engine::{Outcome, Payload, ProcId, Rx};
use wavetank_version::Version;

use crate::apiextensions::{self, CustomDefect, Found};
use crate::cacher::Cacher;
use crate::gates;
use crate::quota::{self, QuotaAdmission};
use crate::registry::{Made, Registry, Warnings, warn};
use crate::server::{AuditLog, Audited, Config, InFlight, Serve};
use crate::storages::Storages;

pub use forms::Form;
pub use route::Api;
pub(crate) use route::{Route, route};
pub(crate) use watch::{Watching, routine, watch};

/// `apiserver/pkg/server/config.go` `NewConfig`: requests other than watches.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the line of a request in the audit log takes, for which its answer waits (`--audit-log-mode=blocking`). Watches
/// do not wait for it: what a request changed is known before its answer is.
const AUDIT_TAKES: Duration = Duration::from_micros(100);

/// Serves one request that is not a watch.
pub(crate) async fn serve(
    rx: Rx,
    config: Arc<Config>,
    storages: impl Storages,
    served: Serve,
) -> Outcome {
    InFlight::Request.begin(rx);
    let mut work = std::pin::pin!(handle(rx, &config, &storages, &served));
    let response = rx.timeout(REQUEST_TIMEOUT, work.as_mut()).await;
    let in_time = response.is_some();
    let response = response.unwrap_or_else(|| {
        let late = "request did not complete within the allotted timeout";
        Response::status(Status::of(wavetank_api::Reason::Timeout, late))
    });
    if config.audit == AuditLog::On {
        rx.note(Audited {
            by_itself: served.caller.process() == config.me,
            request: served.request.expect::<Request>().clone(),
            response: response.clone(),
        });
        rx.sleep(AUDIT_TAKES).await;
    }
    rx.reply(served.caller, Payload::new(response));
    InFlight::Request.end(rx);
    // Up to v1.20 (`WithTimeoutForNonLongRunningRequests`) the client is answered and the handler
    // goes on; v1.36 (`WithRequestDeadline`) ends its context, and with it the calls to etcd. What is
    // left of it then only matters to who has something to give back.
    if !in_time && !config.release.has(gates::REQUESTS_HAVE_DEADLINES) {
        let _ = work.await;
    } else if !in_time && (storages.gives_back() || matches!(served.route, Route::Custom(_))) {
        rx.deadline(Duration::ZERO);
        let _ = work.await;
    }
    Outcome::Done
}

async fn handle(rx: Rx, config: &Config, storages: &dyn Storages, served: &Serve) -> Response {
    match &served.route {
        Route::Probe(probe) => health::check(rx, config, *probe).await,
        Route::Check(probe, name) => health::check_one(rx, config, *probe, name).await,
        Route::Refused(response) => response.clone(),
        Route::Discovery(path) => {
            let request: &Request = served.request.expect();
            discovery::serve(rx, config, path, request).unwrap_or_else(Response::status)
        }
        Route::Review(review, namespace) => {
            let request: &Request = served.request.expect();
            reviews::create(rx, config, *review, namespace, request)
                .unwrap_or_else(Response::status)
        }
        Route::Api(api) => {
            let warned = deprecation(config.release, api, served.request.expect());
            handle_api(rx, config, storages, served, api, warned).await
        }
        Route::Custom(path) => {
            let request: &Request = served.request.expect();
            // Boxed: it is large, and most requests are probes.
            let found = Box::pin(apiextensions::resolve(rx, config, path, request.method));
            match found.await {
                Ok(Found { api, warnings }) => {
                    let handled = handle_api(rx, config, storages, served, &api, warnings);
                    let response = handled.await;
                    apiextensions::done(rx, &api);
                    response
                }
                Err(response) => response,
            }
        }
    }
}

/// A request of a resource, with what is to be warned of whatever becomes of it.
async fn handle_api(
    rx: Rx,
    config: &Config,
    storages: &dyn Storages,
    served: &Serve,
    api: &Api,
    mut warned: Warnings,
) -> Response {
    let request: &Request = served.request.expect();
    // Of what a definition makes nobody knows messages: it is refused where its body is read.
    let written = match api.resource.is_custom() {
        true => Ok(None),
        false => protobuf::as_json(request),
    };
    let written = match written {
        Ok(written) => written,
        Err(refusal) => return Response::status(refusal),
    };
    let request = written.as_ref().unwrap_or(request);
    let mut warnings = Warnings::new();
    let cx = RequestContext {
        rx,
        config,
        storages,
        caller: served.caller.process(),
        request,
        api,
    };
    // Boxed: it is large, and most requests are probes.
    let work = Box::pin(serve_in_form(cx, &mut warnings));
    let answer = work.await;
    let mut response = answer.unwrap_or_else(Response::status);
    warned.extend(warnings);
    response.warnings = warned;
    if request.method == Method::Head {
        response.content = Content::Text("".into());
    }
    response
}

/// What is said of a deprecated kind, whatever its handler makes of the request (`endpoints/installer.go`). Where there is
/// no handler nothing is said: of a subresource that the kind has not, of a POST to an object, of a patch of no kind.
fn deprecation(release: Version, api: &Api, request: &Request) -> Warnings {
    let mut warnings = Warnings::new();
    let content_type = request.content_type.as_deref();
    let is_handled = match request.method {
        Method::Post => api.name.is_none(),
        Method::Put => api.name.is_some(),
        Method::Patch => api.name.is_some() && PatchKind::of(content_type).is_ok(),
        _ => true,
    };
    if !is_handled || api.subresource.is_some() || api.part != Part::Whole {
        return warnings;
    }
    if release.has(gates::ENDPOINTS_ARE_DEPRECATED) && *api.resource == kinds::ENDPOINTS {
        let endpoints =
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
        warn(&mut warnings, vec![endpoints.to_owned()]);
    }
    warnings
}

/// A request to the API, and the server that serves it: what the handlers hand on (`RequestInfo`, `RequestScope`).
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    /// Its routine.
    pub rx: Rx,
    /// The server.
    pub config: &'a Config,
    /// What that adds to the registry.
    pub storages: &'a dyn Storages,
    /// Who sent it.
    pub caller: ProcId,
    /// What was sent.
    pub request: &'a Request,
    /// What that is about.
    pub api: &'a Api,
}

impl<'a> RequestContext<'a> {
    /// The name in its path; empty for a collection.
    fn name(&self) -> &'a str {
        self.api.name.as_deref().unwrap_or_default()
    }

    /// Who manages the fields of what it asks for; `None` where nobody does.
    fn field_manager(&self) -> Option<FieldManager> {
        let now = Stamp::of(self.rx.clock());
        let kept = self.config.keeps_managed_fields();
        let resource = self.api.resource;
        let owned = || {
            (resource.is_custom() || *resource == CUSTOM_RESOURCE_DEFINITIONS)
                && self
                    .rx
                    .read(&apiextensions::DEFECTS)
                    .has(CustomDefect::ResetFieldsAreOwned)
        };
        kept.then(|| FieldManager::of(self.api.served(), self.api.part, now, owned))
    }

    /// `managerOrUserAgent`; the server's own client says that it is the server.
    fn manager_or_user_agent(&self, options: &WriteOptions) -> String {
        let program = match self.caller == self.config.me {
            true => "kube-apiserver",
            false => &self.request.user_agent,
        };
        manager_or_user_agent(&options.field_manager, program)
    }

    /// The object of a create or an update, which may say that nobody manages it.
    fn unmanaged(&self, mut object: Json) -> Json {
        if self.config.keeps_managed_fields() && decode::resets_managed_fields(&self.request.body) {
            json::set(
                &mut object,
                &["metadata", "managedFields"],
                serde_json::json!([{}]),
            );
        }
        object
    }

    /// The watch cache that serves it, if there are any.
    fn cacher(&self) -> Option<Cacher> {
        let resource = self.api.resource;
        match self.api.custom {
            Some(in_use) => {
                let caches = self.config.caches()?;
                Some(Cacher::of_build(caches, resource, in_use.build))
            }
            None => self.config.cacher(self.rx, resource),
        }
    }

    /// The registry that serves it.
    fn registry(&self, dry_run: bool) -> Registry {
        let RequestContext {
            rx, config, api, ..
        } = *self;
        let rest = self.storages.rest_storage(rx, config, api.resource);
        Registry {
            resource: api.resource,
            served: api.served(),
            storage: config.storage_of(api.resource),
            cacher: self.cacher(),
            part: api.part,
            namespace: api.namespace.clone(),
            rest,
            validation: quota::is_on(config).then(|| Arc::new(QuotaAdmission) as _),
            dry_run,
            me: config.number,
        }
    }
}

/// Serves a request, and shows the answer in the form that it asks for.
async fn serve_in_form(
    cx: RequestContext<'_>,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    let form = Form::negotiate(cx.request)?;
    let response = serve_api(cx, warnings).await?;
    form.transform_response(cx.rx, cx.api, response)
}

async fn serve_api(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    let RequestContext { request, api, .. } = cx;
    // What is of all namespaces can be read, and nothing else.
    let everywhere = api.resource.namespaced && api.namespace.is_empty();
    if api.subresource.is_some() {
        return subresource::serve(cx, warnings).await;
    }
    // `FinalizeREST` has no `Get`, and so no `Patch` either.
    if api.part == Part::Finalize && request.method != Method::Put {
        return Err(Status::method_not_allowed());
    }
    // A part of an object is read and updated, and neither made nor deleted.
    if api.part != Part::Whole && matches!(request.method, Method::Post | Method::Delete) {
        return Err(Status::method_not_allowed());
    }
    let collections = api.resource.strategy.deletes_collections(cx.config.release);
    match (request.method, api.name.is_some()) {
        (Method::Delete, false) if !collections => Err(Status::method_not_allowed()),
        (Method::Post | Method::Delete, _) if everywhere => Err(Status::method_not_allowed()),
        (Method::Get, true) => read::get(cx).await,
        (Method::Get, false) => read::list(cx).await,
        (Method::Post, _) => write::create(cx, warnings).await,
        (Method::Put, true) => write::put(cx, warnings).await,
        (Method::Patch, true) => write::patch(cx, warnings).await,
        (Method::Delete, true) => write::delete(cx).await,
        (Method::Delete, false) => write::delete_collection(cx).await,
        _ => Err(Status::method_not_allowed()),
    }
}

fn answer(code: u16, made: Made) -> Response {
    let content = match made {
        Made::Stored(stored) => Content::One(stored),
        Made::Unsaved(tree) => Content::Tree(tree),
        Made::Status(status) => Content::Status(status),
    };
    Response::of(code, content)
}
