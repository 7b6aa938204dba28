//! The known bugs of the identity of an apiserver, and the fixes of findings. Each is declared beside the algorithm that
//! it changes.

use wavetank_version::defects;

use super::controller;

defects! {
    /// A known bug of the identity of an apiserver, or the fix of a finding.
    pub enum IdentityDefect in "identities of apiservers" {
        FixCancelIdentity = controller::FIX_CANCEL_IDENTITY,
        FixIdentityUnderLock = controller::FIX_IDENTITY_UNDER_LOCK,
        IdentityStopWaits = controller::IDENTITY_STOP_WAITS,
    }
}
