//! Runs a scenario on madsim under many seeds, and says what came of it:
//!
//!     cargo run -p wavetank-madsim --example sweep -- kubernetes-endpoints 0..200 --fixed
//!     cargo run -p wavetank-madsim --example sweep -- kubernetes-endpoints 0..200 --release v1.20
//!     cargo run -p wavetank-madsim --example sweep -- kubernetes-endpoints 0..200 --fixed --defect NAME
//!
//! `--log SEED` prints all that happened under one seed. The exit code is 1 if a guarantee was violated.

#[cfg(madsim)]
fn main() -> std::process::ExitCode {
    sweep::main()
}

#[cfg(not(madsim))]
fn main() {
    eprintln!(
        "`--cfg madsim` is missing: run this in the repository, without RUSTFLAGS in the environment"
    );
    std::process::exit(2);
}

#[cfg(madsim)]
mod sweep {
    use std::collections::BTreeMap;
    use std::process::ExitCode;

    use wavetank::catalogue::{Catalogue, Composition};
    use wavetank::kube::Kube;
    use wavetank::seeds::Seeds;
    use wavetank_madsim::run_seed;

    pub fn main() -> ExitCode {
        let mut composition = Composition::default();
        let mut names = Vec::new();
        let mut log = None;
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().expect("a value follows");
            match arg.as_str() {
                "--fixed" => composition.fixed = true,
                "--release" => composition.release = Some(value()),
                "--defect" => composition.defects.push(value()),
                "--without" => composition.without.push(value()),
                "--log" => log = Some(value().parse::<u64>().expect("a seed")),
                _ => names.push(arg),
            }
        }
        let scenario = names.first().map_or("kubernetes-endpoints", String::as_str);
        let seeds: Seeds = names
            .get(1)
            .map_or("0..20", String::as_str)
            .parse()
            .expect("seeds A..B");
        let case = Kube::default().open(scenario, &composition);
        let case = case.unwrap_or_else(|why| panic!("{why}"));
        if let Some(seed) = log {
            let outcome = run_seed(case.as_ref(), seed);
            println!("{}", outcome.log.join("\n"));
            println!("{:?}", outcome.violation);
            return verdict(outcome.violation.is_none());
        }
        let (mut events, mut found) = (0, BTreeMap::new());
        let mut tested: BTreeMap<String, u64> = BTreeMap::new();
        let mut injected: BTreeMap<String, u64> = BTreeMap::new();
        for seed in seeds.first..seeds.first + seeds.count {
            let outcome = run_seed(case.as_ref(), seed);
            events += outcome.events;
            for (property, times) in outcome.tested {
                *tested.entry(property).or_default() += times;
            }
            for (fault, times) in outcome.injected {
                *injected.entry(fault).or_default() += times;
            }
            if let Some(violation) = outcome.violation {
                // The same of another object is the same.
                let message = violation.message.replace(&violation.object, "…");
                let all: &mut Vec<u64> = found.entry((violation.property, message)).or_default();
                all.push(seed);
            }
        }
        println!("{scenario} on madsim: {seeds}, {events} events");
        for (fault, times) in injected {
            println!("  {fault:<40} injected {times}");
        }
        for (property, times) in tested {
            println!("  {property:<40} held {times}");
        }
        for ((property, message), seeds) in &found {
            println!(
                "VIOLATION of {property} ({} seeds, the first {}): {message}",
                seeds.len(),
                seeds[0]
            );
        }
        if found.is_empty() {
            println!("clean");
        }
        verdict(found.is_empty())
    }

    fn verdict(is_clean: bool) -> ExitCode {
        ExitCode::from(u8::from(!is_clean))
    }
}
