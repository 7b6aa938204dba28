//! The known bugs of what Services are allocated, and the fixes of findings. Each is declared beside the algorithm that
//! it changes.

use wavetank_version::defects;

use super::{addresses, hooks, ledger, node_ports, ports, rest, storage};

defects! {
    /// A known bug of what Services are allocated, or the fix of a finding.
    pub enum ServiceDefect in "ranges for Services" {
        DeleteGivesUpEarly = rest::DELETE_GIVES_UP_EARLY,
        FinalizerUpdateLeaks = storage::FINALIZER_UPDATE_LEAKS,
        StatusFinalizerLeaks = storage::STATUS_FINALIZER_LEAKS,
        MemoryRefuses = ledger::MEMORY_REFUSES,
        MemoryOutlivesFailure = ledger::MEMORY_OUTLIVES_FAILURE,
        SharedPortIsReleased = node_ports::SHARED_PORT_IS_RELEASED,
        HealthCheckPortLeaks = node_ports::HEALTH_CHECK_PORT_LEAKS,
        AllocatorSwallowsErrors = addresses::ALLOCATOR_SWALLOWS_ERRORS,
        TroubleIsInvalid = super::TROUBLE_IS_INVALID,
        FirstAddressIsGivenAway = ledger::FIRST_ADDRESS_IS_GIVEN_AWAY,
        ReleasedBeforeWritten = rest::RELEASED_BEFORE_WRITTEN,
        FailedUpdateCountsAsDone = rest::FAILED_UPDATE_COUNTS_AS_DONE,
        LayerReadsApart = rest::LAYER_READS_APART,
        FixKeepAfterUnknown = super::FIX_KEEP_AFTER_UNKNOWN,
        FixFinishAfterWrite = storage::FIX_FINISH_AFTER_WRITE,
        FixReleaseOnce = storage::FIX_RELEASE_ONCE,
        FixReleasePortOnce = ports::FIX_RELEASE_PORT_ONCE,
        FixReleaseOwnAddress = addresses::FIX_RELEASE_OWN_ADDRESS,
        FixGiveBackFirstFamily = hooks::FIX_GIVE_BACK_FIRST_FAMILY,
        FixOwnNodePorts = node_ports::FIX_OWN_NODE_PORTS,
    }
}
