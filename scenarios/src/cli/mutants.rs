//! `wavetank mutants`: the algorithms are changed, one place at a time; does anything notice?

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::{Format, duration};
use super::exit::{Exit, Problem};
use super::{find, human, print, print_json};
use crate::catalogue::{Catalogue, Listed};
use crate::mutants::{Mutant, Unnoticed};

mod report;
mod run;

#[derive(Debug, Args)]
pub(super) struct MutantsArgs {
    /// Only this one, or those of this area (may be given again) [default: all]
    #[arg(long, value_name = "NAME|AREA")]
    only: Vec<String>,
    /// List them, with area and place, and try none
    #[arg(long)]
    list: bool,
    /// Under so many seeds of each storm at most
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Run so many seeds of each storm without a mutant first, to see which places it reaches
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    profile: u64,
    /// Begin nothing more for a mutant after so much real time
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60s")]
    patience: Duration,
    /// How many mutants are tried at a time; 0 is one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Try nothing but what has this in its name (may be given again) [default: every storm, scope and transcript]
    #[arg(long = "in", value_name = "TARGET")]
    within: Vec<String>,
    /// Write each result there as it comes, a line of JSON; mutants that are there already are not tried again
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn mutants(catalogue: &dyn Catalogue, args: &MutantsArgs) -> Result<Exit, Problem> {
    let chosen = chosen(&args.only)?;
    if !args.list {
        return run::run(catalogue, args, &chosen);
    }
    match args.format {
        Format::Human => print(&listed(&chosen))?,
        Format::Json => print_json(
            &chosen
                .iter()
                .map(|mutant| entry(mutant))
                .collect::<Vec<_>>(),
        )?,
    }
    Ok(Exit::Clean)
}

/// Those that are asked for.
fn chosen(only: &[String]) -> Result<Vec<&'static Mutant>, Problem> {
    let all = Mutant::all();
    for asked in only {
        let is_meant = |mutant: &Mutant| mutant.name == *asked || mutant.area() == *asked;
        if !all.iter().any(is_meant) {
            let names = all.iter().map(|own| Listed::new(own.name, own.what));
            let names: Vec<Listed> = names.collect();
            return Err(Problem::new(format!(
                "there is no mutant, and no area of mutants, `{asked}`; {}",
                find::help(
                    asked,
                    &names,
                    "`wavetank mutants --list` has them, among them"
                )
            )));
        }
    }
    let is_chosen = |mutant: &&Mutant| {
        let mut asked = only.iter();
        only.is_empty() || asked.any(|asked| mutant.name == *asked || mutant.area() == *asked)
    };
    Ok(all.iter().filter(is_chosen).collect())
}

/// The list for people.
fn listed(chosen: &[&Mutant]) -> String {
    let mut areas: Vec<&str> = chosen.iter().map(|mutant| mutant.area()).collect();
    areas.sort_unstable();
    areas.dedup();
    let mut text = String::new();
    for area in areas {
        let own = chosen.iter().filter(|mutant| mutant.area() == area);
        text += &format!("{area}\n");
        for mutant in own {
            text += &format!(
                "  {}: {} ({}:{})\n",
                mutant.name, mutant.what, mutant.file, mutant.line
            );
        }
    }
    text + &human::count(chosen.len() as u64, "mutant") + "\n"
}

/// One of them for programs.
fn entry(mutant: &Mutant) -> serde_json::Value {
    serde_json::json!({
        "name": mutant.name,
        "what": mutant.what,
        "area": mutant.area(),
        "file": mutant.file,
        "line": mutant.line,
        "known-unnoticed": Unnoticed::bundled().reason(mutant.name),
    })
}
