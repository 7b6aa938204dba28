//! What a reader is told of a kept trace.

use wavetank::catalogue::Catalogue as _;
use wavetank::kube::Kube;
use wavetank::replay::follow;
use wavetank::trace_file;
use wavetank_engine::drive::replay::Fit;

use crate::support::root;

/// The story of a kept trace is that of its snapshot.
fn is_told(trace: &str, story: &str) {
    let path = root().join("snapshots/traces").join(trace);
    let trace = trace_file::read(&path).expect("it is kept");
    let case = Kube::default().reopen(&trace.head.identity);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let followed = follow(case.as_ref(), &trace, Fit::ByName, None, &mut |_, _, _| {});
    let followed = followed.unwrap_or_else(|why| panic!("{why}"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/stories"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(story, followed.story().join("\n")));
}

#[test]
fn a_finished_job_goes_although_its_ttl_was_raised() {
    let trace = "finding-21-ttl-raised-before-the-delete.trace";
    is_told(trace, "finished-job");
}

#[test]
fn pods_are_made_again_from_a_cache_that_stands_still() {
    let trace = "k-k-129795-pods-made-again.trace.gz";
    is_told(trace, "k-k-129795-pods-made-again");
}

#[test]
fn an_owner_that_is_absent_in_one_namespace_passes_for_absent_in_all() {
    let trace = "k-k-65200-absent-in-one-namespace.trace";
    is_told(trace, "k-k-65200-absent-in-one-namespace");
}

#[test]
fn an_object_is_deleted_while_it_is_adopted() {
    let trace = "finding-29-adopted-while-it-is-deleted.trace";
    is_told(trace, "adopted-while-it-is-deleted");
}
