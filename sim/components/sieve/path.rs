//! What the path of a request names (`RequestInfo`, `apiserver/pkg/endpoints/request/requestinfo.go`, v1.36.2).

use wavetank_api::Resource;

/// A resource, and of it all objects, those of a namespace, or one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Path<'a> {
    /// Its group; nothing of the core.
    pub group: &'a str,
    /// The namespace, if it names one.
    pub namespace: &'a str,
    /// The resource; nothing if the path names none.
    pub plural: &'a str,
    /// The object, if it names one,
    pub name: &'a str,
    /// and a part of it.
    pub subresource: &'a str,
}

impl<'a> Path<'a> {
    /// Of a request.
    pub fn of(path: &'a str) -> Path<'a> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return Path::default(),
        };
        // `namespaces/x` and its subresources are the namespace itself.
        let (namespace, rest) = match rest {
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |at: usize| rest.get(at).copied().unwrap_or_default();
        Path {
            group,
            namespace,
            plural: part(0),
            name: part(1),
            subresource: part(2),
        }
    }

    /// `websites.example.com`
    pub fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The place in etcd of what is called so.
    pub fn key(&self, name: &str) -> String {
        let registry = registry(self.group, self.plural);
        match self.namespace {
            "" => format!("{registry}{name}"),
            namespace => format!("{registry}{namespace}/{name}"),
        }
    }
}

/// Where objects of a resource are stored.
pub fn registry(group: &str, plural: &str) -> String {
    let mut all = Resource::ALL.into_iter();
    let known = all.find(|resource| resource.group == group && resource.plural == plural);
    match known {
        Some(resource) => format!("{}/", resource.registry),
        None => format!("/registry/{group}/{plural}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> [&str; 5] {
        let own = Path::of(path);
        [
            own.group,
            own.namespace,
            own.plural,
            own.name,
            own.subresource,
        ]
    }

    #[test]
    fn a_path_names_a_resource_and_maybe_an_object() {
        let maps = "/api/v1/namespaces/default/configmaps";
        assert_eq!(told(maps), ["", "default", "configmaps", "", ""]);
        let status = "/apis/example.com/v1/namespaces/default/shops/one/status";
        assert_eq!(
            told(status),
            ["example.com", "default", "shops", "one", "status"]
        );
        assert_eq!(told("/api/v1/nodes/n1"), ["", "", "nodes", "n1", ""]);
        assert_eq!(
            told("/api/v1/namespaces/one"),
            ["", "", "namespaces", "one", ""]
        );
        assert_eq!(told("/version"), [""; 5]);
        assert_eq!(Path::of(status).qualified(), "shops.example.com");
        let key = Path::of(status).key("one");
        assert_eq!(key, "/registry/example.com/shops/default/one");
    }
}
