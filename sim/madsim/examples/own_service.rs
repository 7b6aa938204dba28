//! A service of one's own beside the control plane, in a storm: `cargo run -p wavetank-madsim --example own_service -- 0..50`,
//! and `cargo test` runs it under one seed, as the test of such a service would be. `--mistake` makes a mistake of it.
//!
//! The service turns jobs into ConfigMaps. Two replicas elect a leader in etcd; the leader watches the keys below `jobs/`,
//! creates a ConfigMap for each at an apiserver, and takes the job away as long as it still leads. All of it runs on madsim's
//! tokio: replicas are nodes, which are killed and started again; etcd and the apiservers are struck by faults of their own.
//! A real service says `etcd_client` where this one says `wavetank_madsim::etcd`.

#[cfg(madsim)]
fn main() {
    service::main();
}

#[cfg(not(madsim))]
fn main() {
    eprintln!(
        "`--cfg madsim` is missing: run this in the repository, without RUSTFLAGS in the environment"
    );
    std::process::exit(2);
}

#[cfg(madsim)]
mod service {
    use std::collections::BTreeSet;
    use std::net::IpAddr;

    use madsim::rand::{Rng, thread_rng};
    use madsim::runtime::{Handle, NodeHandle, Runtime};
    use serde_json::json;
    use tokio::time::{Duration, sleep, timeout};
    use wavetank::case::Case;
    use wavetank::catalogue::Composition;
    use wavetank::kube::Kube;
    use wavetank::seeds::Seeds;
    use wavetank_madsim::etcd::{
        Client, Compare, CompareOp, Error, EventType, GetOptions, LeaderKey, Result, Txn, TxnOp,
        WatchOptions,
    };
    use wavetank_madsim::storm::storm;
    use wavetank_madsim::{Cluster, api};

    const SCENARIO: &str = "
name: own-service
about: A control plane for a service on madsim.
topology: {etcd: 1, apiservers: 2, guests: true}
storm: 60s
calm: 60s
faults:
  crash: {max: 4, lasts: 1s..10s}
  power-loss: {max: 1, lasts: 1s..10s}
  pause: {max: 3, lasts: 100ms..10s}
  stall: {max: 3, lasts: 1s..10s}
  reset: {max: 4}
  lose-answer: {max: 4}
";
    /// What is done first with a job.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Order {
        MapFirst,
        /// A mistake.
        JobFirst,
    }

    const JOBS: usize = 20;
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";

    /// A replica: whatever fails, it begins again.
    async fn replica(name: &'static str, order: Order) {
        loop {
            let ended = life(name, order).await;
            if ended.is_err() {
                sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// It leads as long as its lease lives.
    async fn life(name: &str, order: Order) -> Result<()> {
        let client = Client::connect(["http://etcd:2379"], None).await?;
        let lease = client.lease_client().grant(5, None).await?;
        let (mut keeper, _) = client.lease_client().keep_alive(lease.id()).await?;
        let keeps = async {
            loop {
                sleep(Duration::from_secs(1)).await;
                let round = timeout(Duration::from_secs(2), keeper.keep_alive()).await;
                round.unwrap_or(Err(Error::LeaseKeepAliveError("no answer".to_owned())))?;
            }
        };
        let leads = async {
            let won = client
                .election_client()
                .campaign("mapper", name, lease.id())
                .await?;
            work(&client, won.leader().expect("it leads"), order).await
        };
        tokio::select! {
            ended = keeps => ended,
            ended = leads => ended,
        }
    }

    /// First the jobs that are there, then those that come.
    async fn work(client: &Client, leader: &LeaderKey, order: Order) -> Result<()> {
        let all = Some(GetOptions::new().with_prefix());
        let there = client.kv_client().get("jobs/", all).await?;
        for job in there.kvs() {
            done(client, leader, job.key_str()?, order).await?;
        }
        let since = there.header().map_or(0, |header| header.revision()) + 1;
        let options = WatchOptions::new().with_prefix().with_start_revision(since);
        let (_watcher, mut stream) = client.watch_client().watch("jobs/", Some(options)).await?;
        while let Some(message) = stream.message().await? {
            for event in message
                .events()
                .iter()
                .filter(|event| event.event_type() == EventType::Put)
            {
                let job = event.kv().expect("every event has one");
                done(client, leader, job.key_str()?, order).await?;
            }
        }
        Ok(())
    }

    /// The ConfigMap first, so that a crash in between leaves the job to the next leader. Whoever does it the other way
    /// round loses jobs.
    async fn done(client: &Client, leader: &LeaderKey, job: &str, order: Order) -> Result<()> {
        if order == Order::JobFirst {
            take_away(client, leader, job).await?;
        }
        let name = job.trim_start_matches("jobs/");
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}});
        let answer = at_any("POST", MAPS, Some(map)).await;
        if !matches!(answer, Some(201 | 409)) {
            let why = format!("{name} is not created: {answer:?}");
            return Err(Error::WatchError(why));
        }
        match order {
            Order::MapFirst => take_away(client, leader, job).await,
            Order::JobFirst => Ok(()),
        }
    }

    /// Takes a job away, as long as it leads.
    async fn take_away(client: &Client, leader: &LeaderKey, job: &str) -> Result<()> {
        let leads = Compare::create_revision(leader.key(), CompareOp::Equal, leader.rev());
        let txn = Txn::new()
            .when([leads])
            .and_then([TxnOp::delete(job, None)]);
        match client.kv_client().txn(txn).await?.succeeded() {
            true => Ok(()),
            false => Err(Error::ElectError("it leads no more".to_owned())),
        }
    }

    /// The code of the first apiserver that answers.
    async fn at_any(method: &str, path: &str, body: Option<serde_json::Value>) -> Option<u16> {
        for server in ["a1", "a2"] {
            let client = api::Client::new(server).expect("the scenario has it");
            let answer = timeout(
                Duration::from_secs(5),
                client.request(method, path, body.clone()),
            )
            .await;
            if let Ok(Ok(answer)) = answer {
                return Some(answer.code);
            }
        }
        None
    }

    /// Whoever has jobs: it writes each until etcd has said that it has it.
    async fn submit() {
        for number in 0..JOBS {
            sleep(thread_rng().gen_range(Duration::from_secs(1)..Duration::from_secs(5))).await;
            let write = || async {
                let client = Client::connect(["etcd"], None).await?;
                client
                    .kv_client()
                    .put(format!("jobs/j{number}"), "", None)
                    .await
            };
            while !matches!(timeout(Duration::from_secs(5), write()).await, Ok(Ok(_))) {
                sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// All of it in one storm; what is missing in the end.
    async fn storm_over_all(order: Order) -> Vec<String> {
        let case = Kube::default().case(
            "own-service.yaml",
            SCENARIO,
            &Composition {
                fixed: true,
                ..Composition::default()
            },
        );
        let case: Box<dyn Case> = case.expect("a scenario");
        let options = case.derive(Handle::current().seed());
        let cluster = Cluster::new(case.world(&options).expect("its own options"));
        let replicas = ["one", "two"].map(|name| node(name, Some(order)));
        let submitter = node("submitter", None);
        let submitted = submitter.spawn(submit());
        drop(madsim::task::spawn(async move {
            for replica in replicas.iter().cycle() {
                sleep(thread_rng().gen_range(Duration::from_secs(5)..Duration::from_secs(30)))
                    .await;
                Handle::current().kill(replica.id());
                Handle::current().restart(replica.id());
            }
        }));
        storm(&cluster, &case.fault_schedule(&options)).await;
        submitted.await.expect("it ends");
        sleep(Duration::from_secs(60)).await;
        assert_eq!(cluster.violation(), None);
        missing(&submitter).await
    }

    /// A node, which runs a replica in each of its lives if it is told to.
    fn node(name: &'static str, runs: Option<Order>) -> NodeHandle {
        let number = name
            .bytes()
            .fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
        let ip: IpAddr = format!("10.0.0.{}", number.max(1))
            .parse()
            .expect("an address");
        let handle = Handle::current();
        let builder = handle.create_node().name(name).ip(ip);
        match runs {
            Some(order) => builder.init(move || replica(name, order)).build(),
            None => builder.build(),
        }
    }

    /// Jobs without a ConfigMap, and jobs that are still there.
    async fn missing(node: &NodeHandle) -> Vec<String> {
        let look = node.spawn(async {
            let client = api::Client::new("a1").expect("the scenario has it");
            let maps = client.request("GET", MAPS, None).await.expect("it is calm");
            let maps = maps.body["items"].as_array().cloned().unwrap_or_default();
            let made: BTreeSet<String> = maps
                .iter()
                .map(|map| {
                    map["metadata"]["name"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                })
                .collect();
            let client = Client::connect(["etcd"], None).await.expect("it is calm");
            let all = Some(GetOptions::new().with_prefix());
            let left = client
                .kv_client()
                .get("jobs/", all)
                .await
                .expect("it is calm");
            let left = left
                .kvs()
                .iter()
                .map(|job| job.key_str().expect("text").to_owned());
            let unmade = (0..JOBS)
                .map(|number| format!("j{number}"))
                .filter(|name| !made.contains(name));
            left.chain(unmade).collect::<Vec<String>>()
        });
        look.await.expect("it ends")
    }

    /// What is missing after a storm under this seed.
    fn under(seed: u64, order: Order) -> Vec<String> {
        let runtime = || Runtime::with_seed_and_config(seed, madsim::Config::default());
        // The keys of hash maps are a thread's: each seed has a thread of its own.
        std::thread::scope(|scope| {
            let run = scope.spawn(|| runtime().block_on(storm_over_all(order)));
            run.join().expect("it ends")
        })
    }

    pub fn main() {
        let mut order = Order::MapFirst;
        let mut seeds: Seeds = (0..10).into();
        for arg in std::env::args().skip(1) {
            match arg.as_str() {
                "--mistake" => order = Order::JobFirst,
                arg => seeds = arg.parse().expect("seeds A..B"),
            }
        }
        for seed in seeds.first..seeds.first + seeds.count {
            match under(seed, order) {
                missing if missing.is_empty() => println!("seed {seed}: all jobs are done"),
                missing => println!("seed {seed}: MISSING {}", missing.join(", ")),
            }
        }
    }

    #[madsim::test]
    async fn every_job_is_done() {
        assert_eq!(storm_over_all(Order::MapFirst).await, Vec::<String>::new());
    }

    #[test]
    fn a_job_that_is_taken_away_first_is_lost_some_time() {
        let missing = |seed| !under(seed, Order::JobFirst).is_empty();
        assert!((0..100).any(missing));
    }
}
