//! The known bugs of leader election, and the fixes of findings. Each is declared beside the algorithm that it changes.

use wavetank_version::defects;

use super::run;

defects! {
    /// A known bug of leader election, or the fix of a finding.
    pub enum ElectionDefect in "controller managers" {
        LostLeadershipGoesUnnoticed = run::LOST_LEADERSHIP_GOES_UNNOTICED,
        RenewalOutlivesDeadline = run::RENEWAL_OUTLIVES_DEADLINE,
        ReleaseWithoutDuration = run::RELEASE_WITHOUT_DURATION,
        ReleaseFromMemory = run::RELEASE_FROM_MEMORY,
        ReleaseGivesUpOnConflict = run::RELEASE_GIVES_UP_ON_CONFLICT,
        OwnLeaseDuration = super::OWN_LEASE_DURATION,
        LockReleasedWhileLeading = run::LOCK_RELEASED_WHILE_LEADING,
        FixReleaseOwnLock = run::FIX_RELEASE_OWN_LOCK,
        FixCountFromRequest = super::FIX_COUNT_FROM_REQUEST,
    }
}
