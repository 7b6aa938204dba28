//! The defects of the controllers that bind and protect volumes, as far as a seed of `volume-storm` shows them.

use crate::support::pins::pins;

pins! {
    missing_claims_are_gone: "missing-claims-are-gone",
    cached_claim_uids_are_trusted: "cached-claim-uids-are-trusted",
    volumes_are_not_looked_at_again: "volumes-are-not-looked-at-again",
    released_volumes_ask_for_claims: "released-volumes-ask-for-claims",
    volumes_that_go_are_given: "volumes-that-go-are-given",
    claims_are_bound_first: "claims-are-bound-first",
    bound_volumes_go: "bound-volumes-go",
}
