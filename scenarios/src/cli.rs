//! The command `wavetank`, over any [`Catalogue`]. Results go to stdout, progress and errors to
//! stderr; what the exit codes mean is in [`Exit`].

mod args;
mod campaign;
mod check;
mod checked;
mod conform;
mod describe;
mod diff;
mod exit;
mod explain;
mod export;
mod find;
mod found;
mod fuzz;
mod human;
mod interrupt;
mod judge;
mod junit;
mod keep;
mod list;
mod matrix;
mod merge;
mod misread;
mod mutants;
mod progress;
mod replay;
mod report;
mod run;
mod scene;
mod serve;
mod shell;
mod shrink;
mod soundness;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::catalogue::Catalogue;

pub use exit::Exit;
pub(crate) use find::help as suggestion;

use args::{Cli, Command};
use exit::Problem;

/// The whole command, over the cases of `catalogue`, with the arguments of this process.
pub fn main_with(catalogue: &dyn Catalogue) -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    if let Some(message) = misread::explain(&arguments) {
        eprintln!("error: {message}");
        return Exit::CouldNotRun.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell if this cannot be printed.
            let _ = error.print();
            return match error.use_stderr() {
                true => Exit::CouldNotRun.into(),
                false => Exit::Clean.into(),
            };
        }
    };
    let done = match &cli.command {
        Command::Run(args) => run::run(catalogue, args),
        Command::Merge(args) => merge::merge(catalogue, args),
        Command::Check(args) => check::check(catalogue, args),
        Command::Campaign(args) => campaign::campaign(catalogue, args),
        Command::Matrix(args) => matrix::matrix(catalogue, args),
        Command::Replay(args) => replay::replay(catalogue, args),
        Command::Explain(args) => explain::run(catalogue, args),
        Command::Report(args) => export::report(catalogue, args),
        Command::Serve(args) => serve::serve(catalogue, args),
        Command::Shell(args) => shell::shell(catalogue, args),
        Command::Shrink(args) => shrink::shrink(catalogue, args),
        Command::Scene(args) => scene::scene(catalogue, args),
        Command::Diff(args) => diff::diff(catalogue, args),
        Command::Keep(args) => keep::keep(catalogue, args),
        Command::List(args) => list::list(catalogue, args),
        Command::Conform(args) => conform::conform(args),
        Command::Soundness(args) => soundness::soundness(args),
        Command::Mutants(args) => mutants::mutants(catalogue, args),
        Command::Describe(args) => describe::describe(catalogue, args),
        Command::Completions(args) => print(&completions(args.shell)).map(|()| Exit::Clean),
        Command::Man => man().and_then(|page| print(&page)).map(|()| Exit::Clean),
        Command::Fuzz(args) => fuzz::fuzz(args),
        Command::Schema => print(&catalogue.schema()).map(|()| Exit::Clean),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(problem) => {
            // What is wrong with a file says so itself, once for each mistake.
            let message = problem.message.trim_start_matches("error: ");
            eprintln!("error: {message}");
            problem.exit.into()
        }
    }
}

/// What a shell needs to complete the arguments.
fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "wavetank", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The manual page of the command and, after it, those of its subcommands.
fn man() -> Result<String, Problem> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
    rendered.map_err(|error| Problem::new(format!("cannot write the manual page: {error}")))?;
    let mut command = Cli::command();
    command.build();
    for subcommand in command.get_subcommands().filter(|own| !own.is_hide_set()) {
        let own = clap_mangen::Man::new(subcommand.clone());
        let rendered = own
            .render_name_section(&mut page)
            .and_then(|()| own.render_synopsis_section(&mut page))
            .and_then(|()| own.render_options_section(&mut page));
        rendered.map_err(|error| Problem::new(format!("cannot write the manual page: {error}")))?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Prints a result. A reader who has seen enough is no error.
fn print(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::new(format!("cannot print the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a result as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Problem> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Problem::new(format!("cannot print the result: {error}")))?;
    text.push('\n');
    print(&text)
}
