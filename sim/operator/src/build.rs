//! What components of operators and actors have in common, a line each in theirs.

use wavetank_client::{ElectionDefect, InformerDefect};
use wavetank_component::{Mistakes, Need, Setup, Spec, Wiring};
use wavetank_components::{informers, kube_apiserver};
use wavetank_version::{List, Listed, Selection};

use crate::actor::{Act, Actor};
use crate::manager::{Manager, Reconciler};

/// What properties of an operator need: some of its processes.
pub const fn needed(met: fn(&Spec) -> bool, add: &'static str) -> Need {
    let lacking = "an operator, and there is none";
    Need { met, lacking, add }
}

/// Points at the number of its processes where they could do nothing.
pub fn check(key: &str, spec: &Spec, mistakes: &mut Mistakes) {
    kube_apiserver::needed_by(key, spec, mistakes);
}

/// What of an operator can be held: its informers.
pub fn holds<R: Reconciler>(component: &'static str) -> Vec<(&'static str, String)> {
    let all = R::WATCHES.iter();
    all.map(|watch| (component, watch.resource.qualified()))
        .collect()
}

/// Adds the replicas of an operator, of the newest release that there is. `make` is told which of these defects are on.
pub fn managers<R: Reconciler>(
    component: &str,
    setup: &Setup,
    wiring: &mut Wiring,
    defects: &[List],
    make: impl Fn(&Selection) -> R,
) {
    let Some(rest) = informers::rest(setup, wiring) else {
        return;
    };
    let clients = [InformerDefect::LIST, ElectionDefect::LIST];
    let client = setup.selection(rest.release, &clients);
    let own = setup.selection(rest.release, defects);
    for (number, name) in (1..).zip(wiring.names(component)) {
        let manager = Manager::new(name, number, rest.clone(), &client, make(&own));
        wiring.process(name, manager);
    }
}

/// Adds actors.
pub fn actors<A: Act>(component: &str, setup: &Setup, wiring: &mut Wiring, act: &A) {
    let Some(rest) = informers::rest(setup, wiring) else {
        return;
    };
    for name in wiring.names(component) {
        wiring.process(name, Actor::new(rest.clone(), act.clone()));
    }
}
