//! What there is to simulate: the command asks it for everything that it can list and open.

use serde::Serialize;

use crate::case::Case;

/// Something with a name that can be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
}

impl Listed {
    /// A name, and what it is.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Listed {
        Listed {
            name: name.into(),
            about: about.into(),
        }
    }
}

/// What is known of something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// What it is: a guarantee, a known bug.
    pub kind: String,
    /// What it says, in one line.
    pub about: String,
    /// What else there is to say, under a heading each.
    pub facts: Vec<(String, Vec<String>)>,
}

/// Which algorithms run: a release, without some of its defects and with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// The release, if it is not the scenario's own.
    pub release: Option<String>,
    /// All defects off and all fixes on.
    pub fixed: bool,
    /// Defects to add.
    pub defects: Vec<String>,
    /// Defects to remove.
    pub without: Vec<String>,
}

/// The cases that a command can open. Every `Err` is the message that it prints (exit code 2).
pub trait Catalogue: Sync {
    /// The bundled scenarios.
    fn scenarios(&self) -> Vec<Listed>;

    /// The bundled scopes of a search.
    fn scopes(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// The names of [`Catalogue::scenarios`]. To look for one nothing needs to be known of the others.
    fn scenario_names(&self) -> Vec<String> {
        names(self.scenarios())
    }

    /// The names of [`Catalogue::scopes`].
    fn scope_names(&self) -> Vec<String> {
        names(self.scopes())
    }

    /// The kinds of processes, and their parts.
    fn components(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// The JSON Schema of its scenario files, if it has some.
    fn schema(&self) -> String {
        "{}\n".to_owned()
    }

    /// The properties.
    fn properties(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// The defects and fixes.
    fn defects(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// What is known of the property, defect, fix, kind of fault, scenario or scope of this name.
    fn describe(&self, name: &str) -> Option<Described> {
        let _ = name;
        None
    }

    /// The names that [`Catalogue::describe`] knows.
    fn described(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// The releases.
    fn releases(&self) -> Vec<Listed> {
        Vec::new()
    }

    /// The case of a bundled scenario or scope, or of a file with one. That the name is known, or that the
    /// file is one, has been checked.
    ///
    /// # Errors
    /// What is wrong with the file or the composition.
    fn open(&self, scenario: &str, composition: &Composition) -> Result<Box<dyn Case>, String>;

    /// The case whose [`Case::identity`] stands in a trace's head.
    ///
    /// # Errors
    /// Why it is not one of this catalogue's.
    fn reopen(&self, identity: &serde_json::Value) -> Result<Box<dyn Case>, String>;

    /// The same with another composition on top of its own.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn recompose(
        &self,
        identity: &serde_json::Value,
        composition: &Composition,
    ) -> Result<Box<dyn Case>, String> {
        match *composition == Composition::default() {
            true => self.reopen(identity),
            false => Err("its case has no other composition".to_owned()),
        }
    }
}

fn names(listed: Vec<Listed>) -> Vec<String> {
    listed.into_iter().map(|listed| listed.name).collect()
}

/// A catalogue with nothing in it.
#[derive(Clone, Copy, Debug)]
pub struct Empty;

impl Catalogue for Empty {
    fn scenarios(&self) -> Vec<Listed> {
        Vec::new()
    }

    fn open(&self, scenario: &str, _: &Composition) -> Result<Box<dyn Case>, String> {
        Err(format!("cannot open `{scenario}`: the catalogue is empty"))
    }

    fn reopen(&self, _: &serde_json::Value) -> Result<Box<dyn Case>, String> {
        Err("the catalogue is empty".to_owned())
    }
}
