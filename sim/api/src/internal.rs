//! Specs as the server's internal types show them in messages: Go's own names of fields, all of them,
//! in the order of `kubernetes/pkg/apis/core/types.go`.

use crate::json::{Json, Map};
use crate::render;
use crate::schema::{self, Shape, Struct, Type};

/// The fields of the internal PodSpec; what stands elsewhere than in v1 is in `moved`.
const POD_SPEC: [&str; 36] = [
    "volumes",
    "initContainers",
    "containers",
    "ephemeralContainers",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "nodeSelector",
    "serviceAccountName",
    "automountServiceAccountToken",
    "nodeName",
    "securityContext",
    "imagePullSecrets",
    "hostname",
    "subdomain",
    "setHostnameAsFQDN",
    "affinity",
    "schedulerName",
    "tolerations",
    "hostAliases",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
    "dnsConfig",
    "readinessGates",
    "runtimeClassName",
    "overhead",
    "enableServiceLinks",
    "topologySpreadConstraints",
    "os",
    "schedulingGates",
    "resourceClaims",
    "resources",
    "hostnameOverride",
    "schedulingGroup",
];

/// Fields of the v1 PodSpec that the internal one keeps in its security context, before its own.
const MOVED: [&str; 5] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

/// The internal PodSecurityContext, after what has moved there.
const SECURITY_CONTEXT: [&str; 13] = [
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "seccompProfile",
    "appArmorProfile",
    "seLinuxChangePolicy",
];

/// A pod's spec as JSON with an indent of one space.
pub(crate) fn pod_spec(spec: &Json) -> String {
    let mut out = String::new();
    let Some(of) = schema::named("core.PodSpec").map(schema::of) else {
        return out;
    };
    let empty = Map::new();
    let map = spec.as_object().unwrap_or(&empty);
    let mut writer = Writer { out: &mut out };
    writer.fields(
        1,
        &POD_SPEC,
        |name| name,
        |writer, name| {
            if name == "securityContext" {
                return writer.security_context(map, of);
            }
            writer.field(2, map, of, name);
        },
    );
    out
}

/// A port of a Service on one line.
pub(crate) fn service_port(port: &Json) -> String {
    let fields = [
        "name",
        "protocol",
        "appProtocol",
        "port",
        "targetPort",
        "nodePort",
    ];
    let parts = fields.map(|name| {
        let zero = match name {
            "appProtocol" => Json::Null,
            "name" | "protocol" => "".into(),
            _ => 0.into(),
        };
        let value = port.get(name).unwrap_or(&zero);
        format!("\"{}\":{}", go_name(name), render::sorted(value))
    });
    format!("{{{}}}", parts.join(","))
}

/// A struct without structs inside, on one line; absent fields are null.
pub(crate) fn flat(json: &Json, id: schema::StructId) -> String {
    let fields = schema::of(id).fields.iter().map(|field| {
        let value = json.get(field.name).unwrap_or(&Json::Null);
        format!("\"{}\":{}", go_name(field.name), render::sorted(value))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

struct Writer<'a> {
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', depth));
    }

    fn fields<T: Copy>(
        &mut self,
        depth: usize,
        all: &[T],
        name: impl Fn(T) -> &'static str,
        mut each: impl FnMut(&mut Writer<'_>, T),
    ) {
        self.out.push('{');
        for (at, field) in all.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.line(depth);
            render::string(&go_name(name(*field)), self.out);
            self.out.push_str(": ");
            each(self, *field);
        }
        if !all.is_empty() {
            self.line(depth - 1);
        }
        self.out.push('}');
    }

    fn field(&mut self, depth: usize, map: &Map, of: &'static Struct, name: &str) {
        match of.field(name) {
            Some((_, field)) => self.value(depth, map.get(name), &field.ty),
            None => self.out.push_str("null"),
        }
    }

    fn security_context(&mut self, spec: &Map, of: &'static Struct) {
        let inner = spec.get("securityContext").and_then(Json::as_object);
        // A spec without one gets one when it is converted.
        let empty = Map::new();
        let inner = inner.unwrap_or(&empty);
        let Some(context) = schema::named("core.PodSecurityContext").map(schema::of) else {
            return;
        };
        let all: Vec<&'static str> = MOVED.iter().chain(&SECURITY_CONTEXT).copied().collect();
        self.fields(
            2,
            &all,
            |name| name,
            |writer, name| {
                if MOVED.contains(&name) {
                    writer.field(3, spec, of, name);
                } else {
                    writer.field(3, inner, context, name);
                }
            },
        );
    }

    fn value(&mut self, depth: usize, value: Option<&Json>, ty: &Type) {
        let value = value.filter(|value| !value.is_null());
        match (&ty.shape, value) {
            (Shape::Pointer(_), None) => self.out.push_str("null"),
            (Shape::Pointer(inner), value) => self.value(depth, value, inner),
            (Shape::Struct(id), value) => {
                let of = schema::of(*id);
                let empty = Map::new();
                let map = value.and_then(Json::as_object).unwrap_or(&empty);
                if ty.go.ends_with("v1.LabelSelector") {
                    // A type of the API machinery, with its JSON names.
                    self.tagged(depth, value);
                    return;
                }
                let names: Vec<&'static str> = of.fields.iter().map(|field| field.name).collect();
                self.fields(
                    depth,
                    &names,
                    |name| name,
                    |writer, name| writer.field(depth + 1, map, of, name),
                );
            }
            (Shape::List(inner), Some(Json::Array(items))) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.line(depth);
                    self.value(depth + 1, Some(item), inner);
                }
                if !items.is_empty() {
                    self.line(depth - 1);
                }
                self.out.push(']');
            }
            (Shape::Map(_), Some(value)) => self.tagged(depth, Some(value)),
            (_, Some(value)) => self.out.push_str(&render::sorted(value)),
            (_, None) => {
                let zero = crate::decode::typed::zero(ty, None);
                self.out.push_str(&render::sorted(&zero));
            }
        }
    }

    /// JSON as it is, indented.
    fn tagged(&mut self, depth: usize, value: Option<&Json>) {
        match value {
            Some(Json::Object(map)) => {
                self.out.push('{');
                for (at, (name, value)) in map.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.line(depth);
                    render::string(name, self.out);
                    self.out.push_str(": ");
                    self.tagged(depth + 1, Some(value));
                }
                if !map.is_empty() {
                    self.line(depth - 1);
                }
                self.out.push('}');
            }
            Some(Json::Array(items)) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.line(depth);
                    self.tagged(depth + 1, Some(item));
                }
                if !items.is_empty() {
                    self.line(depth - 1);
                }
                self.out.push(']');
            }
            value => self
                .out
                .push_str(&render::sorted(value.unwrap_or(&Json::Null))),
        }
    }
}

/// A field's name in Go: its JSON name with a capital, and abbreviations as Go writes them.
fn go_name(name: &str) -> String {
    const WHOLE: [(&str, &str); 10] = [
        ("storageos", "StorageOS"),
        ("cephfs", "CephFS"),
        ("iscsi", "ISCSI"),
        ("uid", "UID"),
        ("gid", "GID"),
        ("targetWWNs", "TargetWWNs"),
        ("pdID", "PdID"),
        ("wwids", "WWIDs"),
        ("pool", "RBDPool"),
        ("image", "Image"),
    ];
    const PREFIXES: [(&str, &str); 19] = [
        ("api", "API"),
        ("aws", "AWS"),
        ("csi", "CSI"),
        ("dns", "DNS"),
        ("fc", "FC"),
        ("fs", "FS"),
        ("gce", "GCE"),
        ("gmsa", "GMSA"),
        ("grpc", "GRPC"),
        ("http", "HTTP"),
        ("ip", "IP"),
        ("nfs", "NFS"),
        ("os", "OS"),
        ("pd", "PD"),
        ("rbd", "RBD"),
        ("seLinux", "SELinux"),
        ("ssl", "SSL"),
        ("tcp", "TCP"),
        ("tty", "TTY"),
    ];
    if let Some((_, go)) = WHOLE.iter().find(|(json, _)| *json == name) {
        return (*go).to_owned();
    }
    for (prefix, go) in PREFIXES {
        if let Some(rest) = name.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with(|char: char| char.is_ascii_uppercase()))
        {
            return format!("{go}{rest}");
        }
    }
    let mut chars = name.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_spec_is_shown_with_all_of_its_fields() {
        let spec = json!({"containers": [{"name": "c", "image": "i", "resources": {},
                          "env": [{"name": "A", "value": "1"}]}], "hostNetwork": true});
        let shown = pod_spec(&spec);
        let begin = "{\n \"Volumes\": null,\n \"InitContainers\": null,\n \"Containers\": [\n  {\n   \
                     \"Name\": \"c\",\n   \"Image\": \"i\",\n   \"Command\": null,";
        assert!(shown.starts_with(begin), "{shown}");
        let line = |text: &str| {
            shown
                .lines()
                .position(|line| line.trim_start().starts_with(text))
        };
        assert_eq!(line("\"Env\": ["), Some(12));
        assert!(shown.contains("\n   \"TTY\": false\n  }\n ],\n \"EphemeralContainers\": null,"));
        assert!(shown.contains(" \"SecurityContext\": {\n  \"HostNetwork\": true,\n"));
        assert_eq!(go_name("dnsPolicy"), "DNSPolicy");
        assert_eq!(go_name("ipcLock"), "IpcLock");
    }

    #[test]
    fn a_port_is_shown_on_one_line() {
        assert_eq!(
            service_port(&json!({"port": 80, "protocol": "TCP"})),
            "{\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\
             \"NodePort\":0}"
        );
    }
}
