//! An operator of Websites: each has one page, a ConfigMap with its title. It has two mistakes that operators are known
//! for, each a defect that can be turned on. `websites.yaml` is a storm around it, `late-page.yaml` a search.

mod editors;
mod operator;

use wavetank::Command;

/// The whole command, with the operator and the people who edit websites.
pub fn command() -> Command {
    wavetank::command()
        .with(operator::websites())
        .with(editors::editors())
}
