//! In which order the containers of a pod with sidecars are stopped (`pkg/kubelet/kuberuntime/kuberuntime_termination_order.go`,
//! v1.36.2): sidecars after all regular containers, the last one first. What upstream tells by channels is a set here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::{Condition, Rx};

use crate::back_off::since;
use crate::pod;

/// A container of some pod has been stopped.
const STOPPED: Condition = Condition::new("container-was-stopped", 0);

type Names = BTreeSet<Arc<str>>;

/// `terminationOrdering`
#[derive(Debug)]
pub(crate) struct TerminationOrdering {
    /// Those that run and were not stopped yet.
    running: Mutex<Names>,
    prereqs: BTreeMap<Arc<str>, Names>,
}

impl TerminationOrdering {
    /// Upstream's `newTerminationOrdering`, if the pod has sidecars.
    pub(crate) fn new(pod: &Object, running: Names) -> Option<TerminationOrdering> {
        let sidecars = pod::init_containers(pod).into_iter();
        let sidecars: Vec<_> = sidecars.filter(|own| own.is_restartable).collect();
        if sidecars.is_empty() {
            return None;
        }
        let main: Names = pod::containers(pod)
            .into_iter()
            .map(|own| own.name)
            .collect();
        let mut prereqs = BTreeMap::new();
        let mut later = None;
        for own in sidecars.into_iter().rev() {
            let mut before = main.clone();
            before.extend(later.replace(own.name.clone()));
            prereqs.insert(own.name, before);
        }
        Some(TerminationOrdering {
            running: Mutex::new(running),
            prereqs,
        })
    }

    fn has_turn(&self, name: &str) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.prereqs.get(name);
        before.is_none_or(|before| before.is_disjoint(&running))
    }

    /// `waitForTurn`: how many whole seconds that took.
    pub(crate) async fn wait_for_turn(&self, rx: Rx, name: &str, grace: i64) -> i64 {
        if self.has_turn(name) {
            return 0;
        }
        let begun = rx.clock();
        let limit = Duration::from_secs(grace.unsigned_abs());
        let turn = async {
            while !self.has_turn(name) {
                rx.changed(STOPPED).await;
            }
        };
        match rx.timeout(limit, turn).await {
            Some(()) => since(begun, rx.clock()).as_secs() as i64,
            None => grace,
        }
    }

    /// `containerTerminated`
    pub(crate) fn container_terminated(&self, rx: Rx, name: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(name);
        drop(running);
        rx.broadcast(STOPPED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sidecars_are_stopped_after_all_others_and_backwards() {
        let sidecar = |name: &str| json!({"name": name, "restartPolicy": "Always"});
        let init = json!([sidecar("a"), {"name": "once"}, sidecar("b")]);
        let spec = json!({"containers": [{"name": "main"}], "initContainers": init});
        let pod = Object::new(json!({ "spec": spec }));
        let running = ["a", "b", "main"].map(Arc::from).into_iter().collect();
        let own = TerminationOrdering::new(&pod, running).expect("it has sidecars");
        let stop = |name: &str| own.running.lock().expect("nobody panics").remove(name);
        let turns = || ["a", "b", "main", "once"].map(|name| own.has_turn(name));
        assert_eq!(turns(), [false, false, true, true]);
        stop("main");
        assert_eq!(turns(), [false, true, true, true]);
        stop("b");
        assert_eq!(turns(), [true, true, true, true]);
    }
}
