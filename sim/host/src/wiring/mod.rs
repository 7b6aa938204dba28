//! Does an operator have the permissions that it needs and no others, and does it watch what it owns? Its requests under
//! some seeds say what it needs; Roles and ClusterRoles say what it has.
//!
//! The simulated apiservers allow everything to everybody. Here an operator is told what a real cluster would refuse.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use wavetank::case::Case;
use wavetank::seeds::Seeds;
use wavetank_components::sieve::path::Path;

use crate::observed::Asked;
use crate::requests::{Logged, logged};
use rules::{Attributes, Granted, granted};

/// So many complaints are told.
const TOLD: usize = 40;

/// Runs the case under these seeds, and compares what the operator with this key asks for with what `rbac` grants: documents
/// in YAML, of which Role, ClusterRole, RoleBinding and ClusterRoleBinding are read. Who the subjects of bindings are is not
/// looked at.
///
/// # Panics
/// If a request is not allowed; if a permission is never used; if it makes objects that it owns of a kind that it does not
/// watch. Says all of it.
pub fn check(case: &dyn Case, operator: &str, seeds: impl Into<Seeds>, rbac: &str) {
    let complaints = complaints(case, operator, seeds.into(), rbac);
    let complaints = complaints.unwrap_or_else(|why| panic!("{}: {why}", case.name()));
    assert!(
        complaints.is_empty(),
        "the wiring of {operator}:\n  {}",
        complaints.join("\n  ")
    );
}

/// What [`check`] has to complain of.
///
/// # Errors
/// If the documents cannot be read, or a simulation did not come to its end.
pub fn complaints(
    case: &dyn Case,
    operator: &str,
    seeds: Seeds,
    rbac: &str,
) -> Result<Vec<String>, String> {
    let mut used = Used::default();
    for seed in seeds.first..seeds.first.saturating_add(seeds.count) {
        for logged in logged(case, seed)? {
            if logged.program == operator {
                used.take(&logged);
            }
        }
    }
    if used.asked.is_empty() {
        return Err(format!(
            "under the seeds {seeds} {operator} ask for nothing"
        ));
    }
    let granted = granted(rbac, &used.namespace)?;
    let mut all = used.forbidden(&granted);
    all.extend(used.unwatched());
    all.extend(used.idle(&granted, seeds));
    all.truncate(TOLD);
    Ok(all)
}

/// What an operator has asked for.
#[derive(Debug, Default)]
struct Used {
    /// Each with a request that asked for it.
    asked: BTreeMap<Attributes, String>,
    /// The resources of which it has made objects that it owns.
    owned: BTreeMap<String, String>,
    watched: BTreeSet<String>,
    /// Where its pods run.
    namespace: String,
}

impl Used {
    fn take(&mut self, logged: &Logged) {
        let asked = &logged.asked;
        let (_, path) = asked.verb_and_path();
        let about = Path::of(path);
        let attributes = new_request_info(asked);
        if ["create", "update", "patch"].contains(&attributes.verb)
            && about.subresource.is_empty()
            && asked.object.as_ref().is_some_and(|body| body.is_owned)
        {
            let what = || asked.what.to_string();
            self.owned.entry(about.qualified()).or_insert_with(what);
        }
        if attributes.verb == "watch" {
            self.watched.insert(about.qualified());
        }
        self.namespace.clone_from(&logged.namespace);
        let what = || asked.what.to_string();
        self.asked.entry(attributes).or_insert_with(what);
    }

    fn forbidden(&self, granted: &[Granted]) -> Vec<String> {
        let mut told = BTreeSet::new();
        let mut all = Vec::new();
        for (asked, what) in &self.asked {
            if granted.iter().any(|granted| granted.allows(asked)) {
                continue;
            }
            // Once for all objects.
            if !told.insert(asked.to_string()) {
                continue;
            }
            let place = match asked.namespace.as_str() {
                "" => "in the whole cluster".to_owned(),
                namespace => format!("in the namespace `{namespace}`"),
            };
            all.push(format!(
                "it needs {asked} {place}, and no rule allows that: {what}"
            ));
        }
        all
    }

    fn unwatched(&self) -> Vec<String> {
        let unwatched = self.owned.iter();
        let unwatched = unwatched.filter(|(resource, _)| !self.watched.contains(*resource));
        let told = unwatched.map(|(resource, what)| {
            format!(
                "it makes {resource} that it owns, and watches none: it does not notice who changes or deletes one (`owns` \
                 of kube's Controller): {what}"
            )
        });
        told.collect()
    }

    fn idle(&self, granted: &[Granted], seeds: Seeds) -> Vec<String> {
        let mut all = Vec::new();
        for granted in granted {
            for permission in permissions(granted) {
                if !self.asked.keys().any(|asked| permission.allows(asked)) {
                    let rule = &permission.rule;
                    let group = match rule.api_groups.first().map(String::as_str) {
                        None | Some("") => String::new(),
                        Some(group) => format!(" in the group `{group}`"),
                    };
                    let of = rule.resources.first().or(rule.non_resource_urls.first());
                    all.push(format!(
                        "{} grants `{}` of `{}`{group}, and it was never used under the seeds {seeds}",
                        permission.role,
                        rule.verbs.join(", "),
                        of.map_or("", String::as_str),
                    ));
                }
            }
        }
        all
    }
}

/// A rule in its parts: one verb of one resource of one group.
fn permissions(granted: &Granted) -> Vec<Granted> {
    let rule = &granted.rule;
    let mut all = Vec::new();
    for verb in &rule.verbs {
        let mut add = |groups: &[String], resources: &[String], urls: &[String]| {
            let mut part = granted.clone();
            part.rule.verbs = vec![verb.clone()];
            part.rule.api_groups = groups.to_vec();
            part.rule.resources = resources.to_vec();
            part.rule.non_resource_urls = urls.to_vec();
            all.push(part);
        };
        for group in &rule.api_groups {
            for resource in &rule.resources {
                add(
                    std::slice::from_ref(group),
                    std::slice::from_ref(resource),
                    &[],
                );
            }
        }
        for url in &rule.non_resource_urls {
            add(&[], &[], std::slice::from_ref(url));
        }
    }
    all
}

/// `NewRequestInfo` (`apiserver/pkg/endpoints/request/requestinfo.go`, v1.36.2).
fn new_request_info(asked: &Asked) -> Attributes {
    let (method, path) = asked.verb_and_path();
    let about = Path::of(path);
    let query = asked.what.split_once('?').map_or("", |(_, query)| query);
    let parameter = |name: &str| {
        let mut all = query.split('&').filter_map(|pair| pair.split_once('='));
        all.find(|(own, _)| *own == name).map(|(_, value)| value)
    };
    let mut name = about.name;
    let verb = match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        _ if about.plural.is_empty() || !name.is_empty() => "get",
        _ => {
            let one = parameter("fieldSelector").and_then(|own| own.strip_prefix("metadata.name="));
            name = one.unwrap_or_default();
            match parameter("watch") {
                None | Some("false" | "0") => "list",
                Some(_) => "watch",
            }
        }
    };
    Attributes {
        verb,
        group: about.group.to_owned(),
        resource: about.plural.to_owned(),
        subresource: about.subresource.to_owned(),
        namespace: about.namespace.to_owned(),
        name: name.to_owned(),
        path: path.to_owned(),
    }
}
