//! Every kind of mistake, as the user sees it.

use super::{FULL, read, snapshot};

/// Puts a mistake into the full scenario and looks at the report.
fn mistake(name: &str, right: &str, wrong: &str) {
    mistakes(name, &[(right, wrong)]);
}

fn mistakes(name: &str, changes: &[(&str, &str)]) {
    let text = changes
        .iter()
        .fold(FULL.to_string(), |text, (right, wrong)| {
            assert_eq!(
                text.matches(right).count(),
                1,
                "{right:?} is in the scenario once"
            );
            text.replace(right, wrong)
        });
    match read(&text) {
        Ok(_) => panic!("{name}: the mistake went unnoticed"),
        Err(report) => snapshot(name, &report.to_string()),
    }
}

macro_rules! mistakes {
    ($($name:ident: $right:literal => $wrong:literal;)*) => {$(
        #[test]
        fn $name() {
            mistake(&stringify!($name).replace('_', "-"), $right, $wrong);
        }
    )*};
}

mistakes! {
    // What is not YAML, or not the YAML of a scenario.
    not_yaml: "topology:\n" => "topology: {\n";
    tabs: "  etcd: 1\n" => "\tetcd: 1\n";
    two_documents: "release: v1.20\n" => "---\nrelease: v1.20\n";
    merge_key: "  connect: {every: 2s}" => "  <<: {connect: {every: 2s}}";
    unknown_key_at_the_top: "calm: 3m" => "clam: 3m";
    unknown_key_unlike_any: "calm: 3m" => "calm: 3m\nseed: 12";
    unknown_key_in_a_fault: "reset: {max: 5}" => "reset: {most: 5}";
    key_given_twice: "calm: 3m" => "calm: 3m\nstorm: 3m";
    empty_value: "reset: {max: 5}" => "reset:";
    missing_keys: "clock-rate: {max: 2, lasts: 10s..1m30s, ppm: 50000}" => "clock-rate: {lasts: 1s}";
    missing_key_at_the_top: "about: |\n  All that a scenario file can say.\n" => "";
    wrong_release: "release: v1.20\n" => "release: v1.21\n";
    release_as_a_number: "release: v1.20\n" => "release: 1.20\n";
    wrong_reconciler: "[lease, master-count]" => "[lease, mastercount]";
    no_unit: "storm: 120s" => "storm: 120";
    storm_without_end: "storm: 120s" => "storm: 1000000h";
    calm_without_end: "calm: 3m" => "calm: 1000000h";
    strikes_without_end: "reset: {max: 5}" => "reset: {max: 4000000000}";
    wrong_unit: "storm: 120s" => "storm: 120sec";
    reversed_range: "200us..1ms" => "1ms..200us";
    half_a_range: "200us..1ms" => "200us..";
    range_without_unit: "100ms..30s" => "100..30s";
    factor_not_whole: "factor: 10..200" => "factor: 10..20.5";
    not_a_probability: "chance: 0.01" => "chance: 1.5";
    not_a_range_of_addresses: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.0";
    two_ranges_of_one_family: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.0/29,10.97.0.0/29";
    range_of_addresses_begins_before: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.3/29";
    range_of_addresses_too_large: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.0.0.0/8";
    not_a_range_of_ports: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.0/29\n  service-node-port-range: 30000";
    reversed_ports: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.0/29\n  service-node-port-range: 30003-30000";
    ports_without_addresses: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-node-port-range: 30000-30003";
    node_port_without_addresses: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  kubernetes-service-node-port: 30001";
    node_port_outside: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: 10.96.0.0/29\n  kubernetes-service-node-port: 443";
    additional_ports_of_v1_36: "[{release: v1.16}, {release: v1.20}, {release: v1.36}]" => "[{release: v1.36}]";
    addresses_of_two_families: "shutdown-delay: [0s, 5s]" => "shutdown-delay: 0s\n  service-cluster-ip-range: fd00:10::/120";
    nothing_for_services: "  etcd-clients: 3" => "  etcd-clients: 3\n  service-writers: 2";
    nobody_makes_services: "connect: {every: 2s}" => "services: {every: 2s}";
    service_property_without_ranges: "expect: stopped-address-is-removed" => "expect: cluster-ips-are-unique";
    nobody_is_elected: "[lease, master-count]" => "master-count\n  leader-elect-release-on-cancel: true";
    no_such_lock: "[lease, master-count]" => "master-count\n  leader-elect-resource-lock: secrets";
    leader_property_without_managers: "expect: stopped-address-is-removed" => "expect: somebody-leads";
    not_a_count: "  clients: 2" => "  clients: two";
    negative_count: "  clients: 2" => "  clients: -2";
    a_list_for_a_mapping: "  connect: {every: 2s}" => "  connect: [{every: 2s}]";
    a_mapping_for_a_duration: "storm: 120s" => "storm: {lasts: 120s}";
    a_word_for_a_list: "[stopped-address-is-removed, only-ready-are-listed]" => "all";
    a_number_for_text: "name: full" => "name: 12";
    nothing_to_choose_from: "[0s, 5s]" => "[]";
    no_properties: "[stopped-address-is-removed, only-ready-are-listed]" => "[]";
    lasts_missing: "pause: {max: 3, lasts: 100ms..30s}" => "pause: {max: 3}";
    lasts_too_much: "reset: {max: 5}" => "reset: {max: 5, lasts: 3s}";

    // What is read, but makes no sense.
    name_is_not_the_file_s: "name: full" => "name: fuller";
    name_not_kebab_case: "name: full" => "name: Full_Scenario";
    too_many_etcd_members: "etcd: 1" => "etcd: 10";
    no_etcd_members: "etcd: 1" => "etcd: 0";
    no_apiservers: "[{release: v1.16}, {release: v1.20}, {release: v1.36}]" => "0";
    too_many_apiservers: "[{release: v1.16}, {release: v1.20}, {release: v1.36}]" => "10";
    more_apiservers_than_memory: "[{release: v1.16}, {release: v1.20}, {release: v1.36}]" => "4294967295";
    count_without_master_count: "[lease, master-count]" => "lease";
    count_of_zero: "apiserver-count: 3" => "apiserver-count: [3, 0]";
    nobody_connects: "  clients: 2" => "  clients: 0";
    nobody_operates: "etcd-clients: 3" => "etcd-clients: 0";
    operate_all_the_time: "every: 150ms" => "every: 0s";
    unknown_etcd_release: "v3.5.21" => "v3.5.20";
    etcd_release_as_a_number: "v3.5.21" => "3.5";
    revokes_nothing: "pending-revokes: 16" => "pending-revokes: 0";
    channel_for_nothing: "watch-channel: 16" => "watch-channel: 0";
    connect_all_the_time: "every: 2s" => "every: 0s";
    connect_without_end: "every: 2s" => "every: 1ns";
    calm_too_short: "calm: 3m" => "calm: 10ms";
    plan_after_the_storm: "at: 2m" => "at: 121s";
    plan_for_nobody: "process: a1" => "process: a4";
    plan_for_nobody_in_a_group: "[a1, c1]" => "[a1, c3]";
    plan_without_a_target: "stop: {process: a1}" => "stop: {}";
    plan_with_another_target: "right: [etcd]" => "rihgt: [etcd]";
    plan_of_no_kind: "fault: {stop: {process: a1}}" => "fault: {stopp: {process: a1}}";
    plan_of_two_kinds: "fault: {stop: {process: a1}}" => "fault: {stop: {process: a1}, crash: {}}";
    misspelt_property: "[stopped-address-is-removed, only-ready-are-listed]" => "[stopped-adress-is-removed]";
    property_listed_twice: ", only-ready-are-listed]" => ", stopped-address-is-removed]";
    unexpected_expectation: "expect: stopped-address-is-removed" => "expect: endpoints-converge";
    clock_running_backwards: "ppm: 50000" => "ppm: 1000000";
    factor_of_nothing: "factor: 10..200" => "factor: 0..3";
}

#[test]
fn a_storm_of_no_time_has_no_faults() {
    let rest = FULL.split("  crash:").next().expect("there are crashes");
    let text = rest.replace("storm: 120s", "storm: 0s");
    let report = read(&text).expect_err("nothing can strike");
    snapshot("faults-without-a-storm", &report.to_string());
}

#[test]
fn no_lock_is_given_up_where_nobody_elects() {
    mistakes(
        "no-lock-is-given-up-where-nobody-elects",
        &[
            ("  clients: 2\n", "  clients: 2\n  controller-managers: 2\n"),
            (
                "[lease, master-count]",
                "master-count\n  leader-elect: false\n  leader-elect-release-on-cancel: true",
            ),
        ],
    );
}

#[test]
fn nobody_uses_etcd() {
    mistakes(
        "nobody-uses-etcd",
        &[
            (
                "[{release: v1.16}, {release: v1.20}, {release: v1.36}]",
                "[]",
            ),
            ("  etcd-clients: 3\n", ""),
            ("  etcd-operations: {every: 150ms}\n", ""),
        ],
    );
}

/// What needs the controller is not said to be wrong as well.
#[test]
fn a_controller_is_misspelt() {
    let bundled = include_str!("../../../volume-storm.yaml");
    let bundled = bundled.replace("name: volume-storm", "name: full");
    let text = bundled.replace(
        "    - persistentvolume-binder-",
        "    - persistentvolume-bindr-",
    );
    let report = read(&text).expect_err("nobody has heard of it");
    assert_eq!(report.mistakes().len(), 1, "{report}");
    snapshot("misspelt-controller", &report.to_string());
    let text = bundled.replace("    - persistentvolume-binder-controller\n", "");
    let report = read(&text).expect_err("its properties need it");
    assert!(
        report
            .to_string()
            .contains("about the controller that binds claims")
    );
}

#[test]
fn a_property_of_etcd_needs_its_clients() {
    mistakes(
        "etcd-property-without-clients",
        &[
            ("  etcd-clients: 3\n", ""),
            ("  etcd-operations: {every: 150ms}\n", ""),
            ("only-ready-are-listed]", "watch-reliable]"),
        ],
    );
}

#[test]
fn nothing_at_all() {
    let report = read("").expect_err("it is empty");
    snapshot("nothing-at-all", &report.to_string());
}

#[test]
fn all_that_cannot_be_read_is_reported_at_once() {
    mistakes(
        "many-unreadable",
        &[
            ("name: full\n", ""),
            ("release: v1.20\n", "release: v1.2\n"),
            ("shutdown-delay: [0s, 5s]", "shutdown-delay: [0, 5sec]"),
            ("  clients: 2", "  cleints: 2"),
            (
                "max: 4, lasts: 2s..60s, gone: 0.3",
                "max: -1, lasts: 60s..2s, gone: 3",
            ),
            ("at: 30s", "at: 30"),
        ],
    );
}

#[test]
fn all_that_makes_no_sense_is_reported_at_once() {
    mistakes(
        "many-senseless",
        &[
            ("name: full\n", "name: empty\n"),
            ("etcd: 1", "etcd: 10"),
            ("  clients: 2", "  clients: 0"),
            ("calm: 3m", "calm: 0s"),
            ("at: 30s", "at: 1h"),
            ("expect: stopped-address-is-removed", "expect: stopped"),
        ],
    );
}

/// A name that is not the file's is told beside what could not be read.
#[test]
fn a_name_hides_nothing_and_is_hidden_by_nothing() {
    let text = FULL.replace("name: full\n", "name: empty\n");
    let text = text.replace("  clients: 2", "  cleints: 2");
    let report = read(&text).expect_err("two mistakes");
    let messages: Vec<&str> = report.mistakes().iter().map(|m| &*m.message).collect();
    assert_eq!(
        messages,
        [
            "the name `empty` differs from the file's",
            "unknown key `cleints`"
        ]
    );
}

#[test]
fn columns_count_characters() {
    mistake(
        "wide-characters",
        "  clients: 2",
        "  \"clients\": \"zwölf\" # ünïcode 船",
    );
}

#[test]
fn colour_is_for_those_who_ask() {
    let report = read("name: x").expect_err("much is missing");
    assert!(!report.to_string().contains('\u{1b}'));
    assert!(report.coloured().contains('\u{1b}'));
}

#[test]
fn many_mistakes_end_somewhere() {
    let keys: String = (0..1000).map(|n| format!("k{n}: 1\n")).collect();
    let report = read(&keys).expect_err("no key is known");
    assert_eq!(report.mistakes().len(), 50);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = "[".repeat(100_000);
    assert!(read(&deep).is_err());
    assert!(read(&format!("plan: {}{}", "[".repeat(500), "]".repeat(500))).is_err());
}
