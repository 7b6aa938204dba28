//! The form of the table, and what stands in it.

use super::*;
use crate::kinds::Resource;

#[test]
fn the_table_reads() {
    let pod = of(kind("v1", "Pod").expect("a kind"));
    assert_eq!(pod.name, "Pod");
    let names: Vec<_> = pod.fields.iter().map(|field| field.name).collect();
    assert_eq!(names, ["kind", "apiVersion", "metadata", "spec", "status"]);
    let spec = of(named("core.PodSpec").expect("a type"));
    let (_, containers) = spec.field("containers").expect("a field");
    assert_eq!(containers.ty.go, "[]v1.Container");
    assert!(containers.merge.merge && !containers.omit_empty);
    assert_eq!(containers.merge.key, "name");
    let (_, ports) = of(named("core.Container").expect("a type"))
        .field("ports")
        .expect("a field");
    assert_eq!(
        ports.list,
        Some(ListType::Map(vec!["containerPort", "protocol"]))
    );
    assert_eq!(ports.merge.key, "containerPort");
    let (_, protocol) = of(named("core.ContainerPort").expect("a type"))
        .field("protocol")
        .expect("a field");
    assert_eq!(protocol.default, Some("TCP".into()));
    let (_, selector) = spec.field("nodeSelector").expect("a field");
    assert_eq!(selector.map, Some(MapType::Atomic));
    assert_eq!(
        of(named("core.ObjectReference").expect("a type")).map,
        Some(MapType::Atomic)
    );
    assert!(kind("v1", "PodSpec").is_none());
    assert!(kind("apps/v1", "ConfigMap").is_none());
}

#[test]
fn the_table_says_what_it_was_made_from() {
    let head: Vec<&str> = TABLES[0]
        .lines()
        .take_while(|line| line.starts_with('#'))
        .collect();
    let begin = "# The Go types of Kubernetes v";
    assert!(head[0].starts_with(begin), "{}", head[0]);
    let sources = head
        .iter()
        .filter_map(|line| line.strip_prefix("#   k8s.io/"));
    let sources: Vec<(&str, &str)> = sources.filter_map(|line| line.split_once(' ')).collect();
    assert!(sources.len() > 5, "{head:#?}");
    for (file, fingerprint) in sources {
        assert!(file.ends_with("types.go"), "{file}");
        let hex = |byte: u8| byte.is_ascii_hexdigit();
        assert!(
            fingerprint.len() == 16 && fingerprint.bytes().all(hex),
            "{fingerprint}"
        );
    }
}

#[test]
fn every_kind_that_is_served_is_in_the_table() {
    for resource in Resource::ALL {
        let id = kind(&resource.api_version(), resource.kind);
        let id = id.unwrap_or_else(|| panic!("{} is not in the table", resource.qualified()));
        let metadata = of(id)
            .field("metadata")
            .map(|(_, field)| field.ty.go.as_str());
        assert_eq!(metadata, Some("v1.ObjectMeta"), "{}", resource.qualified());
    }
    for (api_version, name) in [
        ("v1", "Binding"),
        ("policy/v1", "Eviction"),
        ("autoscaling/v1", "Scale"),
    ] {
        assert!(kind(api_version, name).is_some(), "{name}");
    }
}

#[test]
fn lists_name_keys_that_their_elements_have() {
    fn element(ty: &Type) -> Option<StructId> {
        match &ty.shape {
            Shape::Pointer(of) => element(of),
            Shape::List(of) => match &of.shape {
                Shape::Struct(id) => Some(*id),
                _ => None,
            },
            _ => None,
        }
    }
    let mut keyed = 0;
    for (name, id) in all() {
        for field in &of(id).fields {
            let keys = match &field.list {
                Some(ListType::Map(keys)) => keys.as_slice(),
                _ => &[],
            };
            let merge = Some(field.merge.key).filter(|key| !key.is_empty());
            for key in keys.iter().copied().chain(merge) {
                keyed += 1;
                let element = element(&field.ty)
                    .unwrap_or_else(|| panic!("{name}.{} has no structs", field.name));
                assert!(
                    of(element).field(key).is_some(),
                    "{name}.{} has no key {key}",
                    field.name
                );
            }
        }
    }
    assert!(keyed > 20, "{keyed}");
}

#[test]
fn a_field_of_older_releases_stands_where_it_stood() {
    let spec = of(named("core.ServiceSpec").expect("a type"));
    let (at, older) = spec.field("ipFamily").expect("a field");
    assert_eq!(older.before, Some("ipFamilies"));
    assert_eq!(spec.field("ipFamilies").map(|(next, _)| next), Some(at + 1));
}
