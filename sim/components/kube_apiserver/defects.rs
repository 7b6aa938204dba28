//! The known bugs of the bootstrap controller and the fixes of findings, and the sets of all that runs in an apiserver
//! besides its handlers. Each defect is declared beside the algorithm that it changes.

use wavetank_client::InformerDefect;
use wavetank_version::{AnyVersion, Selection, Set, defects};

use super::bootstrap;
use super::bootstrap::reconcilers::{self, lease};
use crate::identity::IdentityDefect;
use crate::services::{RepairDefect, ServiceDefect};

defects! {
    /// A known bug of the bootstrap controller and its reconcilers, or the fix of a finding.
    pub enum BootstrapDefect in "apiservers" {
        LastApiserverKeepsAddress = lease::LAST_APISERVER_KEEPS_ADDRESS,
        MasterLeaseDoubleSlash = lease::MASTER_LEASE_DOUBLE_SLASH,
        RemoveEndpointsUnbounded = bootstrap::REMOVE_ENDPOINTS_UNBOUNDED,
        ListedBeforeReady = bootstrap::LISTED_BEFORE_READY,
        MasterLeaseTooLong = lease::MASTER_LEASE_TOO_LONG,
        MasterCountKeepsCrashed = reconcilers::MASTER_COUNT_KEEPS_CRASHED,
        FixRetryRemoveEndpoints = lease::FIX_RETRY_REMOVE_ENDPOINTS,
        FixRemoveAbsentLease = lease::FIX_REMOVE_ABSENT_LEASE,
        FixStopUnderLock = lease::FIX_STOP_UNDER_LOCK,
        FixLeaveSharedLease = lease::FIX_LEAVE_SHARED_LEASE,
    }
}

/// The defects and fixes that are on in the controllers of an apiserver, by component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Defects {
    /// Of the bootstrap controller and its reconcilers.
    pub bootstrap: Set<BootstrapDefect>,
    /// Of what Services are allocated.
    pub services: Set<ServiceDefect>,
    /// Of the repair of what Services are allocated.
    pub repair: Set<RepairDefect>,
    /// Of the server's identity.
    pub identity: Set<IdentityDefect>,
    /// Of the server's own informers.
    pub informers: Set<InformerDefect>,
}

impl Defects {
    /// Those of a selection.
    pub fn of(selection: &Selection) -> Defects {
        Defects {
            bootstrap: selection.of(),
            services: selection.of(),
            repair: selection.of(),
            identity: selection.of(),
            informers: selection.of(),
        }
    }

    /// What a version shipped with.
    pub fn shipped_with(version: impl Into<AnyVersion>) -> Defects {
        let version = version.into();
        Defects {
            bootstrap: Set::shipped_with(version),
            services: Set::shipped_with(version),
            repair: Set::shipped_with(version),
            identity: Set::shipped_with(version),
            informers: Set::shipped_with(version),
        }
    }
}
