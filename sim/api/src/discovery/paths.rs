//! The checks that the health checks of a kube-apiserver are made of, and the paths that `/` lists beside groups and
//! versions (`PathRecorderMux.ListedPaths`; `healthz.InstallPathHandler` has a path for each check).

/// The PostStart hooks of a server with the flags that are simulated: one is ready once they have ended
/// (`AddPostStartHook` in `controlplane/instance.go`, `controlplane/apiserver/server.go`, `apiserver/pkg/server/config.go`,
/// `kube-aggregator/pkg/apiserver/apiserver.go`, `apiextensions-apiserver/pkg/apiserver/apiserver.go`).
const POST_START_HOOKS: [&str; 25] = [
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
    "apiservice-registration-controller",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-wait-for-first-sync",
    "bootstrap-controller",
    "crd-informer-synced",
    "generic-apiserver-start-informers",
    "kube-apiserver-autoregistration",
    "max-in-flight-filter",
    "priority-and-fairness-config-producer",
    "scheduling/bootstrap-system-priority-classes",
    "start-apiextensions-controllers",
    "start-apiextensions-informers",
    "start-apiserver-admission-initializer",
    "start-cluster-authentication-info-controller",
    "start-kube-aggregator-informers",
    "start-kubernetes-service-cidr-controller",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "start-system-namespaces-controller",
    "storage-object-count-tracker-hook",
    "storage-readiness",
];

/// What else a server listens at (`routes` of `apiserver/pkg/server` and `pkg/routes`).
const OTHERS: [&str; 14] = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/flagz",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/statusz",
    "/version",
];

/// The paths of the health checks.
pub const HEALTH_CHECKS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// The checks behind the health check at this path, by name; `overrides`: Events are in an etcd of their own.
pub fn checks_of(health_check: &str, overrides: bool) -> Vec<String> {
    let mut own = vec!["ping", "log", "etcd", "autoregister-completion"];
    let is_ready_check = health_check == "/readyz";
    own.extend(match is_ready_check {
        true => ["etcd-readiness", "informer-sync", "shutdown"].as_slice(),
        false => &["loopback-serving-certificate"],
    });
    if overrides {
        own.push("etcd-override-0");
    }
    if overrides && is_ready_check {
        own.push("etcd-override-readiness-0");
    }
    let hooks = POST_START_HOOKS.into_iter();
    let hooks = hooks.map(|hook| format!("poststarthook/{hook}"));
    own.into_iter().map(str::to_owned).chain(hooks).collect()
}

/// Upstream's `ListedPaths`, without groups and versions.
pub fn listed_paths(overrides: bool) -> Vec<String> {
    let mut paths: Vec<String> = OTHERS.map(str::to_owned).to_vec();
    for health_check in HEALTH_CHECKS {
        paths.push(health_check.to_owned());
        let checks = checks_of(health_check, overrides);
        paths.extend(checks.iter().map(|check| format!("{health_check}/{check}")));
    }
    paths
}
