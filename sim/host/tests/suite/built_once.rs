//! What the command is built of is not built again for operators that are written with kube.

#[path = "../../../../scenarios/tests/suite/built_once.rs"]
mod of_the_command;

#[test]
fn kube_wants_no_more_of_a_crate_than_the_command() {
    assert_eq!(of_the_command::only_the_command(&["--workspace"]), [""; 0]);
}
