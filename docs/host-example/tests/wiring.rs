//! What the operator asks for is what `rbac.yaml` grants.

mod cluster;

use shop_operator::correct;
use wavetank_host::wiring::{check, complaints};

const RBAC: &str = include_str!("../rbac.yaml");
const SEEDS: std::ops::Range<u64> = 0..4;

fn complained(rbac: &str) -> Vec<String> {
    let case = cluster::command(correct::run).fixed("tests/shops.yaml");
    let seeds = SEEDS.into();
    complaints(case.as_ref(), "shop-operators", seeds, rbac).expect("it can be read")
}

#[test]
fn it_has_the_permissions_that_it_needs_and_no_others() {
    let case = cluster::command(correct::run).fixed("tests/shops.yaml");
    check(case.as_ref(), "shop-operators", SEEDS, RBAC);
}

#[test]
fn what_it_lacks_and_what_it_never_uses_is_told() {
    let rbac = RBAC.replace("[shops/status]", "[shops/scale]");
    let rbac = rbac.replace("[get, create, update]", "[get, create, update, delete]");
    let told = complained(&rbac);
    let starts = [
        "it needs `patch` of `shops/status` in the group `example.com` in the namespace `default`, and no rule allows that: \
         PATCH /apis/example.com/v1/namespaces/default/shops/",
        "Role shop-operator grants `patch` of `shops/scale` in the group `example.com`, and it was never used",
        "Role shop-operator grants `delete` of `leases` in the group `coordination.k8s.io`, and it was never used",
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}");
    }
}

#[test]
fn a_role_of_another_namespace_grants_nothing() {
    let rbac = RBAC.replace("namespace: default", "namespace: other");
    let told = complained(&rbac);
    let needed = "it needs `create` of `configmaps` in the namespace `default`";
    assert!(
        told.iter().any(|told| told.starts_with(needed)),
        "{told:#?}"
    );
}
