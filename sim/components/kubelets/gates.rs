//! What changed between releases in kubelets.

use wavetank_version::{Gate, gates};

gates! {
    /// The kubelet in the form that is here.
    pub KUBELET = Gate::since(1, 36);
    /// Only containers of its newest sandbox tell that a pod has been initialized.
    pub ACTIVE_CONTAINERS_TELL = Gate::since(1, 37);
    /// A container that replaces another has to start up itself.
    pub CONTAINERS_START_ANEW = Gate::since(1, 38);
    /// A container that the API does not name has to be probed after a restart of its kubelet (PR #141487).
    pub CONTAINERS_ARE_PROBED_ANEW = Gate::since(1, 38);
}
