//! What RBAC allows, as upstream decides it (`pkg/apis/rbac/v1/evaluation_helpers.go` and
//! `plugin/pkg/auth/authorizer/rbac/rbac.go`, v1.36.2).

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// A PolicyRule of `rbac.authorization.k8s.io/v1`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PolicyRule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
}

/// What a request asks to be allowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Attributes {
    pub verb: &'static str,
    pub group: String,
    /// Nothing if it is about no resource: then there is a path.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub path: String,
}

impl Attributes {
    fn combined_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl fmt::Display for Attributes {
    /// ``patch` of `shops/status` in the group `example.com``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.resource.is_empty() {
            return write!(f, "`{}` of the path `{}`", self.verb, self.path);
        }
        write!(f, "`{}` of `{}`", self.verb, self.combined_resource())?;
        match self.group.as_str() {
            "" => Ok(()),
            group => write!(f, " in the group `{group}`"),
        }
    }
}

fn verb_matches(rule: &PolicyRule, verb: &str) -> bool {
    rule.verbs.iter().any(|own| own == "*" || own == verb)
}

fn api_group_matches(rule: &PolicyRule, group: &str) -> bool {
    rule.api_groups.iter().any(|own| own == "*" || own == group)
}

fn resource_matches(rule: &PolicyRule, combined: &str, subresource: &str) -> bool {
    rule.resources.iter().any(|own| {
        let of_any = own.strip_prefix("*/");
        own == "*" || own == combined || (!subresource.is_empty() && of_any == Some(subresource))
    })
}

fn resource_name_matches(rule: &PolicyRule, name: &str) -> bool {
    rule.resource_names.is_empty() || rule.resource_names.iter().any(|own| own == name)
}

fn non_resource_url_matches(rule: &PolicyRule, path: &str) -> bool {
    rule.non_resource_urls.iter().any(|own| {
        let begins = own
            .strip_suffix('*')
            .is_some_and(|own| path.starts_with(own));
        own == path || begins
    })
}

/// `RuleAllows`
pub(super) fn rule_allows(asked: &Attributes, rule: &PolicyRule) -> bool {
    if asked.resource.is_empty() {
        return verb_matches(rule, asked.verb) && non_resource_url_matches(rule, &asked.path);
    }
    verb_matches(rule, asked.verb)
        && api_group_matches(rule, &asked.group)
        && resource_matches(rule, &asked.combined_resource(), &asked.subresource)
        && resource_name_matches(rule, &asked.name)
}

/// A rule, and where it holds.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    /// The role that it stands in.
    pub role: String,
    /// Nothing is everywhere.
    pub namespace: Option<String>,
    pub rule: PolicyRule,
}

impl Granted {
    pub fn allows(&self, asked: &Attributes) -> bool {
        let is_here = |namespace: &String| *namespace == asked.namespace;
        self.namespace.as_ref().is_none_or(is_here) && rule_allows(asked, &self.rule)
    }
}

/// A document of RBAC, whichever it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    kind: String,
    metadata: Metadata,
    rules: Vec<PolicyRule>,
    role_ref: RoleRef,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RoleRef {
    kind: String,
    name: String,
}

/// What these documents grant: each role where it is bound; one that nothing here binds holds where it can, a Role in its
/// namespace or else in `namespace`, a ClusterRole everywhere. Documents of other kinds may stand between them.
///
/// # Errors
/// What is wrong with them.
pub(super) fn granted(yaml: &str, namespace: &str) -> Result<Vec<Granted>, String> {
    let texts = yaml
        .split("\n---")
        .map(|text| text.trim_start_matches("---"));
    let texts = texts.filter(|text| text.lines().any(is_said));
    let read = |text| serde_saphyr::from_str::<Document>(text).map_err(|error| error.to_string());
    let documents: Vec<Document> = texts.map(read).collect::<Result<_, _>>()?;
    let place = |document: &Document| {
        let own = document.metadata.namespace.clone();
        own.unwrap_or_else(|| namespace.to_owned())
    };
    let mut bound: BTreeMap<(&str, &str), Vec<Option<String>>> = BTreeMap::new();
    for document in &documents {
        let to = (
            document.role_ref.kind.as_str(),
            document.role_ref.name.as_str(),
        );
        match document.kind.as_str() {
            "ClusterRoleBinding" => bound.entry(to).or_default().push(None),
            "RoleBinding" => bound.entry(to).or_default().push(Some(place(document))),
            _ => {}
        }
    }
    let mut granted = Vec::new();
    for document in &documents {
        let everywhere = match document.kind.as_str() {
            "ClusterRole" => None,
            "Role" => Some(place(document)),
            _ => continue,
        };
        let role = format!("{} {}", document.kind, document.metadata.name);
        let to = (document.kind.as_str(), document.metadata.name.as_str());
        let places = bound.get(&to).cloned();
        for namespace in places.unwrap_or_else(|| vec![everywhere]) {
            granted.extend(document.rules.iter().map(|rule| Granted {
                role: role.clone(),
                namespace: namespace.clone(),
                rule: rule.clone(),
            }));
        }
    }
    match granted.is_empty() {
        true => Err("there is no Role and no ClusterRole with a rule".to_owned()),
        false => Ok(granted),
    }
}

fn is_said(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(verb: &'static str, resource: &str, name: &str) -> Attributes {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Attributes {
            verb,
            group: "apps".to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            path: String::new(),
        }
    }

    fn rule(verbs: &str, resources: &str, names: &str) -> PolicyRule {
        let all = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        PolicyRule {
            verbs: all(verbs),
            api_groups: all("apps"),
            resources: all(resources),
            resource_names: all(names),
            non_resource_urls: Vec::new(),
        }
    }

    #[test]
    fn rules_allow_what_they_name() {
        let get = asked("get", "deployments", "one");
        let status = asked("patch", "deployments/status", "one");
        let create = asked("create", "deployments", "");
        for (rule, allowed) in [
            (rule("get", "deployments", ""), [true, false, false]),
            (rule("*", "deployments", ""), [true, false, true]),
            (rule("*", "deployments/status", ""), [false, true, false]),
            (rule("*", "*/status", ""), [false, true, false]),
            (rule("*", "*", ""), [true, true, true]),
            // A name is not known before there is an object.
            (rule("*", "*", "one"), [true, true, false]),
            (rule("*", "*", "two"), [false, false, false]),
        ] {
            let said = [&get, &status, &create].map(|asked| rule_allows(asked, &rule));
            assert_eq!(said, allowed, "{rule:?}");
        }
    }

    #[test]
    fn a_role_holds_where_it_is_bound() {
        let role = "kind: ClusterRole\nmetadata: {name: r}\nrules:\n- {apiGroups: [apps], resources: [deployments], verbs: [get]}\n";
        let binding = "---\nkind: RoleBinding\nmetadata: {name: b, namespace: other}\nroleRef: {kind: ClusterRole, name: r}\n";
        let get = asked("get", "deployments", "one");
        let allows = |yaml: &str| {
            let granted = granted(yaml, "default").expect("it can be read");
            granted.iter().any(|granted| granted.allows(&get))
        };
        assert!(allows(role));
        assert!(!allows(&format!("{role}{binding}")));
        assert!(allows(&format!(
            "{role}{}",
            binding.replace("other", "default")
        )));
        assert!(granted("kind: Namespace", "default").is_err());
    }
}
