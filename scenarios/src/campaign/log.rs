//! What a campaign has done, a line a batch. A line is written as a whole before anything follows from it; half a line, which a
//! kill may leave, is taken away.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wavetank_engine::Time;
use wavetank_engine::trace::FoundViolation;

use crate::attribution::Attribution;
use crate::head::build;
use crate::trace_file::why;

use super::Leg;

/// The version of the file.
const VERSION: u32 = 1;

/// Its first line: what the campaign is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Begun {
    version: u32,
    build: String,
    first_seed: u64,
    legs: Vec<String>,
}

impl Begun {
    /// By this build.
    pub fn new(legs: &[Leg], first_seed: u64) -> Begun {
        Begun {
            version: VERSION,
            build: build().to_owned(),
            first_seed,
            legs: legs.iter().map(|leg| leg.name.clone()).collect(),
        }
    }

    /// Why another campaign cannot go on with this one's log.
    fn difference(&self, other: &Begun) -> Option<String> {
        if self.version != other.version {
            let (own, version) = (other.version, self.version);
            return Some(format!(
                "its log has version {version}; this build writes version {own}"
            ));
        }
        if self.build != other.build {
            let (own, build) = (&other.build, &self.build);
            return Some(format!("it was begun by build {build}, and this is {own}"));
        }
        if self.first_seed != other.first_seed {
            let (own, first) = (other.first_seed, self.first_seed);
            return Some(format!("its seeds begin at {first}, and not at {own}"));
        }
        (self.legs != other.legs).then(|| "it is of other scenarios".to_owned())
    }
}

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Origin {
    /// The seed that it begins with.
    pub seed: u64,
    /// When it turns to which other seed, in nanoseconds of virtual time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<(u64, u64)>,
}

impl Origin {
    /// A seed that does not turn.
    pub fn seed(seed: u64) -> Origin {
        Origin {
            seed,
            turns: Vec::new(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}", self.seed)?;
        for (at, seed) in &self.turns {
            write!(f, ", from {} s on seed {seed}", Time::from_nanos(*at))?;
        }
        Ok(())
    }
}

/// A violation that is new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shown {
    /// The run.
    pub origin: Origin,
    /// Events until then.
    pub events: u64,
    /// What was violated.
    pub violation: FoundViolation,
    /// What is to blame.
    pub attribution: Attribution,
    /// The file of its trace, in the campaign's folder `traces`.
    pub trace: PathBuf,
}

/// What a batch has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Batch {
    /// The leg's name.
    pub leg: String,
    /// Runs of seeds.
    pub seeds: u64,
    /// Runs of seeds that turn.
    pub varied: u64,
    /// Events of all of them.
    pub events: u64,
    /// Places that the leg had not reached before.
    pub places: Vec<u64>,
    /// The runs that reached them.
    pub kept: Vec<Origin>,
    /// Violations that are new by property or blame.
    pub violations: Vec<Shown>,
}

/// The log on disk.
pub(super) struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Begins it, or reads what is there.
    pub fn open(dir: &Path, begun: &Begun) -> Result<(Log, Vec<Batch>), String> {
        let path = dir.join("campaign.jsonl");
        let unusable = |error: io::Error| format!("{}: {}", path.display(), why(&error));
        fs::create_dir_all(dir).map_err(unusable)?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(unusable(error)),
        };
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let batches = read(&path, &text[..whole], begun)?;
        let options = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|file| file.set_len(whole as u64).map(|()| file));
        let mut log = Log {
            file: options.map_err(unusable)?,
            path,
        };
        if whole == 0 {
            log.line(begun)?;
        }
        Ok((log, batches))
    }

    pub fn append(&mut self, batch: &Batch) -> Result<(), String> {
        self.line(batch)
    }

    fn line<T: Serialize>(&mut self, value: &T) -> Result<(), String> {
        let written = serde_json::to_vec(value)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line)?;
                self.file.sync_data()
            });
        written.map_err(|error| format!("{}: {}", self.path.display(), why(&error)))
    }
}

/// The batches of a log, if it is of this campaign.
fn read(path: &Path, text: &str, begun: &Begun) -> Result<Vec<Batch>, String> {
    let mut lines = text.lines().zip(1..);
    let Some((first, _)) = lines.next() else {
        return Ok(Vec::new());
    };
    let shown = path.display();
    let before: Begun = serde_json::from_str(first)
        .map_err(|error| format!("{shown}:1: not what a campaign begins with: {error}"))?;
    if let Some(what) = before.difference(begun) {
        return Err(format!(
            "{shown} is of another campaign: {what}; name another folder with --state"
        ));
    }
    lines
        .map(|(line, number)| {
            serde_json::from_str(line)
                .map_err(|error| format!("{shown}:{number}: not what a batch leaves: {error}"))
        })
        .collect()
}
