//! What changed between releases in leader election. Where it is not known in which release something changed, the gate
//! stands at the first modelled release that has it, and says so.

use wavetank_version::{Gate, gates};

gates! {
    /// A leader that could not renew its lock in time gives up (k/k#23731).
    pub LOSS_IS_NOTICED = Gate::since(1, 2);
    /// Requests have a context, and end with it (k/k#83078, k/k#87899).
    pub REQUESTS_HAVE_CONTEXTS = Gate::since(1, 18);
    /// The record of a lock that is given up has a duration (k/k#91966).
    pub RELEASED_RECORD_HAS_A_DURATION = Gate::since(1, 19);
    /// Components lock a Lease by default (`controller-manager/config`).
    pub LEASES_BY_DEFAULT = Gate::since(1, 20);
    /// A lock remembers its object over an error (the first modelled release that does).
    pub ERRORS_KEEP_THE_OBJECT = Gate::since(1, 20);
    /// A lock on both an old kind of object and a Lease, on the way from one to the other (`multilock.go`; the first
    /// modelled release that has it, and the first that has not).
    pub MULTI_LOCKS = Gate::since(1, 20).gone_since(1, 36);
    /// A request may take half of the renew deadline (`resourcelock.NewFromKubeconfig`; the first modelled release
    /// that has it).
    pub REQUESTS_TAKE_HALF_THE_DEADLINE = Gate::since(1, 20);
    /// Locks on Endpoints and ConfigMaps (`resourcelock/interface.go`).
    pub ENDPOINTS_LOCKS = Gate::until(1, 24);
    /// A lock is released after it was read, from what is there (k/k#95939; the first modelled release that does).
    pub RELEASE_READS_FIRST = Gate::since(1, 36);
    /// A lock expires after the duration that its record names (`isLeaseValid`; the first modelled release that asks).
    pub RECORDS_NAME_THEIR_DURATION = Gate::since(1, 36);
    /// A leader renews from what it saw last, and reads only if that fails (`tryAcquireOrRenew`; the first modelled
    /// release that has it).
    pub RENEWAL_WRITES_FIRST = Gate::since(1, 36);
}
