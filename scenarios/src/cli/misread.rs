//! What clap would explain with words that do not help: numbers below zero, which it takes for options, and a port that
//! stands apart from its option.

use clap::CommandFactory as _;

use super::args::Cli;

/// Why these arguments (without the command's own name) cannot be meant, if they are such.
pub(super) fn explain(arguments: &[String]) -> Option<String> {
    let pairs = arguments.windows(2);
    let mut pairs = pairs.map(|pair| (pair[0].as_str(), pair[1].as_str()));
    pairs.find_map(|(before, after)| {
        negative(arguments, before, after).or_else(|| apart(before, after))
    })
}

/// `--seeds -1`.
fn negative(arguments: &[String], before: &str, after: &str) -> Option<String> {
    let number = after.strip_prefix('-')?;
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut message = format!("`{after}` is below zero, and nothing here is");
    if let Some((name, help)) = meaning(arguments, before) {
        message += &format!("\n  {name}  {help}");
    }
    Some(message)
}

/// An option of the command that is asked for, and what it is.
fn meaning(arguments: &[String], option: &str) -> Option<(String, String)> {
    let long = option.strip_prefix("--")?;
    let command = Cli::command();
    let own = command.get_subcommands().find(|own| {
        arguments
            .first()
            .is_some_and(|first| first == own.get_name())
    })?;
    let own = own
        .get_arguments()
        .find(|own| own.get_long() == Some(long))?;
    let value = own.get_value_names().into_iter().flatten().next()?;
    Some((format!("--{long} <{value}>"), own.get_help()?.to_string()))
}

/// `--explore 8080`.
fn apart(before: &str, after: &str) -> Option<String> {
    let is_port = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
    (before == "--explore" && is_port)
        .then(|| format!("the port belongs to its option: write `--explore={after}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &str) -> Option<String> {
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        explain(&arguments)
    }

    #[test]
    fn numbers_below_zero_are_told_from_options() {
        let said_of = |arguments| said(arguments).expect("it is explained");
        let message = said_of("run watch-storm --seeds -1");
        assert!(message.starts_with("`-1` is below zero"), "{message}");
        assert!(
            message.contains("--seeds <A..B>  The seeds from A"),
            "{message}"
        );
        assert!(said_of("shrink x.trace --attempts -20").contains("--attempts <N>"));
        assert!(said_of("check -5").contains("`-5` is below zero"));
        assert_eq!(said("replay -v x.trace"), None);
        assert_eq!(said("man"), None);
    }

    #[test]
    fn a_port_belongs_to_its_option() {
        let message = said("check lease-endpoints --explore 8080");
        assert!(message.is_some_and(|message| message.contains("write `--explore=8080`")));
        assert_eq!(said("check --explore=8080 lease-endpoints"), None);
        assert_eq!(said("check --explore lease-endpoints"), None);
    }
}
