//! temporary
#[path = "../tests/cluster/mod.rs"]
mod cluster;
use std::time::Instant;
use shop_operator::{correct, halfway, intermediate, stale};
use wavetank_host::wavetank::shrink::{Effort, shrink};
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};
use wavetank_host::wavetank::{replay, trace_file};

fn main() {
    let mut args = std::env::args().skip(1);
    let (which, file) = (args.next().unwrap(), args.next().unwrap());
    let seeds: u64 = args.next().unwrap().parse().unwrap();
    let attempts: u64 = args.next().unwrap().parse().unwrap();
    let command = match which.as_str() {
        "stale" => cluster::command(stale::run),
        "halfway" => cluster::command(halfway::run),
        "intermediate" => cluster::command(intermediate::run),
        _ => cluster::command(correct::run),
    };
    let case = command.fixed(&file);
    let out = std::path::PathBuf::from("/work/tmp/hlog/out");
    let t = Instant::now();
    let mut sweep = Sweep::new(case.as_ref(), 0..seeds, &out);
    sweep.keep_going = std::env::var("KEEP").is_ok();
    let swept = sweep.run(&Unwatched).expect("it can run");
    println!("swept in {:?}", t.elapsed());
    for c in &swept.candidates {
        println!("{} seeds, first {} events {}: {}", c.seeds, c.first.seed, c.first.events, replay::in_words(&c.first.violation));
    }
    let Some(c) = swept.candidates.first() else { return };
    if attempts == 0 { return }
    let trace = trace_file::read(c.shortest.trace.as_ref().unwrap()).unwrap();
    let t = Instant::now();
    let s = shrink(case.as_ref(), &trace, Effort { attempts, ..Effort::default() }).unwrap();
    println!("shrunk in {:?} {} attempts whole {}\n{:?}\n{:?}", t.elapsed(), s.attempts, s.is_whole, s.before, s.after);
    let plan = wavetank_host::wavetank::engine::drive::plan::Plan::from_trace(s.trace.lines.iter());
    for a in &plan.actions { println!("{} {:?} {:?}", a.at, a.after.is_some(), a.action); }
    for (o, v) in &plan.choices { println!("choice {o:?} = {v}"); }
    println!("{}", replay::in_words(&s.trace.end().violation.clone().unwrap()));
}
