//! Mistakes in the controller of tokens, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const RETRIES_END: Defect = Defect::open(
    "token-retries-end",
    "k/k#106587, PR #106905",
    "a Secret that could not be written or deleted for five seconds is never looked at again",
)
.fits_only(gates::TOKENS_CONTROLLER);

const CERTIFICATES_ARE_NOT_MENDED: Defect = Defect::known(
    "token-certificates-are-not-mended",
    "k/k PR #11303",
    "a Secret that has a token keeps whatever root certificate it has",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const CONFLICTING_REFERENCES_STAY: Defect = Defect::known(
    "conflicting-references-stay",
    "k/k PR #9009",
    "an account that somebody else has just changed refers to its Secret that is gone for ever",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const TRUSTS_CACHED_ACCOUNTS: Defect = Defect::known(
    "trusts-cached-token-accounts",
    "`fetchOnCacheMiss`, left out",
    "a Secret of an account that the cache does not show yet is deleted",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const DELETES_BY_NAME: Defect = Defect::known(
    "tokens-are-deleted-by-name",
    "the precondition of `deleteToken`, left out",
    "a Secret that was made anew under the name of one whose account is gone is deleted in its place",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const FAILURES_ARE_FORGOTTEN: Defect = Defect::known(
    "token-failures-are-forgotten",
    "k/k PR #23858",
    "a Secret that could not be written is not tried again",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const ACCOUNTS_KEEP_TOKENS: Defect = Defect::known(
    "tokens-outlive-accounts",
    "the deletions of `syncServiceAccount`, left out",
    "the Secrets of an account that is gone stay until somebody changes them",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const UNSEEN_ACCOUNTS_KEEP_TOKENS: Defect = Defect::known(
    "unseen-accounts-keep-tokens",
    "the tombstone of `queueServiceAccountSync`, ignored",
    "the Secrets of an account that went while the watch was broken stay",
)
.ships(Gate::NEVER)
.fits_only(gates::TOKENS_CONTROLLER);

const FIX_LIVING_ACCOUNTS: Defect = Defect::fix(
    "fix-tokens-for-living-accounts",
    "FINDINGS.md, 70",
    "a token is made only for an account that a server has just shown, and not for one that was made anew since",
)
.fits_only(gates::TOKENS_CONTROLLER);

const FIX_REPLACED_ACCOUNTS: Defect = Defect::fix(
    "fix-tokens-of-replaced-accounts",
    "FINDINGS.md, 71",
    "an account that was made anew while the watch was broken is looked at under its old UID, too",
)
.fits_only(gates::TOKENS_CONTROLLER);

const FIX_UNSEEN_SECRETS: Defect = Defect::fix(
    "fix-unseen-tokens",
    "FINDINGS.md, 72",
    "a Secret that went while the watch was broken is taken out of what its account refers to",
)
.fits_only(gates::TOKENS_CONTROLLER);

const FIX_REFERENCES: Defect = Defect::fix(
    "fix-remove-references-again",
    "FINDINGS.md, 73",
    "a reference that could not be removed is tried again, and an account that the cache does not show is asked for",
)
.fits_only(gates::TOKENS_CONTROLLER);

const FIX_UNSEEN_ACCOUNTS: Defect = Defect::fix(
    "fix-look-for-unseen-accounts",
    "FINDINGS.md, 74",
    "a Secret whose account only a server has shown is looked at again until the cache shows that account",
)
.fits_only(gates::TOKENS_CONTROLLER);

defects! {
    /// A mistake in the controller of tokens, or the fix of one.
    pub enum TokensDefect in "controllers of tokens" {
        RetriesEnd = RETRIES_END,
        CertificatesAreNotMended = CERTIFICATES_ARE_NOT_MENDED,
        ConflictingReferencesStay = CONFLICTING_REFERENCES_STAY,
        TrustsCachedAccounts = TRUSTS_CACHED_ACCOUNTS,
        DeletesByName = DELETES_BY_NAME,
        FailuresAreForgotten = FAILURES_ARE_FORGOTTEN,
        AccountsKeepTokens = ACCOUNTS_KEEP_TOKENS,
        UnseenAccountsKeepTokens = UNSEEN_ACCOUNTS_KEEP_TOKENS,
        FixLivingAccounts = FIX_LIVING_ACCOUNTS,
        FixReplacedAccounts = FIX_REPLACED_ACCOUNTS,
        FixUnseenSecrets = FIX_UNSEEN_SECRETS,
        FixReferences = FIX_REFERENCES,
        FixUnseenAccounts = FIX_UNSEEN_ACCOUNTS,
    }
}
