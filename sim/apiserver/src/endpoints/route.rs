//! From a method and a path to what is meant (`apiserver/pkg/endpoints/request/requestinfo.go`, and
//! the routes that `installer.go` makes).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use wavetank_api::kinds::Kinds;
use wavetank_api::reviews::Review;
use wavetank_api::strategy::Part;
use wavetank_api::versions;
use wavetank_api::{Method, Request, Resource, Response, Status};

use crate::apiextensions::{CustomPath, InUse};
use crate::endpoints::discovery::DiscoveryPath;

/// A health check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Probe {
    /// `/healthz`
    Healthz,
    /// `/livez`
    Livez,
    /// `/readyz`
    Readyz,
}

impl Probe {
    /// Where it is asked.
    pub fn path(self) -> &'static str {
        match self {
            Probe::Healthz => "/healthz",
            Probe::Livez => "/livez",
            Probe::Readyz => "/readyz",
        }
    }
}

/// What a path of the API names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Api {
    /// The resource.
    pub resource: &'static Resource,
    /// The namespace; empty for all, or for a resource without.
    pub namespace: Arc<str>,
    /// The object; `None` for the collection.
    pub name: Option<Arc<str>>,
    /// The part that a subresource stands for.
    pub part: Part,
    /// The subresource, if it is none of the parts.
    pub subresource: Option<Arc<str>>,
    /// Is it a watch?
    pub watch: bool,
    /// What serves it, if a definition has made the resource.
    pub custom: Option<InUse>,
    /// The version of the resource that is served.
    pub version: ServedVersion,
}

/// The version of a resource that a request is about, if it is not the one that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServedVersion(Option<&'static Resource>);

/// By hand: a request to the version that is stored has the hash that it had when there was no other.
impl Hash for ServedVersion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(resource) = self.0 {
            resource.hash(state);
        }
    }
}

impl Api {
    /// The resource as it is served: in another version, perhaps.
    pub fn served(&self) -> &'static Resource {
        self.version.0.unwrap_or(self.resource)
    }
}

/// Where a request goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Route {
    /// To a health check.
    Probe(Probe),
    /// To the API.
    Api(Api),
    /// To what a definition may have made.
    Custom(CustomPath),
    /// Nowhere.
    Refused(Response),
    /// To what tells of the API.
    Discovery(DiscoveryPath),
    /// To a review, asked in this namespace.
    Review(Review, Arc<str>),
    /// To one of the checks that a health check is made of, by its name.
    Check(Probe, Arc<str>),
}

fn no_such_path() -> Route {
    Route::Refused(Response::status(Status::no_such_path()))
}

/// `http.NotFound`: nothing of the API is there.
fn not_found() -> Route {
    Route::Refused(Response::text(404, "404 page not found\n"))
}

/// Where a request goes.
pub fn route(request: &Request, kinds: &Kinds) -> Route {
    let path = request.path.trim_start_matches('/');
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.last() == Some(&"") {
        parts.pop();
    }
    let (group, version, mut rest) = match parts.as_slice() {
        ["healthz"] => return Route::Probe(Probe::Healthz),
        ["livez"] => return Route::Probe(Probe::Livez),
        ["readyz"] => return Route::Probe(Probe::Readyz),
        ["healthz", name @ ..] => return Route::Check(Probe::Healthz, name.join("/").into()),
        ["livez", name @ ..] => return Route::Check(Probe::Livez, name.join("/").into()),
        ["readyz", name @ ..] => return Route::Check(Probe::Readyz, name.join("/").into()),
        [] if *request.path != *"/" => return not_found(),
        parts if let Some(path) = DiscoveryPath::of(parts) => return Route::Discovery(path),
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return not_found(),
    };
    if let Some(review) = review(group, version, rest) {
        return review;
    }
    if !group.is_empty() && !kinds.iter().any(|r| r.group == group) {
        return custom(request, kinds, group, version, rest);
    }
    let mut watch = false;
    if let ["watch", after @ ..] = rest {
        watch = true;
        rest = after;
    }
    // `namespaces/x` is an object, `namespaces/x/y` a collection in it, unless y is a part of it.
    let (namespace, rest) = match rest {
        ["namespaces", name, part @ ("status" | "finalize")] => {
            ("", vec!["namespaces", name, part])
        }
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest.to_vec()),
        rest => ("", rest.to_vec()),
    };
    let [plural, named @ ..] = rest.as_slice() else {
        return no_such_path();
    };
    // Bindings are no resource of their own: each is about a pod.
    let (plural, named, of_bindings) = match (group, *plural, named) {
        ("", "bindings", []) => ("pods", named, true),
        (_, plural, named) => (plural, named, false),
    };
    let Some(resource) = kinds.find(group, version, plural) else {
        // What is below a group of the server's own is not handed on to that of definitions.
        let is_own = |r: &Resource| r.group == group && !r.is_custom();
        if kinds.iter().any(is_own) {
            return no_such_path();
        }
        return match custom(request, kinds, group, version, &parts[3.min(parts.len())..]) {
            Route::Custom(path) => Route::Custom(path),
            _ => no_such_path(),
        };
    };
    let (name, subresource) = match named {
        [] => (None, None),
        [name] => (Some(*name), None),
        [name, subresource] => (Some(*name), Some(*subresource)),
        _ => return no_such_path(),
    };
    let misplaced =
        resource.namespaced == namespace.is_empty() && !(name.is_none() && resource.namespaced);
    if misplaced {
        return no_such_path();
    }
    let subresource = subresource.or(of_bindings.then_some("binding"));
    let part = match subresource {
        None => Part::Whole,
        Some("status") => Part::Status,
        Some("finalize") => Part::Finalize,
        Some("ephemeralcontainers") => Part::EphemeralContainers,
        Some("resize") => Part::Resize,
        Some(_) => Part::Whole,
    };
    let is_part = subresource.is_none() || part != Part::Whole;
    if is_part && !resource.strategy.has(part) {
        return no_such_path();
    }
    let get = matches!(request.method, Method::Get | Method::Head);
    if get && name.is_none() && asks_for_watch(request) {
        watch = true;
    }
    let hub = versions::hub_of(resource);
    Route::Api(Api {
        resource: hub,
        namespace: namespace.into(),
        name: name.map(Into::into),
        part,
        subresource: subresource.filter(|_| !is_part).map(Into::into),
        watch,
        custom: None,
        version: ServedVersion(Some(resource).filter(|served| *served != hub)),
    })
}

/// Does a path name a review?
fn review(group: &str, version: &str, rest: &[&str]) -> Option<Route> {
    let (namespace, plural) = match rest {
        ["namespaces", namespace, plural] => (*namespace, *plural),
        [plural] => ("", *plural),
        _ => return None,
    };
    let review = Review::find(group, version, plural)?;
    let fits = review.namespaced != namespace.is_empty();
    fits.then(|| Route::Review(*review, namespace.into()))
}

/// What a path names in a group of which the table has no such resource (`RequestInfoFactory.NewRequestInfo`).
fn custom(request: &Request, kinds: &Kinds, group: &str, version: &str, rest: &[&str]) -> Route {
    if !kinds.has_definitions() || !group.contains('.') {
        return not_found();
    }
    let (watched, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
        _ => return not_found(),
    };
    let get = matches!(request.method, Method::Get | Method::Head);
    Route::Custom(CustomPath {
        group: group.into(),
        version: version.into(),
        plural: plural.into(),
        namespace: namespace.into(),
        name: name.map(Into::into),
        subresource: subresource.map(Into::into),
        watch: get && (watched || (name.is_none() && asks_for_watch(request))),
    })
}

fn asks_for_watch(request: &Request) -> bool {
    let asked = request.query.get("watch");
    asked.is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
}
