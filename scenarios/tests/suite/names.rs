//! A function whose comment opens with an upstream name bears it, in Rust's spelling: who knows upstream finds it.

use std::fs;
use std::path::Path;

use crate::support::{root, sources};

#[path = "../../build/declared.rs"]
mod declared;

/// Functions that bear another name, and why: the end of the file's path, and the function.
const EXCEPTIONS: [(&str, &[(&str, &str)]); 6] = [
    (
        "a method of an upstream type that has many of that name, here a function among others, or the other way round",
        &[
            ("api/src/kinds.rs", "qualified"),
            ("kinds/deployments.rs", "in_words"),
            ("kinds/pods.rs", "default_priority"),
            ("kinds/pods.rs", "keep_priority"),
            ("kinds/pods.rs", "default_tolerations"),
            ("patch/strategic.rs", "go_type"),
            ("patch/strategic.rs", "kind"),
            ("endpoints/subresource.rs", "bind"),
            ("fieldpath/set.rs", "of"),
            ("fieldpath/serialize.rs", "serialize"),
            ("fieldpath/serialize.rs", "deserialize"),
            ("managedfields/managed.rs", "build"),
            ("managedfields/field_manager.rs", "of"),
            ("endpoints/eviction.rs", "evict"),
            ("kube_apiserver/bootstrap.rs", "post_start"),
            ("kube_apiserver/bootstrap.rs", "pre_shutdown"),
        ],
    ),
    (
        "one constructor or type of upstream, used here in several fixed ways",
        &[
            ("api/src/patch.rs", "unprocessable"),
            ("api/src/status.rs", "method_not_allowed"),
            ("api/src/status.rs", "no_such_path"),
            ("endpoints/subresource.rs", "created"),
            ("cacher/state.rs", "internal"),
            ("api/src/times.rs", "seconds"),
            ("api/src/times.rs", "micros"),
            ("client/src/wait.rs", "period"),
            ("client/src/wait.rs", "jittered"),
        ],
    ),
    (
        "a part of the upstream function, or two of them in one",
        &[
            ("kinds/service_gate.rs", "default"),
            ("kinds/service_gate.rs", "init"),
            ("kinds/service_rules.rs", "cluster_ips_errors"),
            ("api/src/strategy.rs", "warnings"),
            ("cacher/state.rs", "oldest"),
            ("cacher/progress.rs", "asks_for_progress"),
            ("apiserver/src/registry.rs", "decorate"),
            ("allocators/addresses.rs", "take_from"),
            ("allocators/bitmap.rs", "taken"),
            ("reflector/list.rs", "all_pages"),
            ("mvcc/check.rs", "by"),
        ],
    ),
    (
        "the word of the world of processes: one boots, is asked to stop, and closes what it listens on",
        &[
            ("apiserver/src/server.rs", "boot"),
            ("apiserver/src/server/shutdown.rs", "shutdown"),
            ("apiserver/src/server/shutdown.rs", "close_listener"),
            ("client/src/leader_election.rs", "request_limit"),
        ],
    ),
    (
        "upstream's function of a library, which says nothing of what it is for",
        &[
            ("decode/base64.rs", "encode"),
            ("decode/base64.rs", "decode"),
            ("api/src/options.rs", "bool"),
            ("api/src/options.rs", "int"),
        ],
    ),
    (
        "Rust's trait gives the name, or the word is none of upstream's",
        &[
            ("src/seeds.rs", "from_str"),
            ("src/validation.rs", "fmt"),
            ("src/validation.rs", "body"),
            ("fieldpath/element.rs", "path_string"),
            ("fieldpath/set.rs", "is_empty"),
            ("fieldpath/set.rs", "paths"),
            ("fieldpath/serialize.rs", "to_json"),
            ("fieldpath/serialize.rs", "to_text"),
            ("managedfields/manager.rs", "because"),
            ("managedfields/manager.rs", "new_object"),
            ("managedfields/manager.rs", "gvk"),
        ],
    ),
];

/// An upstream name in Rust's spelling: `alloc.allocateNextService` is `allocate_next_service`.
fn in_rust(upstream: &str) -> String {
    let own = upstream.rsplit('.').next().unwrap_or_default();
    let plurals = own.replace('_', "").replace("CIDRs", "Cidrs");
    let plurals = plurals.replace("IPs", "Ips").replace("QOS", "Qos");
    let letters: Vec<char> = plurals.chars().collect();
    let mut spelled = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let begins_word = before.is_some_and(|before| {
            let ends_acronym = after.is_some_and(|after| after.is_lowercase());
            before.is_lowercase() || before.is_ascii_digit() || ends_acronym
        });
        if letter.is_uppercase() && begins_word {
            spelled.push('_');
        }
        spelled.extend(letter.to_lowercase());
    }
    spelled
}

/// Functions whose comment opens with an upstream name: that name in Rust's spelling, and their own.
fn functions(text: &str) -> Vec<(String, &str)> {
    let all = declared::functions(text).into_iter();
    all.filter_map(|(_, name, upstream)| Some((in_rust(upstream?), name)))
        .collect()
}

/// Properties speak to people: no message of one shows a value as Rust writes it (`Some(41)`, `None`).
#[test]
fn properties_say_what_they_found_in_words() {
    let mut looked = 0;
    let mut all = Vec::new();
    sources(&root().join("sim"), &mut all);
    for path in all {
        let text = path.to_str().expect("UTF-8").replace('\\', "/");
        let is_property = ["properties", "/monitors"]
            .iter()
            .any(|part| text.contains(part));
        if !is_property || text.ends_with("/testing.rs") {
            continue;
        }
        looked += 1;
        let source = fs::read_to_string(&path).expect("a source");
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let in_code = |line: &&str| line.contains(":?}") && !line.trim_start().starts_with("//");
        let debugged: Vec<&str> = code.lines().filter(in_code).collect();
        assert!(debugged.is_empty(), "{text}: {debugged:#?}");
    }
    assert!(looked > 40, "{looked}");
}

#[test]
fn functions_bear_their_upstream_names() {
    let root = root();
    let mut files = Vec::new();
    for folder in ["sim", "models", "scenarios"] {
        sources(&root.join(folder), &mut files);
    }
    let exceptions = || {
        EXCEPTIONS
            .iter()
            .flat_map(|(_, functions)| functions.iter())
    };
    let excepted = |path: &Path, name: &str| {
        let mut all = exceptions();
        all.any(|(file, function)| path.ends_with_text(file) && *function == name)
    };
    let mut used = 0;
    let mut total = 0;
    let mut wrong = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("it is text");
        for (upstream, name) in functions(&text) {
            total += 1;
            if name == upstream {
                continue;
            }
            match excepted(path, name) {
                true => used += 1,
                false => wrong.push(format!("{}: {name} should be {upstream}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(total > 300, "only {total} were found");
    assert_eq!(used, exceptions().count(), "an exception that is none");
}

/// The end of a path, which need not begin at a folder's name.
trait EndsWithText {
    fn ends_with_text(&self, end: &str) -> bool;
}

impl EndsWithText for Path {
    fn ends_with_text(&self, end: &str) -> bool {
        self.to_str().is_some_and(|path| path.ends_with(end))
    }
}

#[test]
fn a_function_of_another_name_would_be_noticed() {
    let text = "/// `allocateNextService`: from a random address on.\n#[must_use]\npub(super) async fn take_any() {}\n\
                /// Takes one.\nfn take() {}\n/// `Handler`\nstruct Handler;\n";
    assert_eq!(
        functions(text),
        [("allocate_next_service".to_owned(), "take_any")]
    );
    for (upstream, spelled) in [
        ("netutils.ParseIPSloppy", "parse_ip_sloppy"),
        ("allocClusterIPs", "alloc_cluster_ips"),
        ("SetDefaults_Service", "set_defaults_service"),
        ("IsDNS1123Label", "is_dns1123_label"),
    ] {
        assert_eq!(in_rust(upstream), spelled);
    }
}
