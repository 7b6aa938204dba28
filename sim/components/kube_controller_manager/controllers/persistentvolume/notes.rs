//! What the controller says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It is about to do something to a volume or a claim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Acts {
    /// Its key: the name of a volume, `namespace/name` of a claim.
    pub on: Item,
    pub act: Act,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Act {
    /// A volume is for this claim.
    BindsVolume(Item),
    /// A claim has this volume.
    BindsClaim(Item),
    /// A volume is for nobody, or for whom it was kept.
    UnbindsVolume,
    /// This is the phase, and why, where that is no matter of course.
    SetsPhase(&'static str, &'static str),
    /// A claim is of this class.
    AssignsClass(Item),
    /// A claim waits for this provisioner.
    AsksProvisioner(Item),
}

/// It looks a claim up that is not in its cache as a volume has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LooksUp {
    pub claim: Item,
    pub volume: Item,
}
