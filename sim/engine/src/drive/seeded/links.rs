//! How long frames take: a base for each link and a draw for each frame.

use std::time::Duration;

use crate::net::Sent;
use crate::time::nanos;

use super::super::random::Stream;

/// A slow link makes a frame late by no more than this: a sender that heard nothing of it sends it again after `TCP_RTO_MAX`
/// at the latest (Linux, `include/net/tcp.h`). Otherwise one frame, and all that comes behind it, could be under way
/// long after the storm is over.
const LATEST: Duration = Duration::from_secs(120);

/// The latency of links.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The range from which each link draws its base.
    pub base: (Duration, Duration),
    /// In so many of a million cases a frame takes much longer:
    pub tail_per_million: u32,
    /// so long.
    pub tail: (Duration, Duration),
}

/// What a process draws for what it sends.
#[derive(Clone, Debug)]
pub(super) struct LinkDraw {
    stream: Stream,
    /// Base latency to each process.
    base: Vec<u64>,
}

/// One for each process.
pub(super) fn draw(names: &[String], seed: u64, latency: &Latency) -> Vec<LinkDraw> {
    let link = |name: &String| {
        let mut stream = stream_of(name, seed);
        let (low, high) = latency.base;
        let base = names
            .iter()
            .map(|_| nanos(stream.uniform(low, high)))
            .collect();
        LinkDraw { stream, base }
    };
    names.iter().map(link).collect()
}

fn stream_of(process: &str, seed: u64) -> Stream {
    Stream::new(seed, &format!("latency/{process}"))
}

impl LinkDraw {
    /// From now on what this process sends is drawn from another seed; the bases stay.
    pub fn redraw(&mut self, process: &str, seed: u64) {
        self.stream = stream_of(process, seed);
    }

    pub fn latency(&mut self, sent: Sent, latency: &Latency) -> Duration {
        if sent.from == sent.to {
            return sent.nominal;
        }
        let base = self.base[sent.to.index()];
        let mut fast = Duration::from_nanos(base / 2 + self.stream.below(base.max(1)));
        if self.stream.chance(latency.tail_per_million) {
            let (low, high) = latency.tail;
            fast = self.stream.spread(low, high);
        }
        (fast * sent.slow).min(LATEST.max(fast))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::{ConnId, Dir};
    use crate::name::ProcId;
    use crate::queue::FrameHead;

    fn drawn(tail: Duration, slow: u32) -> Duration {
        let latency = Latency {
            base: (Duration::from_millis(1), Duration::from_millis(2)),
            tail_per_million: 1_000_000,
            tail: (tail, tail),
        };
        let names = ["a".to_owned(), "b".to_owned()];
        let sent = Sent {
            from: ProcId(0),
            to: ProcId(1),
            nominal: Duration::ZERO,
            slow,
            wire: FrameHead {
                conn: ConnId(0),
                dir: Dir::Up,
            },
        };
        draw(&names, 1, &latency)[0].latency(sent, &latency)
    }

    #[test]
    fn a_slow_link_is_not_slower_than_a_frame_that_is_sent_again() {
        let (short, long) = (Duration::from_millis(500), Duration::from_secs(300));
        assert_eq!(drawn(short, 2), 2 * short);
        assert_eq!(drawn(short, 2000), LATEST);
        assert_eq!(drawn(long, 1), long, "what a scenario asks for itself");
        assert_eq!(drawn(long, 2), long);
    }
}
