//! What goes wrong on a node: containers end, are not well or are removed.

use super::serve::end;
use super::*;

/// One of those that run is drawn.
pub(super) async fn drawn(rx: Rx) -> Option<Id> {
    let running = rx.process(|own: &mut ContainerRuntime| own.running());
    match running.is_empty() {
        true => None,
        false => Some(running[rx.choose(running.len() as u64).await as usize].clone()),
    }
}

pub(super) async fn fail(rx: Rx) -> Outcome {
    if let Some(id) = drawn(rx).await {
        let code = CODES[rx.choose(CODES.len() as u64).await as usize];
        end(rx, &id, code);
    }
    Outcome::Done
}

pub(super) async fn be_unwell(rx: Rx) -> Outcome {
    let set = |id: &Id, well: bool| {
        rx.process(|own: &mut ContainerRuntime| {
            for own in own.containers.iter_mut().filter(|own| own.id == *id) {
                own.is_well = well;
            }
        });
    };
    if let Some(id) = drawn(rx).await {
        set(&id, false);
        let lasts = UNWELL_FOR[rx.choose(UNWELL_FOR.len() as u64).await as usize];
        rx.sleep(Duration::from_secs(lasts)).await;
        set(&id, true);
    }
    Outcome::Done
}

pub(super) async fn prune(rx: Rx) -> Outcome {
    for own in rx.process(ContainerRuntime::prune) {
        rx.note(Prunes {
            container: own.id,
            pod: own.pod,
            name: own.name,
        });
    }
    rx.broadcast(CHANGED);
    Outcome::Done
}

/// Nothing runs any more, and sandboxes are gone.
pub(super) fn end_all(rx: Rx) {
    let now = rx.clock();
    let ended = rx.process(|own: &mut ContainerRuntime| {
        for sandbox in &mut own.sandboxes {
            sandbox.is_ready = false;
            sandbox.address = None;
        }
        let running = own.running().into_iter();
        let ended = running.filter_map(|id| own.end(&id, NODE_WENT_DOWN, now));
        let ended: Vec<Container> = ended.collect();
        ended
    });
    for own in ended {
        rx.note(Exits {
            container: own.id,
            pod: own.pod,
            name: own.name,
            code: NODE_WENT_DOWN,
        });
    }
}
