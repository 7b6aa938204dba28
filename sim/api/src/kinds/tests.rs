use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wavetank_releases::{V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

use super::{
    CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, IP_ADDRESSES, LEASES, NAMESPACES, Resource, SECRETS,
    SERVICE_CIDRS, SERVICES, STATEFUL_SETS, deployments, pod_binding, pods, services,
};
use crate::decode::{self, FieldValidation, Reading};
use crate::http::Body;
use crate::json::{self as tree, Json};
use crate::schema;
use crate::strategy::{Context, Part};
use crate::validation::ErrorList;

fn context(release: Version) -> Context {
    Context {
        release,
        now: crate::Stamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
        dual_stack: false,
    }
}

fn read(resource: &'static Resource, json: Json) -> Json {
    let body = Body::Json(Arc::new(json));
    let (object, _) = decode::object(
        &body,
        None,
        resource,
        Reading::newest(FieldValidation::Strict),
    )
    .expect("reads");
    object
}

/// An object as it is about to be stored, and what is wrong with it.
fn created(resource: &'static Resource, json: Json) -> (Json, ErrorList) {
    let mut object = read(resource, json);
    let cx = context(V1_36);
    resource.strategy.prepare_for_create(&cx, &mut object);
    let errors = resource.strategy.validate(&cx, &object);
    resource.strategy.canonicalize(&mut object);
    assert_eq!(decode::canonical(resource, &object), Ok(object.clone()));
    (object, errors)
}

fn wrong(resource: &'static Resource, json: Json) -> String {
    created(resource, json).1.to_string()
}

fn updated(
    resource: &Resource,
    part: Part,
    old: &Json,
    change: &[(&[&str], Json)],
) -> (Json, String) {
    let mut new = old.clone();
    tree::set(&mut new, &["metadata", "resourceVersion"], "1");
    for (path, value) in change {
        tree::set(&mut new, path, value.clone());
    }
    let cx = context(V1_36);
    resource
        .strategy
        .prepare_for_update(&cx, part, &mut new, old);
    let errors = resource.strategy.validate_update(&cx, part, &new, old);
    (new, errors.to_string())
}

/// A StatefulSet whose pods mount this.
fn mounting(volume: &str) -> Json {
    let labels = json!({"app": "db"});
    let container = json!({
        "name": "c", "image": "i", "volumeMounts": [{"name": volume, "mountPath": "/data"}],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "serviceName": "db", "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    })
}

#[test]
fn pods_of_stateful_sets_mount_their_claims() {
    let (_, errors) = created(&STATEFUL_SETS, mounting("data"));
    assert!(errors.is_empty(), "{errors}");
    let (set, errors) = created(&STATEFUL_SETS, mounting("other"));
    let message = "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"other\"";
    assert_eq!(errors.to_string(), message);
    let volumes = tree::at(&set, &["spec", "template", "spec", "volumes"]);
    assert_eq!(volumes, None, "what is looked at is not stored");
}

#[test]
fn every_resource_has_a_table_of_its_kind() {
    for resource in Resource::ALL {
        let id = schema::kind(&resource.api_version(), resource.kind);
        assert!(id.is_some(), "{resource:?}");
        let found =
            crate::kinds::Kinds::default().find(resource.group, resource.version, resource.plural);
        assert_eq!(found, Some(resource));
    }
}

#[test]
fn config_maps_may_become_immutable() {
    let meta = json!({"name": "c", "namespace": "n"});
    let (old, errors) = created(
        &CONFIG_MAPS,
        json!({"metadata": meta, "data": {"k": "v"}, "immutable": true}),
    );
    assert!(errors.is_empty());
    let (_, errors) = updated(
        &CONFIG_MAPS,
        Part::Whole,
        &old,
        &[(&["data", "k"], json!("w"))],
    );
    assert_eq!(
        errors,
        "data: Forbidden: field is immutable when `immutable` is set"
    );
    let same = wrong(
        &CONFIG_MAPS,
        json!({"metadata": meta, "data": {"k": "v", "a b": ""}, "binaryData": {"k": "eA=="}}),
    );
    assert_eq!(
        same,
        "[data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric \
         characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for \
         validation is '[-._a-zA-Z0-9]+'), data[k]: Invalid value: \"k\": duplicate of key present in \
         binaryData]"
    );
}

#[test]
fn secrets_keep_texts_as_bytes() {
    let (secret, errors) = created(
        &SECRETS,
        json!({"metadata": {"name": "s", "namespace": "n"}, "stringData": {"a": "x"}}),
    );
    assert!(errors.is_empty());
    assert_eq!(
        (&secret["data"], &secret["type"]),
        (&json!({"a": "eA=="}), &json!("Opaque"))
    );
    assert_eq!(secret.get("stringData"), None);
    let tls = json!({"metadata": {"name": "s", "namespace": "n"}, "type": "kubernetes.io/tls"});
    assert_eq!(
        wrong(&SECRETS, tls),
        "[data[tls.crt]: Required value, data[tls.key]: Required value]"
    );
}

#[test]
fn namespaces_carry_their_name_and_finalizer() {
    let (namespace, errors) = created(&NAMESPACES, json!({"metadata": {"name": "a"}}));
    assert!(errors.is_empty());
    assert_eq!(
        namespace,
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        })
    );
    let finalizers: &[&str] = &["spec", "finalizers"];
    let phase: &[&str] = &["status", "phase"];
    let changes = [(finalizers, json!([])), (phase, json!("Terminating"))];
    let (whole, _) = updated(&NAMESPACES, Part::Whole, &namespace, &changes);
    assert_eq!(
        (&whole["spec"], &whole["status"]),
        (&namespace["spec"], &namespace["status"])
    );
    let (_, errors) = updated(&NAMESPACES, Part::Status, &namespace, &changes);
    assert_eq!(
        errors,
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is \
         empty"
    );
    let (finalized, errors) = updated(&NAMESPACES, Part::Finalize, &namespace, &changes);
    assert_eq!(
        (errors.as_str(), &finalized["spec"]),
        ("[]", &json!({"finalizers": []}))
    );
}

#[test]
fn endpoints_and_slices_are_checked() {
    let subset = |ip: &str| {
        json!({"metadata": {"name": "e", "namespace": "n"},
               "subsets": [{"addresses": [{"ip": ip}], "ports": [{"port": 1}]}]})
    };
    assert_eq!(wrong(&ENDPOINTS, subset("192.0.2.1")), "[]");
    assert_eq!(
        wrong(&ENDPOINTS, subset("192.0.2.020")),
        "subsets[0].addresses[0].ip: Invalid value: \"192.0.2.020\": must not have leading 0s"
    );
    let slice = json!({
        "metadata": {"name": "e", "namespace": "n"}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["2001:db8::1"]}], "ports": [{"port": 80}, {"port": 81}],
    });
    let (object, errors) = created(&ENDPOINT_SLICES, slice);
    assert_eq!(
        object["ports"][0],
        json!({"name": "", "port": 80, "protocol": "TCP"})
    );
    assert_eq!(
        errors.to_string(),
        "[endpoints[0].addresses: Invalid value: \"2001:db8::1\": must be an IPv4 address, \
         ports[1].name: Duplicate value: \"\"]"
    );
    let (new, _) = updated(
        &ENDPOINT_SLICES,
        Part::Whole,
        &object,
        &[(&["metadata", "labels", "a"], json!("b"))],
    );
    assert_eq!(new["metadata"]["generation"], 2);
}

#[test]
fn leases_are_checked() {
    let lease = json!({"metadata": {"name": "l", "namespace": "n"},
                       "spec": {"leaseDurationSeconds": 0, "strategy": "OldestEmulationVersion"}});
    let (object, errors) = created(&LEASES, lease);
    assert_eq!(object["spec"], json!({"leaseDurationSeconds": 0}));
    assert_eq!(
        errors.to_string(),
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    );
}

#[test]
fn services_are_checked() {
    let service = |spec: Json| json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec});
    for (spec, expected) in [
        (json!({}), "spec.ports: Required value"),
        (
            json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}),
            "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\
             \"Port\":80,\"TargetPort\":0,\"NodePort\":0}",
        ),
        (
            json!({"ports": [{"port": 80, "nodePort": 30000}]}),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            json!({"ports": [{"port": 80}], "externalTrafficPolicy": "Local"}),
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for \
             externally-accessible services",
        ),
        (
            json!({"type": "ExternalName", "clusterIPs": ["10.0.0.1"], "externalName": "x."}),
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
        ),
        (
            json!({"ports": [{"port": 80}], "type": "NodePort", "clusterIP": "None",
                   "clusterIPs": ["None"]}),
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort \
             services",
        ),
        (
            json!({"ports": [{"port": 80}], "clusterIP": "10.0.0.1",
                   "clusterIPs": ["10.0.0.1", "10.0.0.2"]}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.1\",\"10.0.0.2\"]: may specify no more than one \
             IP for each IP family",
        ),
    ] {
        assert_eq!(wrong(&SERVICES, service(spec)), expected);
    }
    let (old, _) = created(
        &SERVICES,
        service(
            json!({"ports": [{"port": 80}], "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}),
        ),
    );
    let moved: &[(&[&str], Json)] = &[
        (&["spec", "clusterIP"], json!("10.0.0.2")),
        (&["spec", "clusterIPs"], json!(["10.0.0.2"])),
    ];
    let (_, errors) = updated(&SERVICES, Part::Whole, &old, moved);
    assert_eq!(
        errors,
        "spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"
    );
    let ingress: &[(&[&str], Json)] = &[(
        &["status", "loadBalancer", "ingress"],
        json!([{"ip": "192.0.2.7"}]),
    )];
    let (_, errors) = updated(&SERVICES, Part::Status, &old, ingress);
    assert_eq!(
        errors,
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    );
}

#[test]
fn addresses_and_ranges_are_checked() {
    let address = |name: &str| json!({"metadata": {"name": name}, "spec": {"parentRef": {"resource": "services", "name": "s"}}});
    let (old, errors) = created(&IP_ADDRESSES, address("10.0.0.1"));
    assert!(errors.is_empty());
    assert_eq!(
        wrong(&IP_ADDRESSES, address("10.0.0.01")),
        "metadata.name: Invalid value: \"10.0.0.01\": must not have leading 0s"
    );
    let other: &[(&[&str], Json)] = &[(&["spec", "parentRef", "name"], json!("t"))];
    let (_, errors) = updated(&IP_ADDRESSES, Part::Whole, &old, other);
    assert_eq!(
        errors,
        "spec.parentRef: Invalid value: {\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"\",\
         \"Name\":\"t\"}: field is immutable"
    );
    let range =
        json!({"metadata": {"name": "r"}, "spec": {"cidrs": ["10.0.0.0/29", "10.1.0.0/29"]}});
    assert_eq!(
        wrong(&SERVICE_CIDRS, range),
        "spec.cidrs: Invalid value: [\"10.0.0.0/29\",\"10.1.0.0/29\"]: may specify no more than one IP \
         for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
    );
}

#[test]
fn older_releases_know_less() {
    let cx = context(V1_20);
    let mut namespace = read(&NAMESPACES, json!({"metadata": {"name": "a"}}));
    NAMESPACES.strategy.prepare_for_create(&cx, &mut namespace);
    NAMESPACES.strategy.canonicalize(&mut namespace);
    assert_eq!(namespace["metadata"], json!({"name": "a"}));
    let mut service = read(
        &SERVICES,
        json!({"metadata": {"name": "s", "namespace": "n", "resourceVersion": "1"},
               "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}}),
    );
    SERVICES.strategy.prepare_for_create(&cx, &mut service);
    assert_eq!(
        service["spec"],
        json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "type": "ClusterIP",
               "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None"})
    );
    let mut moved = service.clone();
    tree::set(&mut moved, &["spec", "clusterIP"], "10.0.0.2");
    tree::set(&mut moved, &["spec", "clusterIPs"], json!(["10.0.0.2"]));
    let errors = SERVICES
        .strategy
        .validate_update(&cx, Part::Whole, &moved, &service);
    assert_eq!(
        errors.to_string(),
        "spec.clusterIPs[0]: Invalid value: []string{\"10.0.0.2\"}: may not change once set"
    );
}

/// Objects whose fields are those of the tables, with values that mostly do not fit.
fn strange() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        2 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        4 => (-2..70_000i64).prop_map(Json::from),
        6 => prop_oneof![
            "[a-z0-9./:-]{0,12}",
            Just("10.0.0.1".to_owned()),
            Just("ClusterIP".to_owned()),
            Just("LoadBalancer".to_owned()),
            Just("50%".to_owned()),
            Just("None".to_owned()),
        ]
        .prop_map(Json::from),
    ];
    let names = schema::field_names();
    let name = proptest::sample::select(names);
    leaf.prop_recursive(7, 96, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::btree_map(name.clone(), inner, 0..10).prop_map(|map| {
                Json::Object(map.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
            }),
        ]
    })
}

/// A tree cut to fit a type: what does not fit is left out.
fn fitted(json: &Json, resource: &Resource) -> Json {
    let mut object = json!({"metadata": {"name": "x"}});
    for field in [
        "metadata",
        "spec",
        "status",
        "data",
        "subsets",
        "endpoints",
        "ports",
    ] {
        for path in [
            &[field][..],
            &["spec", field][..],
            &["spec", "template", "spec", field][..],
        ] {
            let mut tried = object.clone();
            tree::set(
                &mut tried,
                path,
                json.get(field).cloned().unwrap_or_else(|| json.clone()),
            );
            if decode::canonical(resource, &tried).is_ok() {
                object = tried;
            }
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_object_makes_a_rule_panic(a in strange(), b in strange(), asked in any::<Option<i64>>()) {
        for resource in Resource::ALL {
            let objects = [&a, &b].map(|json| {
                let mut object = fitted(json, resource);
                resource.strategy.default(&mut object);
                object
            });
            let raw = [a.clone(), b.clone()];
            for [new, old] in [objects, raw] {
                for release in VERSIONS {
                    let cx = context(release);
                    let strategy = resource.strategy;
                    let mut object = new.clone();
                    strategy.default(&mut object);
                    let once = object.clone();
                    strategy.default(&mut object);
                    prop_assert_eq!(&object, &once, "{}: defaults are complete", resource.kind);
                    strategy.prepare_for_create(&cx, &mut object);
                    let errors = strategy.validate(&cx, &object);
                    prop_assert!(errors.is_empty() || !errors.to_string().is_empty());
                    let warnings = strategy.warnings(&cx, &object, None);
                    prop_assert!(warnings.iter().all(|warning| !warning.is_empty()));
                    prop_assert_eq!(
                        strategy.check_graceful_delete(&object, asked),
                        strategy.check_graceful_delete(&object, asked)
                    );
                    for part in [Part::Whole, Part::Status, Part::Finalize] {
                        let mut object = new.clone();
                        strategy.prepare_for_update(&cx, part, &mut object, &old);
                        let errors = strategy.validate_update(&cx, part, &object, &old);
                        prop_assert!(errors.is_empty() || !errors.to_string().is_empty());
                        strategy.canonicalize(&mut object);
                        let once = object.clone();
                        strategy.canonicalize(&mut object);
                        prop_assert_eq!(&object, &once, "{}: a canonical form has one", resource.kind);
                    }
                }
            }
            let scale = deployments::scale_from_deployment(&a);
            if let Ok(scaled) = deployments::rescale(&b, &scale) {
                let asked = tree::number(&scale, &["spec", "replicas"]).unwrap_or(0);
                prop_assert_eq!(tree::number(&scaled, &["spec", "replicas"]), Some(asked));
            }
            let bound = pod_binding::check(&a, "x").and_then(|()| pod_binding::bind(&b, &a, V1_36, context(V1_36).now));
            if let Ok(bound) = bound {
                let node = |object: &Json, path: &[&str]| tree::text(object, path).to_owned();
                prop_assert_eq!(node(&bound, &["spec", "nodeName"]), node(&a, &["target", "name"]));
            }
            let mut service = a.clone();
            services::patch_allocated_values(&mut service, &b);
            services::normalize_cluster_ips(&mut service, Some(&b));
            let mut pod = a.clone();
            pods::default_tolerations(&mut pod);
            pods::default_priority(&mut pod);
            pods::keep_priority(&mut pod, &b);
        }
    }
}

/// `bookmarks.jsonl` has what kube-apiserver 1.36.2 sends at the end of the initial events, without the metadata.
#[test]
fn bookmarks_are_new_objects_of_their_kind() {
    let sent = include_str!("bookmarks.jsonl").lines();
    let sent: Vec<Json> = sent
        .map(|line| serde_json::from_str(line).expect("it was JSON"))
        .collect();
    let mut compared = 0;
    for of in Resource::ALL {
        let version = of.api_version();
        let is_its = |sent: &&Json| sent["apiVersion"] == *version && sent["kind"] == of.kind;
        if let Some(sent) = sent.iter().find(is_its) {
            assert_eq!(of.bookmark(), *sent);
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}
