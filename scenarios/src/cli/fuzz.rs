//! `wavetank fuzz`: whatever a file or a flag holds, it is read or refused, and nothing panics or takes for ever.
//!
//! Each case follows from its number: something sound is changed a little, or some flags are put together, and it is
//! read as the command would read it. What is read without a complaint is built and, if it is a trace, followed for some
//! events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser as _};
use wavetank_engine::Time;
use wavetank_engine::drive::Limits;
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::replay::Fit;
use wavetank_engine::trace::Record;
use wavetank_oracle::corpus;

use crate::case::{Case, run_seed};
use crate::catalogue::{Catalogue, Composition};
use crate::head::Head;
use crate::kube::{self, Kube};
use crate::replay::follow;
use crate::stopwatch::Stopwatch;
use crate::trace_file::{self, Trace, check_writable};

use super::args::Cli;
use super::exit::{Exit, Problem};
use super::progress::Ticker;
use super::{human, print};

#[derive(Debug, Args)]
pub(super) struct FuzzArgs {
    /// How many cases
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    cases: u64,
    /// The first case
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Threads; 0 is one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Where cases that went wrong are written
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    out: PathBuf,
}

/// No case takes so long: what it reads is small.
const LONGEST: Duration = Duration::from_secs(5);
/// Events of a trace that are followed.
const FOLLOWED: u64 = 64;
/// A recording is replayed once in so many cases; the others are only read.
const REPLAYED_IN: u64 = 64;

/// What is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Scenario,
    Trace,
    Transcript,
    Flags,
}

impl What {
    const ALL: [What; 4] = [What::Scenario, What::Trace, What::Transcript, What::Flags];

    fn name(self) -> &'static str {
        match self {
            What::Scenario => "scenario files",
            What::Trace => "traces",
            What::Transcript => "transcripts",
            What::Flags => "flags",
        }
    }
}

/// Sound inputs, and what to put into them.
struct Sound {
    scenarios: Vec<String>,
    traces: Vec<String>,
    transcripts: Vec<String>,
    /// Words of the above, and values that are too much.
    words: Vec<String>,
    flags: Vec<String>,
    commands: Vec<String>,
}

/// Values that nobody expects.
const ODD: [&str; 36] = [
    "0",
    "-1",
    "1",
    "9",
    "0.5",
    "1e309",
    "-0",
    "NaN",
    ".inf",
    "4294967296",
    "18446744073709551616",
    "0x10",
    "1ns",
    "1000000h",
    "9..1",
    "1s..1ns",
    "..",
    "10.0.0.0/0",
    "fd00::/128",
    "~",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[",
    "{a: {b: [",
    "!!x",
    "&a *a",
    "*a",
    "|",
    "true",
    "null",
    "\u{0}",
    "\u{feff}",
    "ä",
    "<<",
    "---",
];

pub(super) fn fuzz(args: &FuzzArgs) -> Result<Exit, Problem> {
    check_writable(&args.out).map_err(Problem::new)?;
    let sound = Sound::gather().map_err(Problem::new)?;
    // Each panic is caught and told.
    crate::quiet::for_good();
    let (next, read) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; 4]);
    let refused = [const { AtomicU64::new(0) }; 4];
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let (clock, ticker) = (Stopwatch::start(), Ticker::new());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs)
        .build();
    let pool = pool.map_err(|error| Problem::new(format!("cannot start threads: {error}")))?;
    pool.broadcast(|_| {
        let kube = Kube::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= args.cases {
                return;
            }
            ticker.tick(|| format!("{at} of {} cases", args.cases));
            let (what, input) = sound.case(args.from + at);
            let own = Stopwatch::start();
            let came = catch_unwind(AssertUnwindSafe(|| feed(&kube, what, &input)));
            let counted = match &came {
                Ok(true) => &read,
                _ => &refused,
            };
            counted[what as usize].fetch_add(1, Ordering::Relaxed);
            let why = match came {
                Err(panic) => format!("panics: {}", said(panic.as_ref())),
                Ok(_) if own.is_over(Some(LONGEST)) => "takes too long".to_owned(),
                Ok(_) => continue,
            };
            let place = args.out.join(format!("fuzz-{}", args.from + at));
            let kept = trace_file::write_at(&place, input.as_bytes()).is_ok();
            let place = if kept {
                place.display().to_string()
            } else {
                "not written".to_owned()
            };
            let line = format!("case {} ({}) {why}; {place}", args.from + at, what.name());
            wrong
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(line);
        }
    });
    let mut wrong = wrong
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    wrong.sort();
    print(&report(args, &read, &refused, &wrong, clock.elapsed()))?;
    Ok(if wrong.is_empty() {
        Exit::Clean
    } else {
        Exit::Violation
    })
}

fn report(
    args: &FuzzArgs,
    read: &[AtomicU64; 4],
    refused: &[AtomicU64; 4],
    wrong: &[String],
    took: Duration,
) -> String {
    let mut table = human::table(&["fed", "accepted", "refused"]);
    for what in What::ALL {
        let of = |counts: &[AtomicU64; 4]| counts[what as usize].load(Ordering::Relaxed);
        let [read, refused] = [of(read), of(refused)].map(human::thousands);
        table.add_row([what.name().to_owned(), read, refused]);
    }
    let wrong_ones: String = wrong.iter().map(|line| format!("{line}\n")).collect();
    format!(
        "{}\n{wrong_ones}{} in {}, {} went wrong\n",
        human::aligned(table),
        human::count(args.cases, "case"),
        human::duration(took.as_secs_f64()),
        wrong.len()
    )
}

fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("?")
}

/// Reads an input as the command would; was it read?
fn feed(kube: &Kube, what: What, input: &str) -> bool {
    match what {
        What::Scenario => {
            // The file is called what the scenario says that it is.
            let name = input.lines().find_map(|line| line.strip_prefix("name: "));
            let file = format!("{}.yaml", name.unwrap_or("fuzz").trim());
            let case = kube.case(&file, input, &Composition::default());
            case.is_ok_and(|case| builds(case.as_ref()))
        }
        What::Trace => {
            let trace = trace_file::parse(input.as_bytes());
            trace.is_ok_and(|trace| follows(kube, &trace))
        }
        What::Transcript => {
            let recording = corpus::parse(Path::new("fuzz.jsonl"), input.as_bytes());
            recording.is_ok_and(|recording| {
                let asked = (input.len() as u64).is_multiple_of(REPLAYED_IN);
                !asked || wavetank_oracle::replay(&recording).is_ok()
            })
        }
        What::Flags => {
            let words = input.split('\n');
            Cli::try_parse_from(words).is_ok()
        }
    }
}

fn builds(case: &dyn Case) -> bool {
    let options = case.derive(0);
    case.world(&options).is_ok_and(|_| {
        case.fault_schedule(&options);
        true
    })
}

fn follows(kube: &Kube, trace: &Trace) -> bool {
    let case = kube.reopen(&trace.head.identity);
    case.is_ok_and(|case| {
        let followed = follow(
            case.as_ref(),
            trace,
            Fit::ByName,
            Some(FOLLOWED),
            &mut |_, _, _| {},
        );
        followed.is_ok()
    })
}

impl Sound {
    fn gather() -> Result<Sound, String> {
        let scenarios: Vec<String> = kube::texts().map(str::to_owned).collect();
        let mut traces = Vec::new();
        for name in ["kubernetes-endpoints", "etcd-storm", "watch-storm"] {
            let case = Kube::default().open(name, &Composition::default())?;
            let limits = Limits::until(Time::from_secs(3));
            let outcome = run_seed(case.as_ref(), 0, Some(limits), Record::default());
            let head = Head::new(case.as_ref(), 0, case.derive(0));
            let bytes = Trace::of(head, &outcome).to_bytes();
            traces.push(String::from_utf8(bytes).map_err(|error| error.to_string())?);
        }
        let mut transcripts = Vec::new();
        for recording in corpus::bundled()? {
            // The description and the table of revisions, with some steps between them.
            let lines = recording
                .lines
                .iter()
                .take(12)
                .chain(recording.lines.last());
            let lines: Vec<String> = lines.map(ToString::to_string).collect();
            transcripts.push(lines.join("\n"));
        }
        let all = scenarios.iter().chain(&traces).chain(&transcripts);
        let separates = |c: char| !(c.is_alphanumeric() || "-_./:".contains(c));
        let words = all.flat_map(|text| text.split(separates));
        let mut words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        words.sort();
        words.dedup();
        let mut flags = Vec::new();
        let mut commands = Vec::new();
        for command in Cli::command().get_subcommands() {
            commands.push(command.get_name().to_owned());
            let long = command
                .get_arguments()
                .filter_map(|argument| argument.get_long());
            flags.extend(long.map(|long| format!("--{long}")));
        }
        Ok(Sound {
            scenarios,
            traces,
            transcripts,
            words,
            flags,
            commands,
        })
    }

    /// A case, by its number.
    fn case(&self, number: u64) -> (What, String) {
        let mut stream = Stream::new(number, "fuzz");
        let (what, from) = match stream.below(20) {
            0..10 => (What::Scenario, &self.scenarios),
            10..14 => (What::Trace, &self.traces),
            14..16 => (What::Transcript, &self.transcripts),
            _ => return (What::Flags, self.flags(&mut stream)),
        };
        let sound = stream.pick(from).expect("there are some");
        let mut lines: Vec<String> = sound.lines().map(str::to_owned).collect();
        for _ in 0..=stream.below(3) {
            self.change(&mut lines, from, &mut stream);
        }
        (what, lines.join("\n") + "\n")
    }

    fn flags(&self, stream: &mut Stream) -> String {
        let mut words = vec!["wavetank".to_owned()];
        words.extend(stream.pick(&self.commands).cloned());
        for _ in 0..stream.below(6) {
            if stream.below(3) > 0 {
                words.extend(stream.pick(&self.flags).cloned());
            }
            words.push(self.word(stream));
        }
        words.join("\n")
    }

    fn word(&self, stream: &mut Stream) -> String {
        let odd = || ODD.map(str::to_owned);
        match stream.below(2) {
            0 => stream.pick(&odd()).cloned(),
            _ => stream.pick(&self.words).cloned(),
        }
        .expect("there are some")
    }

    /// Changes something somewhere.
    fn change(&self, lines: &mut Vec<String>, others: &[String], stream: &mut Stream) {
        if lines.is_empty() {
            lines.push(self.word(stream));
            return;
        }
        let at = stream.below(lines.len() as u64) as usize;
        let other = stream.below(lines.len() as u64) as usize;
        match stream.below(9) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[at].clone();
                lines.insert(other, line);
            }
            2 => lines.swap(at, other),
            3 => lines.truncate(at),
            4 => {
                let foreign = stream.pick(others).expect("there are some");
                let foreign: Vec<&str> = foreign.lines().collect();
                if let Some(line) = stream.pick(&foreign) {
                    lines.insert(at, (*line).to_owned());
                }
            }
            5 => {
                let mut chars: Vec<char> = lines[at].chars().collect();
                let place = stream.below(chars.len() as u64 + 1) as usize;
                let new = "{}[]:,-#'\"&*!|>%@`\\\t 0aä\u{0}"
                    .chars()
                    .collect::<Vec<_>>();
                chars.insert(place, *stream.pick(&new).expect("there are some"));
                lines[at] = chars.into_iter().collect();
            }
            _ => self.replace_word(&mut lines[at], stream),
        }
    }

    /// Puts something else in place of a word of a line.
    fn replace_word(&self, line: &mut String, stream: &mut Stream) {
        let is_word = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
        let chars: Vec<char> = line.chars().collect();
        let begins = |at: &usize| is_word(chars[*at]) && (*at == 0 || !is_word(chars[*at - 1]));
        let starts: Vec<usize> = (0..chars.len()).filter(begins).collect();
        let Some(&from) = stream.pick(&starts) else {
            return;
        };
        let length = chars[from..].iter().take_while(|c| is_word(**c)).count();
        let (before, after) = (&chars[..from], &chars[from + length..]);
        let word = self.word(stream);
        *line = before
            .iter()
            .copied()
            .chain(word.chars())
            .chain(after.iter().copied())
            .collect();
    }
}
