//! Sends a million generated requests to the simulated apiserver, or as many as it is told, from the one that it is told
//! on: `cargo run --release -p wavetank-oracle --example front_door [COUNT [FIRST]]`. It ends with 1 if an answer is none.

use std::process::ExitCode;

use wavetank_oracle::front_door::{Generator, knock};
use wavetank_oracle::{Server, corpus};

const PART: u64 = 10_000;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let count = given.next().transpose()?.unwrap_or(1_000_000);
    let first = given.next().transpose()?.unwrap_or(0);
    let (generator, server) = (Generator::of(&corpus::bundled()?), Server::default());
    let (mut answered, mut refused) = (0, 0);
    while answered < count {
        let from = first + answered;
        let seen = knock(&generator, &server, from..from + PART.min(count - answered));
        answered += seen.answered;
        refused += seen.refused;
        for wrong in &seen.wrong {
            println!("{wrong}");
        }
        if !seen.wrong.is_empty() {
            return Ok(ExitCode::FAILURE);
        }
        eprintln!("{answered} of {count}");
    }
    println!("{answered} requests: each was answered, {refused} with a refusal");
    Ok(ExitCode::SUCCESS)
}
