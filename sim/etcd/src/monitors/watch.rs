//! What a watch promises, one rule a file, over what `watches` knows of it.

mod atomic;
mod bookmarkable;
mod filter;
mod is_create;
mod newer;
mod ordered;
mod prev_kv;
mod reliable;
mod resumable;
mod unique;

pub use atomic::atomic;
pub use bookmarkable::bookmarkable;
pub use filter::filter;
pub use is_create::is_create;
pub use newer::progress_reaches_newer;
pub use ordered::ordered;
pub use prev_kv::prev_kv;
pub use reliable::reliable;
pub use resumable::resumable;
pub use unique::unique;
