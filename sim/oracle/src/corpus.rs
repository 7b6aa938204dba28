//! Recorded files: JSON lines, as they are or compressed with gzip.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use include_dir::{Dir, include_dir};
use serde_json::Value as Json;

static BUNDLED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/corpus");

/// A recorded file.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its name, without the ending.
    pub name: String,
    /// The file that it was read from: what is wrong with a line begins with it.
    pub file: String,
    /// Its lines; the first describes the servers, the last holds the table of revisions.
    pub lines: Vec<Json>,
}

impl Recording {
    /// What is wrong with the line of this index, as people look it up.
    pub(crate) fn wrong(&self, at: usize, what: &str) -> String {
        format!("{}:{}: {what}", self.file, at + 1)
    }

    /// Servers that renew their leases write all the time: such a recording tells neither writes nor
    /// revisions.
    pub fn is_without_revisions(&self) -> bool {
        self.lines
            .last()
            .is_none_or(|last| last.get("rv").is_none())
    }
}

/// The recordings that are part of this crate, by name.
///
/// # Errors
/// What is wrong with one of them.
pub fn bundled() -> Result<Vec<Recording>, String> {
    in_folder(&BUNDLED)
}

/// Those of a folder that is compiled in.
pub(crate) fn in_folder(folder: &'static Dir<'_>) -> Result<Vec<Recording>, String> {
    let mut files: Vec<_> = folder.files().collect();
    files.sort_by_key(|file| file.path());
    let recordings = files.iter().filter(|file| name_of(file.path()).is_some());
    recordings
        .map(|file| parse(file.path(), file.contents()))
        .collect()
}

/// All recordings of a folder, by name.
///
/// # Errors
/// What is wrong with the folder or a file, and where.
pub fn read(folder: &Path) -> Result<Vec<Recording>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if name_of(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        let folder = folder.display();
        return Err(format!("{folder}: there is no file *.jsonl or *.jsonl.gz"));
    }
    paths.iter().map(|path| read_file(path)).collect()
}

/// The recording in a file.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read_file(path: &Path) -> Result<Recording, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    parse(path, &std::fs::read(path).map_err(wrong)?)
}

/// Writes a recording, so that it can be read again.
///
/// # Errors
/// Why the file cannot be written.
pub fn write(recording: &Recording, path: &Path) -> Result<(), String> {
    let lines = recording.lines.iter().map(|line| format!("{line}\n"));
    let text: String = lines.collect();
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn name_of(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    plain.strip_suffix(".jsonl")
}

/// A recording, by the name of its file.
///
/// # Errors
/// What is wrong with it.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Recording, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut text = String::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut plain = GzDecoder::new(bytes);
        plain.read_to_string(&mut text).map_err(wrong)?;
    } else {
        let mut plain = bytes;
        plain.read_to_string(&mut text).map_err(wrong)?;
    }
    let line = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}:{}: {error}", path.display(), at + 1))
    };
    let lines: Result<Vec<Json>, String> = text.lines().enumerate().map(line).collect();
    let lines = lines?;
    if lines
        .first()
        .is_none_or(|first| first.get("cluster").is_none())
    {
        let path = path.display();
        return Err(format!(
            "{path}:1: a recording begins with a line `cluster`"
        ));
    }
    Ok(Recording {
        name: name_of(path).unwrap_or_default().to_owned(),
        file: path.display().to_string(),
        lines,
    })
}
