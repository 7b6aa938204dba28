//! The form in which an answer is shown: the `Accept` header, and what becomes of objects then
//! (`apiserver/pkg/endpoints/handlers/negotiation`, `handlers/response.go`).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use wavetank_api::apiextensions::CustomVersion;
use wavetank_api::printers::{self, IncludeObject, Row, TableOptions};
use wavetank_api::versions::convert_from_hub;
use wavetank_api::{
    Content, Json, Method, Object, Request, Resource, Response, Stamp, Status, Stored, WatchEvent,
    WatchKind, json,
};
use wavetank_engine::Rx;
use wavetank_etcd::Revision;

use crate::endpoints::Api;

/// What the objects of an answer are shown as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shape {
    /// As they are.
    #[default]
    Object,
    /// As rows of a table of this version of meta.k8s.io.
    Table(&'static str),
    /// By their metadata.
    PartialObjectMetadata(&'static str),
    /// As a list of metadata.
    PartialObjectMetadataList(&'static str),
}

/// What a request accepts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// What objects are shown as.
    pub shape: Shape,
    /// What of its object a row has; or why that cannot be.
    include: IncludeObject,
    /// What was asked to be included, and is nothing.
    bad_include: Option<Arc<str>>,
    /// Has a watch shown the columns?
    headers_shown: bool,
}

/// By hand: objects as they are have the hash that they had when there was no other form.
impl Hash for Form {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.shape != Shape::Object {
            (
                self.shape,
                self.include,
                &self.bad_include,
                self.headers_shown,
            )
                .hash(state);
        }
    }
}

/// The media types that the API is served in, the usual one first.
const MEDIA_TYPES: [(&str, &str); 3] = [
    ("application", "json"),
    ("application", "yaml"),
    ("application", "vnd.kubernetes.protobuf"),
];

/// A clause of an `Accept` header.
pub(super) struct Clause<'a> {
    media: (&'a str, &'a str),
    parameters: Vec<(&'a str, &'a str)>,
    weight: f64,
}

impl Clause<'_> {
    /// The value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.parameters.iter();
        all.find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// The media type that it names.
    pub(super) fn media(&self) -> (&str, &str) {
        self.media
    }

    /// The media types that it fits.
    pub(super) fn accepts(&self) -> impl Iterator<Item = &'static str> {
        let (kind, sub) = self.media;
        let fits = move |of: &(&str, &str)| {
            (kind, sub) == *of || (kind == of.0 && sub == "*") || (kind == "*" && sub == "*")
        };
        MEDIA_TYPES
            .into_iter()
            .filter(move |of| fits(of))
            .map(|(_, sub)| sub)
    }

    /// Group, version and kind that it asks for, if it asks for any.
    pub(super) fn converts_to(&self) -> Option<[&str; 3]> {
        let names = ["g", "v", "as"];
        let asked = names.iter().any(|name| self.parameter(name).is_some());
        asked.then(|| names.map(|name| self.parameter(name).unwrap_or_default()))
    }
}

/// `goautoneg.ParseAccept`: by weight.
pub(super) fn parse_accept(header: &str) -> Vec<Clause<'_>> {
    let clause = |text| {
        let mut parts = str::split(text, ';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let media = match media.split_once('/') {
            Some(media) => media,
            None if media == "*" => ("*", "*"),
            None => (media, ""),
        };
        let parameters = parts.filter_map(|part| part.split_once('='));
        let parameters: Vec<_> = parameters
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        let weight = parameters.iter().find(|(name, _)| *name == "q");
        let weight = weight
            .and_then(|(_, weight)| weight.parse().ok())
            .unwrap_or(1.0);
        Clause {
            media,
            parameters,
            weight,
        }
    };
    let mut clauses: Vec<Clause<'_>> = header.split(',').map(clause).collect();
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    clauses
}

/// Upstream's `NewNotAcceptableError`
pub(super) fn not_acceptable() -> Status {
    let types = MEDIA_TYPES
        .map(|(kind, sub)| format!("{kind}/{sub}"))
        .join(", ");
    printers::not_acceptable(format!(
        "only the following media types are accepted: {types}"
    ))
}

/// What go-restful says before any handler is asked: lists are also served as streams.
fn no_route(request: &Request) -> Status {
    let media = |(kind, sub): (&str, &str)| format!("{kind}/{sub}");
    let mut all = MEDIA_TYPES.map(media).to_vec();
    let is_read = matches!(request.method, Method::Get | Method::Head);
    // Behind group and version come names in pairs, of which the last one of a list has no second.
    let parts = request.path.trim_matches('/').split('/').count();
    let before = match request.path.starts_with("/apis/") {
        true => 3,
        false => 2,
    };
    if is_read && (parts - before.min(parts)) % 2 == 1 {
        all.push("application/json;stream=watch".to_owned());
        all.push("application/vnd.kubernetes.protobuf;stream=watch".to_owned());
    }
    let all = all.join(", ");
    let mut refusal = printers::not_acceptable(format!(
        "406: Not Acceptable\n\nAvailable representations: {all}"
    ));
    refusal.details = Some(Default::default());
    refusal
}

impl Form {
    /// Upstream's `NegotiateOutputMediaType`, of a request to the API.
    ///
    /// # Errors
    /// 406.
    pub fn negotiate(request: &Request) -> Result<Form, Status> {
        let accept = request.accept.as_deref().unwrap_or_default();
        if accept.is_empty() {
            return Ok(Form::default());
        }
        let clauses = parse_accept(accept);
        // The types that are accepted are looked through for each clause in turn. All but JSON is left out: bodies are trees.
        let fitting = clauses
            .iter()
            .filter(|clause| clause.accepts().next().is_some());
        let mut shapes = fitting.filter_map(|clause| match clause.converts_to() {
            None => Some(Shape::Object),
            Some(target) => shape_of(target),
        });
        let shape = shapes.next().ok_or_else(|| {
            let fits = |clause: &Clause<'_>| clause.accepts().next().is_some();
            match clauses.iter().any(fits) {
                true => not_acceptable(),
                false => no_route(request),
            }
        })?;
        let asked = request.query.get("includeObject").unwrap_or_default();
        let include = match shape {
            Shape::Table(_) => IncludeObject::of(asked),
            _ => Ok(IncludeObject::default()),
        };
        Ok(Form {
            shape,
            include: include.clone().unwrap_or_default(),
            bad_include: include.is_err().then(|| asked.into()),
            headers_shown: false,
        })
    }

    /// `optionsForTransform`
    ///
    /// # Errors
    /// 400.
    pub fn options_for_transform(&self) -> Result<(), Status> {
        match &self.bad_include {
            Some(text) => IncludeObject::of(text).map(drop),
            None => Ok(()),
        }
    }

    fn table_options(&self, version: &'static str, now: Stamp) -> TableOptions<'static> {
        TableOptions {
            version,
            include: self.include,
            no_headers: self.headers_shown,
            columns: None,
            now,
        }
    }

    /// Are objects shown as they are stored? Then nobody need know what time it is.
    fn is_plain(&self, api: &Api) -> bool {
        self.shape == Shape::Object && api.served() == api.resource
    }

    /// Upstream's `transformResponseObject`
    ///
    /// # Errors
    /// 400 or 406.
    pub fn transform_response(
        &self,
        rx: Rx,
        api: &Api,
        mut response: Response,
    ) -> Result<Response, Status> {
        self.options_for_transform()?;
        if self.is_plain(api) {
            return Ok(response);
        }
        let now = Stamp::of(rx.clock());
        let served = api.served();
        let (rows, list) = match &response.content {
            Content::One(stored) => (vec![row(served, stored.json())], None),
            Content::Tree(tree) => (vec![row(served, (**tree).clone())], None),
            Content::List(list) => {
                let rows = list.items.iter().map(|item| row(served, item.json()));
                (rows.collect(), Some(list.metadata()))
            }
            Content::Text(_) | Content::Status(_) | Content::Yaml(_) => return Ok(response),
        };
        let shown = self.shown(served, &rows, list.as_ref(), now)?;
        response.content = Content::Tree(Arc::new(shown));
        Ok(response)
    }

    /// Upstream's `doTransformObject`, of an object or of the items of a list.
    fn shown(
        &self,
        served: &Resource,
        rows: &[Row],
        list: Option<&Json>,
        now: Stamp,
    ) -> Result<Json, Status> {
        let go_type = || {
            if served.is_custom() {
                let list = if list.is_some() { "List" } else { "" };
                return format!("*unstructured.Unstructured{list}");
            }
            let package = match served.group {
                "" | "events.k8s.io" => "core",
                group => group.split('.').next().unwrap_or_default(),
            };
            format!(
                "*{package}.{}{}",
                served.kind,
                if list.is_some() { "List" } else { "" }
            )
        };
        Ok(match (self.shape, list) {
            (Shape::Table(version), list) => {
                let kind = rows.first().map(|row| json::text(&row.printed, &["kind"]));
                let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or(served.kind);
                let custom = served.strategy.custom().filter(|_| kind == served.kind);
                let options = TableOptions {
                    columns: custom.map(CustomVersion::columns),
                    ..self.table_options(version, now)
                };
                let list = list.map(without_empty_continue);
                printers::table(kind, rows, list.as_ref(), &options)
            }
            (Shape::PartialObjectMetadata(_), Some(_)) => {
                return Err(printers::not_acceptable(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({})",
                    go_type()
                )));
            }
            (Shape::PartialObjectMetadata(version), None) => {
                printers::partial_object_metadata(&rows[0].shown, version)
            }
            (Shape::PartialObjectMetadataList(_), None) => {
                return Err(printers::not_acceptable(format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                    go_type()
                )));
            }
            (Shape::PartialObjectMetadataList(version), Some(list)) => {
                let objects = rows.iter().map(|row| &row.shown);
                let list = without_empty_continue(list);
                printers::partial_object_metadata_list(objects, &list, version)
            }
            (Shape::Object, None) => rows[0].shown.clone(),
            (Shape::Object, Some(list)) => {
                let bare = rows.iter().map(|row| {
                    let mut item = row.shown.clone();
                    for field in ["kind", "apiVersion"] {
                        json::remove(&mut item, &[field]);
                    }
                    item
                });
                serde_json::json!({
                    "kind": format!("{}List", served.kind),
                    "apiVersion": served.api_version(),
                    "metadata": list,
                    "items": bare.collect::<Vec<_>>(),
                })
            }
        })
    }

    /// An event of a watch in this form (`watchEmbeddedEncoder`); `None` if it cannot be shown so, which ends the watch.
    pub fn transform_event(&mut self, rx: Rx, api: &Api, event: WatchEvent) -> Option<WatchEvent> {
        if self.is_plain(api) {
            return Some(event);
        }
        let (kind, stored) = match event {
            WatchEvent::Object(kind, stored) => (kind, stored),
            WatchEvent::Error(_) => return Some(event),
            // It is a new object of the kind, in the version that is served.
            WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
                ..
            } => {
                let event = WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end,
                    of: api.served(),
                };
                let bookmark = event.json().get("object").cloned().unwrap_or_default();
                let object = Object::new(bookmark);
                (
                    WatchKind::Bookmark,
                    Stored {
                        object,
                        resource_version,
                    },
                )
            }
        };
        let how = self.identifier(rx, api, kind, stored.resource_version);
        let shown = stored.object.shown(how, |_| {
            let shown = stored.json();
            let row = match kind {
                WatchKind::Bookmark => Row {
                    printed: shown.clone(),
                    shown,
                },
                _ => row(api.served(), shown),
            };
            let shown = self.shown(api.served(), &[row], None, Stamp::of(rx.clock()))?;
            Ok::<_, Status>(Object::new(shown))
        });
        let object = shown.ok()?;
        self.headers_shown = true;
        Some(WatchEvent::Object(kind, Stored { object, ..stored }))
    }

    /// Upstream's `Identifier` of an encoder: what is equal in it is shown alike. Rows tell how old an object is.
    fn identifier(
        &self,
        rx: Rx,
        api: &Api,
        kind: WatchKind,
        resource_version: Revision,
    ) -> Identifier {
        let is_table = matches!(self.shape, Shape::Table(_));
        Identifier {
            served: api.served(),
            form: self.clone(),
            kind,
            resource_version,
            now: is_table.then(|| Stamp::of(rx.clock())),
        }
    }
}

/// What an event is shown by.
#[derive(PartialEq)]
struct Identifier {
    served: &'static Resource,
    form: Form,
    kind: WatchKind,
    resource_version: Revision,
    now: Option<Stamp>,
}

/// The metadata of a list, as lists with a type have it.
fn without_empty_continue(list: &Json) -> Json {
    let mut list = list.clone();
    if json::at(&list, &["continue"]) == Some(&"".into()) {
        json::remove(&mut list, &["continue"]);
    }
    list
}

/// An object of the hub, as it is served and as it is printed.
fn row(served: &Resource, printed: Json) -> Row {
    let own = json::text(&printed, &["kind"]) == served.kind;
    let shown = match own {
        true => convert_from_hub(served, printed.clone()),
        false => printed.clone(),
    };
    Row { shown, printed }
}

/// Upstream's `AllowsMediaTypeTransform`: what objects can be shown as.
fn shape_of([group, version, kind]: [&str; 3]) -> Option<Shape> {
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => "v1",
        ("meta.k8s.io", "v1beta1") => "v1beta1",
        _ => return None,
    };
    match kind {
        "Table" => Some(Shape::Table(version)),
        "PartialObjectMetadata" => Some(Shape::PartialObjectMetadata(version)),
        "PartialObjectMetadataList" => Some(Shape::PartialObjectMetadataList(version)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiated(accept: &str) -> Result<Shape, u16> {
        let mut request = Request::new(Method::Get, "/api/v1/pods");
        request.accept = Some(accept.into());
        let form = Form::negotiate(&request);
        form.map(|form| form.shape).map_err(|status| status.code)
    }

    #[test]
    fn the_first_clause_that_can_be_met_counts() {
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
        assert_eq!(negotiated(table), Ok(Shape::Table("v1")));
        let unknown = "application/json;as=Table;g=meta.k8s.io;v=v9";
        assert_eq!(negotiated(unknown), Err(406));
        assert_eq!(
            negotiated(&format!("{unknown},application/json")),
            Ok(Shape::Object)
        );
        assert_eq!(
            negotiated(&format!("application/json;q=0.5,{table}")),
            Ok(Shape::Table("v1"))
        );
        assert_eq!(negotiated("*/*"), Ok(Shape::Object));
        assert_eq!(negotiated(""), Ok(Shape::Object));
        assert_eq!(negotiated("text/plain"), Err(406));
    }
}
