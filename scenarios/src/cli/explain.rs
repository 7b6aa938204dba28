//! `wavetank explain`.

use std::path::Path;

use crate::catalogue::Catalogue;
use crate::explain::{self, Chances, Effort, Explanation, Fixed, Struck, Unexplained, Wanted};
use crate::replay::in_words;

use super::args::ExplainArgs;
use super::exit::{Exit, Problem};
use super::{find, human, print, replay};

pub(super) fn run(catalogue: &dyn Catalogue, args: &ExplainArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let wanted = Wanted {
        steps: args.steps,
        faults: args.attempts,
    };
    let explanation =
        explain::explain(case.as_ref(), &trace, wanted).map_err(|error| match error {
            Unexplained::NoViolation => Problem::new(format!(
                "{}: it holds no violation, so there is nothing to explain",
                args.trace.display()
            )),
            Unexplained::Unfollowed(error) => replay::unfollowed(&error, &args.trace),
        })?;
    if let Some(path) = &args.dot {
        write(path, &explanation.dot())?;
    }
    if let Some(path) = &args.json_lines {
        write(path, &explanation.json_lines())?;
    }
    print(&told(&explanation))?;
    if let Some(futures) = args.futures {
        let effort = Effort {
            futures,
            simulations: args.simulations,
        };
        let chances = explain::futures(case.as_ref(), &trace, &explanation.violation, effort)
            .map_err(|error| replay::unfollowed(&error, &args.trace))?;
        print(&plotted(&chances, &explanation))?;
    }
    Ok(Exit::Clean)
}

/// Writes a file that is there whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Problem> {
    crate::trace_file::write_at(path, text.as_bytes())
        .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", path.display())))
}

fn told(explanation: &Explanation) -> String {
    let what = format!("violation of {}", in_words(&explanation.violation));
    let story = explanation.story();
    let events = format!(
        "{}; the violation follows from {} of them; {} told",
        human::count(explanation.events() as u64, "event"),
        human::thousands(explanation.leading() as u64),
        human::count(story.len() as u64, "step"),
    );
    [
        human::paragraph(&what),
        human::fact("blame", &explanation.blame.to_string()),
        human::fact("slice", &events),
        human::story(&story),
        faults(explanation),
        explanation.fixed.as_ref().map(fixed).unwrap_or_default(),
    ]
    .concat()
}

fn faults(explanation: &Explanation) -> String {
    if explanation.faults.is_empty() {
        return "\nno fault struck\n".to_owned();
    }
    let mut text = "\nfaults\n".to_owned();
    for struck in &explanation.faults {
        let at = explanation.at(struck.event);
        text += &human::paragraph(&format!(
            "  {at:>12.6} s  {}: {}",
            struck.text,
            fate(struck)
        ));
    }
    match explanation.goes_without {
        Some(true) => text += "  all that are not needed can be left out at once\n",
        Some(false) => {
            text += "  without all that are not needed the violation does not come: some stand in for others, and \
                     `shrink` leaves the fewest\n";
        }
        None => {}
    }
    if !explanation.repeats {
        text += "  which are needed is not known: what was chosen in the trace, simulated again, does not show \
                 its violation\n";
    }
    text
}

fn fate(struck: &Struck) -> &'static str {
    match (struck.needed, struck.leads) {
        (Some(true), true) => "needed; the violation follows from it",
        (Some(true), false) => "needed, for what did not happen or came at another time",
        (Some(false), true) => "not needed, though the violation follows from it",
        (Some(false), false) => "not needed",
        (None, true) => "the violation follows from it",
        (None, false) => "nothing of the violation follows from it",
    }
}

/// A row of the plot is so long where all futures violate.
const PLOT: u64 = 40;

/// The share of futures that violate, along the trace, and where it was lost.
fn plotted(chances: &Chances, explanation: &Explanation) -> String {
    let futures = chances.points.first().map_or(0, |point| point.futures);
    let mut text = format!(
        "\nfutures: {futures} from each point, {}\n",
        human::count(chances.simulations, "simulation")
    );
    for point in &chances.points {
        let bar = "#".repeat((point.percent() * PLOT / 100) as usize);
        let events = human::thousands(point.events as u64);
        let row = format!(
            "  after {events:>7}  {:>12.6} s  {:>3}%  {bar}",
            point.at.secs_f64(),
            point.percent()
        );
        text += row.trim_end();
        text.push('\n');
    }
    let (before, after) = chances.lost;
    let grows = format!("{}% before, {}% after", before.percent(), after.percent());
    let lost = match chances.lost_at() {
        _ if before.percent() >= after.percent() => {
            "from the beginning: no event makes it likelier".to_owned()
        }
        Some(event) => format!(
            "event {}, at {:.6} s: {} ({grows})",
            human::thousands(event as u64),
            after.at.secs_f64(),
            explanation.in_words(event)
        ),
        None => format!(
            "between {} and {} events ({grows}); more --simulations tell where",
            human::thousands(before.events as u64),
            human::thousands(after.events as u64)
        ),
    };
    text + &human::fact("lost here", &lost)
}

fn fixed(fixed: &Fixed) -> String {
    let names = fixed.flipped.join(" and ");
    let mut text = format!("\nagainst a run with {names} the other way\n");
    if let Some(parts) = &fixed.parts {
        let before = match &parts.last_alike {
            Some(last) => format!("; before it: {last}"),
            None => String::new(),
        };
        let at = human::thousands(parts.event as u64 + 1);
        text += &human::fact("differs", &format!("at event {at}{before}"));
        text += &human::fact("as it is", &parts.here);
        text += &human::fact("fixed", &parts.fixed);
    } else {
        text += &human::fact("differs", "nowhere");
    }
    text + &human::fact("ends", &fixed.ends)
}
