//! The line that is typed into: with history and completion.

use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};

use super::Session;
use super::commands::COMMANDS;
use crate::cli::exit::{Exit, Problem};
use crate::cli::print;

/// Completes the words of a line.
#[derive(Default)]
struct Words {
    /// What may stand behind a command: resources, points of view, names of objects.
    known: Vec<String>,
}

impl Helper for Words {}
impl Highlighter for Words {}
impl Validator for Words {}
impl Hinter for Words {
    type Hint = String;
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let begin = line[..at]
            .rfind([' ', '(', ',', ':'])
            .map_or(0, |space| space + 1);
        let word = &line[begin..at];
        let commands = COMMANDS.iter().map(|own| own.name);
        let all: Vec<&str> = match line[..begin].trim().is_empty() {
            true => commands.collect(),
            false => self.known.iter().map(String::as_str).collect(),
        };
        let fitting = all.into_iter().filter(|own| own.starts_with(word));
        let pair = |own: &str| Pair {
            display: own.to_owned(),
            replacement: own.to_owned(),
        };
        Ok((begin, fitting.map(pair).collect()))
    }
}

/// Where what was typed is kept.
fn history() -> Option<PathBuf> {
    let own = |name| std::env::var_os(name).map(PathBuf::from);
    let state = own("XDG_STATE_HOME").or_else(|| Some(own("HOME")?.join(".local/state")))?;
    Some(state.join("wavetank").join("history"))
}

pub(super) fn edit(session: &mut Session<'_>) -> Result<Exit, Problem> {
    let no_editor = |error| Problem::new(format!("cannot read from this terminal: {error}"));
    let mut editor: Editor<Words, DefaultHistory> = Editor::new().map_err(no_editor)?;
    editor.set_helper(Some(Words::default()));
    let kept = history();
    if let Some(path) = &kept {
        // There is none before the first time.
        let _ = editor.load_history(path);
    }
    while !session.is_over {
        if let Some(words) = editor.helper_mut() {
            words.known = session.known();
        }
        match editor.readline(&session.prompt()) {
            Ok(line) => {
                // A line that is not kept is not worth a word.
                let _ = editor.add_history_entry(line.as_str());
                match session.run(line.trim()) {
                    Ok(text) => print(&text)?,
                    Err(why) => eprintln!("{why}"),
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(no_editor(error)),
        }
    }
    if let Some(path) = &kept {
        // Neither is a history that cannot be written.
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let _ = folder.map(|()| editor.save_history(path));
    }
    Ok(Exit::Clean)
}
