//! What tells of the API: `/api`, `/apis`, `/version`, `/` (`apiserver/pkg/endpoints/discovery`,
//! `pkg/server/routes/version.go`, `index.go`). The kinds of the server tell what they are; whoever serves more while
//! the server runs adds its groups here, and takes them away.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use wavetank_api::discovery::{
    self, Group, GroupVersion, api_group, api_group_list, api_resource_list, api_versions, e_tag,
    group_discovery_list,
};
use wavetank_api::{Content, Header, Json, Method, Request, Response, Status};
use wavetank_engine::{Cell, NotState, Rx};

use crate::aggregator;
use crate::endpoints::forms::{not_acceptable, parse_accept};
use crate::endpoints::openapi;
use crate::gates;
use crate::server::Config;

/// Groups that were added, by name.
pub type AddedGroups = BTreeMap<String, Group>;

/// The groups that a server serves beside those of its kinds.
static ADDED: Cell<AddedGroups> = Cell::new("discovered-groups");

/// All groups of `/api` or `/apis` with their resources, and the tag of that.
type Tagged = (Arc<Json>, Arc<str>);

/// What a server has told since its groups were others.
#[derive(Clone, Default)]
struct Fetched {
    groups: Option<Arc<[Group]>>,
    core: Option<Tagged>,
    others: Option<Tagged>,
}

/// To make it takes much longer than to answer, and clients ask every half minute.
static FETCHED: Cell<NotState<Fetched>> = Cell::new("fetched-groups");

fn forget_fetched(rx: Rx) {
    rx.update(&FETCHED, |fetched| *fetched = NotState::default());
}

/// `AddGroupVersion` of a resource manager: from now on this version of the group is listed with these resources, in the
/// place of what it had.
pub fn add_group_version(rx: Rx, group: &str, version: GroupVersion) {
    rx.update(&ADDED, |added| {
        let group = added.entry(group.to_owned()).or_insert_with(|| Group {
            name: group.to_owned(),
            ..Group::default()
        });
        group.versions.retain(|own| own.version != version.version);
        group.versions.push(version);
        group.versions.sort_by(|a, b| a.version.cmp(&b.version));
    });
    forget_fetched(rx);
}

/// `RemoveGroupVersion`: it is listed no more.
pub fn remove_group_version(rx: Rx, group: &str, version: &str) {
    rx.update(&ADDED, |added| {
        if let Some(of) = added.get_mut(group) {
            of.versions.retain(|own| own.version != version);
            if of.versions.is_empty() {
                added.remove(group);
            }
        }
    });
    forget_fetched(rx);
}

/// What a path tells of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DiscoveryPath {
    /// `/`
    Root,
    /// `/version`
    Version,
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(Arc<str>),
    /// `/apis/GROUP/VERSION`, `/api/v1`
    GroupVersion(Arc<str>, Arc<str>),
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApi,
    /// `/openapi/v3/apis/GROUP/VERSION`, `/openapi/v3/api/v1`: what comes after `v3`.
    OpenApiOf(Arc<str>),
}

impl DiscoveryPath {
    /// Of the parts of a path; `None` if it is another one.
    pub fn of(parts: &[&str]) -> Option<DiscoveryPath> {
        Some(match parts {
            [] => DiscoveryPath::Root,
            ["version"] => DiscoveryPath::Version,
            ["api"] => DiscoveryPath::Core,
            ["api", version] => DiscoveryPath::GroupVersion("".into(), (*version).into()),
            ["apis"] => DiscoveryPath::Groups,
            ["apis", group] => DiscoveryPath::Group((*group).into()),
            ["apis", group, version] => {
                DiscoveryPath::GroupVersion((*group).into(), (*version).into())
            }
            ["openapi", "v2"] => DiscoveryPath::OpenApiV2,
            ["openapi", "v3"] => DiscoveryPath::OpenApi,
            ["openapi", "v3", rest @ ..] => DiscoveryPath::OpenApiOf(rest.join("/").into()),
            _ => return None,
        })
    }
}

/// Answers it.
///
/// # Errors
/// A Status.
pub(crate) fn serve(
    rx: Rx,
    config: &Config,
    path: &DiscoveryPath,
    request: &Request,
) -> Result<Response, Status> {
    if !matches!(request.method, Method::Get | Method::Head) {
        return Err(Status::method_not_allowed());
    }
    let of_core = *path == DiscoveryPath::Core;
    if (of_core || *path == DiscoveryPath::Groups) && accepts_aggregated(config, request) {
        let (document, tag) = fetch(rx, config, of_core);
        return Ok(serve_http_with_e_tag(request, document, &tag));
    }
    let groups = groups(rx, config);
    let document = match path {
        DiscoveryPath::Root => json!({"paths": paths(config, &groups)}),
        DiscoveryPath::Version => version(config),
        DiscoveryPath::Core => api_versions(&format!("{}:6443", config.address)),
        DiscoveryPath::Groups => {
            let listed = aggregator::groups(rx, config);
            api_group_list(listed.as_deref().unwrap_or(&groups))
        }
        DiscoveryPath::OpenApiV2 => return Err(openapi::v2_is_not_served()),
        DiscoveryPath::OpenApi => return openapi::handle_discovery(rx, config, request, &groups),
        DiscoveryPath::OpenApiOf(of) => {
            return openapi::handle_group_version(rx, config, request, &groups, of);
        }
        DiscoveryPath::Group(name) => match group_named(rx, config, name, &groups) {
            Some(group) => api_group(&group),
            None => return Ok(Response::text(404, "404 page not found\n")),
        },
        DiscoveryPath::GroupVersion(name, version) => {
            let group = groups.iter().find(|group| *group.name == **name);
            let Some(group) = group.filter(|_| **name != *"" || **version == *"v1") else {
                return Ok(Response::text(404, "404 page not found\n"));
            };
            let mut versions = group.versions.iter();
            match versions.find(|own| *own.version == **version) {
                Some(version) => api_resource_list(group, version),
                None => return Ok(Response::text(404, "404 page not found\n")),
            }
        }
    };
    if !accepts_plain(request) {
        return Err(not_acceptable());
    }
    Ok(tree(document))
}

/// What a server serves now.
fn groups(rx: Rx, config: &Config) -> Arc<[Group]> {
    let known = rx.look(&FETCHED, Clone::clone);
    if let Some(groups) = &known.groups {
        return groups.clone();
    }
    let added: Vec<Group> = rx.read(&ADDED).into_values().collect();
    let groups: Arc<[Group]> = discovery::groups_of(&config.kinds, &added, config.release).into();
    rx.update(&FETCHED, |fetched| fetched.groups = Some(groups.clone()));
    groups
}

/// Upstream's `fetch` of the resource manager (`pkg/endpoints/discovery/aggregated/handler.go`): all groups with their
/// resources, made again only when one was added or taken away.
fn fetch(rx: Rx, config: &Config, of_core: bool) -> Tagged {
    let known = rx.look(&FETCHED, Clone::clone);
    let known = if of_core { &known.core } else { &known.others };
    if let Some(tagged) = known {
        return tagged.clone();
    }
    let groups = groups(rx, config);
    let shown = groups
        .iter()
        .filter(|group| group.name.is_empty() == of_core);
    let document = group_discovery_list(shown);
    let tag: Arc<str> = e_tag(&document).into();
    let tagged = (Arc::new(document), tag);
    let kept = Some(tagged.clone());
    rx.update(&FETCHED, |fetched| match of_core {
        true => fetched.core = kept,
        false => fetched.others = kept,
    });
    tagged
}

/// Upstream's `apiGroupHandler`: what APIServices say of a group; without one, what the server does.
fn group_named(rx: Rx, config: &Config, name: &str, groups: &[Group]) -> Option<Group> {
    let listed = aggregator::groups(rx, config).unwrap_or_default();
    let mut all = listed.iter().chain(groups);
    all.find(|group| *group.name == *name).cloned()
}

fn tree(document: Json) -> Response {
    Response::of(200, Content::Tree(Arc::new(document)))
}

fn accepted(request: &Request) -> &str {
    request.accept.as_deref().unwrap_or_default()
}

/// Does a request accept a document as it is?
fn accepts_plain(request: &Request) -> bool {
    let accept = accepted(request);
    let clauses = parse_accept(accept);
    let mut plain = clauses
        .iter()
        .filter(|clause| clause.accepts().next().is_some());
    accept.is_empty() || plain.any(|clause| clause.converts_to().is_none())
}

/// Upstream's `WrapAggregatedDiscoveryToHandler`: does it rather accept all groups with their resources?
fn accepts_aggregated(config: &Config, request: &Request) -> bool {
    if !config.release.has(gates::AGGREGATED_DISCOVERY) {
        return false;
    }
    let clauses = parse_accept(accepted(request));
    let fitting = clauses
        .iter()
        .filter(|clause| clause.accepts().next().is_some());
    let mut wanted = fitting.filter_map(|clause| match clause.converts_to() {
        None => Some(false),
        Some(["apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"]) => Some(true),
        Some(_) => None,
    });
    wanted.next().unwrap_or(false)
}

/// `ServeHTTPWithETag`: who has it already is not told again.
pub(super) fn serve_http_with_e_tag(request: &Request, document: Arc<Json>, tag: &str) -> Response {
    let known = request.if_none_match.0.as_deref() == Some(tag);
    let mut response = match known {
        true => Response::text(304, ""),
        false => Response::of(200, Content::Tree(document)),
    };
    response.e_tag = Header(Some(tag.into()));
    response
}

/// Upstream's `ListedPaths`.
fn paths(config: &Config, groups: &[Group]) -> Vec<String> {
    let mut paths: Vec<String> = match config.release.has(gates::CHECKS_ARE_LISTED) {
        true => discovery::listed_paths(config.events_etcd.is_some()),
        false => [
            "/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/version",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    for group in groups.iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        for version in &group.versions {
            paths.push(format!("/apis/{}/{}", group.name, version.version));
        }
    }
    if config.release.has(gates::OPENAPI_V3) {
        paths.extend(["/openapi/v3", "/openapi/v3/"].map(str::to_owned));
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Upstream's `version.Info`: of a release, and of no build in particular.
fn version(config: &Config) -> Json {
    let release = config.release;
    let name = release.to_string();
    let mut parts = name.trim_start_matches('v').split('.');
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (major, minor) = (part(), part());
    let mut info = json!({
        "major": major,
        "minor": minor,
        "gitVersion": release.git_version(),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "gc",
        "platform": "linux/amd64",
    });
    if release.has(gates::VERSION_TELLS_COMPATIBILITY) {
        let before = minor.parse::<u32>().unwrap_or(1).saturating_sub(1);
        info["emulationMajor"] = major.as_str().into();
        info["emulationMinor"] = minor.as_str().into();
        info["minCompatibilityMajor"] = major.as_str().into();
        info["minCompatibilityMinor"] = before.to_string().into();
    }
    info
}
