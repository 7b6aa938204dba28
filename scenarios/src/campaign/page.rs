//! What a campaign covered, as a page for a browser: one file, no script, no network.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::trace_file;

use super::Standing;
use super::log::Shown;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}\
table{border-collapse:collapse;width:100%}th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #8884}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.9em}.bad{color:#c22}.good{color:#282}\
@media(prefers-color-scheme:dark){body{background:#16181c;color:#dde}.bad{color:#f77}.good{color:#7d7}}";

/// Writes `index.html` into the campaign's folder.
///
/// # Errors
/// Those of the file system.
pub fn write(dir: &Path, batches: u64, standings: &[Standing]) -> Result<PathBuf, String> {
    let path = dir.join("index.html");
    trace_file::write_at(&path, page(batches, standings).as_bytes())
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    Ok(path)
}

fn page(batches: u64, standings: &[Standing]) -> String {
    let sum = |of: fn(&Standing) -> u64| standings.iter().map(of).sum::<u64>();
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Campaign</title><style>{STYLE}</style>\
         <h1>Campaign</h1><p>{batches} batches, {} seeds, {} of seeds that turn, {} events.</p>\n",
        sum(|own| own.seeds),
        sum(|own| own.varied),
        sum(|own| own.events),
    );
    findings(&mut page, standings);
    defects(&mut page, standings);
    legs(&mut page, standings);
    violations(&mut page, standings);
    page.push_str("</html>\n");
    page
}

fn findings(page: &mut String, standings: &[Standing]) {
    page.push_str("<h2>What nothing known explains</h2>\n");
    let all = standings
        .iter()
        .flat_map(|own| own.findings().map(move |shown| (own, shown)));
    let all: Vec<_> = all.collect();
    match all.is_empty() {
        true => page.push_str("<p class=\"good\">Nothing.</p>\n"),
        false => table_of(page, &all),
    }
}

fn defects(page: &mut String, standings: &[Standing]) {
    let to_find = standings.iter().filter(|own| own.defect.is_some());
    let (found, open): (Vec<_>, Vec<_>) = to_find.partition(|own| own.is_found);
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "<h2>Defects</h2>\n<p>{} of {} were found and blamed.</p>",
        found.len(),
        found.len() + open.len()
    );
    if !open.is_empty() {
        let names: Vec<String> = open
            .iter()
            .map(|own| format!("<li><code>{}</code></li>", escape(&own.leg)))
            .collect();
        let _ = writeln!(page, "<p>Not yet:</p><ul>{}</ul>", names.concat());
    }
}

fn legs(page: &mut String, standings: &[Standing]) {
    page.push_str(
        "<h2>Legs</h2>\n<table><tr><th>leg<th class=\"n\">seeds<th class=\"n\">turned<th class=\"n\">events\
         <th class=\"n\">places<th class=\"n\">showed something new<th class=\"n\">batches without<th class=\"n\">violations</tr>\n",
    );
    for own in standings {
        let numbers = [
            own.seeds,
            own.varied,
            own.events,
            own.places as u64,
            own.corpus as u64,
            own.quiet_batches,
            own.violations.len() as u64,
        ];
        let cells: String = numbers
            .iter()
            .map(|number| format!("<td class=\"n\">{number}"))
            .collect();
        let _ = writeln!(page, "<tr><td>{}{cells}</tr>", escape(&own.leg));
    }
    page.push_str("</table>\n");
}

fn violations(page: &mut String, standings: &[Standing]) {
    let all = standings
        .iter()
        .flat_map(|own| own.violations.iter().map(move |shown| (own, shown)));
    let all: Vec<_> = all.collect();
    if !all.is_empty() {
        page.push_str("<h2>Violations, one for each property and blame</h2>\n");
        table_of(page, &all);
    }
}

fn table_of(page: &mut String, all: &[(&Standing, &Shown)]) {
    page.push_str("<table><tr><th>leg<th>property<th>what<th>blame<th>run<th>trace</tr>\n");
    for (own, shown) in all {
        let name = shown
            .trace
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let name = escape(&name);
        let _ = writeln!(
            page,
            "<tr><td>{}<td><code>{}</code><td>{}<td>{}<td>{}<td><a href=\"traces/{name}\">{name}</a></tr>",
            escape(&own.leg),
            escape(&shown.violation.property),
            escape(&shown.violation.message),
            escape(&shown.attribution.to_string()),
            shown.origin,
        );
    }
    page.push_str("</table>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
