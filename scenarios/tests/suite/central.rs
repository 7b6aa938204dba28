//! Central files name no component: the list does, and nothing else. The generic apiserver names none either.

use std::fs;
use std::path::Path;

use wavetank_cluster::Components;
use wavetank_component::{Component, Section};
use wavetank_kube_controller_manager::new_controller_descriptors;

use crate::support::{root, sources};

/// The folders that compose components, from the root of the workspace.
const CENTRAL: [&str; 3] = ["scenarios/src", "sim/cluster/src", "sim/component/src"];
/// The list.
const LIST: &str = "sim/cluster/src/list.rs";

/// How code would name it: by its name or by one of its keys, as a text. Keys of a section of its own are those of
/// nobody else, and may be called as anything is.
fn names(component: &dyn Component) -> Vec<String> {
    let key = component.replicas().map(|replicas| replicas.key.to_owned());
    let keys = component.all_keys().into_iter();
    let shared = keys.filter(|keys| !matches!(keys.section(), Section::Own(_)));
    let shared = shared.flat_map(|keys| keys.names().to_vec());
    let texts = shared.chain(key).chain([component.name().to_owned()]);
    texts.map(|name| format!("\"{name}\"")).collect()
}

#[test]
fn central_files_name_no_component() {
    let root = root();
    let mut all = Vec::new();
    for folder in CENTRAL {
        sources(&root.join(folder), &mut all);
    }
    assert!(all.len() > 60, "{}", all.len());
    let components = Components::default();
    let names: Vec<String> = components.iter().flat_map(names).collect();
    assert!(names.contains(&"\"apiservers\"".to_owned()));
    assert!(names.contains(&"\"shutdown-delay\"".to_owned()));
    let mut found = Vec::new();
    for path in all.iter().filter(|path| !path.ends_with(LIST)) {
        let text = fs::read_to_string(path).expect("it is text");
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            if line.contains("wavetank_components")
                || line.contains("wavetank_kube_controller_manager")
                || names.iter().any(|name| line.contains(name.as_str()))
            {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Nobody tells these anything.
const NEVER_TOLD: [&str; 3] = ["e", "ms", "z"];

/// Who writes a plan looks there for what a process can be told.
#[test]
fn the_page_of_scenarios_has_a_row_of_each_process_that_can_be_told_something() {
    let page = fs::read_to_string(root().join("docs/SCENARIOS.md")).expect("it is text");
    let components = Components::default();
    let prefixes = components.iter().filter_map(|own| own.replicas());
    let prefixes: Vec<&str> = prefixes.map(|own| own.prefix).collect();
    assert!(prefixes.len() > 35, "{prefixes:?}");
    for prefix in prefixes {
        let has_row = page.contains(&format!("\n| `{prefix}1`: "));
        assert_eq!(has_row, !NEVER_TOLD.contains(&prefix), "{prefix}1");
    }
}

/// What the generic apiserver has of Services: a status code, and a kind that upstream's watch cache sizes by name.
const OF_THE_API: [&str; 2] = [
    "Reason::ServiceUnavailable",
    "\"services\", \"apiservices\"",
];

#[test]
fn the_generic_apiserver_names_no_services_and_its_registry_no_kind() {
    let folder = root().join("sim/apiserver/src");
    let mut all = Vec::new();
    sources(&folder, &mut all);
    let registry = |path: &Path| {
        let path = path.strip_prefix(&folder).expect("it is below it");
        path.starts_with("registry") || path.ends_with("registry.rs")
    };
    assert!(all.iter().filter(|path| registry(path)).count() > 5);
    let mut found = Vec::new();
    for path in &all {
        let text = fs::read_to_string(path).expect("it is text");
        let lines = text.lines();
        for line in lines.filter(|line| !OF_THE_API.iter().any(|own| line.contains(own))) {
            // The accounts of pods are another kind, and so is what registers a group of the API.
            let others = [
                "serviceaccount",
                "service_account",
                "service account",
                "apiservice",
                "api_service",
                "api-service",
            ];
            let lower = others
                .iter()
                .fold(line.to_lowercase(), |line, word| line.replace(word, ""));
            let of_services = [
                "service",
                "nodeport",
                "node_port",
                "clusterip",
                "cluster_ip",
            ];
            let named = of_services.iter().any(|word| lower.contains(word));
            if named || registry(path) && line.contains("kinds::") {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_component_is_one_line_of_the_list() {
    let root = root();
    let list = fs::read_to_string(root.join("sim/cluster/src/list.rs")).expect("it is text");
    let lines = list.lines().filter(|line| line.contains("Arc::new("));
    let controllers = new_controller_descriptors().len();
    let all = Components::default().iter().count();
    assert_eq!(lines.count() + controllers, all);
    let folder = "sim/components/kube_controller_manager/controllers.rs";
    let list = fs::read_to_string(root.join(folder)).expect("it is text");
    let (_, list) = list.split_once("\ncontrollers! {").expect("the list");
    let lines = list.lines().filter(|line| line.ends_with(','));
    assert_eq!(lines.count(), controllers);
}
