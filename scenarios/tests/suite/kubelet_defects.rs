//! The defects of kubelets and their runtimes that a seed of `kubelet-storm` shows.

use crate::support::pins::pins;

pins! {
    terminal_phases_come_early: "terminal-phases-come-early",
    terminal_pods_are_finished: "terminal-pods-are-finished",
    statuses_go_by_name: "statuses-go-by-name",
    deletes_before_the_end: "deletes-before-the-end",
    cleans_up_before_pods_are_known: "cleans-up-before-pods-are-known",
    crash_loops_are_not_backed_off: "crash-loops-are-not-backed-off",
    ready_before_its_probe: "ready-before-its-probe",
    addresses_are_forgotten: "addresses-are-forgotten",
    restarts_end_startups: "restarts-end-startups",
    new_containers_inherit_started: "new-containers-inherit-started",
    init_containers_run_again: "init-containers-run-again",
    old_containers_tell_initialized: "old-containers-tell-initialized",
    sidecars_stop_at_once: "sidecars-stop-at-once",
    probes_of_sidecars_end: "probes-of-sidecars-end",
    statuses_of_sidecars_stay: "statuses-of-sidecars-stay",
    static_pods_do_not_wait: "static-pods-do-not-wait",
    ended_static_pods_stay_in_line: "ended-static-pods-stay-in-line",
    static_pods_are_not_made_anew: "static-pods-are-not-made-anew",
    mirror_pods_stay_to_go: "mirror-pods-stay-to-go",
    static_pods_do_not_wait_for_orphans: "static-pods-do-not-wait-for-orphans",
    fix_ended_pods_keep_their_phase: "fix-ended-pods-keep-their-phase",
    fix_young_containers_wait: "fix-young-containers-wait",
}
