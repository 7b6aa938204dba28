//! Subresources that are no part of the object: Scale, Binding, Eviction
//! (`kubernetes/pkg/registry/apps/deployment/storage`, `core/pod/storage`).

use std::pin::Pin;
use std::sync::Arc;

use wavetank_api::apiextensions::{CustomScale, CustomVersion};
use wavetank_api::decode::{self, FieldValidation, Reading};
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{deployments, pod_binding};
use wavetank_api::managedfields::{FieldManager, ScaleHandler};
use wavetank_api::options::WriteOptions;
use wavetank_api::patch::{self, PatchKind};
use wavetank_api::{Body, Method, Object, Response, Stamp, Status, Stored};
use wavetank_engine::Rx;

use crate::endpoints::eviction::evict;
use crate::endpoints::write::check_name;
use crate::endpoints::{Api, RequestContext, answer};
use crate::options::Preconditions;
use crate::registry::{Change, Made, Warnings, warn};
use crate::storage::Updated;

/// The workloads that have a Scale.
const SCALED: [&str; 4] = [
    "deployments",
    "replicasets",
    "replicationcontrollers",
    "statefulsets",
];

/// Serves a subresource.
///
/// # Errors
/// A Status.
pub async fn serve(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    let named = (
        cx.api.resource.plural,
        cx.api.subresource.as_deref().unwrap_or_default(),
    );
    if let Some(scale) = cx
        .api
        .resource
        .strategy
        .custom()
        .and_then(CustomVersion::scale)
    {
        return serve_custom_scale(cx, scale, warnings).await;
    }
    match (named, cx.request.method) {
        ((plural, "scale"), Method::Get) if SCALED.contains(&plural) => {
            let name = cx.name();
            let found = cx.registry(false).get(cx.rx, name, None).await?;
            Ok(tree(200, deployments::scale_from_deployment(&found.json())))
        }
        ((plural, "scale"), Method::Put | Method::Patch) if SCALED.contains(&plural) => {
            scale(cx, Of::Workload, warnings).await
        }
        (("pods", "binding"), Method::Post) => bind(cx, warnings).await,
        (("pods", "eviction"), Method::Post) => evict(cx, warnings).await,
        (("pods", "binding" | "eviction"), _) => Err(Status::method_not_allowed()),
        ((plural, "scale"), _) if SCALED.contains(&plural) => Err(Status::method_not_allowed()),
        _ => Err(Status::no_such_path()),
    }
}

/// Serves the Scale of a custom object.
async fn serve_custom_scale(
    cx: RequestContext<'_>,
    scale: &CustomScale,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    if cx.request.method != Method::Get {
        return self::scale(cx, Of::Custom(scale), warnings).await;
    }
    let found = cx.registry(false).get(cx.rx, cx.name(), None).await?;
    Ok(tree(200, scale.get(&found.json())?))
}

/// Whose Scale it is.
#[derive(Clone, Copy)]
enum Of<'a> {
    Workload,
    Custom(&'a CustomScale),
}

impl Of<'_> {
    /// The Scale of an object.
    fn shown(self, object: &Json) -> Result<Json, Status> {
        match self {
            Of::Workload => Ok(deployments::scale_from_deployment(object)),
            Of::Custom(scale) => Ok(scale.scale_from_custom_resource(object)?.0),
        }
    }

    /// The Scale that an update begins with.
    fn live(self, object: &Json) -> Result<Json, Status> {
        match self {
            Of::Workload => Ok(deployments::scale_from_deployment(object)),
            Of::Custom(scale) => scale.live(object),
        }
    }

    fn rescale(self, object: &Json, scale: &Json) -> Result<Json, Status> {
        match self {
            Of::Workload => deployments::rescale(object, scale),
            Of::Custom(of) => of.rescale(object, scale),
        }
    }

    /// Where the object says how many replicas there are to be.
    fn replicas(&self) -> Vec<&str> {
        match self {
            Of::Workload => vec!["spec", "replicas"],
            Of::Custom(scale) => scale.spec_path(),
        }
    }
}

fn tree(code: u16, tree: Json) -> Response {
    answer(code, Made::Unsaved(Arc::new(tree)))
}

/// `metav1.Status` of something that has no object to answer with.
pub(super) fn created() -> Response {
    let mut status = Status::success();
    status.code = 201;
    answer(201, Made::Status(status))
}

/// How a request changes a Scale.
struct Scaling<'a> {
    of: Of<'a>,
    api: &'a Api,
    how: How,
    /// Who then manages what it changes, where anybody does.
    manager: Option<String>,
}

enum How {
    Put(Json),
    Patch(PatchKind, Body, Reading),
    Apply(Body, bool),
}

impl Change for Scaling<'_> {
    fn change<'a>(
        &'a self,
        rx: Rx,
        old: Option<&'a Json>,
        warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>> {
        let now = Stamp::of(rx.clock());
        Box::pin(async move { self.updated_object(old, now, warnings) })
    }
}

impl Scaling<'_> {
    /// `scaleUpdatedObjectInfo.UpdatedObject`
    fn updated_object(
        &self,
        old: Option<&Json>,
        now: Stamp,
        warnings: &mut Warnings,
    ) -> Result<Json, Status> {
        let name = self.api.name.as_deref().unwrap_or_default();
        let old = old.ok_or_else(|| Status::new_not_found(self.api.resource, name))?;
        let Some(manager) = &self.manager else {
            let scale = self.new_scale(&self.of.live(old)?, warnings)?;
            return self.of.rescale(old, &scale);
        };
        const FIELDS: [&str; 2] = ["metadata", "managedFields"];
        let version = self.api.resource.api_version();
        let entries = json::list(old, &FIELDS);
        let handler = ScaleHandler::new(entries, version, &self.of.replicas());
        let mut live = self.of.live(old)?;
        let of_scale = handler.to_subresource().map_err(Status::untyped)?;
        if !of_scale.is_empty() {
            json::set(&mut live, &FIELDS, of_scale);
        }
        let fields = match self.of {
            Of::Workload => FieldManager::of_target(decode::SCALE, "scale", now),
            Of::Custom(_) => FieldManager::of_custom_scale(now),
        };
        let scale = match &self.how {
            How::Apply(body, force) => {
                let config = patch::apply_configuration(body)?;
                fields.apply(Some(&live), &config, manager, *force)?
            }
            _ => fields.update_no_errors(Some(&live), self.new_scale(&live, warnings)?, manager),
        };
        let of_parent = handler.to_parent(json::list(&scale, &FIELDS));
        let of_parent = of_parent.map_err(Status::untyped)?;
        let mut scaled = self.of.rescale(old, &scale)?;
        match of_parent.is_empty() {
            true => {
                json::remove(&mut scaled, &FIELDS);
            }
            false => json::set(&mut scaled, &FIELDS, of_parent),
        }
        Ok(scaled)
    }

    fn new_scale(&self, live: &Json, warnings: &mut Warnings) -> Result<Json, Status> {
        let (kind, body, reading) = match &self.how {
            How::Put(scale) => return Ok(scale.clone()),
            How::Patch(kind, body, reading) => (*kind, body, *reading),
            How::Apply(body, _) => (
                PatchKind::Apply,
                body,
                Reading::newest(FieldValidation::Ignore),
            ),
        };
        let (scale, unknown) = patch::apply_to_target(kind, live, body, decode::SCALE, reading)?;
        warn(warnings, unknown);
        Ok(scale)
    }
}

async fn scale(
    cx: RequestContext<'_>,
    of: Of<'_>,
    warnings: &mut Warnings,
) -> Result<Response, Status> {
    let content_type = cx.request.content_type.as_deref();
    let (how, options) = if cx.request.method == Method::Patch {
        let kind = patch::kind_for(content_type, cx.api.resource)?;
        let options = WriteOptions::of_patch(&cx.request.query, kind, cx.config.release)?;
        let body = cx.request.body.clone();
        let how = match kind {
            PatchKind::Apply if cx.config.keeps_managed_fields() => How::Apply(body, options.force),
            kind => How::Patch(kind, body, options.reading),
        };
        (how, options)
    } else {
        let options = WriteOptions::of_update(&cx.request.query, cx.config.release)?;
        let (scale, unknown) = decode::target(
            &cx.request.body,
            content_type,
            decode::SCALE,
            options.reading,
        )?;
        warn(warnings, unknown);
        check_name(&scale, cx.name(), &cx.api.namespace)?;
        (How::Put(scale), options)
    };
    let registry = cx.registry(options.dry_run);
    let kept = cx.config.keeps_managed_fields();
    let change = Scaling {
        of,
        api: cx.api,
        how,
        manager: kept.then(|| cx.manager_or_user_agent(&options)),
    };
    let name = cx.name();
    let always = Preconditions::default();
    let update = registry
        .update(cx.rx, name, &always, &change, warnings)
        .await?;
    let scaled = match &update.made {
        Made::Stored(stored) => stored.json(),
        Made::Unsaved(tree) => (**tree).clone(),
        Made::Status(status) => return Err(status.clone()),
    };
    Ok(tree(200, of.shown(&scaled)?))
}

/// `BindingREST.Create`, `assignPod`; without a name in the path the Binding says which pod it is about
/// (`LegacyBindingREST`).
async fn bind(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    let options = WriteOptions::of_create(&cx.request.query, cx.config.release)?;
    let content_type = cx.request.content_type.as_deref();
    let read = decode::target(
        &cx.request.body,
        content_type,
        decode::BINDING,
        options.reading,
    )?;
    let (binding, unknown) = read;
    warn(warnings, unknown);
    let named = json::text(&binding, &["metadata", "name"]);
    let name = cx.api.name.as_deref().unwrap_or(named);
    pod_binding::check(&binding, name)?;
    let registry = cx.registry(options.dry_run);
    let now = Stamp::of(cx.rx.clock());
    let bound = |stored: Option<&Stored>| {
        let pod = stored.map(Stored::json).unwrap_or_default();
        let bound = pod_binding::bind(&pod, &binding, cx.config.release, now)?;
        Ok(Updated::of(Object::new(bound)))
    };
    registry.update_with(cx.rx, name, bound).await?;
    Ok(created())
}
