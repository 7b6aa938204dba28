//! What a lease promises: its keys live as long as it does, end with it, and it ends.

mod ends;
mod gone;
mod keys;
mod lives;
mod promotion;

pub use ends::LeaseEnds;
pub use gone::GoneLeases;
pub use keys::LeaseKeysGoWithIt;
pub use lives::LeaseLives;
pub use promotion::PromotionKeepsDeadline;
