//! The defects of quotas, of the admission plugin and of the controller, that a seed of `quota-storm` shows. The scope
//! `quota-change` shows a count that is written over a charge, `quota-made-anew` the lack of `fix-quotas-made-anew`.

use crate::support::pins::pins;

pins! {
    charges_without_precondition: "charges-without-precondition",
    charges_are_not_summed: "charges-are-not-summed",
    refused_charges_pass: "refused-charges-pass",
    refusals_are_weighed_again: "refusals-are-weighed-again",
    quotas_are_not_counted_again: "quotas-are-not-counted-again",
    counts_forget_charges: "counts-forget-charges",
}
