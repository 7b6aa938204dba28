//! What controllers do when all is well, as a reader sees it: a plan is played, and what is stored and what controllers say
//! of it is told.

use wavetank::kube::Kube;
use wavetank::replay::follow;
use wavetank::testing::trace_of;
use wavetank::trace_file;
use wavetank_engine::drive::replay::Fit;
use wavetank_version::Composition;

use crate::support::root;

/// What is left out of a story of controllers: how they elect a leader, how caches are filled, and what they only look at.
const LEFT_OUT: [&str; 6] = [
    "informer",
    "/registry/leases/",
    "is told to",
    "its cache of",
    "counts ",
    " fault  ",
];

/// The story of this plan from 10 s on is that of its snapshot.
fn is_told(name: &str, scenario: &str) {
    let scenario = Kube::default().read(&format!("{name}.yaml"), scenario);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default().job(scenario, None, composition);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let trace = trace_file::parse(&trace_of(&case, 0)).expect("it was just written");
    let followed = follow(&case, &trace, Fit::ByName, None, &mut |_, _, _| {});
    let followed = followed.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(followed.violation, None);
    let mut story = followed.whole_story();
    story.retain(|line| !LEFT_OUT.iter().any(|what| line.contains(what)));
    let begins = story.iter().position(|line| line.starts_with("   10."));
    story.drain(..begins.expect("something happens then"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/stories"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, story.join("\n")));
}

#[test]
fn a_service_comes_scales_and_goes() {
    is_told("slices-of-a-service", SLICES);
}

#[test]
fn a_deployment_behind_a_service_comes_up_rolls_scales_and_goes() {
    is_told("deployment-behind-a-service", DEPLOYMENT);
}

#[test]
fn an_ordered_set_comes_up_and_is_rolled_out() {
    is_told("ordered-roll-out", ORDERED);
}

#[test]
fn a_quota_is_counted_charged_and_freed() {
    is_told("quota-is-kept", QUOTA);
}

const QUOTA: &str = "
name: quota-is-kept
about: A quota is made beside a ConfigMap, another one is charged to it, a third is refused, until one goes.
release: v1.36
topology: {etcd: 1, apiservers: 1, controller-managers: 1, quota-users: 1, watch-cache: true}
options:
  endpoint-reconciler-type: none
  controllers: [resourcequota-controller]
  enable-admission-plugins: [ResourceQuota]
  concurrent-resource-quota-syncs: 1
storm: 200s
calm: 1s
plan:
  - {at: 10s, tell: {process: qu1, what: use, with: {what: create, kind: config-map, name: c0}}}
  - {at: 12s, tell: {process: qu1, what: use, with: {what: limit, quota: all, allows: 2}}}
  - {at: 14s, tell: {process: qu1, what: use, with: {what: create, kind: config-map, name: c1}}}
  - {at: 16s, tell: {process: qu1, what: use, with: {what: create, kind: config-map, name: c2}}}
  - {at: 18s, tell: {process: qu1, what: use, with: {what: create, kind: burstable, name: p0}}}
  - {at: 20s, tell: {process: qu1, what: use, with: {what: delete, kind: config-map, name: c0}}}
  - {at: 22s, tell: {process: qu1, what: use, with: {what: end, name: p0}}}
  - {at: 150s, tell: {process: qu1, what: use, with: {what: create, kind: config-map, name: c2}}}
";

const SLICES: &str = "
name: slices-of-a-service
about: A Service comes, its pods become ready, there are more of them than a slice takes, and all goes.
release: v1.36
topology: {etcd: 1, apiservers: 1, controller-managers: 1, service-users: 1, nodes: 1, watch-cache: true}
options:
  endpoint-reconciler-type: none
  service-cluster-ip-range: 10.96.0.0/24
  controllers: [endpointslice-controller, garbage-collector-controller]
  concurrent-service-endpoint-syncs: 1
  max-endpoints-per-slice: 2
storm: 60s
calm: 1s
plan:
  - {at: 10s, tell: {process: q1, what: use, with: {what: create, service: web0, kind: ''}}}
  - {at: 15s, tell: {process: q1, what: use, with: {what: create-pod, service: web0, pod: pod0}}}
  - {at: 20s, tell: {process: q1, what: use, with: {what: ready, pod: pod0}}}
  - {at: 25s, tell: {process: q1, what: use, with: {what: create-pod, service: web0, pod: pod1}}}
  - {at: 26s, tell: {process: q1, what: use, with: {what: create-pod, service: web0, pod: pod2}}}
  - {at: 30s, tell: {process: q1, what: use, with: {what: ready, pod: pod1}}}
  - {at: 31s, tell: {process: q1, what: use, with: {what: ready, pod: pod2}}}
  - {at: 40s, tell: {process: q1, what: use, with: {what: delete-pod, pod: pod0}}}
  - {at: 41s, tell: {process: q1, what: use, with: {what: end-pod, pod: pod1}}}
  - {at: 50s, tell: {process: q1, what: use, with: {what: delete, service: web0}}}
";

const ORDERED: &str = "
name: ordered-roll-out
about: An ordered StatefulSet of three comes up, one pod after another, and is rolled out from the last to the first.
release: v1.36
topology: {etcd: 1, apiservers: 1, controller-managers: 1, stateful-set-users: 1, pod-runners: 1, watch-cache: true}
options: {endpoint-reconciler-type: none, controllers: [statefulset-controller], concurrent-statefulset-syncs: 1}
workload:
  run-pods: {every: 1s}
storm: 60s
calm: 1s
plan:
  - {at: 10s, tell: {process: y1, what: use, with: {what: create, set: db, replicas: 3}}}
  - {at: 30s, tell: {process: y1, what: use, with: {what: roll-out, set: db, image: 'image:2'}}}
";

/// Three servers, two managers and five nodes, each with a kubelet.
const DEPLOYMENT: &str = "
name: deployment-behind-a-service
about: A Deployment of three replicas behind a Service comes up on five nodes, is rolled out, is scaled up and down, and goes.
release: v1.36
topology:
  etcd: 1
  apiservers: 3
  controller-managers: 2
  kubelets: 5
  binders: 1
  deployment-users: 1
  service-users: 1
  watch-cache: true
options:
  endpoint-reconciler-type: none
  service-cluster-ip-range: 10.96.0.0/24
  controllers:
    - deployment-controller
    - replicaset-controller
    - endpointslice-controller
    - garbage-collector-controller
workload:
  bind-pods: {every: 500ms}
storm: 100s
calm: 1s
plan:
  - {at: 10s, tell: {process: q1, what: use, with: {what: create, service: web0, kind: ''}}}
  - {at: 12s, tell: {process: v1, what: use, with: {what: create, deployment: web0, replicas: 3, strategy: RollingUpdate, image: 'image:1'}}}
  - {at: 30s, tell: {process: v1, what: use, with: {what: roll-out, deployment: web0, image: 'image:2'}}}
  - {at: 55s, tell: {process: v1, what: use, with: {what: scale, deployment: web0, replicas: 5}}}
  - {at: 70s, tell: {process: v1, what: use, with: {what: scale, deployment: web0, replicas: 2}}}
  - {at: 85s, tell: {process: v1, what: use, with: {what: delete, deployment: web0}}}
";
