//! The report of `run`, and figures, for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use console::{Term, style};

use crate::replay::in_words;

use super::report::{Report, Verdict, Violation};

/// The whole report.
pub(super) fn report(report: &Report) -> String {
    let mut text = summary(report);
    // What was found first, and the figures after it.
    for violation in &report.violations {
        text += &self::violation(violation);
    }
    if !report.faults.is_empty() {
        text += &faults(report);
    }
    text += &planned(report);
    text += &properties(report);
    text += &verdict(report);
    text
}

fn summary(report: &Report) -> String {
    let totals = &report.totals;
    paragraph(&format!(
        "{}: {} ({}), {}, {} simulated in {} ({} times real time, {} events/s)",
        report.case,
        count(totals.seeds, "seed"),
        report.seeds,
        count(totals.events, "event"),
        duration(totals.simulated_seconds),
        duration(totals.real_seconds),
        thousands(totals.simulated_per_real_second as u64),
        thousands(totals.events_per_real_second as u64),
    ))
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

/// What of the plan came to nothing in some seeds. (What did in all of them, the verdict tells.)
fn planned(report: &Report) -> String {
    let all = report.planned.iter();
    let some = all.filter(|own| own.missed > 0 && own.struck > 0);
    let lines = some.map(|own| {
        let (what, at, why) = (&own.what, own.at_seconds, &own.why);
        let (missed, all) = (thousands(own.missed), count(report.totals.seeds, "seed"));
        let why = match why.as_str() {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        format!("  planned at {at} s, not done in {missed} of {all}: {what}{why}\n")
    });
    let lines: String = lines.collect();
    match lines.as_str() {
        "" => lines,
        lines => format!("\n{lines}"),
    }
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

/// Columns without lines between them, as wide as the terminal is at most.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    if let Some(width) = width() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width.try_into().unwrap_or(u16::MAX));
    }
    table
}

/// How wide the terminal is, if results go to one.
fn width() -> Option<usize> {
    #[cfg(test)]
    if let Some(width) = tests::WIDTH.get() {
        return Some(width);
    }
    let terminal = Term::stdout();
    let size = terminal.is_term().then(|| terminal.size_checked())?;
    size.map(|(_, columns)| usize::from(columns))
}

/// Names, and what there is to say of each, with as much indentation where a line goes on.
pub(super) fn named<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let all: Vec<(&str, &str)> = all.collect();
    let longest = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let width = width();
    // Where there is no room beside the names, what is said stands below them.
    let is_narrow = width.is_some_and(|width| width < longest + 30);
    let line = |(name, about): &(&str, &str)| {
        let (first, indent) = match is_narrow {
            true => (format!("{name}\n  {about}"), 2),
            false => (format!("{name:longest$}  {about}"), longest + 2),
        };
        wrapped(first.trim_end(), indent, width) + "\n"
    };
    all.iter().map(line).collect()
}

/// A line that goes on below, indented, where the terminal ends.
fn wrapped(line: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width > indent + 10) else {
        return line.to_owned();
    };
    let mut text = String::new();
    let mut column = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        let length = word.trim_end().chars().count();
        if column > indent && column + length > width {
            text.truncate(text.trim_end().len());
            text += &format!("\n{:indent$}", "");
            column = indent;
        }
        text += word;
        column = match word.ends_with('\n') {
            true => 0,
            false => column + word.chars().count(),
        };
    }
    text
}

/// A terminal with fewer columns has no room for a table that is wider than it: its columns would be cut into pieces.
const NARROW: usize = 72;

/// The table as text, with its figures (up to three columns after the first) at the right. On a narrow terminal that it
/// does not fit each row is a paragraph.
pub(super) fn aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if let Some(width) = width().filter(|width| *width < NARROW) {
        let mut whole = table.clone();
        whole.set_content_arrangement(ContentArrangement::Disabled);
        let longest = whole
            .lines()
            .map(|line| line.trim_end().chars().count())
            .max();
        if longest.is_some_and(|longest| longest > width) {
            return paragraphs(&table, width);
        }
    }
    let rows = table.to_string();
    let lines: Vec<&str> = rows.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Stands for a space at which no line ends.
const TOGETHER: &str = "\u{2060}";

/// Each row as its first cell and, below, what is in the others: `seeds 3, violated 0`.
fn paragraphs(table: &Table, width: usize) -> String {
    let header = table.header().into_iter().flat_map(|row| row.cell_iter());
    let header: Vec<String> = header.map(|cell| cell.content()).collect();
    let mut lines = Vec::new();
    for row in table.row_iter() {
        let cells: Vec<String> = row.cell_iter().map(|cell| cell.content()).collect();
        let Some((first, others)) = cells.split_first() else {
            continue;
        };
        let others = header.iter().skip(1).zip(others);
        let others = others.filter(|(_, cell)| !cell.is_empty());
        let others: Vec<String> = others
            .map(|(name, cell)| format!("{name} {cell}").replace(' ', TOGETHER))
            .collect();
        let others = wrapped(&format!("  {}", others.join(", ")), 2, Some(width));
        lines.push(first.clone());
        lines.push(others.replace(TOGETHER, " "));
    }
    lines.join("\n")
}

/// Text that goes on indented where the terminal ends.
pub(super) fn paragraph(text: &str) -> String {
    wrapped(text, 2, width()) + "\n"
}

/// A heading, and what there is to say under it.
pub(super) fn fact(heading: &str, text: &str) -> String {
    let width = width();
    let indent = match width {
        Some(..NARROW) => 4,
        _ => 14,
    };
    wrapped(&format!("  {heading:<10}  {text}"), indent, width) + "\n"
}

/// The same of a command that somebody may copy: it stays in one line, however narrow the terminal is.
pub(super) fn command(heading: &str, line: &str) -> String {
    format!("  {heading:<10}  {line}\n")
}

fn violation(violation: &Violation) -> String {
    let what = format!("VIOLATION of {}", in_words(&violation.what));
    let mut text = format!("\n{}", headline(&what, violation.expected));
    text += &fact("seeds", &seeds(violation));
    text += &fact("blame", &violation.attribution);
    for explanation in &violation.explanations {
        text += &fact("", explanation);
    }
    if let Some(trace) = &violation.trace {
        text += &fact("trace", trace);
    }
    if let Some(replay) = &violation.replay {
        text += &command("replay", replay);
    }
    if let Some(smaller) = &violation.smaller {
        let events = count(smaller.events, "event");
        text += &fact("smaller", &format!("{} ({events})", smaller.trace));
        let other = smaller.message.as_ref();
        if let Some(message) = other.filter(|own| **own != violation.what.message) {
            text += &fact("", &format!("in it, and in the story: {message}"));
        }
    }
    text + &story(&violation.story)
}

/// What is violated, its first word in colour.
pub(super) fn headline(what: &str, is_expected: bool) -> String {
    let word = match is_expected {
        true => "expected VIOLATION",
        false => "VIOLATION",
    };
    let coloured = match is_expected {
        true => style(word).yellow(),
        false => style(word).red().bold(),
    };
    let what = what.strip_prefix("VIOLATION").unwrap_or(what);
    paragraph(&format!("{word}{what}")).replacen(word, &coloured.to_string(), 1)
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
        1 => format!("seed {first_seed}, after {}", count(*events, "event")),
        _ => format!(
            "{seeds} seeds, first {first_seed}, shortest {shortest_seed} with {}",
            count(*events, "event")
        ),
    }
}

/// Where in a line of a story the text begins: after indentation, time and process.
const TOLD_FROM: usize = 27;

/// A story, indented.
pub(super) fn story(lines: &[String]) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => {
            let width = width();
            let indent = match width {
                Some(..NARROW) => 8,
                _ => TOLD_FROM,
            };
            let line = |line: &String| {
                let line = wrapped(&format!("    {line}"), indent, width);
                match line.contains("  fault  ") {
                    true => style(line).yellow().to_string(),
                    false => line,
                }
            };
            let lines: Vec<String> = lines.iter().map(line).collect();
            format!("  story\n{}\n", lines.join("\n"))
        }
    }
}

fn verdict(report: &Report) -> String {
    let word = match report.verdict {
        Verdict::Clean => "clean",
        Verdict::FoundAsExpected => "the expected violation was found",
        Verdict::Violated => "violated",
        Verdict::Incomplete => {
            "incomplete: nothing was violated, but not everything was put to the test"
        }
        Verdict::Interrupted => "interrupted, nothing found",
    };
    let word = match report.verdict {
        Verdict::Clean | Verdict::FoundAsExpected => style(word).green(),
        Verdict::Violated => style(word).red(),
        Verdict::Incomplete | Verdict::Interrupted => style(word).yellow(),
    };
    let because = report.because.iter();
    let because = because.map(|why| wrapped(&format!("  {why}"), 4, width()) + "\n");
    format!("\nverdict: {word}\n{}", because.collect::<String>())
}

/// `12_345` as `12,345`.
pub(super) fn thousands(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// So many of these: `1 seed`, `2,000 seeds`.
pub(super) fn count(number: u64, what: &str) -> String {
    let plural = match (number, what.strip_suffix('y')) {
        (1, _) => what.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) if what.ends_with("ch") => format!("{what}es"),
        (_, None) => format!("{what}s"),
    };
    format!("{} {plural}", thousands(number))
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
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The width of a terminal that there is not.
        pub static WIDTH: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// What is printed on a terminal of so many columns.
    fn on<T>(width: usize, print: impl FnOnce() -> T) -> T {
        WIDTH.set(Some(width));
        let printed = print();
        WIDTH.set(None);
        printed
    }

    fn tested() -> Table {
        let mut table = table(&["property", "tested", "in seeds", "violated", "class"]);
        let name = "stopped-address-is-removed";
        table.add_row([name, "1,234", "3 (75%)", "", "guarantee"]);
        table
    }

    #[test]
    fn a_table_survives_a_narrow_terminal() {
        let wide = [
            " property                    tested  in seeds  violated  class",
            " stopped-address-is-removed   1,234   3 (75%)            guarantee",
        ];
        let wide = wide.join("\n");
        assert_eq!(aligned(tested()), wide);
        assert_eq!(on(80, || aligned(tested())), wide);
        let narrow = "\
stopped-address-is-removed
  tested 1,234, in seeds 3 (75%),
  class guarantee";
        assert_eq!(on(40, || aligned(tested())), narrow);
        let small = || {
            let mut table = table(&["fault", "injected"]);
            table.add_row(["crash", "10"]);
            aligned(table)
        };
        assert_eq!(on(40, small), " fault  injected\n crash        10");
    }

    #[test]
    fn what_is_said_wraps_on_a_narrow_terminal() {
        let what = "VIOLATION of one-thing (Endpoints address 10.0.0.2): 10.0.0.2 is still listed";
        let expected = "\
VIOLATION of one-thing (Endpoints
  address 10.0.0.2): 10.0.0.2 is still
  listed
";
        assert_eq!(on(40, || headline(what, false)), expected);
        assert_eq!(headline(what, true), format!("expected {what}\n"));
        let text = "a stopping apiserver that finds no other lease refuses";
        let expected =
            "  blame       a stopping apiserver that\n    finds no other lease refuses\n";
        assert_eq!(on(40, || fact("blame", text)), expected);
        assert_eq!(fact("blame", text), format!("  blame       {text}\n"));
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(duration(1.25), "1.2 s");
        assert_eq!(duration(7_200.0), "2.0 h");
        assert_eq!(share(1, 8), "1 (12%)");
        assert_eq!(count(1, "seed"), "1 seed");
        assert_eq!(count(2_000, "property"), "2,000 properties");
        assert_eq!(count(2, "switch"), "2 switches");
    }

    #[test]
    fn a_line_goes_on_below_itself() {
        let line = "  1.0 s  a1  one two three four";
        assert_eq!(wrapped(line, 4, None), line);
        let expected = "  1.0 s  a1  one\n    two three four";
        assert_eq!(wrapped(line, 4, Some(18)), expected);
        assert_eq!(wrapped("unbreakable-word", 2, Some(13)), "unbreakable-word");
    }
}
