//! Mistakes in the publisher of the root certificate, and the fix of one.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const NEW_NAMESPACES_ARE_NOT_HEARD_OF: Defect = Defect::known(
    "new-namespaces-are-not-heard-of",
    "PR #71005 (1.13)",
    "nobody tells the publisher of namespaces: one that is made has no root certificate",
)
.ships(Gate::NEVER)
.fits_only(gates::ROOT_CA_PUBLISHER);

const GONE_NAMESPACES_ARE_TRIED_AGAIN: Defect = Defect::known(
    "gone-namespaces-are-tried-again",
    "k/k#96274 (before 1.20)",
    "the publisher goes on to make the ConfigMap of a namespace that is gone",
)
.ships(Gate::NEVER)
.fits_only(gates::ROOT_CA_PUBLISHER);

const TAKES_WHAT_EXISTS: Defect = Defect::known(
    "publisher-takes-what-exists",
    "an error of `syncNamespace`, ignored",
    "a ConfigMap that was there before the publisher came stays as it is: nobody hears that one is made",
)
.ships(Gate::NEVER)
.fits_only(gates::ROOT_CA_PUBLISHER);

const CHANGES_ARE_NOT_MENDED: Defect = Defect::known(
    "changed-certificates-are-not-mended",
    "`configMapUpdated`, left out",
    "a root certificate that somebody has changed stays so",
)
.ships(Gate::NEVER)
.fits_only(gates::ROOT_CA_PUBLISHER);

const DELETED_STAY_AWAY: Defect = Defect::known(
    "deleted-certificates-stay-away",
    "`configMapDeleted`, left out",
    "a root certificate that somebody has deleted is not made again",
)
.ships(Gate::NEVER)
.fits_only(gates::ROOT_CA_PUBLISHER);

const FIX_PUBLISH_IN_NEW_NAMESPACES: Defect = Defect::fix(
    "fix-publish-in-new-namespaces",
    "FINDINGS.md, 55",
    "a server that refuses since the namespace goes is not believed if the cache shows one that does not",
)
.fits_only(gates::ROOT_CA_PUBLISHER);

const FIX_LOOK_FOR_MADE_CERTIFICATES: Defect = Defect::fix(
    "fix-look-for-made-certificates",
    "FINDINGS.md, 74",
    "a root certificate that was made is looked for until the cache shows it: who deletes it before that is noticed",
)
.fits_only(gates::ROOT_CA_PUBLISHER);

defects! {
    /// A mistake in the publisher of the root certificate, or the fix of one.
    pub enum PublisherDefect in "publishers of the root certificate" {
        NewNamespacesAreNotHeardOf = NEW_NAMESPACES_ARE_NOT_HEARD_OF,
        GoneNamespacesAreTriedAgain = GONE_NAMESPACES_ARE_TRIED_AGAIN,
        TakesWhatExists = TAKES_WHAT_EXISTS,
        ChangesAreNotMended = CHANGES_ARE_NOT_MENDED,
        DeletedStayAway = DELETED_STAY_AWAY,
        FixPublishInNewNamespaces = FIX_PUBLISH_IN_NEW_NAMESPACES,
        FixLookForMadeCertificates = FIX_LOOK_FOR_MADE_CERTIFICATES,
    }
}
