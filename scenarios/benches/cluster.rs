//! What a cluster costs, and how that grows with it: `cargo bench --bench cluster [-- [--minutes N] [--kubelets]
//! [--size NODES,PODS ..]]`.
//!
//! A cluster has two apiservers, two controller managers, nodes with heartbeats, a client that binds pods and one that runs them, 20
//! Services and a Deployment behind each. With `--kubelets` each node has a kubelet and a runtime, which run its pods; each kubelet
//! hears of all pods, so that what that costs grows with the square. It comes up, runs for so many minutes (3), and rolls out a twentieth of its pods in the last one. Without
//! `--size` it has 10 nodes and 100 pods, then 100 nodes and 1,000 pods; each size is run in a process of its own, so that its memory can be
//! told. The last lines say how each figure has grown, and whether the time of a simulated minute has grown at most twelvefold.
//! Ratios matter, since machines differ; no time is asserted.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

#[path = "cluster/size.rs"]
mod size;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use wavetank::case::Case;
use wavetank::kube::Kube;
use wavetank_engine::Time;
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_version::Composition;

use crate::size::{Figures, Phase, Size};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str =
    "usage: cargo bench --bench cluster [-- [--minutes N] [--kubelets] [--size NODES,PODS ..]]";
/// The time of a simulated minute may grow so much from the first size to the second, which is ten times as large.
const MOST_GROWTH: f64 = 12.0;

/// What is asked for.
struct Asked {
    minutes: u64,
    sizes: Vec<Size>,
    kubelets: bool,
    /// The parent asks its child for the figures of one size.
    child: bool,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut asked = Asked {
            minutes: 3,
            sizes: Vec::new(),
            kubelets: false,
            child: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(format!("{argument} wants a value\n{USAGE}"))
            };
            match argument.as_str() {
                // Cargo says it.
                "--bench" => {}
                "--kubelets" => asked.kubelets = true,
                "--child" => asked.child = true,
                "--minutes" => {
                    let text = value()?;
                    let minutes = text.parse().ok().filter(|minutes| *minutes > 1);
                    asked.minutes =
                        minutes.ok_or(format!("--minutes wants 2 or more, not {text}"))?;
                }
                "--size" => asked.sizes.push(value()?.parse()?),
                other => return Err(format!("there is no {other}\n{USAGE}")),
            }
        }
        Ok(asked)
    }
}

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let measured = Asked::read(std::env::args().skip(1)).and_then(|asked| match asked.child {
        true => child(&asked),
        false => parent(&asked),
    });
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            ExitCode::from(2)
        }
    }
}

/// Runs each size in a process of its own.
fn parent(asked: &Asked) -> Result<(), String> {
    let sizes = match asked.sizes.is_empty() {
        true => vec![Size::SMALL, Size::LARGE],
        false => asked.sizes.clone(),
    };
    let mut all: Vec<Figures> = Vec::new();
    for size in sizes {
        let figures = measured_apart(size, asked)?;
        println!("{size}\n{figures}");
        all.push(figures);
    }
    if let (Some(first), Some(last)) = (all.first(), all.last())
        && all.len() > 1
    {
        println!("{}", last.grown_from(first));
        if asked.sizes.is_empty() {
            let growth = last.time_a_minute() / first.time_a_minute();
            let is_met = if growth <= MOST_GROWTH {
                "is met"
            } else {
                "IS NOT MET"
            };
            println!(
                "time per simulated minute grows at most {MOST_GROWTH}-fold from {} to {}: {growth:.1}, which {is_met}",
                Size::SMALL,
                Size::LARGE
            );
        }
    }
    Ok(())
}

fn measured_apart(size: Size, asked: &Asked) -> Result<Figures, String> {
    let own = std::env::current_exe().map_err(|why| why.to_string())?;
    let (size, minutes) = (size.argument(), asked.minutes.to_string());
    let mut child = vec!["--bench", "--child", "--minutes", &minutes, "--size", &size];
    child.extend(asked.kubelets.then_some("--kubelets"));
    let output = Command::new(own).args(child).output();
    let output = output.map_err(|why| why.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Figures::read(&String::from_utf8_lossy(&output.stdout))
}

/// Runs one size, and prints its figures for the parent.
fn child(asked: &Asked) -> Result<(), String> {
    let [size] = asked.sizes[..] else {
        return Err(USAGE.to_owned());
    };
    let scenario = Kube::default().read(
        "cluster.yaml",
        &size.scenario(asked.minutes, asked.kubelets),
    )?;
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default().job(scenario, None, composition)?;
    println!("{}", measure(&case, asked.minutes)?.line());
    Ok(())
}

fn measure(case: &dyn Case, minutes: u64) -> Result<Figures, String> {
    let options = case.derive(0);
    let world = case.world(&options)?;
    let choices = Seeded::new(0, &world, case.fault_schedule(&options));
    let limits = Limits {
        size: usize::MAX,
        ..Limits::until(case.until(&options))
    };
    let mut run = Run::new(world, choices, limits, Record::default());
    let mut phases = Vec::new();
    for minute in 0..minutes {
        let end = Time::ZERO + Duration::from_secs(60 * (minute + 1));
        let (began, on_cpu, mut events) = (Instant::now(), size::on_cpu(), 0_u64);
        while run.world().now() < end {
            match run.step() {
                Ok(true) => events += 1,
                Ok(false) => break,
                Err(found) => return Err(format!("{found:?}")),
            }
        }
        phases.push(Phase {
            nanos: match (on_cpu, size::on_cpu()) {
                (Some(before), Some(now)) => now - before,
                _ => began.elapsed().as_nanos() as u64,
            },
            events,
            memory: size::memory(),
            pods_ready: size::pods_ready(run.world()),
        });
    }
    Ok(Figures {
        phases,
        digest: run.world().digest().to_string(),
    })
}
