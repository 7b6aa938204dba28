//! A yardstick: the least that an event loop can do, a binary heap of enum events with a random latency each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use wavetank_engine::drive::random::Stream;

/// So many times: take the next event, look at it, send another.
pub fn run(events: u64) -> Duration {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Message {
        Request { from: u32, to: u32 },
        Answer { from: u32, to: u32 },
        Timer { of: u32 },
    }
    let start = Instant::now();
    let mut random = Stream::new(0, "bare");
    let mut heap = BinaryHeap::new();
    let (mut seq, mut seen) = (0_u64, [0_u64; 3]);
    for of in 0..32 {
        heap.push(Reverse((0, seq, Message::Timer { of })));
        seq += 1;
    }
    for _ in 0..events {
        let Reverse((now, _, message)) = heap.pop().expect("each sends another");
        let next = match message {
            Message::Timer { of } => {
                seen[0] += 1;
                let to = (of + 1) % 32;
                Message::Request { from: of, to }
            }
            Message::Request { from, to } => {
                seen[1] += 1;
                Message::Answer { from: to, to: from }
            }
            Message::Answer { to, .. } => {
                seen[2] += 1;
                Message::Timer { of: to }
            }
        };
        let at = now + random.within(200_000, 2_000_000);
        heap.push(Reverse((at, seq, next)));
        seq += 1;
    }
    black_box(seen);
    start.elapsed()
}
