//! The report of `matrix`, for people.

use crate::case::Hidden;

use super::super::human::{aligned, thousands};
use super::report::{Hit, Outcome, Report, Row, Verdict};

/// The whole report.
pub(super) fn table(report: &Report) -> String {
    let header = ["defect", "seeds", "hit", "events", "violation"];
    let mut table = super::super::human::table(&header);
    let mut traces = Vec::new();
    for row in &report.rows {
        for (line, trace) in lines(row) {
            table.add_row(line);
            traces.extend(trace);
        }
    }
    let traces = traces.into_iter().map(|trace| format!("  {trace}\n"));
    let traces: String = traces.collect();
    let traces = match traces.is_empty() {
        true => String::new(),
        false => format!("\ntraces\n{traces}"),
    };
    format!(
        "{}, seeds {}\n\n{}\n{traces}{}",
        report.case,
        report.seeds,
        aligned(table),
        verdict(report)
    )
}

/// One line for each violation, with its trace; one that says why there is none.
fn lines(row: &Row) -> Vec<([String; 5], Option<String>)> {
    let name = row.defect.clone().unwrap_or_else(|| "(fixed)".to_owned());
    let figures = |hit: u64| [thousands(row.seeds), thousands(hit)];
    if row.violations.is_empty() {
        let [seeds, hit] = figures(row.hit);
        let events = thousands(row.events);
        let said = said(row.outcome).to_owned();
        return vec![([name, seeds, hit, events, said], None)];
    }
    let mut lines = Vec::new();
    for (at, violation) in row.violations.iter().enumerate() {
        let [seeds, hit] = figures(violation.violation.seeds);
        let [name, seeds] = match at {
            0 => [name.clone(), seeds],
            _ => [String::new(), String::new()],
        };
        let trace = violation.trace().unwrap_or("(not written)").to_owned();
        let events = thousands(violation.events());
        let what = what(violation, row.defect.as_deref());
        lines.push(([name, seeds, hit, events, what], Some(trace)));
    }
    lines
}

/// The property, and the blame if that is not what the row is about.
fn what(hit: &Hit, defect: Option<&str>) -> String {
    let what = hit.violation.what.property.clone();
    match defect {
        Some(defect) if hit.violation.attribution == defect => what,
        _ => format!("{what}, blame: {}", hit.violation.attribution),
    }
}

/// How a sweep without violations ended, in words.
fn said(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Clean => "clean",
        Outcome::Untested => "not all put to the test",
        Outcome::Interrupted => "interrupted",
        Outcome::Found | Outcome::NotFound | Outcome::Unexplained => "not found",
    }
}

fn verdict(report: &Report) -> String {
    let word = match report.verdict {
        Verdict::AllFound => "clean when fixed, and every defect is found",
        Verdict::Wanting => "not as it should be",
        Verdict::Interrupted => "interrupted; what was run is as it should be",
    };
    let because = report.because.iter().map(|why| format!("  {why}\n"));
    let left_out = report.left_out.iter().map(|hidden| {
        let Hidden { name, shows_with } = hidden;
        format!("  left out: `{name}`, which shows only with {shows_with}\n")
    });
    format!(
        "\nverdict: {word}\n{}{}",
        because.collect::<String>(),
        left_out.collect::<String>()
    )
}
