//! Small programs: what a host gives them, what it refuses, and what every operator is held to.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "they are programs as people write them, and read clocks"
)]

use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;
use wavetank_host::wavetank::case::Case;
use wavetank_host::wavetank::search::Search;
use wavetank_host::wavetank::sweep::{Ended, Sweep, Swept, Unwatched};
use wavetank_host::wavetank::{self, replay};
use wavetank_host::{Operator, Returns};

fn case<F, R>(run: impl Fn(Client) -> F + Send + Sync + 'static) -> Box<dyn Case>
where
    F: Future<Output = R> + 'static,
    R: Returns,
{
    case_of("tests/program.yaml", run)
}

fn case_of<F, R>(scenario: &str, run: impl Fn(Client) -> F + Send + Sync + 'static) -> Box<dyn Case>
where
    F: Future<Output = R> + 'static,
    R: Returns,
{
    let operator = Operator::new("programs", "prog", "a program", move |client, _| {
        run(client)
    });
    let operator = operator
        .uses::<ConfigMap>()
        .uses::<Service>()
        .settles_within(Duration::from_secs(10));
    wavetank::command().with(operator).fixed(scenario)
}

fn swept(case: &dyn Case) -> Swept {
    let out = std::env::temp_dir().join(format!("programs-{}", std::process::id()));
    let swept = Sweep::new(case, 0..3, &out)
        .run(&Unwatched)
        .expect("it runs");
    let _ = std::fs::remove_dir_all(&out);
    swept
}

/// No seed finds anything.
fn clean<F, R>(run: impl Fn(Client) -> F + Send + Sync + 'static)
where
    F: Future<Output = R> + 'static,
    R: Returns,
{
    is_clean(case(run).as_ref());
}

fn is_clean(case: &dyn Case) {
    let swept = swept(case);
    let found = swept
        .candidates
        .iter()
        .map(|found| replay::in_words(&found.first.violation));
    assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(swept.ended, Ended::AllSeeds);
}

/// A violation of this property is found, and says this.
fn found<F, R>(property: &str, says: &str, run: impl Fn(Client) -> F + Send + Sync + 'static)
where
    F: Future<Output = R> + 'static,
    R: Returns,
{
    is_found(case(run).as_ref(), property, says);
}

fn is_found(case: &dyn Case, property: &str, says: &str) {
    let swept = swept(case);
    let found = &swept
        .candidates
        .first()
        .expect("it is found")
        .first
        .violation;
    assert_eq!(found.property, property, "{}", found.message);
    assert!(found.message.contains(says), "{}", found.message);
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// Once, whatever it takes: the object of these metadata.
async fn make(client: &Client, metadata: serde_json::Value) -> ConfigMap {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let map: ConfigMap = serde_json::from_value(map).expect("it is one");
    let name = map.metadata.name.clone().expect("it has a name");
    loop {
        if let Ok(Some(there)) = maps(client).get_opt(&name).await {
            return there;
        }
        let _ = maps(client).create(&PostParams::default(), &map).await;
        sleep(Duration::from_secs(1)).await;
    }
}

#[test]
fn clocks_and_timers_agree() {
    clean(|_| async {
        let wall = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("it is later")
        };
        let (timer, clock, date) = (tokio::time::Instant::now(), Instant::now(), wall());
        assert!(date.as_secs() >= 1_767_225_600, "{date:?}");
        sleep(Duration::from_millis(2_500)).await;
        for passed in [timer.elapsed(), clock.elapsed(), wall() - date] {
            assert!(passed >= Duration::from_millis(2_500), "{passed:?}");
            assert!(passed < Duration::from_millis(2_502), "{passed:?}");
        }
        std::future::pending::<()>().await;
    });
}

#[test]
fn who_returns_is_started_again_and_that_is_no_violation() {
    clean(|client| async move {
        let all = maps(&client).list(&ListParams::default()).await;
        all.map(drop)
    });
}

#[test]
fn a_panic_is_found() {
    found("programs-do-not-panic", "a bad day", |_| async {
        sleep(Duration::from_secs(3)).await;
        panic!("a bad day");
        #[allow(unreachable_code, reason = "it says what is returned")]
        ()
    });
}

#[test]
fn who_does_not_rest_is_found() {
    found(
        "programs-rest",
        "GET /api/v1/namespaces/default/configmaps",
        |client| async move {
            loop {
                let _ = maps(&client).list(&ListParams::default()).await;
                sleep(Duration::from_millis(200)).await;
            }
            #[allow(unreachable_code, reason = "it says what is returned")]
            ()
        },
    );
}

#[test]
fn a_lost_owner_is_found() {
    found(
        "programs-keep-ownership",
        "no longer controlled by default/owner",
        |client| async move {
            let owner = make(&client, json!({"name": "owner"})).await;
            let reference = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
                "uid": owner.metadata.uid, "controller": true,
            });
            make(
                &client,
                json!({"name": "child", "ownerReferences": [reference]}),
            )
            .await;
            let patch = json!({"metadata": {"ownerReferences": null}});
            let (maps, params) = (maps(&client), PatchParams::default());
            let _ = maps.patch("child", &params, &Patch::Merge(patch)).await;
            std::future::pending::<()>().await;
        },
    );
}

#[test]
fn a_finalizer_that_never_goes_is_found() {
    found(
        "programs-finalizers-go",
        "waits for example.com/never",
        |client| async move {
            make(
                &client,
                json!({"name": "kept", "finalizers": ["example.com/never"]}),
            )
            .await;
            let _ = maps(&client).delete("kept", &Default::default()).await;
            std::future::pending::<()>().await;
        },
    );
}

/// Makes an owner and what it owns, whose reference says this of its kind, and deletes the owner.
async fn leave(client: Client, api_version: &str) {
    let owner = make(&client, json!({"name": "owner"})).await;
    let reference = json!({
        "apiVersion": api_version, "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid,
    });
    let child = json!({"name": "child", "ownerReferences": [reference]});
    // Another life may have deleted the owner already.
    if maps(&client)
        .get_opt("done")
        .await
        .is_ok_and(|done| done.is_none())
    {
        make(&client, child).await;
    }
    make(&client, json!({"name": "done"})).await;
    while maps(&client)
        .delete("owner", &Default::default())
        .await
        .is_err()
    {
        match maps(&client).get_opt("owner").await {
            Ok(None) => break,
            _ => sleep(Duration::from_secs(1)).await,
        }
    }
    std::future::pending::<()>().await;
}

#[test]
fn what_a_garbage_collector_collects_is_no_orphan() {
    is_clean(case_of("tests/garbage.yaml", |client| leave(client, "v1")).as_ref());
}

/// The collector does not know the kind of the owner, and leaves what it owns alone.
#[test]
fn what_nobody_collects_is_found() {
    let case = case_of("tests/garbage.yaml", |client| {
        leave(client, "example.com/v1")
    });
    let says = "default/child is left, and its owners are gone";
    is_found(case.as_ref(), "programs-leave-no-orphans", says);
}

/// Keeps some Services, the first of them anew in each life, and says of each in a ConfigMap where it is.
async fn open(client: Client) {
    let services = Api::<Service>::default_namespaced(client.clone());
    let params = PatchParams::apply("programs").force();
    let _ = services.delete("front", &DeleteParams::default()).await;
    loop {
        for name in ["front", "back", "side"] {
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"type": "NodePort", "ports": [{"port": 80}]},
            });
            let service = Patch::Apply(&service);
            let applied = services.patch(name, &params, &service).await;
            let Ok(Some(spec)) = applied.map(|applied| applied.spec) else {
                continue;
            };
            let address = format!("http://{}:80", spec.cluster_ip.unwrap_or_default());
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"address": address},
            });
            let _ = maps(&client)
                .patch(name, &params, &Patch::Apply(&map))
                .await;
        }
        sleep(Duration::from_secs(5)).await;
    }
}

#[test]
fn what_servers_give_a_service_is_no_difference() {
    is_clean(case_of("tests/services.yaml", open).as_ref());
}

#[test]
fn threads_are_refused() {
    found("no-panic", "starts threads", |_| async {
        let _ = tokio::task::spawn_blocking(|| ()).await;
        std::future::pending::<()>().await;
    });
}

#[test]
fn who_ends_its_process_is_told_so() {
    found("simulation-ends", "std::process::exit", |_| async {
        if Instant::now().elapsed() < Duration::from_secs(1) {
            std::process::exit(3);
        }
    });
}

#[test]
fn a_search_is_refused_with_the_reason() {
    let case = case(|_| std::future::pending::<()>());
    let refused = Search::of(case.as_ref()).expect_err("it cannot be copied");
    assert!(refused.contains("is a program and no value"), "{refused}");
}
