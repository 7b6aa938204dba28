//! The known bugs of what Services are allocated, and the fixes of findings. Each is declared beside the algorithm that
//! it changes.

use wavetank_version::defects;

use super::address_controllers::{self, repair_ip};
use super::repair::{self, rebuild};

defects! {
    /// A known bug of the repair of what Services are allocated, or the fix of a finding.
    pub enum RepairDefect in "ranges for Services" {
        RepairForgetsHealthCheck = repair::REPAIR_FORGETS_HEALTH_CHECK,
        LeakIsFreedAtOnce = rebuild::LEAK_IS_FREED_AT_ONCE,
        RepairStartGivesUp = repair::REPAIR_START_GIVES_UP,
        TypeChangeLosesAddress = repair_ip::TYPE_CHANGE_LOSES_ADDRESS,
        FixCountRounds = repair::FIX_COUNT_ROUNDS,
        FixForgetCleaned = rebuild::FIX_FORGET_CLEANED,
        FixWaitForService = repair_ip::FIX_WAIT_FOR_SERVICE,
        FixLookBeforeRecreate = repair_ip::FIX_LOOK_BEFORE_RECREATE,
        FixDeleteWhatWasSeen = address_controllers::FIX_DELETE_WHAT_WAS_SEEN,
    }
}
