//! What kube's client can ask for is answered as kube-apiserver answers it. A program asks for all of it, one thing after the
//! other, and panics where something else comes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, VersionMatch,
    WatchEvent, WatchParams,
};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, CustomResource, Error, ResourceExt};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::time::{sleep, timeout};
use wavetank_host::Operator;
use wavetank_host::properties::{Breach, stable};
use wavetank_host::requests;
use wavetank_host::wavetank::case::Case;
use wavetank_host::wavetank::prelude::PropertyInfo;
use wavetank_host::wavetank::sweep::{Ended, Sweep, Unwatched};
use wavetank_host::wavetank::{self, replay};

/// So long a program waits for what a watch has to tell: servers send bookmarks every minute.
const PATIENCE: Duration = Duration::from_secs(90);
/// After so long an apiserver has compacted what was at the beginning, which it does every five minutes, and keeps what the
/// last round found.
const COMPACTED: Duration = Duration::from_secs(660);

/// A custom kind with a status.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Crew",
    namespaced,
    status = "CrewStatus"
)]
pub struct CrewSpec {
    replicas: i32,
}

/// How many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrewStatus {
    replicas: i32,
}

/// An object from its JSON.
fn object<K: DeserializeOwned>(json: Json) -> K {
    serde_json::from_value(json).expect("it is one")
}

fn map(name: &str, labels: Json, data: Json) -> ConfigMap {
    object(json!({"metadata": {"name": name, "labels": labels}, "data": data}))
}

/// With which code a request is refused.
fn code<K: Debug>(answer: Result<K, Error>) -> u16 {
    match answer {
        Err(Error::Api(status)) => status.code,
        other => panic!("it is not refused: {other:?}"),
    }
}

fn names<K: ResourceExt>(all: impl IntoIterator<Item = K>) -> Vec<String> {
    all.into_iter().map(|one| one.name_any()).collect()
}

/// Waits for the next thing that a watch has to tell.
async fn next<T>(events: &mut (impl Stream<Item = T> + Unpin)) -> T {
    let next = timeout(PATIENCE, events.next()).await;
    next.expect("in time").expect("the watch goes on")
}

/// Makes objects and reads them: one, all, chosen ones, and in pieces.
async fn reads(client: &Client) {
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let post = PostParams::default();
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let made = maps
            .create(&post, &map(name, json!({"colour": colour}), json!({})))
            .await;
        assert_eq!(made.expect("it is new").name_any(), name);
    }
    let again = map("a", json!({}), json!({}));
    assert_eq!(code(maps.create(&post, &again).await), 409);
    let nameless = object(json!({"metadata": {"generateName": "made-"}}));
    let made = maps.create(&post, &nameless).await.expect("it is new");
    assert!(made.name_any().starts_with("made-"), "{made:?}");
    let (made, params) = (made.name_any(), DeleteParams::default());
    maps.delete(&made, &params).await.expect("it is there");

    assert_eq!(
        maps.get("b").await.expect("it is there").labels()["colour"],
        "blue"
    );
    assert_eq!(code(maps.get("nobody").await), 404);
    assert_eq!(maps.get_opt("nobody").await.expect("no failure"), None);
    let metadata = maps.get_metadata("b").await.expect("it is there");
    assert_eq!(metadata.labels()["colour"], "blue");

    let list = async |params: ListParams| maps.list(&params).await.expect("a list");
    assert_eq!(names(list(ListParams::default()).await), ["a", "b", "c"]);
    let red = ListParams::default().labels("colour=red");
    assert_eq!(names(list(red).await), ["a", "c"]);
    let named = ListParams::default().fields("metadata.name=c");
    assert_eq!(names(list(named).await), ["c"]);
    let first = list(ListParams::default().limit(2)).await;
    let token = first.metadata.continue_.clone().expect("there is more");
    assert_eq!(names(first), ["a", "b"]);
    let rest = ListParams::default().limit(2).continue_token(&token);
    assert_eq!(names(list(rest).await), ["c"]);
}

/// Changes objects in each way that there is.
async fn writes(client: &Client) {
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let post = PostParams::default();
    let text = |map: &ConfigMap, key: &str| map.data.as_ref()?.get(key).cloned();

    let before = maps.get("a").await.expect("it is there");
    let mut after = before.clone();
    after.data = Some(BTreeMap::from([("by".to_owned(), "replace".to_owned())]));
    let stored = maps
        .replace("a", &post, &after)
        .await
        .expect("it is newest");
    assert_eq!(text(&stored, "by").as_deref(), Some("replace"));
    assert_eq!(code(maps.replace("a", &post, &before).await), 409);

    let params = PatchParams::default();
    let patch = Patch::Merge(json!({"data": {"by": null, "merge": "yes"}}));
    let stored = maps.patch("a", &params, &patch).await.expect("a merge");
    assert_eq!(
        (text(&stored, "by"), text(&stored, "merge")),
        (None, Some("yes".to_owned()))
    );
    let changes = json!([
        {"op": "test", "path": "/data/merge", "value": "yes"},
        {"op": "add", "path": "/data/json", "value": "yes"},
    ]);
    let changes = Patch::<()>::Json(object(changes));
    let stored = maps
        .patch("a", &params, &changes)
        .await
        .expect("a list of changes");
    assert_eq!(text(&stored, "json").as_deref(), Some("yes"));
    let fails = Patch::<()>::Json(object(
        json!([{"op": "test", "path": "/data/merge", "value": "no"}]),
    ));
    assert_eq!(code(maps.patch("a", &params, &fails).await), 422);

    // A strategic patch merges the list: the other finalizer stays, after what the patch has and the server had not
    // (`mergeSortedSlice`).
    for finalizer in ["example.com/one", "example.com/two"] {
        let patch = Patch::Strategic(json!({"metadata": {"finalizers": [finalizer]}}));
        maps.patch("a", &params, &patch)
            .await
            .expect("a strategic merge");
    }
    let stored = maps.get("a").await.expect("it is there");
    assert_eq!(stored.finalizers(), ["example.com/two", "example.com/one"]);

    // One manager applies, another may not change what it says, unless by force, and what is no longer said goes.
    let apply = async |manager: &str, force: bool, data: Json| {
        let mut params = PatchParams::apply(manager);
        params.force = force;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}, "data": data});
        maps.patch("d", &params, &Patch::Apply(map)).await
    };
    apply("one", false, json!({"x": "1", "y": "1"}))
        .await
        .expect("it is new");
    assert_eq!(code(apply("two", false, json!({"x": "2"})).await), 409);
    apply("two", true, json!({"x": "2"}))
        .await
        .expect("it is forced");
    let stored = apply("one", false, json!({})).await.expect("it says less");
    assert_eq!(
        (text(&stored, "x"), text(&stored, "y")),
        (Some("2".to_owned()), None)
    );

    // What is only tried out changes nothing.
    let tried = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let new = map("tried", json!({}), json!({}));
    maps.create(&tried, &new).await.expect("it could be made");
    assert_eq!(maps.get_opt("tried").await.expect("no failure"), None);
}

/// Status and scale of a kind of Kubernetes, and the status of one's own.
async fn subresources(client: &Client) {
    let post = PostParams::default();
    let params = PatchParams::default();
    let sets = Api::<Deployment>::default_namespaced(client.clone());
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    });
    let set: Deployment = object(json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }));
    sets.create(&post, &set).await.expect("it is new");
    let patch = Patch::Merge(json!({"status": {"replicas": 1}, "spec": {"replicas": 9}}));
    let stored = sets
        .patch_status("web", &params, &patch)
        .await
        .expect("a status");
    assert_eq!(stored.status.expect("it has one").replicas, Some(1));
    assert_eq!(stored.spec.replicas, Some(1), "a status is no spec");
    let scale = sets.get_scale("web").await.expect("it has one");
    assert_eq!(scale.spec.expect("it has one").replicas, Some(1));
    let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
    sets.patch_scale("web", &params, &patch)
        .await
        .expect("a scale");
    let stored = sets.get("web").await.expect("it is there");
    assert_eq!(stored.spec.replicas, Some(4));

    let crews = Api::<Crew>::default_namespaced(client.clone());
    let crew = Crew::new("night", CrewSpec { replicas: 2 });
    let mut crew = crews.create(&post, &crew).await.expect("it is new");
    crew.status = Some(CrewStatus { replicas: 2 });
    crew.spec.replicas = 7;
    let crew = crews
        .replace_status("night", &post, &crew)
        .await
        .expect("a status");
    assert_eq!(
        (crew.spec.replicas, crew.status),
        (2, Some(CrewStatus { replicas: 2 }))
    );
}

/// What is watched is told, with bookmarks; and a watcher that asks for a streamed list gets one.
async fn watches(client: &Client) {
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let here = maps.list(&ListParams::default()).await.expect("a list");
    let from = here.metadata.resource_version.expect("a list has one");
    let params = WatchParams::default().labels("watched");
    let events = maps.watch(&params, &from).await.expect("a watch");
    let mut events = pin!(events);
    let post = PostParams::default();
    maps.create(&post, &map("seen", json!({"watched": ""}), json!({})))
        .await
        .expect("it is new");
    maps.create(&post, &map("hidden", json!({}), json!({})))
        .await
        .expect("it is new");
    let patch = Patch::Merge(json!({"data": {"text": "new"}}));
    maps.patch("seen", &PatchParams::default(), &patch)
        .await
        .expect("it is there");
    maps.delete("seen", &DeleteParams::default())
        .await
        .expect("it is there");
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        let (told, map) = match next(&mut events).await.expect("an event") {
            WatchEvent::Added(map) => ("ADDED", map),
            WatchEvent::Modified(map) => ("MODIFIED", map),
            WatchEvent::Deleted(map) => ("DELETED", map),
            other => panic!("{other:?}"),
        };
        assert_eq!((told, map.name_any().as_str()), (kind, "seen"));
    }
    let bookmark = next(&mut events).await.expect("an event");
    assert!(matches!(bookmark, WatchEvent::Bookmark(_)), "{bookmark:?}");

    let config = watcher::Config::default().streaming_lists();
    let mut events = pin!(watcher::watcher(maps.clone(), config));
    let mut initial = Vec::new();
    assert!(matches!(next(&mut events).await, Ok(Event::Init)));
    loop {
        match next(&mut events).await.expect("an event") {
            Event::InitApply(map) => initial.push(map.name_any()),
            Event::InitDone => break,
            other => panic!("{other:?}"),
        }
    }
    initial.sort();
    assert_eq!(initial, ["a", "b", "c", "d", "hidden"]);
    maps.delete("hidden", &DeleteParams::default())
        .await
        .expect("it is there");
    let told = next(&mut events).await.expect("an event");
    assert!(
        matches!(&told, Event::Delete(map) if map.name_any() == "hidden"),
        "{told:?}"
    );
}

/// Deletes one that must be the very one, one that waits for its finalizers, and all that are alike.
async fn deletions(client: &Client) {
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let params = |uid: &str| {
        let uid = Some(uid.to_owned());
        let preconditions = Preconditions {
            uid,
            ..Preconditions::default()
        };
        DeleteParams::default().preconditions(preconditions)
    };
    assert_eq!(code(maps.delete("d", &params("another")).await), 409);
    let uid = maps
        .get("d")
        .await
        .expect("it is there")
        .uid()
        .expect("it has one");
    maps.delete("d", &params(&uid))
        .await
        .expect("it is the one");
    assert_eq!(code(maps.delete("d", &params(&uid)).await), 404);

    let waits = maps
        .delete("a", &DeleteParams::default())
        .await
        .expect("it is there");
    let waits = waits.left().expect("it waits");
    assert!(waits.metadata.deletion_timestamp.is_some());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("a", &PatchParams::default(), &patch)
        .await
        .expect("it is there");
    assert_eq!(maps.get_opt("a").await.expect("no failure"), None);

    let red = ListParams::default().labels("colour=red");
    maps.delete_collection(&DeleteParams::default(), &red)
        .await
        .expect("there is one");
    let left = maps.list(&ListParams::default()).await.expect("a list");
    assert_eq!(names(left), ["b"]);
}

/// What is refused for now, and what is too old.
async fn refusals(client: &Client) {
    // A budget that no controller has looked at yet guards its pods. The client tries again, as it does by itself, and is
    // told the same.
    let pods = Api::<Pod>::default_namespaced(client.clone());
    let post = PostParams::default();
    let pod: Pod = object(json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }));
    pods.create(&post, &pod).await.expect("it is new");
    let runs = Patch::Merge(json!({
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }));
    pods.patch_status("web", &PatchParams::default(), &runs)
        .await
        .expect("a status");
    let budget: PodDisruptionBudget = object(json!({
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }));
    let budgets = Api::<PodDisruptionBudget>::default_namespaced(client.clone());
    budgets.create(&post, &budget).await.expect("it is new");
    assert_eq!(code(pods.evict("web", &Default::default()).await), 429);
    assert!(pods.get_opt("web").await.expect("no failure").is_some());

    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let then = maps.list(&ListParams::default()).await.expect("a list");
    let then = then.metadata.resource_version.expect("a list has one");
    let exactly = ListParams::default()
        .at(&then)
        .matching(VersionMatch::Exact);
    maps.list(&exactly).await.expect("it is kept");
    let patch = Patch::Merge(json!({"data": {"text": "newer"}}));
    maps.patch("b", &PatchParams::default(), &patch)
        .await
        .expect("it is there");
    sleep(COMPACTED).await;
    assert_eq!(code(maps.list(&exactly).await), 410);
}

async fn asks(client: Client) {
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    // The server may begin later.
    while maps.list(&ListParams::default()).await.is_err() {
        sleep(Duration::from_secs(1)).await;
    }
    reads(&client).await;
    writes(&client).await;
    subresources(&client).await;
    watches(&client).await;
    deletions(&client).await;
    refusals(&client).await;
    let done = map("done", json!({}), json!({}));
    maps.create(&PostParams::default(), &done)
        .await
        .expect("it is new");
    std::future::pending::<()>().await;
}

fn all_is_asked() -> PropertyInfo {
    stable(
        "all-is-asked",
        "the program has come to its end",
        |cluster| match cluster.get::<ConfigMap>("default", "done") {
            Some(_) => Ok(()),
            None => Err(Breach::of("default/done", "it is not there")),
        },
    )
}

fn case() -> Box<dyn Case> {
    let operator = Operator::new("programs", "prog", "a program", |client, _| asks(client))
        .serves::<Crew>()
        .uses::<ConfigMap>()
        .uses::<Deployment>()
        .uses::<Pod>()
        .uses::<PodDisruptionBudget>()
        .settles_within(Duration::from_secs(2_000))
        .promises(all_is_asked());
    wavetank::command().with(operator).fixed("tests/quiet.yaml")
}

#[test]
fn whatever_a_client_asks_for_is_answered() {
    let out = std::env::temp_dir().join(format!("asks-{}", std::process::id()));
    let case = case();
    let swept = Sweep::new(case.as_ref(), 0..3, &out)
        .run(&Unwatched)
        .expect("it runs");
    let _ = std::fs::remove_dir_all(&out);
    let found = swept.candidates.iter();
    let found = found.map(|found| replay::in_words(&found.first.violation));
    assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(swept.ended, Ended::AllSeeds);
    let tested = &swept.totals.properties["all-is-asked"];
    assert!(tested.tested.total > 0, "{tested:?}");
    // The list that was streamed came by a watch.
    let asked = requests(case.as_ref(), 0).expect("it comes to its end");
    assert!(
        asked
            .iter()
            .any(|asked| asked.contains("sendInitialEvents=true")),
        "{asked:#?}"
    );
}
