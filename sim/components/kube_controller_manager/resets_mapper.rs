//! The mapper of kinds that the controllers of a process share is made anew every 30 s (`CreateControllerContext` of
//! `cmd/kube-controller-manager/app/controllermanager.go`): who asked for a kind before it was served finds it after that.

use wavetank_client::leader_election::Leading;
use wavetank_engine::Rx;

use crate::controller::{Controller, Work};
use crate::controller_utils::discovery::reset_again_and_again;

/// Who does that where the garbage collector does not.
#[derive(Debug)]
pub struct ResetsMapper;

impl Controller for ResetsMapper {
    fn name(&self) -> &'static str {
        "rest-mapper"
    }

    fn work<'a>(&'a self, rx: Rx, _: &'a Leading) -> Work<'a> {
        Box::pin(reset_again_and_again(rx))
    }
}
