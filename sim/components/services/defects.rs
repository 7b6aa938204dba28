//! The known bugs of what Services are allocated, and the fixes of findings. Each is declared beside the algorithm that
//! it changes.

use wavetank_version::defects;

use super::address_controllers::{self, repair_ip};
use super::allocators::{
    self, addresses, hooks, node_ports, ports, range_allocation, rest, storage,
};
use super::repair::{self, rebuild};

defects! {
    /// A known bug of what Services are allocated, or the fix of a finding.
    pub enum ServiceDefect in "ranges for Services" {
        DeleteGivesUpEarly = rest::DELETE_GIVES_UP_EARLY,
        FinalizerUpdateLeaks = storage::FINALIZER_UPDATE_LEAKS,
        StatusFinalizerLeaks = storage::STATUS_FINALIZER_LEAKS,
        MemoryRefuses = range_allocation::MEMORY_REFUSES,
        MemoryOutlivesFailure = range_allocation::MEMORY_OUTLIVES_FAILURE,
        SharedPortIsReleased = node_ports::SHARED_PORT_IS_RELEASED,
        HealthCheckPortLeaks = node_ports::HEALTH_CHECK_PORT_LEAKS,
        AllocatorSwallowsErrors = addresses::ALLOCATOR_SWALLOWS_ERRORS,
        TroubleIsInvalid = allocators::TROUBLE_IS_INVALID,
        FirstAddressIsGivenAway = range_allocation::FIRST_ADDRESS_IS_GIVEN_AWAY,
        ReleasedBeforeWritten = rest::RELEASED_BEFORE_WRITTEN,
        FailedUpdateCountsAsDone = rest::FAILED_UPDATE_COUNTS_AS_DONE,
        LayerReadsApart = rest::LAYER_READS_APART,
        FixKeepAfterUnknown = allocators::FIX_KEEP_AFTER_UNKNOWN,
        FixFinishAfterWrite = storage::FIX_FINISH_AFTER_WRITE,
        FixReleaseOnce = storage::FIX_RELEASE_ONCE,
        FixReleasePortOnce = ports::FIX_RELEASE_PORT_ONCE,
        FixReleaseOwnAddress = addresses::FIX_RELEASE_OWN_ADDRESS,
        FixGiveBackFirstFamily = hooks::FIX_GIVE_BACK_FIRST_FAMILY,
        FixOwnNodePorts = node_ports::FIX_OWN_NODE_PORTS,
        FixSayNotReady = addresses::FIX_SAY_NOT_READY,
    }
}

defects! {
    /// A known bug of the repair of what Services are allocated, or the fix of a finding.
    pub enum RepairDefect in "ranges for Services" {
        RepairForgetsHealthCheck = repair::REPAIR_FORGETS_HEALTH_CHECK,
        LeakIsFreedAtOnce = rebuild::LEAK_IS_FREED_AT_ONCE,
        RepairStartGivesUp = repair::REPAIR_START_GIVES_UP,
        RepairListsFirst = repair::REPAIR_LISTS_FIRST,
        TypeChangeLosesAddress = repair_ip::TYPE_CHANGE_LOSES_ADDRESS,
        ForbiddenEndsStart = repair_ip::FORBIDDEN_ENDS_START,
        YoungAddressIsTaken = repair_ip::YOUNG_ADDRESS_IS_TAKEN,
        FixStartWithExisting = repair_ip::FIX_START_WITH_EXISTING,
        FixCountRounds = repair::FIX_COUNT_ROUNDS,
        FixForgetCleaned = rebuild::FIX_FORGET_CLEANED,
        FixWaitForService = repair_ip::FIX_WAIT_FOR_SERVICE,
        FixLookBeforeRecreate = repair_ip::FIX_LOOK_BEFORE_RECREATE,
        FixDeleteWhatWasSeen = address_controllers::FIX_DELETE_WHAT_WAS_SEEN,
    }
}
