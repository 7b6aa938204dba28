//! Writers: processes whose work has several steps.
//!
//! Such work is a *routine*: an `async fn` that reaches everything outside through [`Rx`]. At each
//! await anything else may happen first. When a world is copied, the routine is run again over the
//! answers that it got, so it must be a function of its task and of these.

use std::time::Duration;

use wavetank_engine::{
    Caller, Cx, Name, NetError, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task,
};

use crate::vault::{Answer, HOLD, Request, TO_THE_VAULT};

/// What the workload tells a writer to do, and the routine that does it.
pub const WRITE: Name = Name::new("write");

/// Preparing what is to be written takes up to so many of these steps.
const STEPS: u64 = 40;
const STEP: Duration = Duration::from_millis(100);
/// From the look at the clock until the request is on its way: short, usually.
const SENDING: Duration = Duration::from_millis(1);

/// Writes under the lock, when told to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Writer {
    vault: ProcId,
}

impl Writer {
    /// A writer to this vault.
    pub fn new(vault: ProcId) -> Writer {
        Writer { vault }
    }
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    /// Nobody asks a writer for anything.
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}

    /// The workload of the case says when to write.
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        if what != WRITE.as_str() {
            return Err(format!("a writer knows `{WRITE}`, not `{what}`"));
        }
        cx.spawn(Task::new(WRITE, self.vault));
        Ok(())
    }

    /// Nothing is kept outside of routines, and these end with the process anyway.
    fn crash(&mut self) {}

    /// A writer has one kind of routine. Its arguments come with the task.
    fn routine(&self, task: &Task) -> RoutineFuture {
        let vault = *task.args();
        Box::pin(async move {
            // A writer that gets no answer gives up: the workload will tell it to write again.
            let _ = write(Rx::new(), vault).await;
            Outcome::Done
        })
    }
}

/// Takes the lock, prepares, writes if the lock should still be its own.
async fn write(rx: Rx, vault: ProcId) -> Result<(), NetError> {
    let ask = |request| rx.call(&TO_THE_VAULT, vault, Payload::new(request));
    let Answer::Granted(token) = *ask(Request::Acquire).await?.expect() else {
        return Ok(());
    };
    let granted = rx.clock();
    rx.sleep(STEP * rx.choose(STEPS).await as u32).await;
    // The wall clock may have jumped, and if it has not: whoever is held up after looking at it
    // writes late all the same. The lock alone protects nothing.
    if rx.clock().since(granted) < HOLD {
        rx.sleep(SENDING).await;
        ask(Request::Write(token)).await?;
    }
    Ok(())
}
