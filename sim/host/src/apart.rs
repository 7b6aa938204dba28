//! Where worlds with hosted programs are simulated.

use wavetank_component::Apart;

use crate::process::NO_COPY;
use crate::sys;

/// Each simulation in a process of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forks;

impl Apart for Forks {
    fn why(&self) -> &'static str {
        NO_COPY
    }

    fn in_process(
        &self,
        work: &mut (dyn FnMut() -> Vec<u8> + Send),
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, String> {
        wavetank_api::prepare();
        sys::in_child(work, stop)
    }

    fn on_thread(&self, work: &mut dyn FnMut()) {
        sys::simulated(work);
    }
}
