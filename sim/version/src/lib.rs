//! What a version of Kubernetes or etcd is, what a gate between versions is, and what a defect or a fix is: types
//! only. Gates stand in the gate table of the component that they change (`gates.rs`), defects and fixes beside the
//! algorithm that they change; which releases a user can choose stands in `wavetank-releases`. Nothing here names
//! a component.

mod composition;
mod defect;
mod etcd;
mod gate;
mod list;
mod selection;
mod set;
mod version;

pub use composition::{Composition, Unfit};
pub use defect::{Defect, Kind, OptionIs};
pub use etcd::{EtcdGate, EtcdVersion, Line};
pub use gate::{Gate, NamedGate};
pub use list::{List, Listed};
pub use selection::Selection;
pub use set::Set;
pub use version::{AnyVersion, Version};
