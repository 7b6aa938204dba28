//! `wavetank merge`: what shards have found, as one machine would have found it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::Catalogue;
use crate::sweep::{EXTENSION, Merged, Part, merge as put_together};
use crate::trace_file::{self, check_writable, read_bytes, stem, why};

use super::args::{Format, MergeArgs};
use super::check::parts::{self, CheckedPart};
use super::check::told;
use super::exit::{Exit, Problem};
use super::found::replay_line;
use super::{checked, found, judge, junit, print};

pub(super) fn merge(catalogue: &dyn Catalogue, args: &MergeArgs) -> Result<Exit, Problem> {
    let files = files(&args.from)?;
    let (searched, swept) = by_kind(files)?;
    match (searched.is_empty(), swept.is_empty()) {
        (true, _) => sweep(catalogue, args, swept),
        (false, true) => search(catalogue, args, searched),
        (false, false) => Err(Problem::new(format!(
            "{} is of a search, and {} of a sweep: merge the one, then the other",
            searched[0].0.display(),
            swept[0].display()
        ))),
    }
}

type Searched = Vec<(PathBuf, CheckedPart)>;

/// What shards of searches have left, and the files of those of a sweep.
fn by_kind(files: Vec<PathBuf>) -> Result<(Searched, Vec<PathBuf>), Problem> {
    let (mut searched, mut swept) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = read_bytes(&path).map_err(|error| unreadable(&path, &error))?;
        match serde_json::from_slice(&bytes) {
            Ok(file) if parts::is_one(&file) => {
                let part = parts::read(&path, file)?;
                searched.push((path, part));
            }
            // What is wrong with it is said by whoever reads it.
            _ => swept.push(path),
        }
    }
    Ok((searched, swept))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(format!("{}: {}", path.display(), why(error)))
}

/// Of each scope what its parts come to.
fn search(
    catalogue: &dyn Catalogue,
    args: &MergeArgs,
    searched: Searched,
) -> Result<Exit, Problem> {
    check_writable(&args.out).map_err(Problem::new)?;
    if let Some(path) = &args.report {
        junit::check_writable(path)?;
    }
    let mut scopes: BTreeMap<String, Searched> = BTreeMap::new();
    for (path, part) in searched {
        let of = &part.searched;
        let key = format!("{} {}", of.case, of.identity);
        scopes.entry(key).or_default().push((path, part));
    }
    let mut all = Vec::new();
    for parts in scopes.into_values() {
        let of = &parts[0].1.searched;
        let case = catalogue
            .reopen(&of.identity)
            .map_err(|why| Problem::new(format!("`{}` cannot be opened: {why}", of.case)))?;
        let mut checked = parts::merge(case.as_ref(), parts)?;
        if let Some(found) = &mut checked.found {
            let path = gather(Path::new(&found.trace), &args.out).map_err(Problem::new)?;
            found.replay = replay_line(&path);
            found.trace = path.display().to_string();
        }
        if args.format == Format::Human {
            print(&checked::in_words(&checked))?;
        }
        all.push(checked);
    }
    told(&all, args.format, args.report.as_deref())
}

/// The report of a sweep.
fn sweep(
    catalogue: &dyn Catalogue,
    args: &MergeArgs,
    files: Vec<PathBuf>,
) -> Result<Exit, Problem> {
    let parts = files.into_iter().map(|path| {
        let part = Part::read(&path)?;
        Ok((path, part))
    });
    let parts: Result<Vec<(PathBuf, Part)>, String> = parts.collect();
    let merged = parts.and_then(put_together).map_err(Problem::new)?;
    let Merged {
        asked,
        mut swept,
        missing,
    } = merged;
    let case = catalogue
        .reopen(&asked.identity)
        .map_err(|why| Problem::new(format!("`{}` cannot be opened: {why}", asked.case)))?;
    let case = case.as_ref();
    check_writable(&args.out).map_err(Problem::new)?;
    if let Some(path) = &args.report {
        junit::check_writable(path)?;
    }
    let gathered = swept.candidates.into_iter();
    swept.candidates = gathered
        .map(|candidate| candidate.try_map_traces(&|path| gather(&path, &args.out)))
        .collect();
    let violations: Vec<_> = swept
        .candidates
        .iter()
        .map(|candidate| found::tell(case, candidate))
        .collect();
    let mut because = judge::shortcomings(case, &asked, &swept, &violations);
    because.extend(missing);
    let (report, exit) = judge::judge(case, &asked, &swept, violations, because);
    judge::tell(&report, args.report.as_deref(), args.format)?;
    Ok(exit)
}

/// The files that shards have left, in the order of their names.
fn files(from: &[PathBuf]) -> Result<Vec<PathBuf>, Problem> {
    let mut all = Vec::new();
    for path in from {
        match path.is_dir() {
            true => look_into(path, &mut all)?,
            false => all.push(path.clone()),
        }
    }
    if all.is_empty() {
        let from: Vec<String> = from
            .iter()
            .map(|dir| format!("`{}`", dir.display()))
            .collect();
        return Err(Problem::new(format!(
            "no shard has left anything in {}: `run --shard I/N --out DIR`, or `check`, writes a file `….{EXTENSION}`",
            from.join(", ")
        )));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn look_into(dir: &Path, all: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let unreadable = |error| Problem::new(format!("{}: {}", dir.display(), why(&error)));
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // What is being written begins with a dot.
        if path.is_dir() {
            look_into(&path, all)?;
        } else if name.ends_with(&format!(".{EXTENSION}")) && !name.starts_with('.') {
            all.push(path);
        }
    }
    Ok(())
}

/// Brings a trace to the others.
fn gather(path: &Path, out: &Path) -> Result<PathBuf, String> {
    let bytes = read_bytes(path).map_err(|error| format!("{}: {}", path.display(), why(&error)))?;
    let written = trace_file::write(out, &stem(path), &bytes);
    written.map_err(|error| format!("cannot write the trace into `{}`: {error}", out.display()))
}
