//! What the operator asks for is what `rbac.yaml` grants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use shop_operator::{Error, Shop, correct};
use wavetank_host::wiring::{check, complaints};

use crate::cluster;

const RBAC: &str = include_str!("../../rbac.yaml");
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

/// Keeps a page for each shop that the shop owns, and watches pages only if it is told to.
async fn pages(client: Client, watches_them: bool) -> Result<(), Error> {
    let shops = Api::<Shop>::default_namespaced(client.clone());
    let again = |_: Arc<Shop>, _: &Error, _: Arc<Client>| Action::requeue(Duration::from_secs(5));
    let mut controller = Controller::new(shops, watcher::Config::default());
    if watches_them {
        let maps = Api::<ConfigMap>::default_namespaced(client.clone());
        controller = controller.owns(maps, watcher::Config::default());
    }
    let run = controller.run(page, again, Arc::new(client));
    run.for_each(|_| std::future::ready(())).await;
    Ok(())
}

async fn page(shop: Arc<Shop>, client: Arc<Client>) -> Result<Action, Error> {
    let name = format!("{}-page", shop.name_any());
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: shop.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(
            "text".to_owned(),
            shop.spec.title.clone(),
        )])),
        ..ConfigMap::default()
    };
    let params = PatchParams::apply("pages").force();
    let maps = Api::<ConfigMap>::default_namespaced((*client).clone());
    maps.patch(&name, &params, &Patch::Apply(&map)).await?;
    Ok(Action::requeue(Duration::from_secs(120)))
}

#[test]
fn a_kind_that_is_owned_and_not_watched_is_told() {
    let told = |watches_them: bool| {
        let run = move |client, _| pages(client, watches_them);
        let case = cluster::command(run).fixed("tests/short.yaml");
        let all = complaints(case.as_ref(), "shop-operators", SEEDS.into(), RBAC);
        let all = all.expect("it can be read").into_iter();
        let unwatched = all
            .filter(|told| told.starts_with("it makes configmaps that it owns, and watches none"));
        unwatched.collect::<Vec<_>>()
    };
    let blind = told(false);
    assert_eq!(blind.len(), 1, "{blind:#?}");
    let with = ": PATCH /api/v1/namespaces/default/configmaps/shop";
    assert!(blind[0].contains(with), "{blind:#?}");
    assert_eq!(told(true), Vec::<String>::new());
}
