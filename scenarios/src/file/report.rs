//! Shows mistakes as rustc does: message, place, source line, caret, help.

use std::fmt::{self, Display};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_saphyr::Location;

/// All that is wrong with a scenario file, in the order of the file.
///
/// `Display` shows it without colour; [`Report::coloured`] with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    name: String,
    text: String,
    mistakes: Vec<Mistake>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// Where it is, in bytes of the text.
    pub span: std::ops::Range<usize>,
}

impl Report {
    /// The mistakes, in the order of the file; there is at least one.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The report with the escape codes of a terminal.
    pub fn coloured(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let one = |mistake: &Mistake| self.render_one(renderer, mistake);
        self.mistakes
            .iter()
            .map(one)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    fn render_one(&self, renderer: &Renderer, mistake: &Mistake) -> String {
        let place = AnnotationKind::Primary.span(mistake.span.clone());
        let snippet = Snippet::source(&self.text)
            .path(&self.name)
            .annotation(place);
        let title = Level::ERROR.primary_title(&mistake.message);
        renderer.render(&[title
            .element(snippet)
            .element(Level::HELP.message(&mistake.help))])
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

impl std::error::Error for Report {}

/// A mistake at a place of the YAML library's.
pub(super) struct Note {
    pub location: Location,
    pub message: String,
    pub help: String,
}

/// A text and its name.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// A report of mistakes in this text.
    pub fn report(&self, notes: impl IntoIterator<Item = Note>) -> Report {
        let mut mistakes: Vec<Mistake> = notes.into_iter().map(|note| self.mistake(note)).collect();
        mistakes.sort_by_key(|mistake| mistake.span.start);
        Report {
            name: self.name.into(),
            text: self.text.into(),
            mistakes,
        }
    }

    fn mistake(&self, note: Note) -> Mistake {
        Mistake {
            message: note.message,
            help: note.help,
            span: self.span(note.location),
        }
    }

    /// The text at a location, up to the end of its line.
    pub fn excerpt(&self, location: Location) -> &'a str {
        &self.text[self.span(location)]
    }

    /// The bytes at a location, up to the end of its line. Lines and columns are used, since
    /// not every location knows its bytes.
    fn span(&self, location: Location) -> std::ops::Range<usize> {
        let before = (location.line() as usize).saturating_sub(1);
        let start: usize = self
            .text
            .split_inclusive('\n')
            .take(before)
            .map(str::len)
            .sum();
        let line = self.text[start..].lines().next().unwrap_or_default();
        let byte = |column: usize| {
            line.char_indices()
                .nth(column)
                .map_or(line.len(), |(at, _)| at)
        };
        let column = (location.column() as usize).saturating_sub(1);
        let end = column.saturating_add(location.span().len() as usize);
        start + byte(column)..start + byte(end)
    }
}
