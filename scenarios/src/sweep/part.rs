//! What a shard leaves on disk, and what comes out when those of a sweep are put together: what one machine would have
//! found.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::attribution::Depth;
use crate::seeds::Seeds;
use crate::trace_file::{self, read_bytes, why};

use super::candidates::merged;
use super::{Candidate, Ended, Found, Shard, Swept, Totals};

/// The version of the file.
const VERSION: u32 = 1;

/// What a sweep was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Asked {
    /// The case's name.
    pub case: String,
    /// What makes it this case.
    pub identity: serde_json::Value,
    /// The build that ran it.
    pub build: String,
    /// The seeds, those of the other shards among them.
    pub seeds: Seeds,
    /// Must all of them be run for the result to be complete?
    pub wants_all_seeds: bool,
    /// How violations were explained.
    pub blame: Depth,
    /// What has to be reached.
    pub require: Vec<String>,
}

/// What a shard leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    version: u32,
    asked: Asked,
    shard: Shard,
    ended: Ended,
    /// Real time.
    took: Duration,
    totals: Totals,
    /// Their traces are in the folder of the file.
    candidates: Vec<Candidate>,
}

/// What several shards come to.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What all of them were asked for.
    pub asked: Asked,
    /// What they have found. Its time is that of the slowest.
    pub swept: Swept,
    /// What they have not done of what they were asked for.
    pub missing: Vec<String>,
}

impl Part {
    /// What this shard has found.
    pub fn new(asked: Asked, shard: Shard, swept: &Swept) -> Part {
        let name = |path: PathBuf| PathBuf::from(path.file_name().unwrap_or_default());
        let candidates = swept.candidates.iter().cloned();
        Part {
            version: VERSION,
            asked,
            shard,
            ended: swept.ended,
            took: swept.took,
            totals: swept.totals.clone(),
            candidates: candidates
                .map(|candidate| candidate.map_traces(&name))
                .collect(),
        }
    }

    /// Writes it into this folder, whole or not at all. A shard that is run again takes the place of the first try.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, dir: &Path) -> io::Result<PathBuf> {
        let (case, shard) = (&self.asked.case, self.shard);
        let stem = format!("{case}-shard-{}-of-{}", shard.number(), shard.of());
        let path = dir.join(format!("{stem}.{EXTENSION}"));
        let mut bytes = serde_json::to_vec_pretty(self).map_err(io::Error::from)?;
        bytes.push(b'\n');
        trace_file::write_at(&path, &bytes)?;
        Ok(path)
    }

    /// Reads one.
    ///
    /// # Errors
    /// Why this file is none.
    pub fn read(path: &Path) -> Result<Part, String> {
        let shown = path.display();
        let bytes = read_bytes(path).map_err(|error| format!("{shown}: {}", why(&error)))?;
        let part: Part = serde_json::from_slice(&bytes)
            .map_err(|error| format!("{shown} is not what a shard leaves: {error}"))?;
        match part.version {
            VERSION => Ok(part),
            other => Err(format!(
                "{shown} has version {other}; this build reads version {VERSION}"
            )),
        }
    }

    /// Does it come from another run of the same shard? However long that took.
    fn is_same(&self, other: &Part) -> bool {
        let took = other.took;
        let own = Part {
            took,
            ..self.clone()
        };
        own == *other
    }

    /// How it falls short of what it was asked for.
    fn shortcoming(&self) -> Option<String> {
        let (ran, all) = (self.totals.seeds, self.shard.share(self.asked.seeds.count));
        let name = in_words(self.shard);
        let how = match self.ended {
            Ended::AllSeeds | Ended::Violation => return None,
            Ended::TimeBox if !self.asked.wants_all_seeds => return None,
            Ended::TimeBox => "ran out of time",
            Ended::Stopped => "was stopped",
        };
        match self.asked.wants_all_seeds {
            true => Some(format!("{name} {how} after {ran} of {all} seeds")),
            false => Some(format!("{name} {how} after {ran} seeds")),
        }
    }
}

/// Of the files that shards leave.
pub const EXTENSION: &str = "shard.json";

fn in_words(shard: Shard) -> String {
    format!("shard {} of {}", shard.number(), shard.of())
}

/// Puts shards of one sweep together, each with the file that it was read from. One that was run several times counts
/// once: the run that came further.
///
/// # Errors
/// If they are of different sweeps, or if two runs of one shard have found different things.
pub fn merge(parts: Vec<(PathBuf, Part)>) -> Result<Merged, String> {
    let mut shards: BTreeMap<Shard, (PathBuf, Part)> = BTreeMap::new();
    let Some((first_path, first)) = parts.first().cloned() else {
        return Err("there is nothing to merge".to_owned());
    };
    for (path, part) in parts {
        if let Some(what) = difference(&first, &part) {
            return Err(format!(
                "{} and {} are of different sweeps: {what}",
                first_path.display(),
                path.display()
            ));
        }
        match shards.entry(part.shard) {
            Entry::Vacant(entry) => {
                entry.insert((path, part));
            }
            Entry::Occupied(mut entry) => {
                let (before_path, before) = entry.get();
                let (ran, ran_before) = (part.totals.seeds, before.totals.seeds);
                if ran == ran_before && !part.is_same(before) {
                    return Err(format!(
                        "{} and {} are two runs of {}, and have not found the same: this must not be",
                        before_path.display(),
                        path.display(),
                        in_words(part.shard)
                    ));
                }
                if ran > ran_before {
                    entry.insert((path, part));
                }
            }
        }
    }
    let all = (1..=first.shard.of()).filter_map(|number| Shard::new(number, first.shard.of()).ok());
    let absent = all.filter(|shard| !shards.contains_key(shard));
    let mut missing: Vec<String> = absent
        .map(|shard| format!("{} is missing", in_words(shard)))
        .collect();
    missing.extend(shards.values().filter_map(|(_, part)| part.shortcoming()));
    let mut totals = Totals::default();
    let mut took = Duration::ZERO;
    let mut candidates = Vec::new();
    for (path, part) in shards.into_values() {
        totals.merge(&part.totals);
        took = took.max(part.took);
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        let located = |name: PathBuf| dir.join(name.file_name().unwrap_or_default());
        candidates.extend(
            part.candidates
                .into_iter()
                .map(|candidate| candidate.map_traces(&located)),
        );
    }
    Ok(Merged {
        asked: first.asked,
        swept: Swept {
            totals,
            candidates: merged(candidates.into_iter()),
            ended: Ended::AllSeeds,
            took,
        },
        missing,
    })
}

/// What tells two sweeps apart, if they are two.
fn difference(one: &Part, other: &Part) -> Option<String> {
    let (a, b) = (&one.asked, &other.asked);
    let differ = |what: &str, a: String, b: String| Some(format!("{what} {a} and {b}"));
    if a.case != b.case {
        return differ("they are of", a.case.clone(), b.case.clone());
    }
    if a.seeds != b.seeds {
        return differ("their seeds are", a.seeds.to_string(), b.seeds.to_string());
    }
    if one.shard.of() != other.shard.of() {
        let (a, b) = (one.shard.of().to_string(), other.shard.of().to_string());
        return differ("the numbers of their shards are", a, b);
    }
    if a.build != b.build {
        return differ("they were run by", a.build.clone(), b.build.clone());
    }
    if a.identity != b.identity {
        let what = "their scenarios, releases, defects or fixes are not the same";
        return Some(what.to_owned());
    }
    (a != b).then(|| "they were run with different flags".to_owned())
}

impl Candidate {
    /// The same, with its traces elsewhere.
    pub fn map_traces(self, to: &dyn Fn(PathBuf) -> PathBuf) -> Candidate {
        self.try_map_traces(&|path| Ok(to(path)))
    }

    /// The same, if there are traces elsewhere.
    pub fn try_map_traces(self, to: &dyn Fn(PathBuf) -> Result<PathBuf, String>) -> Candidate {
        let elsewhere = |found: Found| Found {
            trace: found.trace.and_then(to),
            ..found
        };
        Candidate {
            seeds: self.seeds,
            first: elsewhere(self.first),
            shortest: elsewhere(self.shortest),
        }
    }
}
