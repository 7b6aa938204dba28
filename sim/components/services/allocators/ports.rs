//! What one request does to node ports (`pkg/registry/core/service/portallocator/operation.go`): they
//! are taken at once and given up at its end, since a leak is better than two owners.

use wavetank_engine::{Rx, mutant};
use wavetank_version::{Defect, Set};

use super::could_not_release;
use super::range_allocation::{RangeAllocation, Refusal};
use crate::services::ServiceDefect;

/// The ports of one request.
#[derive(Clone, Debug)]
pub struct PortOperation<'a> {
    allocation: &'a RangeAllocation,
    taken: Vec<i64>,
    to_release: Vec<i64>,
    dry_run: bool,
}

impl<'a> PortOperation<'a> {
    /// `StartOperation`
    pub fn start_operation(allocation: &'a RangeAllocation, dry_run: bool) -> PortOperation<'a> {
        PortOperation {
            allocation,
            taken: Vec::new(),
            to_release: Vec::new(),
            dry_run,
        }
    }

    /// `Allocate`
    ///
    /// # Errors
    /// Why not.
    pub async fn allocate(&mut self, rx: Rx, port: i64) -> Result<(), Refusal> {
        let range = self.allocation.range();
        let offset = range.offset_of_port(port);
        if self.dry_run {
            let has = match offset {
                Some(offset) => self.allocation.has(rx, offset).await,
                None => false,
            };
            if has || self.taken.contains(&port) {
                return Err(Refusal::Taken);
            }
        } else {
            let offset = offset.ok_or_else(|| {
                let all = &range.spec;
                Refusal::Outside(format!(
                    "provided port is not in the valid range. The range of valid ports is {all}"
                ))
            })?;
            self.allocation.allocate(rx, offset).await?;
        }
        self.taken.push(port);
        Ok(())
    }

    /// `AllocateNext`. A dry run makes up a number.
    ///
    /// # Errors
    /// Why not, in upstream's words.
    pub async fn allocate_next(&mut self, rx: Rx) -> Result<i64, String> {
        let port = if self.dry_run {
            self.taken.iter().max().map_or(32768, |last| *last) + 1
        } else {
            let offset = self.allocation.allocate_next(rx).await.map_err(reason_of)?;
            let item = self.allocation.range().item(offset);
            item.parse().expect("a port is a number")
        };
        self.taken.push(port);
        Ok(port)
    }

    /// Is it on?
    pub fn has(&self, defect: ServiceDefect) -> bool {
        self.allocation.has_defect(defect)
    }

    /// What is on.
    pub fn defects(&self) -> Set<ServiceDefect> {
        self.allocation.defects()
    }

    /// A port that was taken is not given back with the others.
    pub fn forget(&mut self, port: i64) {
        self.taken.retain(|taken| *taken != port);
    }

    /// `ReleaseDeferred`: once the Service is written.
    pub fn release_deferred(&mut self, port: i64) {
        self.to_release.push(port);
    }

    /// `Commit`. Errors are left to the repair loop.
    pub async fn commit(&self, rx: Rx) {
        if !self.to_release.is_empty()
            && mutant!(
                "old-ports-are-kept",
                "a Service that is changed does not give up its old ports"
            )
        {
            return;
        }
        self.release(rx, &self.to_release).await;
    }

    /// `Rollback`. Errors are left to the repair loop.
    pub async fn rollback(&self, rx: Rx) {
        if !self.taken.is_empty()
            && mutant!(
                "ports-are-not-rolled-back",
                "a Service that is refused keeps its ports"
            )
        {
            return;
        }
        self.release(rx, &self.taken).await;
    }

    async fn release(&self, rx: Rx, ports: &[i64]) {
        if !self.dry_run {
            release(rx, self.allocation, ports).await;
        }
    }
}

pub(crate) const FIX_RELEASE_PORT_ONCE: Defect = Defect::fix(
    "fix-release-port-once",
    "FINDINGS.md, 11",
    "a node port that two protocols of a Service share is given up once, and not twice",
);

/// Releases ports, as far as they are in the range. Upstream releases one that two protocols share twice,
/// and somebody else may have it in between.
pub async fn release(rx: Rx, allocation: &RangeAllocation, ports: &[i64]) {
    for (at, port) in ports.iter().enumerate() {
        if ports[..at].contains(port) && allocation.has_defect(ServiceDefect::FixReleasePortOnce) {
            continue;
        }
        if let Some(offset) = allocation.range().offset_of_port(*port)
            && let Err(refusal) = allocation.release(rx, offset).await
        {
            could_not_release(rx, &port.to_string(), &reason_of(refusal));
        }
    }
}

/// In upstream's words.
pub fn reason_of(refusal: Refusal) -> String {
    match refusal {
        Refusal::Full => "range is full".to_owned(),
        Refusal::Taken => "provided port is already allocated".to_owned(),
        Refusal::NotReady => unreachable!("a bitmap is always ready"),
        Refusal::Outside(why) | Refusal::Failed(why) => why,
    }
}
