//! How many writes are equal, by topic and controller.

use std::fmt;

use super::Conformed;

/// The scores of several recordings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControllerScore {
    /// What each came to.
    pub topics: Vec<Conformed>,
    /// Show each difference.
    pub verbose: bool,
}

fn percent(equal: u64, all: u64) -> f64 {
    100.0 * equal as f64 / all.max(1) as f64
}

impl Conformed {
    /// How many writes are equal, and how many there are.
    pub fn writes(&self) -> (u64, u64) {
        let all = self.users.values();
        all.fold((0, 0), |(equal, all), own| (equal + own.0, all + own.1))
    }

    /// The share of equal writes, in percent.
    pub fn percent(&self) -> f64 {
        let (equal, all) = self.writes();
        percent(equal, all)
    }
}

impl fmt::Display for ControllerScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, name: &str, (equal, all): (u64, u64)| {
            let percent = percent(equal, all);
            write!(
                f,
                "{name:<36} {equal:>4} of {all:>4} equal ({percent:>5.1} %)"
            )
        };
        for topic in &self.topics {
            line(f, &topic.name, topic.writes())?;
            let (compared, not) = topic.steps;
            writeln!(
                f,
                "  {compared} steps, {not} in which the real one differs from itself"
            )?;
            for (user, score) in &topic.users {
                line(f, &format!("  {user}"), *score)?;
                writeln!(f)?;
            }
            if self.verbose {
                for difference in &topic.differences {
                    let unequal = &difference.unequal;
                    writeln!(f, "  step {}: {}", difference.step, difference.what)?;
                    writeln!(f, "    at        {}", unequal.at)?;
                    writeln!(f, "    recorded  {}", unequal.recorded)?;
                    writeln!(f, "    simulated {}", unequal.simulated)?;
                }
            }
        }
        let all = self.topics.iter().map(Conformed::writes);
        let (equal, all) = all.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let percent = percent(equal, all);
        writeln!(f, "writes: {equal} equal of {all} ({percent:.1} %)")
    }
}
