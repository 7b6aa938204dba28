//! What a runtime answers, and how long that takes; containers that end.

use super::*;

/// Ends a container of this process, if it runs.
pub(super) fn end(rx: Rx, id: &Id, code: i64) {
    let now = rx.clock();
    let ended = rx.process(|own: &mut ContainerRuntime| own.end(id, code, now));
    if let Some(own) = ended {
        rx.note(Exits {
            container: own.id,
            pod: own.pod,
            name: own.name,
            code,
        });
        rx.broadcast(CHANGED);
    }
}

pub(super) fn is_running(rx: Rx, id: &Id) -> bool {
    rx.process(|own: &mut ContainerRuntime| own.running().contains(id))
}

pub(super) async fn pause(rx: Rx, all: &[u64]) {
    let drawn = rx.choose(all.len() as u64).await as usize;
    rx.sleep(Duration::from_millis(all[drawn])).await;
}

/// SIGTERM: it ends when it likes.
pub(super) async fn terminate(rx: Rx, id: Id) -> Outcome {
    pause(rx, &TERM_TAKES).await;
    let is_polite = rx.process(|own: &mut ContainerRuntime| {
        let mut all = own.containers.iter();
        all.any(|own| own.id == id && *own.image == *POLITE)
    });
    end(rx, &id, if is_polite { 0 } else { TERMINATED });
    Outcome::Done
}

pub(super) async fn until_ended(rx: Rx, id: &Id) {
    while is_running(rx, id) {
        rx.changed(CHANGED).await;
    }
}

/// `StopContainer` of containerd: SIGTERM, and SIGKILL when the grace period is over. Whoever gives up waiting leaves it at SIGTERM.
pub(super) async fn stop_container(rx: Rx, id: &Id, grace: i64) -> Answer {
    let heeds = rx.process(|own: &mut ContainerRuntime| {
        let mut all = own.containers.iter();
        all.any(|own| own.id == *id && *own.image != *STUBBORN)
    });
    if grace > 0 {
        if heeds && is_running(rx, id) {
            rx.spawn(Task::new(TERM, id.clone()));
        }
        let limit = Duration::from_secs(grace.unsigned_abs());
        let waited = rx.timeout(limit, until_ended(rx, id));
        if let wavetank_engine::Either::Right(()) = rx.select(waited, rx.done()).await {
            return Answer::Failed("context cancelled");
        }
    }
    end(rx, id, KILLED);
    Answer::Done
}

pub(super) async fn answer(rx: Rx, ask: Ask) -> Answer {
    match ask {
        Ask::ListPods => rx.process(|own: &mut ContainerRuntime| {
            Answer::Pods(own.sandboxes.clone(), own.containers.clone())
        }),
        Ask::PodStatus(uid) => {
            rx.process(|own: &mut ContainerRuntime| Answer::Status(own.status(&uid)))
        }
        Ask::RunPodSandbox(pod, attempt) => {
            pause(rx, &SANDBOX_TAKES).await;
            let of = pod.clone();
            let made = rx.process(|own: &mut ContainerRuntime| own.run_pod_sandbox(of, attempt));
            if matches!(made, Answer::Made(_)) {
                rx.note(MakesSandbox(pod));
            }
            made
        }
        Ask::StopPodSandbox(id) => {
            let now = rx.clock();
            let ended = rx.process(|own: &mut ContainerRuntime| own.stop_pod_sandbox(&id, now));
            for own in ended {
                rx.note(Exits {
                    container: own.id,
                    pod: own.pod,
                    name: own.name,
                    code: KILLED,
                });
            }
            rx.broadcast(CHANGED);
            Answer::Done
        }
        Ask::RemovePodSandbox(id) => rx.process(|own: &mut ContainerRuntime| {
            own.sandboxes.retain(|own| own.id != id);
            own.containers
                .retain(|own| own.sandbox != id || own.is_running());
            Answer::Done
        }),
        Ask::PullImage(_) => {
            pause(rx, &PULL_TAKES).await;
            Answer::Done
        }
        Ask::CreateContainer { .. } => {
            rx.process(|own: &mut ContainerRuntime| own.create_container(&ask))
        }
        Ask::StartContainer(id) => {
            let now = rx.clock();
            let started = rx.process(|own: &mut ContainerRuntime| own.start(&id, now));
            let Some(own) = started else {
                return Answer::Failed("the container cannot be started");
            };
            if let Some((runs, _)) = ContainerRuntime::ends_with(&own) {
                rx.arm(Timer::new(RUN_OUT, own.number), runs);
            }
            rx.note(Starts {
                container: own.id,
                pod: own.pod,
                name: own.name,
            });
            Answer::Done
        }
        Ask::StopContainer(id, grace) => stop_container(rx, &id, grace).await,
        Ask::RemoveContainer(id) => rx.process(|own: &mut ContainerRuntime| {
            own.containers
                .retain(|own| own.id != id || own.is_running());
            Answer::Done
        }),
        Ask::Stats => memory::stats(rx),
        Ask::CurrentInhibitDelay => machine::current_inhibit_delay(rx),
        Ask::OverrideInhibitDelay(delay) => machine::override_inhibit_delay(rx, delay),
        Ask::ReloadLogindConf => {
            rx.spawn(Task::new(machine::RELOAD, ()));
            Answer::Done
        }
        Ask::PreparingForShutdown => Answer::PrepareForShutdown(!machine::is_on(rx)),
        Ask::InhibitShutdown | Ask::MonitorShutdown => unreachable!("these are streams"),
        Ask::Probe(id, kind) => {
            let now = rx.clock();
            let ok = rx.process(|own: &mut ContainerRuntime| own.probe(&id, kind, now));
            match ok {
                true => Answer::Done,
                false => Answer::Failed("the probe failed"),
            }
        }
    }
}

pub(super) async fn serve(rx: Rx, caller: Caller, ask: Ask) -> Outcome {
    let answer = match ask {
        _ if machine::is_off(rx) => Answer::Failed("the machine is off"),
        Ask::InhibitShutdown => {
            machine::inhibit_shutdown(rx, caller).await;
            return Outcome::Done;
        }
        Ask::MonitorShutdown => {
            machine::monitor_shutdown(rx, caller).await;
            return Outcome::Done;
        }
        ask => answer(rx, ask).await,
    };
    rx.reply(caller, Payload::new(answer));
    Outcome::Done
}

pub(super) async fn run_out(rx: Rx, number: u64) -> Outcome {
    let found = rx.process(|own: &mut ContainerRuntime| {
        let found = own.containers.iter().find(|own| own.number == number);
        found.and_then(|own| Some((own.id.clone(), ContainerRuntime::ends_with(own)?.1)))
    });
    if let Some((id, code)) = found {
        end(rx, &id, code);
    }
    Outcome::Done
}
