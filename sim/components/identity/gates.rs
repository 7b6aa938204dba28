//! What changed between releases in the identities of apiservers.

use wavetank_version::{Gate, gates};

gates! {
    /// Apiservers have identities (`APIServerIdentity`, beta).
    pub IDENTITY = Gate::since(1, 26);
}
