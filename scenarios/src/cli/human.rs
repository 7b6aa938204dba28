//! The report of `run`, and figures, for people.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use crate::replay::in_words;

use super::report::{Report, Verdict, Violation};

/// The whole report.
pub(super) fn report(report: &Report) -> String {
    let mut text = summary(report);
    if !report.faults.is_empty() {
        text += &faults(report);
    }
    text += &properties(report);
    for violation in &report.violations {
        text += &self::violation(violation);
    }
    text += &verdict(report);
    text
}

fn summary(report: &Report) -> String {
    let totals = &report.totals;
    format!(
        "{}: {} seeds ({}), {} events, {} simulated in {} ({} times real time, {} events/s)\n",
        report.case,
        thousands(totals.seeds),
        report.seeds,
        thousands(totals.events),
        duration(totals.simulated_seconds),
        duration(totals.real_seconds),
        thousands(totals.simulated_per_real_second as u64),
        thousands(totals.events_per_real_second as u64),
    )
}

fn faults(report: &Report) -> String {
    let mut table = table(&["fault", "injected", "in seeds"]);
    for fault in &report.faults {
        table.add_row([
            fault.kind.to_owned(),
            thousands(fault.injected.times),
            share(fault.injected.seeds, report.totals.seeds),
        ]);
    }
    format!("\n{}\n", aligned(table))
}

fn properties(report: &Report) -> String {
    let mut table = table(&["property", "tested", "in seeds", "violated", "class"]);
    for property in &report.properties {
        table.add_row([
            property.name.to_owned(),
            match (property.tested.times, property.class) {
                (0, "sometimes") => "never reached".to_owned(),
                (0, _) => "never".to_owned(),
                (times, _) => thousands(times),
            },
            share(property.tested.seeds, report.totals.seeds),
            match property.class {
                "sometimes" => String::new(),
                _ => thousands(property.violated.times),
            },
            property.class.to_owned(),
        ]);
    }
    format!("\n{}\n", aligned(table))
}

/// Columns without lines between them.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// The table as text, with its figures (up to three columns after the first) at the right.
pub(super) fn aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let rows = table.to_string();
    let lines: Vec<&str> = rows.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn violation(violation: &Violation) -> String {
    let mut text = format!(
        "\n{}VIOLATION of {}\n",
        match violation.expected {
            true => "expected ",
            false => "",
        },
        in_words(&violation.what)
    );
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<10}  {value}").expect("writing to a string cannot fail");
    };
    line("seeds", &seeds(violation));
    line("blame", &violation.attribution);
    for explanation in &violation.explanations {
        line("", explanation);
    }
    if let Some(trace) = &violation.trace {
        line("trace", trace);
    }
    if let Some(replay) = &violation.replay {
        line("replay", replay);
    }
    text + &story(&violation.story)
}

fn seeds(violation: &Violation) -> String {
    let Violation {
        seeds,
        first_seed,
        shortest_seed,
        events,
        ..
    } = violation;
    match seeds {
        1 => format!("seed {first_seed}, after {events} events"),
        _ => format!(
            "{seeds} seeds, first {first_seed}, shortest {shortest_seed} with {events} events"
        ),
    }
}

/// A story, indented.
pub(super) fn story(lines: &[String]) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("  story\n    {}\n", lines.join("\n    ")),
    }
}

fn verdict(report: &Report) -> String {
    let word = match report.verdict {
        Verdict::Clean => "clean",
        Verdict::FoundAsExpected => "the expected violation was found",
        Verdict::Violated => "violated",
        Verdict::Incomplete => "not clean",
        Verdict::Interrupted => "interrupted, nothing found",
    };
    let because = report.because.iter().map(|why| format!("  {why}\n"));
    format!("\nverdict: {word}\n{}", because.collect::<String>())
}

/// `12_345` as `12,345`.
pub(super) fn thousands(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

fn share(part: u64, all: u64) -> String {
    let percent = match all {
        0 => 0.0,
        all => 100.0 * part as f64 / all as f64,
    };
    format!("{} ({percent:.0}%)", thousands(part))
}

/// Seconds in a readable unit.
pub(super) fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400.0, "days"), (3_600.0, "h"), (60.0, "min")];
    let unit = UNITS.into_iter().find(|(size, _)| seconds >= 2.0 * size);
    let (size, unit) = unit.unwrap_or((1.0, "s"));
    format!("{:.1} {unit}", seconds / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(duration(1.25), "1.2 s");
        assert_eq!(duration(7_200.0), "2.0 h");
        assert_eq!(share(1, 8), "1 (12%)");
    }
}
