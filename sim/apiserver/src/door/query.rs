//! The options of lists and watches, from a query.

use std::sync::Arc;

use wavetank_api::selector::{FieldTerm, LabelSelector, Operator, Predicate, Requirement};
use wavetank_api::{Query, Status};

use crate::options::{ListOptions, Match};

/// The options of a list or watch; a name in the path is a field selector, too.
///
/// # Errors
/// 400.
pub fn list_options(query: &Query, name: Option<&str>) -> Result<ListOptions, Status> {
    let number = |field: &str| match query.get(field) {
        None | Some("") => Ok(None),
        Some(text) => {
            let invalid = |_| Status::bad_request(format!("invalid {field}: {text:?}"));
            text.parse::<u64>().map(Some).map_err(invalid)
        }
    };
    let truth = |field: &str| query.get(field).map(|text| !matches!(text, "false" | "0"));
    let mut predicate = Predicate::default();
    for term in query.get("labelSelector").unwrap_or_default().split(',') {
        if let Some((key, value)) = term.split_once('=') {
            let equals = Requirement {
                key: key.into(),
                operator: Operator::In,
                values: vec![value.into()],
            };
            LabelSelector::push(&mut predicate.labels, equals);
        }
    }
    for term in query.get("fieldSelector").unwrap_or_default().split(',') {
        if let Some((field, value)) = term.split_once('=') {
            predicate.fields.0.push(field_is(field, value));
        }
    }
    if let Some(name) = name {
        predicate.fields.0.push(field_is("metadata.name", name));
    }
    Ok(ListOptions {
        resource_version: number("resourceVersion")?,
        resource_version_match: match query.get("resourceVersionMatch") {
            Some("Exact") => Some(Match::Exact),
            Some("NotOlderThan") => Some(Match::NotOlderThan),
            _ => None,
        },
        predicate,
        limit: number("limit")?.unwrap_or(0),
        continues: query
            .get("continue")
            .filter(|c| !c.is_empty())
            .map(Arc::from),
        one: false,
        send_initial_events: truth("sendInitialEvents"),
        bookmarks: truth("allowWatchBookmarks").unwrap_or(false),
    })
}

fn field_is(field: &str, value: &str) -> FieldTerm {
    FieldTerm {
        field: field.into(),
        equal: true,
        value: value.into(),
    }
}
