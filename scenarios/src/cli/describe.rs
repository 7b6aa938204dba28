//! `wavetank describe`.

use serde_json::json;

use crate::catalogue::{Catalogue, Described};

use super::args::{DescribeArgs, Format};
use super::exit::{Exit, Problem};
use super::{find, found, human, print, print_json};

pub(super) fn describe(catalogue: &dyn Catalogue, args: &DescribeArgs) -> Result<Exit, Problem> {
    let mut described = catalogue.describe(&args.name).ok_or_else(|| {
        let help = find::help(&args.name, &catalogue.described(), "there are");
        Problem::new(format!("nothing is called `{}`; {help}", args.name))
    })?;
    let examples = described.facts.iter_mut();
    let examples = examples.filter(|(heading, _)| heading == "example");
    for example in examples.flat_map(|(_, lines)| lines) {
        if let Some(arguments) = example.strip_prefix("wavetank ") {
            *example = format!("{} {arguments}", found::this_command());
        }
    }
    match args.format {
        Format::Json => print_json(&json!({"version": 1, "described": described}))?,
        Format::Human => print(&text(&described))?,
    }
    Ok(Exit::Clean)
}

fn text(described: &Described) -> String {
    let Described {
        name,
        kind,
        about,
        facts,
    } = described;
    let of = |is_example: bool| {
        let facts = facts.iter().filter(|(_, lines)| !lines.is_empty());
        facts.filter(move |(heading, _)| (heading == "example") == is_example)
    };
    let facts = of(false).flat_map(|(heading, lines)| {
        let headings = std::iter::once(heading.as_str()).chain(std::iter::repeat(""));
        headings.zip(lines.iter().map(String::as_str))
    });
    // Somebody may copy it: no line ends in its midst.
    let examples = of(true).flat_map(|(_, lines)| lines);
    let examples = examples.map(|line| format!("\nexample:\n{line}\n"));
    let about = human::paragraph(about);
    let examples: String = examples.collect();
    format!("{name}: {kind}\n{about}\n{}{examples}", human::named(facts))
}
