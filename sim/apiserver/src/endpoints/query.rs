//! From the options of a request to those of storage.

use wavetank_api::options::{self, VersionMatch};
use wavetank_api::selector::Predicate;
use wavetank_api::{Query, Resource, Status};
use wavetank_etcd::Revision;
use wavetank_version::Version;

use crate::options::{ListOptions, Match};

/// `ParseResourceVersion`: unset, 0 or a revision.
///
/// # Errors
/// 500.
pub fn parse_resource_version(text: &str) -> Result<Option<Revision>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    options::parse_uint(text).map(Some).map_err(|error| {
        let invalid = format!("resourceVersion: Invalid value: {text:?}: {error}");
        Status::untyped(invalid)
    })
}

/// The options of a list or watch; a name in the path is a field selector, too. With the
/// `timeoutSeconds` of a watch.
///
/// # Errors
/// 400 or 422.
pub fn list_options(
    query: &Query,
    resource: &'static Resource,
    name: Option<&str>,
    release: Version,
) -> Result<(ListOptions, Option<i64>), Status> {
    let asked = options::ListOptions::of(query, resource, name, release)?;
    let options = ListOptions {
        resource_version: parse_resource_version(&asked.resource_version).map_err(|status| {
            // Lists word it as a bad request, watches do not.
            if asked.watch {
                return status;
            }
            Status::new_bad_request(format!("invalid resource version: {}", status.message))
        })?,
        resource_version_match: asked.version_match.map(|asked| match asked {
            VersionMatch::Exact => Match::Exact,
            VersionMatch::NotOlderThan => Match::NotOlderThan,
        }),
        predicate: Predicate {
            labels: asked.labels,
            fields: asked.fields,
        },
        limit: u64::try_from(asked.limit).unwrap_or(0),
        continues: Some(asked.continues).filter(|token| !token.is_empty()),
        one: false,
        send_initial_events: asked.initial_events,
        bookmarks: asked.bookmarks,
        decorated: false,
    };
    Ok((options, asked.timeout))
}
