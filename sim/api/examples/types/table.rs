//! The table of types: which are wanted, where they are declared, and how they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::ErrorKind::NotFound;
use std::path::PathBuf;

use crate::go::{self, Field, File, Struct};
use crate::since::Since;

/// Where the sources lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sources {
    pub(crate) release: String,
    pub(crate) api: PathBuf,
    pub(crate) apimachinery: PathBuf,
    pub(crate) aggregator: PathBuf,
}

/// The kinds that are served, and what their requests hold.
const ROOTS: [&str; 75] = [
    "admissionregistration.MutatingAdmissionPolicy",
    "admissionregistration.MutatingAdmissionPolicyBinding",
    "admissionregistration.MutatingWebhookConfiguration",
    "admissionregistration.ValidatingAdmissionPolicy",
    "admissionregistration.ValidatingAdmissionPolicyBinding",
    "admissionregistration.ValidatingWebhookConfiguration",
    "apiregistration.APIService",
    "apps.ControllerRevision",
    "apps.DaemonSet",
    "apps.Deployment",
    "apps.ReplicaSet",
    "apps.StatefulSet",
    "authentication.SelfSubjectReview",
    "authentication.TokenReview",
    "authorization.LocalSubjectAccessReview",
    "authorization.SelfSubjectAccessReview",
    "authorization.SelfSubjectRulesReview",
    "authorization.SubjectAccessReview",
    "autoscaling.HorizontalPodAutoscaler",
    "autoscaling.HorizontalPodAutoscalerCondition",
    "autoscaling.MetricSpec",
    "autoscaling.MetricStatus",
    "autoscaling.Scale",
    "autoscalingv2.HorizontalPodAutoscaler",
    "batch.CronJob",
    "batch.Job",
    "certificates.CertificateSigningRequest",
    "coordination.Lease",
    "core.Binding",
    "core.ConfigMap",
    "core.Endpoints",
    "core.Event",
    "core.LimitRange",
    "core.Namespace",
    "core.Node",
    "core.PersistentVolume",
    "core.PersistentVolumeClaim",
    "core.Pod",
    "core.PodTemplate",
    "core.ReplicationController",
    "core.ResourceQuota",
    "core.Secret",
    "core.Service",
    "core.ServiceAccount",
    "discovery.EndpointSlice",
    "events.Event",
    "flowcontrol.FlowSchema",
    "flowcontrol.PriorityLevelConfiguration",
    "meta.APIResourceList",
    "meta.DeleteOptions",
    "meta.ListMeta",
    "meta.Status",
    "networking.IPAddress",
    "networking.Ingress",
    "networking.IngressClass",
    "networking.NetworkPolicy",
    "networking.ServiceCIDR",
    "node.RuntimeClass",
    "policy.Eviction",
    "policy.PodDisruptionBudget",
    "rbac.ClusterRole",
    "rbac.ClusterRoleBinding",
    "rbac.Role",
    "rbac.RoleBinding",
    "resource.DeviceClass",
    "resource.ResourceClaim",
    "resource.ResourceClaimTemplate",
    "resource.ResourceSlice",
    "scheduling.PriorityClass",
    "storage.CSIDriver",
    "storage.CSINode",
    "storage.CSIStorageCapacity",
    "storage.StorageClass",
    "storage.VolumeAttachment",
    "storage.VolumeAttributesClass",
];

/// Types that write and read themselves.
const OPAQUE: [&str; 7] = [
    "intstr.IntOrString",
    "meta.FieldsV1",
    "meta.MicroTime",
    "meta.Time",
    "resource.Quantity",
    "runtime.RawExtension",
    "types.UID",
];

const LEGEND: &str = "\
# `name = type`: another name of a type; `enum` are the values that it may have, where no others are meant. A name alone,
# then its fields in the order of the struct: `json-name type`.
# After a name: `?` omitempty, `!` omitzero. `&`: embedded.
# After a type: `patch` and `key` are patchStrategy and patchMergeKey; `list` is listType, of a map with its keys;
# `map` is mapType or structType, of a field or of the whole struct; `default` is what is meant if the field is absent.
# `pb` is the number of a field in protobuf, and of what is embedded: its fields lie in a message of their own there.
# A field without `?` has to be there, unless it is `optional`; one with it need not, unless it is `required`.
# A scalar that is always written has its zero value for a default.
# `since` is the release that brought a field, of those from v1.16 on that have its struct.
";

/// The files of the packages that were asked for, by the package; `None` for one that the release does not have.
pub(crate) struct Packages<'a> {
    sources: &'a Sources,
    files: BTreeMap<String, Option<File>>,
    /// What was read: file and fingerprint.
    made_from: BTreeSet<(String, u64)>,
}

impl<'a> Packages<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Packages<'a> {
        Packages {
            sources,
            files: BTreeMap::new(),
            made_from: BTreeSet::new(),
        }
    }

    /// The file of a package; `None` if the release does not have it.
    ///
    /// # Errors
    /// What cannot be read, with file and line.
    pub(crate) fn file(&mut self, package: &str) -> Result<Option<&File>, String> {
        if !self.files.contains_key(package) {
            let sources = self.sources;
            let (module, folder, file) = match package {
                "meta" => (
                    "k8s.io/apimachinery",
                    &sources.apimachinery,
                    "pkg/apis/meta/v1/types.go".to_owned(),
                ),
                "apiregistration" => (
                    "k8s.io/kube-aggregator",
                    &sources.aggregator,
                    "pkg/apis/apiregistration/v1/types.go".to_owned(),
                ),
                other => {
                    let of_v2 = other.strip_suffix("v2");
                    let file = of_v2.map(|group| format!("{group}/v2/types.go"));
                    let file = file.unwrap_or_else(|| format!("{other}/v1/types.go"));
                    ("k8s.io/api", &sources.api, file)
                }
            };
            let path = folder.join(&file);
            let shown = path.display();
            let text = match std::fs::read_to_string(&path) {
                // Every release has these: the folder is another one.
                Err(error) if error.kind() == NotFound && !EVERYWHERE.contains(&package) => {
                    self.files.insert(package.to_owned(), None);
                    return Ok(None);
                }
                text => text.map_err(|error| format!("{shown}: {error}"))?,
            };
            let read = go::read(&text, package);
            let read = read.map_err(|(line, why)| format!("{shown}:{line}: {why}"))?;
            self.made_from
                .insert((format!("{module}/{file}"), fingerprint(&text)));
            self.files.insert(package.to_owned(), Some(read));
        }
        Ok(self.files[package].as_ref())
    }
}

/// Packages that no release is without.
const EVERYWHERE: [&str; 3] = ["apps", "core", "meta"];

/// FNV-1a
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The table.
///
/// # Errors
/// What cannot be read, with file and line, or a type that is declared nowhere.
pub(crate) fn write(sources: &Sources, older: &[Sources]) -> Result<String, String> {
    let mut packages = Packages::new(sources);
    let mut since = Since::new(&sources.release, older);
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let mut structs: BTreeMap<String, String> = BTreeMap::new();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = ROOTS.map(str::to_owned).to_vec();
    while let Some(wanted) = open.pop() {
        if named.contains_key(&wanted) || structs.contains_key(&wanted) {
            continue;
        }
        let (package, name) = wanted.split_once('.').expect("a type has a package");
        let Some(file) = packages.file(package)? else {
            missing.insert(wanted);
            continue;
        };
        if let Some(is) = file.named.get(name) {
            open.extend(names_in(is));
            let values: Vec<&str> = file.values_of(name).collect();
            if values.iter().any(|value| value.contains(',')) {
                return Err(format!("{wanted}: a value has a comma in it"));
            }
            let is = match values.as_slice() {
                [] => is.clone(),
                values => format!("{is} enum={}", values.join(",")),
            };
            named.insert(wanted, is);
        } else if let Some(of) = file.structs.get(name) {
            open.extend(of.fields.iter().flat_map(|field| names_in(&field.ty)));
            let mut since = |field: &str| since.of(&wanted, field).map(|of| of.map(str::to_owned));
            let text = structure(of, file, &mut since).map_err(|why| format!("{wanted}: {why}"))?;
            structs.insert(wanted, text);
        } else if ROOTS.contains(&&*wanted) {
            missing.insert(wanted);
        } else {
            return Err(format!(
                "{wanted}: it is not declared in types.go of its package"
            ));
        }
    }
    let mut out = format!(
        "# The Go types of Kubernetes {} behind the kinds that are served, as far as JSON and\n",
        sources.release
    );
    out += "# server-side apply see them. Generated by `cargo run -p wavetank-api --example types --`, not written by hand, of:\n";
    for (file, fingerprint) in &packages.made_from {
        let _ = writeln!(out, "#   {file} {fingerprint:016x}");
    }
    if !missing.is_empty() {
        let missing: Vec<String> = missing.into_iter().collect();
        let _ = writeln!(out, "# The release does not have: {}.", missing.join(", "));
    }
    out += LEGEND;
    out.push('\n');
    for (name, is) in &named {
        let _ = writeln!(out, "{name} = {is}");
    }
    for (name, text) in &structs {
        let _ = write!(out, "\n{name}{text}");
    }
    Ok(out)
}

/// The types with a package that are named in a type, and that the table has to hold.
fn names_in(ty: &str) -> Vec<String> {
    let is_name = |name: &&str| name.contains('.') && !OPAQUE.contains(name);
    let parts = ty.split(['*', '[', ']']).filter(is_name);
    parts.map(str::to_owned).collect()
}

/// Which release brought a field, by its name.
type SinceOf<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, String>;

/// What stands after the name of a struct: how it is merged, and its fields.
fn structure(of: &Struct, file: &File, since: SinceOf<'_>) -> Result<String, String> {
    let mut out = String::new();
    if let Some(kind) = of.markers.get("structType") {
        let _ = write!(out, " map={kind}");
    }
    out.push('\n');
    for field in &of.fields {
        let number = field.number.map(|number| format!(" pb={number}"));
        let number = number.unwrap_or_default();
        let Some(name) = &field.name else {
            let _ = writeln!(out, "  & {}{number}", field.ty);
            continue;
        };
        if name == "-" {
            continue;
        }
        const UNFIT: [&str; 6] = ["interface{}", "error", "float", "uint", "int16", "func"];
        if UNFIT.iter().any(|unfit| field.ty.contains(unfit)) {
            return Err(format!("the table has no form for {name}, a {}", field.ty));
        }
        let empty = if field.omit_empty { "?" } else { "" };
        let zero = if field.omit_zero { "!" } else { "" };
        let _ = write!(out, "  {name}{empty}{zero} {}{number}", field.ty);
        out += &merging(field, file)?;
        out += presence(field)?;
        if let Some(release) = since(name)? {
            let _ = write!(out, " since={release}");
        }
        out.push('\n');
    }
    Ok(out)
}

/// How a field is merged, and what it is if it is absent.
fn merging(field: &Field, file: &File) -> Result<String, String> {
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(out, " {name}={value}");
        }
    };
    say("patch", &field.patch_strategy);
    say("key", &field.patch_merge_key);
    let keys: Vec<&str> = field.markers.all("listMapKey").collect();
    match field.markers.get("listType") {
        Some("map") if keys.is_empty() => {
            return Err("a list of type map without listMapKey".to_owned());
        }
        Some("map") => say("list", &format!("map:{}", keys.join(","))),
        Some(kind @ ("set" | "atomic")) => say("list", kind),
        Some(other) => return Err(format!("{other} is no listType: wants map, set or atomic")),
        None => {}
    }
    let map = field
        .markers
        .get("mapType")
        .or(field.markers.get("structType"));
    match map {
        Some(kind @ ("granular" | "atomic")) => say("map", kind),
        Some(other) => return Err(format!("{other} is no mapType: wants granular or atomic")),
        None => {}
    }
    if let Some(default) = field.markers.get("default") {
        let default = file.default_of(default)?;
        if default.contains(' ') {
            return Err(format!("the default {default} has a blank in it"));
        }
        say("default", &default);
    }
    Ok(out)
}

/// Has a field to be there? Said where its tag says something else (`isOptional` of `kube-openapi/pkg/generators`).
fn presence(field: &Field) -> Result<&'static str, String> {
    let has = |name| field.markers.get(name).is_some();
    Ok(match (has("optional"), has("required")) {
        (true, true) => return Err("a field is both optional and required".to_owned()),
        (true, false) if !field.omit_empty => " optional",
        (false, true) if field.omit_empty => " required",
        _ => "",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fields: &str) -> Result<String, String> {
        let text = format!("// +structType=atomic\ntype A struct {{\n{fields}\n}}\n");
        let file = go::read(&text, "core").map_err(|(line, why)| format!("{line}: {why}"))?;
        structure(&file.structs["A"], &file, &mut |field| {
            Ok((field == "name").then(|| "1.20".to_owned()))
        })
    }

    #[test]
    fn a_struct_is_written_with_what_merging_needs() {
        let fields = "
// +listType=map
// +listMapKey=port
// +listMapKey=protocol
Ports []B `json:\"ports,omitempty\" patchStrategy:\"merge\" patchMergeKey:\"port\"`
// +mapType=atomic
Selector map[string]string `json:\"selector\"`
// +default=\"TCP\"
// +required
Protocol string `json:\"protocol,omitempty\"`
// +optional
Name string `json:\"name\"`
// +required
Port string `json:\"port\" protobuf:\"bytes,2,opt,name=port\"`
Hidden string `json:\"-\"`
B `json:\",inline\" protobuf:\"bytes,4,opt,name=b\"`";
        let table = " map=atomic
  ports? []core.B patch=merge key=port list=map:port,protocol
  selector map[string]string map=atomic
  protocol? string default=\"TCP\" required
  name string optional since=1.20
  port string pb=2
  & core.B pb=4
";
        assert_eq!(written(fields).as_deref(), Ok(table));
    }

    #[test]
    fn a_marker_that_means_nothing_is_refused() {
        for (marker, why) in [
            ("listType=map", "without listMapKey"),
            ("listType=bag", "wants map, set or atomic"),
            ("mapType=bag", "wants granular or atomic"),
            ("default=\"a b\"", "a blank"),
            ("optional\n// +required", "both optional and required"),
        ] {
            let wrong = written(&format!("// +{marker}\nA []string `json:\"a\"`"));
            let wrong = wrong.expect_err("it means nothing");
            assert!(wrong.contains(why), "{wrong}");
        }
    }

    #[test]
    fn types_inside_types_are_wanted() {
        assert_eq!(names_in("map[core.A][]*core.B"), ["core.A", "core.B"]);
        assert!(names_in("[]byte").is_empty() && names_in("*meta.Time").is_empty());
    }
}
