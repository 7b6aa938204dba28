//! The command `wavetank` over the control plane and one of the operators that others have published:
//! `PUBLISHED=rivven cargo run -- run rivven.yaml`. [`docs/PUBLISHED.md`](../../PUBLISHED.md) tells what came of it.

mod election;
mod finalizer;
mod rivven;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match std::env::var("PUBLISHED").as_deref() {
        Ok("rivven") => rivven::command(),
        Ok("election") => election::command(),
        Ok("finalizer") => finalizer::command(),
        _ => {
            eprintln!("PUBLISHED says which: `rivven`, `election` or `finalizer`");
            return ExitCode::from(2);
        }
    };
    command.run()
}
