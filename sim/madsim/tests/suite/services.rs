//! Services of one's own beside a control plane: the clients of etcd and of apiservers, from other nodes.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use madsim::net::NetSim;
use madsim::runtime::{Handle, NodeHandle};
use madsim::time::{sleep, timeout};
use serde_json::json;
use wavetank::catalogue::Composition;
use wavetank::kube::Kube;
use wavetank_engine::{Fault, Status};
use wavetank_madsim::etcd::{
    Client, Compare, CompareOp, Error, EventType, GetOptions, LeaseTimeToLiveOptions,
    ProclaimOptions, PutOptions, ResignOptions, Txn, TxnOp, TxnOpResponse, WatchOptions,
};
use wavetank_madsim::{Cluster, api};

const SCENARIO: &str = "
name: beside-services
about: A control plane that services of others use.
topology: {etcd: 1, apiservers: 1, guests: true}
storm: 60s
calm: 60s
";

/// A control plane that is up, and a node for a service.
async fn beside() -> (Cluster, NodeHandle) {
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default()
        .case("beside-services.yaml", SCENARIO, &composition)
        .expect("a scenario");
    let cluster = Cluster::new(case.world(&case.derive(0)).expect("its own options"));
    for process in ["etcd", "a1"] {
        let process = process.to_owned();
        assert!(cluster.fault(&Fault::Start { process }));
        sleep(Duration::from_secs(5)).await;
    }
    (cluster, service("10.0.0.1"))
}

fn service(ip: &str) -> NodeHandle {
    let ip: IpAddr = ip.parse().expect("an address");
    Handle::current()
        .create_node()
        .name(format!("service-{ip}"))
        .ip(ip)
        .build()
}

#[madsim::test]
async fn keys_are_written_read_compared_and_deleted() {
    let (_cluster, node) = beside().await;
    let work = node.spawn(async {
        let client = Client::connect(["http://etcd:2379"], None).await.expect("it is there");
        let mut kv = client.kv_client();
        let first = kv.put("svc/a", "1", None).await.expect("a write");
        let options = Some(PutOptions::new().with_prev_key());
        let second = kv.put("svc/a", "2", options).await.expect("a write");
        assert_eq!(second.prev_key().expect("it was asked for").value(), b"1");
        let (first, second) = (first.header().expect("one").revision(), second.header().expect("one").revision());
        assert!(first < second);
        kv.put("svc/b", [0xff, 0], None).await.expect("a write");

        let one = kv.get("svc/a", None).await.expect("a read");
        assert_eq!(one.kvs().iter().map(|kv| kv.value_str().expect("text")).collect::<Vec<_>>(), ["2"]);
        let old = kv.get("svc/a", Some(GetOptions::new().with_revision(first))).await.expect("a read");
        assert_eq!(old.kvs()[0].value(), b"1");
        let all = kv.get("svc/", Some(GetOptions::new().with_prefix())).await.expect("a read");
        assert_eq!((all.count(), all.kvs()[1].value()), (2, &[0xff, 0][..]));

        let swap = |expected: &str| {
            Txn::new()
                .when([Compare::value("svc/a", CompareOp::Equal, expected)])
                .and_then([TxnOp::put("svc/a", "3", None)])
                .or_else([TxnOp::get("svc/a", None)])
        };
        let refused = kv.txn(swap("1")).await.expect("a transaction");
        assert!(!refused.succeeded());
        assert!(matches!(&refused.op_responses()[..], [TxnOpResponse::Get(found)] if found.kvs()[0].value() == b"2"));
        assert!(kv.txn(swap("2")).await.expect("a transaction").succeeded());

        assert_eq!(kv.delete("svc/a", None).await.expect("a deletion").deleted(), 1);
        kv.compact(second, None).await.expect("a compaction");
        let too_old = kv.get("svc/a", Some(GetOptions::new().with_revision(first))).await;
        assert!(matches!(too_old, Err(Error::GRpcStatus(status)) if status.message.contains("compacted")));
    });
    work.await.expect("it ends");
}

#[madsim::test]
async fn a_watch_tells_what_happens_and_ends_when_it_is_cancelled() {
    let (_cluster, node) = beside().await;
    let work = node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        let options = WatchOptions::new().with_prefix().with_prev_key();
        let (mut watcher, mut stream) = client
            .watch_client()
            .watch("svc/", Some(options))
            .await
            .expect("a watch");
        let mut kv = client.kv_client();
        kv.put("svc/a", "1", None).await.expect("a write");
        kv.put("other", "1", None).await.expect("a write");
        kv.delete("svc/a", None).await.expect("a deletion");
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let message = stream.message().await.expect("no error").expect("no end");
            seen.extend(message.events().iter().cloned());
        }
        assert_eq!(seen[0].event_type(), EventType::Put);
        assert_eq!(seen[0].kv().expect("one").value(), b"1");
        assert_eq!(seen[1].event_type(), EventType::Delete);
        assert_eq!(seen[1].prev_kv().expect("it was asked for").value(), b"1");
        watcher.cancel().await.expect("it is told");
        let last = stream
            .message()
            .await
            .expect("no error")
            .expect("no end yet");
        assert!(last.canceled());
    });
    work.await.expect("it ends");
}

#[madsim::test]
async fn a_lease_takes_its_keys_along_unless_it_is_kept_alive() {
    let (_cluster, node) = beside().await;
    let work = node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        let (mut kv, mut leases) = (client.kv_client(), client.lease_client());
        let lease = leases.grant(5, None).await.expect("a lease");
        let options = Some(PutOptions::new().with_lease(lease.id()));
        kv.put("svc/mine", "here", options).await.expect("a write");
        let (mut keeper, mut rounds) = leases.keep_alive(lease.id()).await.expect("it is there");
        for _ in 0..4 {
            sleep(Duration::from_secs(3)).await;
            keeper.keep_alive().await.expect("it is there");
            assert_eq!(
                rounds
                    .message()
                    .await
                    .expect("no error")
                    .expect("an answer")
                    .ttl(),
                5
            );
        }
        let left = leases
            .time_to_live(lease.id(), Some(LeaseTimeToLiveOptions::new().with_keys()))
            .await
            .expect("an answer");
        assert_eq!(
            (left.granted_ttl(), left.keys()),
            (5, &[b"svc/mine".to_vec()][..])
        );
        let all = leases.leases().await.expect("an answer");
        assert!(all.leases().iter().any(|one| one.id() == lease.id()));
        sleep(Duration::from_secs(8)).await;
        assert!(
            kv.get("svc/mine", None)
                .await
                .expect("a read")
                .kvs()
                .is_empty()
        );
        assert!(matches!(
            keeper.keep_alive().await,
            Err(Error::LeaseKeepAliveError(_))
        ));
    });
    work.await.expect("it ends");
}

#[madsim::test]
async fn one_leads_after_the_other() {
    let (_cluster, node) = beside().await;
    let order: Arc<Mutex<Vec<&str>>> = Arc::default();
    let campaign = |who: &'static str, node: &NodeHandle| {
        let order = order.clone();
        node.spawn(async move {
            let client = Client::connect(["etcd"], None).await.expect("it is there");
            let lease = client
                .lease_client()
                .grant(60, None)
                .await
                .expect("a lease");
            let mut election = client.election_client();
            let won = election
                .campaign("svc", who, lease.id())
                .await
                .expect("it leads");
            order.lock().expect("no panic").push(who);
            let leader = election.leader("svc").await.expect("an answer");
            assert_eq!(
                leader
                    .kv()
                    .expect("somebody leads")
                    .value_str()
                    .expect("text"),
                who
            );
            let key = won.leader().expect("it has one").clone();
            let options = Some(ProclaimOptions::new().with_leader(key.clone()));
            election
                .proclaim("changed", options)
                .await
                .expect("it leads");
            sleep(Duration::from_secs(3)).await;
            election
                .resign(Some(ResignOptions::new().with_leader(key.clone())))
                .await
                .expect("it leads");
            let late = election
                .proclaim("late", Some(ProclaimOptions::new().with_leader(key)))
                .await;
            assert!(matches!(late, Err(Error::ElectError(_))));
        })
    };
    let first = campaign("one", &node);
    sleep(Duration::from_secs(1)).await;
    let watcher = node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        let mut all = client
            .election_client()
            .observe("svc")
            .await
            .expect("a watch");
        loop {
            let now = all.message().await.expect("no error").expect("no end");
            if now.kv().is_some_and(|kv| kv.value() == b"two") {
                return;
            }
        }
    });
    let second = campaign("two", &service("10.0.0.2"));
    first.await.expect("it ends");
    second.await.expect("it ends");
    watcher.await.expect("it ends");
    assert_eq!(*order.lock().expect("no panic"), ["one", "two"]);
}

#[madsim::test]
async fn an_apiserver_answers_and_is_watched() {
    let (_cluster, node) = beside().await;
    let work = node.spawn(async {
        let client = api::Client::new("a1").expect("it is there");
        let path = "/api/v1/namespaces/default/configmaps";
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}, "data": {"n": "1"}});
        let created = client.request("POST", path, Some(map)).await.expect("an answer");
        assert_eq!(created.code, 201, "{created:?}");
        let version = &created.body["metadata"]["resourceVersion"];
        let version = version.as_str().expect("it has one");
        let mut events = client.watch(&format!("{path}?resourceVersion={version}"));
        let patched = client.request("PATCH", &format!("{path}/x"), Some(json!({"data": {"n": "2"}}))).await;
        assert_eq!(patched.expect("an answer").code, 200);
        let event = events.next().await.expect("no error").expect("no end");
        assert_eq!((&event["type"], &event["object"]["data"]["n"]), (&json!("MODIFIED"), &json!("2")));
        let missing = client.request("GET", &format!("{path}/y"), None).await.expect("an answer");
        assert_eq!(missing.code, 404);
        // What the apiserver has written is JSON to whoever asks etcd.
        let etcd = wavetank_madsim::etcd::Client::connect(["etcd"], None).await.expect("it is there");
        let kept = etcd.kv_client().get("/registry/configmaps/default/x", None).await.expect("a read");
        let kept: serde_json::Value = serde_json::from_slice(kept.kvs()[0].value()).expect("JSON");
        assert_eq!(kept["data"]["n"], "2");
    });
    work.await.expect("it ends");
}

#[madsim::test]
async fn a_call_that_is_given_up_and_a_service_that_is_killed_leave_nothing_behind() {
    let (cluster, node) = beside().await;
    let connections = |cluster: &Cluster| {
        cluster.look(|world| {
            world
                .connections()
                .filter(|(client, _, _)| world.name(*client).starts_with('~'))
                .count()
        })
    };
    let etcd = cluster.look(|world| world.find("etcd").expect("it is there"));
    node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        let mut kv = client.kv_client();
        kv.put("svc/a", "1", None).await.expect("a write");
        let (_watcher, mut stream) = client
            .watch_client()
            .watch("svc/a", None)
            .await
            .expect("a watch");
        let waits = timeout(Duration::from_secs(1), stream.message()).await;
        assert!(waits.is_err(), "nothing happens");
        std::future::pending::<()>().await;
    });
    sleep(Duration::from_secs(5)).await;
    assert_eq!(connections(&cluster), 1);
    Handle::current().kill(node.id());
    sleep(Duration::from_secs(5)).await;
    assert_eq!(connections(&cluster), 0);
    let guest = cluster.look(|world| world.processes().last().expect("the guest"));
    assert_eq!(cluster.look(|world| world.status(guest)), Status::Down);
    assert_eq!(cluster.look(|world| world.status(etcd)), Status::Up);
}

#[madsim::test]
async fn a_service_that_is_cut_off_waits_and_goes_on() {
    let (cluster, node) = beside().await;
    let etcd = Handle::current();
    let etcd = etcd
        .get_node("etcd")
        .expect("a node has the name of its process")
        .id();
    let work = node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        client
            .kv_client()
            .put("svc/a", "1", None)
            .await
            .expect("a write");
        sleep(Duration::from_secs(3)).await;
        client
            .kv_client()
            .put("svc/a", "2", None)
            .await
            .expect("a write");
    });
    sleep(Duration::from_secs(2)).await;
    NetSim::current().clog_link(node.id(), etcd);
    sleep(Duration::from_secs(4)).await;
    NetSim::current().unclog_link(node.id(), etcd);
    timeout(Duration::from_secs(11), work)
        .await
        .expect("it goes on")
        .expect("it ends");
    let process = "etcd".to_owned();
    cluster.fault(&Fault::Crash { process });
    let refused = node.spawn(async {
        let client = Client::connect(["etcd"], None).await.expect("it is there");
        client.kv_client().get("svc/a", None).await
    });
    let refused = refused.await.expect("it ends");
    assert!(
        matches!(refused, Err(Error::IoError(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused)
    );
    let nobody = node.spawn(async { Client::connect(["10.1.2.3:2379"], None).await.err() });
    assert!(matches!(
        nobody.await.expect("it ends"),
        Some(Error::EndpointError(_))
    ));
}
