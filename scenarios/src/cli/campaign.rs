//! `wavetank campaign`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::campaign::{Campaign, Shown, Standing, legs};
use crate::catalogue::{Catalogue, Composition};
use crate::stopwatch::Stopwatch;
use crate::trace_file::check_writable;

use super::args::{CampaignArgs, Format};
use super::exit::{Exit, Problem};
use super::progress::Pace;
use super::{find, interrupt, print, print_json};

pub(super) fn campaign(catalogue: &dyn Catalogue, args: &CampaignArgs) -> Result<Exit, Problem> {
    if args.time_box.is_none() && args.batches.is_none() {
        return Err(Problem::new(
            "a campaign has no end of its own: say how long it is to take with --for, or how many batches with --batches",
        ));
    }
    for scenario in &args.scenario {
        find::scenario(catalogue, scenario, &Composition::default())?;
    }
    let scenarios = match args.scenario.is_empty() {
        true => catalogue.scenario_names(),
        false => args.scenario.clone(),
    };
    check_writable(&args.state).map_err(Problem::new)?;
    let legs = legs(catalogue, &scenarios).map_err(Problem::new)?;
    let mut campaign = Campaign::open(&args.state, legs, args.seed).map_err(Problem::new)?;
    let is_over = run(&mut campaign, args)?;
    let page = campaign.write_page().map_err(Problem::new)?;
    let report = Report {
        batches: campaign.done(),
        is_over,
        page: page.display().to_string(),
        legs: campaign.standings(),
    };
    match args.format {
        Format::Human => print(&human(&report, &args.state))?,
        Format::Json => print_json(&report)?,
    }
    Ok(exit(&report))
}

/// Until time is up; `true` if there was nothing more to do before.
fn run(campaign: &mut Campaign<'_>, args: &CampaignArgs) -> Result<bool, Problem> {
    let stop = interrupt::listen();
    let clock = Stopwatch::start();
    let mut pace = Pace::new();
    let is_up = |done: u64| {
        let is_enough = args.batches.is_some_and(|batches| done >= batches);
        is_enough || clock.is_over(args.time_box) || stop.load(Ordering::Relaxed)
    };
    while !is_up(campaign.done()) {
        if pace.is_due() {
            eprintln!(
                "{} batches; now {}",
                campaign.done(),
                campaign.next_leg().unwrap_or("none")
            );
            campaign.write_page().map_err(Problem::new)?;
        }
        let stopped = || stop.load(Ordering::Relaxed);
        let went_on = campaign.step(args.jobs, &stopped).map_err(Problem::new)?;
        if !went_on {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What came out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Report {
    batches: u64,
    /// Nothing is left to be looked for.
    is_over: bool,
    page: String,
    legs: Vec<Standing>,
}

fn exit(report: &Report) -> Exit {
    let mut legs = report.legs.iter();
    if legs.any(|leg| leg.findings().next().is_some()) {
        return Exit::Violation;
    }
    if interrupt::is_asked_to_stop() {
        return Exit::Interrupted;
    }
    match report.legs.iter().all(|leg| leg.seeds > 0) {
        true => Exit::Clean,
        false => Exit::Incomplete,
    }
}

fn human(report: &Report, state: &Path) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for leg in &report.legs {
        for shown in leg.findings() {
            let _ = writeln!(text, "{}", finding(leg, shown, state));
        }
    }
    let sum = |of: fn(&Standing) -> u64| report.legs.iter().map(of).sum::<u64>();
    let begun = report.legs.iter().filter(|leg| leg.seeds > 0).count();
    let _ = writeln!(text, "batches    {}", report.batches);
    let _ = writeln!(text, "legs       {begun} of {} begun", report.legs.len());
    let _ = writeln!(
        text,
        "runs       {} seeds, {} that turn, {} events",
        sum(|leg| leg.seeds),
        sum(|leg| leg.varied),
        sum(|leg| leg.events)
    );
    let _ = writeln!(text, "places     {}", sum(|leg| leg.places as u64));
    let mut missed = Vec::new();
    let mut found = 0;
    for leg in report.legs.iter().filter(|leg| leg.defect.is_some()) {
        match leg.is_found {
            true => found += 1,
            false => missed.push(&*leg.leg),
        }
    }
    if found + missed.len() > 0 {
        let _ = writeln!(text, "defects    {found} of {} found", found + missed.len());
    }
    for leg in missed {
        let _ = writeln!(text, "    not yet: {leg}");
    }
    let findings: usize = report.legs.iter().map(|leg| leg.findings().count()).sum();
    let _ = match findings {
        0 => writeln!(text, "verdict    nothing that is not known"),
        1 => writeln!(text, "verdict    one violation that nothing known explains"),
        many => writeln!(
            text,
            "verdict    {many} violations that nothing known explains"
        ),
    };
    let _ = writeln!(text, "page       {}", report.page);
    text
}

fn finding(leg: &Standing, shown: &Shown, state: &Path) -> String {
    format!(
        "VIOLATION of {}: {}\n    leg        {}, {}, after {} events\n    trace      {}",
        shown.violation.property,
        shown.violation.message,
        leg.leg,
        shown.origin,
        shown.events,
        state.join("traces").join(&shown.trace).display()
    )
}
