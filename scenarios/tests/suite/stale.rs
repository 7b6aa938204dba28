//! Three lines of a scenario make an informer or a watch cache stale, at a revision that they name.

use wavetank::case::{Case as _, run_seed};
use wavetank::kube::Kube;
use wavetank_client::informer::{INFORMERS, Informer};
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;
use wavetank_version::Composition;

const QUIET: &str = "\
name: stale
about: Nothing strikes, but somebody is held where he is.
topology: {apiservers: 2, informers: 2, writers: 1, watch-cache: true}
options: {endpoint-reconciler-type: none}
workload: {write: {every: 300ms}}
storm: 60s
calm: 460s
";

/// What each client's informer of ConfigMaps knows in the end.
fn run(plan: &str) -> [Informer; 2] {
    let scenario = Kube::default()
        .read("stale.yaml", &format!("{QUIET}{plan}"))
        .expect("it is right");
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let job = Kube::default()
        .job(scenario, None, composition)
        .expect("it fits");
    let outcome = run_seed(&job, 0, None, Record::default());
    assert_eq!(outcome.ending, Ending::Clean, "{}", job.name());
    ["i1", "i2"].map(|name| {
        let process = outcome.world.find(name).expect("it is there");
        let all = outcome.world.cell(process, &INFORMERS);
        all.into_iter().next().expect("of ConfigMaps")
    })
}

fn newest(informer: &Informer) -> u64 {
    let content = informer.content();
    let revisions = content.iter().map(|(_, revision)| *revision);
    revisions.max().unwrap_or(0)
}

#[test]
fn an_informer_is_held_at_a_revision() {
    let [held, free] = run("\
plan:
  - at: 20s
    hold: {process: i1, resource: configmaps, revision: 40}
");
    assert!(newest(&held) <= 40, "{}", newest(&held));
    assert!(newest(&free) > 60, "{}", newest(&free));
    // Its reflector goes on: only what is looked at is stale.
    assert!(
        held.last_revision() > Some(60),
        "{:?}",
        held.last_revision()
    );
}

#[test]
fn a_cache_is_held_and_released() {
    let [one, other] = run("\
plan:
  - {at: 20s, hold: {process: a1, resource: configmaps, revision: 40}}
  - {at: 50s, release: {process: a1, resource: configmaps}}
");
    assert_eq!(one.content(), other.content());
}

#[test]
fn what_cannot_be_held_is_said() {
    for (process, resource, why) in [
        ("w1", "configmaps", "neither informers nor watch caches"),
        ("i3", "configmaps", "neither informers nor watch caches"),
        ("i1", "nodes", "has no `nodes`"),
        ("a1", "pod", "did you mean `pods`"),
        ("a1", "nodes", "has no `nodes`"),
    ] {
        let plan =
            format!("plan:\n  - {{at: 1s, hold: {{process: {process}, resource: {resource}}}}}\n");
        let error = Kube::default()
            .read("stale.yaml", &format!("{QUIET}{plan}"))
            .expect_err("it is wrong");
        assert!(error.contains(why), "{error}");
    }
}
