//! Findings in `rolling-upgrade` that are not of the Endpoints, each by what it does without its mending, and known
//! bugs of the Endpoints that show while apiservers are replaced, too.

use crate::support;

use support::storm;

const SCENARIO: &str = "rolling-upgrade";

#[test]
fn a_stop_does_not_wait_for_the_renewal_of_an_identity() {
    storm::mends(SCENARIO, "fix-cancel-identity", "v1.36", 5, "shutdown-ends");
}
