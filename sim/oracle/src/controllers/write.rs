//! A write of a controller: who, what, which object, the answer, and what is essential of the body.

use serde_json::{Map, Value as Json};
use wavetank_api::decode::{self, FieldValidation, Reading};
use wavetank_api::{Body, Method, Resource};
use wavetank_apiserver::Audited;
use wavetank_kube_controller_manager::SERVICE_ACCOUNTS;

/// Of the metadata of an update so much matters.
const METADATA: [&str; 6] = [
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "deletionTimestamp",
    "generation",
];

/// What the server itself writes as it does.
pub(super) const SERVER: &str = "system:apiserver";

/// Writes of these are left out.
const NOISE: [&str; 2] = ["leases", "events"];

/// A write.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Write {
    pub user: String,
    pub verb: String,
    /// `group/resource/subresource`
    pub resource: String,
    /// `namespace/name`
    pub name: String,
    pub code: u64,
    /// What was said of an error.
    pub error: Option<String>,
    pub body: Json,
}

impl Write {
    /// As it was recorded.
    pub fn recorded(line: &Json) -> Write {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let mut body = line["body"].clone();
        sort_what_is_hashed(&mut body);
        if line["verb"] == "create" {
            remove(&mut body, "status");
        }
        Write {
            user: text("user"),
            verb: text("verb"),
            resource: text("resource"),
            name: text("name"),
            code: line["code"].as_u64().unwrap_or(0),
            error: line["error"].as_str().map(str::to_owned),
            body,
        }
    }

    /// As the server told it; `None` for what is no write of a controller.
    pub fn audited(audited: &Audited) -> Option<Write> {
        let request = &audited.request;
        let path = Path::of(&request.path)?;
        let verb = match request.method {
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete if path.name.is_none() => "deletecollection",
            Method::Delete => "delete",
            _ => return None,
        };
        let user = match request.user_agent.split_once(SERVICE_ACCOUNTS) {
            Some((_, user)) => user,
            None if audited.by_itself => SERVER,
            None => return None,
        };
        if NOISE.contains(&path.resource.plural) {
            return None;
        }
        let response = audited.response.json();
        let code = u64::from(audited.response.code);
        // What is refused has its name from what was sent.
        let of = |object: &'_ Json| object["metadata"]["name"].as_str().map(str::to_owned);
        let sent = || match &request.body {
            Body::Json(object) if verb == "create" => of(object),
            _ => None,
        };
        let name = path.name.map(str::to_owned);
        let name = name.or_else(|| of(&response)).or_else(sent);
        let name = name.unwrap_or_default();
        Some(Write {
            user: user.to_owned(),
            verb: verb.to_owned(),
            resource: path.qualified(),
            name: match path.namespace {
                // A namespace is in itself, for audit logs.
                "" if path.resource.plural == "namespaces" => format!("{name}/{name}"),
                "" => name,
                namespace => format!("{namespace}/{name}"),
            },
            code,
            error: (code >= 400)
                .then(|| response["message"].as_str().unwrap_or_default().to_owned()),
            body: essential(verb, &path, &request.body),
        })
    }

    /// In one line.
    pub fn brief(&self) -> String {
        let Write {
            user,
            verb,
            resource,
            name,
            code,
            ..
        } = self;
        format!("{user} {verb} {resource} {name} {code}")
    }

    /// The object that it is about.
    pub fn object(&self) -> (String, String) {
        let resource = resource_of(&self.resource);
        let whole = resource.map(|(of, _)| of.qualified());
        (
            whole.unwrap_or_else(|| self.resource.clone()),
            self.name.clone(),
        )
    }
}

/// The resource and the subresource of a name such as `apps/replicasets/status`.
pub(super) fn resource_of(name: &str) -> Option<(&'static Resource, &str)> {
    Resource::ALL.into_iter().find_map(|resource| {
        let whole = match resource.group {
            "" => resource.plural.to_owned(),
            group => format!("{group}/{}", resource.plural),
        };
        match name.strip_prefix(&whole)? {
            "" => Some((resource, "")),
            rest => Some((resource, rest.strip_prefix('/')?)),
        }
    })
}

/// What the path of a request names.
struct Path<'a> {
    resource: &'static Resource,
    namespace: &'a str,
    name: Option<&'a str>,
    subresource: Option<&'a str>,
}

impl Path<'_> {
    fn of(path: &str) -> Option<Path<'_>> {
        let resource = Resource::at_path(path)?;
        let mut parts = path.split('/').skip_while(|part| !part.starts_with('v'));
        parts.next()?;
        let mut rest: Vec<&str> = parts.collect();
        let mut namespace = "";
        if resource.namespaced && rest.first() == Some(&"namespaces") {
            namespace = rest.get(1)?;
            rest.drain(..2);
        }
        Some(Path {
            resource,
            namespace,
            name: rest.get(1).copied(),
            subresource: rest.get(2).copied(),
        })
    }

    fn qualified(&self) -> String {
        let mut all: Vec<&str> = vec![self.resource.group, self.resource.plural];
        all.extend(self.subresource);
        all.retain(|part| !part.is_empty());
        all.join("/")
    }
}

fn remove(body: &mut Json, field: &str) {
    if let Some(map) = body.as_object_mut() {
        map.remove(field);
    }
}

/// Subsets and ports of endpoints stand in the order of hashes of how Go prints them, which means nothing.
fn sort_what_is_hashed(body: &mut Json) {
    let sort = |list: Option<&mut Json>| {
        if let Some(Json::Array(items)) = list {
            items.sort_by_key(Json::to_string);
        }
    };
    let kind = body["kind"].as_str().unwrap_or_default().to_owned();
    if kind == "EndpointSlice" {
        sort(body.get_mut("ports"));
    }
    if kind != "Endpoints" {
        return;
    }
    for subset in body["subsets"].as_array_mut().into_iter().flatten() {
        sort(subset.get_mut("ports"));
    }
    sort(body.get_mut("subsets"));
}

/// Is it there, and says something?
fn says_something(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(value) => value.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}

/// The body, as the server read it: an audit log has the object with its defaults, and patches as they came.
fn essential(verb: &str, path: &Path<'_>, body: &Body) -> Json {
    let Body::Json(tree) = body else {
        return Json::Null;
    };
    let is_object = matches!(verb, "create" | "update")
        && matches!(path.subresource, None | Some("status" | "finalize"));
    let decoded = is_object.then(|| {
        let content_type = Some("application/json");
        decode::object(
            body,
            content_type,
            path.resource,
            Reading::newest(FieldValidation::Ignore),
        )
    });
    let mut body = match decoded {
        Some(Ok((object, _))) => object,
        _ => (**tree).clone(),
    };
    remove(&mut body, "apiVersion");
    sort_what_is_hashed(&mut body);
    let metadata = |keep: &dyn Fn(&str) -> bool, body: &Json| {
        let all = body["metadata"].as_object().into_iter().flatten();
        let kept = all.filter(|(key, value)| keep(key) && says_something(value));
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<_, _>>()
    };
    match verb {
        "update" => {
            body["metadata"] = metadata(&|key| METADATA.contains(&key), &body).into();
            let whole = match path.subresource {
                Some("status") => {
                    let kept =
                        ["metadata", "status"].map(|key| (key.to_owned(), body[key].clone()));
                    body = Json::Object(kept.into_iter().collect());
                    false
                }
                Some("finalize" | "scale") => false,
                _ => path.resource.plural != "resourcequotas",
            };
            if whole {
                remove(&mut body, "status");
            }
        }
        "create" => {
            let left_out = ["creationTimestamp", "uid", "resourceVersion"];
            body["metadata"] = metadata(&|key| !left_out.contains(&key), &body).into();
            remove(&mut body, "status");
        }
        _ => {}
    }
    body
}
