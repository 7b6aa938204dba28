//! From a method and a path to what is meant (`apiserver/pkg/endpoints/request/requestinfo.go`, and
//! the routes that `installer.go` makes).

use std::sync::Arc;

use wavetank_api::kinds::Kinds;
use wavetank_api::strategy::Part;
use wavetank_api::{Method, Request, Resource, Response, Status};

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
}

/// Where a request goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Route {
    /// To a health check.
    Probe(Probe),
    /// To the API.
    Api(Api),
    /// Nowhere.
    Refused(Response),
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
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return not_found(),
    };
    if !group.is_empty() && !kinds.iter().any(|r| r.group == group) {
        return not_found();
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
    let Some(resource) = kinds.find(group, version, plural) else {
        return no_such_path();
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
    let part = match subresource {
        None => Part::Whole,
        Some("status") => Part::Status,
        Some("finalize") => Part::Finalize,
        Some(_) => Part::Whole,
    };
    let is_part = subresource.is_none() || part != Part::Whole;
    if is_part && !resource.strategy.has(part) {
        return no_such_path();
    }
    let get = matches!(request.method, Method::Get | Method::Head);
    let asked = request.query.get("watch");
    let asked = asked.is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"));
    if get && name.is_none() && asked {
        watch = true;
    }
    Route::Api(Api {
        resource,
        namespace: namespace.into(),
        name: name.map(Into::into),
        part,
        subresource: subresource.filter(|_| !is_part).map(Into::into),
        watch,
    })
}
