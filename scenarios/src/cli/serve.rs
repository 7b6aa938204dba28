//! `wavetank serve`: a moment over HTTP, on this machine only: a port for each apiserver, and one from which time is
//! told how to go.
//!
//! `stage` is the moment and the time that goes by, `http` how requests and answers are written, `watch` a watch that
//! lasts, `control` the page from which time is told.

mod control;
mod http;
mod stage;
mod watch;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

use clap::Args;
use wavetank_engine::Time;
use wavetank_engine::trace::Record;

use crate::case::{Case, run_seed};
use crate::catalogue::Catalogue;
use crate::head::Head;
use crate::seeds::parse_seed;
use crate::trace_file::Trace;
use crate::travel::{Stuck, Travel};

use super::args::{CompositionArgs, duration};
use super::exit::{Exit, Problem};
use super::{find, interrupt, print, replay};
use stage::Stage;

/// How often somebody who waits looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// A trace, a scenario file, or the name of a bundled scenario
    pub what: String,
    /// Of a scenario: the seed, a number or a commit hash [default: 0]
    #[arg(long, value_name = "N|HASH", value_parser = parse_seed)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub composition: CompositionArgs,
    /// The moment: after so many events, or at a time such as 10.5s [default: the end]
    #[arg(long, value_name = "EVENT|TIME")]
    pub at: Option<String>,
    /// Virtual seconds a second: at 0 time stands still, at 1 it follows the wall clock
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = speed)]
    pub speed: f64,
    /// Send reads as they come: without this, one that names no resourceVersion is answered from the watch cache as it
    /// is, as if it had named 0, so that what is stale shows
    #[arg(long)]
    pub consistent: bool,
    /// Let writes into the world, which then leaves its trace
    #[arg(long)]
    pub writes: bool,
    /// The port of the control page; those of apiservers come after it [default: any that are free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok();
    let speed = speed.filter(|speed| (0.0..=10_000.0).contains(speed));
    speed.ok_or_else(|| "a speed is a number from 0 to 10000".to_owned())
}

pub(super) fn serve(catalogue: &dyn Catalogue, args: &ServeArgs) -> Result<Exit, Problem> {
    let (trace, case) = opened(catalogue, args)?;
    let servers = case.servers(&trace.head.options);
    if servers.is_empty() {
        return Err(Problem::new(format!(
            "`{}` has no apiservers: there is nobody to be asked",
            trace.head.case
        )));
    }
    let mut travel = Travel::begin(case.as_ref(), &trace)
        .map_err(|error| replay::unfollowed(&error, Path::new(&args.what)))?;
    let (at, asked) = match &args.at {
        None => (travel.len(), None),
        Some(text) => moment(&travel, text).map_err(Problem::new)?,
    };
    travel.goto(at).map_err(|stuck| match stuck {
        Stuck::End => Problem::new(format!("there are only {} events", travel.len())),
        Stuck::Refused(why) => Problem::misfit(why),
    })?;
    if args.writes {
        travel.draw();
    }
    let control = listen(args.port)?;
    let mut ports = Vec::new();
    for (number, server) in (1..).zip(servers) {
        let port = args.port.map(|port| port.saturating_add(number));
        ports.push((server, listen(port)?));
    }
    let stage = Stage::new(travel, args.speed);
    print(&opening(&stage, asked, &control, &ports))?;
    let stop = interrupt::listen_for_the_end();
    std::thread::scope(|scope| {
        let (stage, control) = (&stage, &control);
        scope.spawn(move || stage.keep_time(stop));
        for (server, port) in &ports {
            scope.spawn(move || {
                accept(scope, port, stop, |request| {
                    watch::answer(stage, server, args, stop, request);
                });
            });
        }
        let names: Vec<(String, u16)> = ports
            .iter()
            .map(|own| (own.0.clone(), port(&own.1)))
            .collect();
        accept(scope, control, stop, move |request| {
            control::answer(stage, &names, request);
        });
    });
    Ok(Exit::Clean)
}

/// A trace, or what comes of a seed: that is a trace, too.
fn opened(catalogue: &dyn Catalogue, args: &ServeArgs) -> Result<(Trace, Box<dyn Case>), Problem> {
    let composition = args.composition.composition();
    let is_trace = [".trace", ".trace.gz"]
        .iter()
        .any(|end| args.what.ends_with(end));
    if is_trace {
        if args.seed.is_some() || composition != crate::catalogue::Composition::default() {
            return Err(Problem::new(format!(
                "{} is a trace: its seed, release and defects are known; --seed and the others are for scenarios",
                args.what
            )));
        }
        return find::traced(catalogue, &PathBuf::from(&args.what));
    }
    let case = find::either(catalogue, &args.what, &composition)?;
    let seed = args.seed.unwrap_or(0);
    let options = case.derive(seed);
    case.world(&options).map_err(Problem::new)?;
    let outcome = run_seed(case.as_ref(), seed, None, Record::default());
    let trace = Trace::of(Head::new(case.as_ref(), seed, options), &outcome);
    Ok((trace, case))
}

/// The number of events of a moment, and the time that was asked for, if it was one.
fn moment(travel: &Travel<'_>, text: &str) -> Result<(usize, Option<Time>), String> {
    if let Ok(events) = text.parse::<usize>() {
        return match events <= travel.len() {
            true => Ok((events, None)),
            false => Err(format!("there are only {} events", travel.len())),
        };
    }
    let at = duration(text)
        .map_err(|_| format!("`{text}` is neither a number of events nor a time such as 10.5s"))?;
    let at = Time::ZERO + at;
    Ok((travel.events_by(at), Some(at)))
}

/// On the loopback interface, and nowhere else.
fn listen(port: Option<u16>) -> Result<tiny_http::Server, Problem> {
    let cannot = |error: &dyn std::fmt::Display| {
        let which = port.map_or("a free port".to_owned(), |port| format!("port {port}"));
        Problem::new(format!("cannot listen on 127.0.0.1 at {which}: {error}"))
    };
    let address = (Ipv4Addr::LOCALHOST, port.unwrap_or(0));
    let listener = TcpListener::bind(address).map_err(|error| cannot(&error))?;
    tiny_http::Server::from_listener(listener, None).map_err(|error| cannot(&error))
}

fn port(server: &tiny_http::Server) -> u16 {
    server
        .server_addr()
        .to_ip()
        .map_or(0, |address| address.port())
}

fn opening(
    stage: &Stage<'_>,
    asked: Option<Time>,
    control: &tiny_http::Server,
    ports: &[(String, tiny_http::Server)],
) -> String {
    let mut text = stage.described(asked);
    for (name, server) in ports {
        text += &format!("  {name:<8} http://127.0.0.1:{}\n", port(server));
    }
    text += &format!("  {:<8} http://127.0.0.1:{}\n", "control", port(control));
    if let Some((_, first)) = ports.first() {
        text += &format!(
            "for example: kubectl --server http://127.0.0.1:{} get services -A\nCtrl-C ends it.\n",
            port(first)
        );
    }
    text
}

/// Takes requests until it is over, each on a thread of its own.
fn accept<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &tiny_http::Server,
    stop: &'static AtomicBool,
    answer: impl Fn(tiny_http::Request) + Clone + Send + 'scope,
) {
    while !stop.load(Ordering::Relaxed) {
        // A connection that breaks before its request is nobody's loss.
        if let Ok(Some(request)) = server.recv_timeout(LOOK) {
            let answer = answer.clone();
            scope.spawn(move || answer(request));
        }
    }
}
