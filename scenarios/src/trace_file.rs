//! Traces on disk: whole or not at all, compressed when they are large.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use wavetank_engine::ProcId;
use wavetank_engine::drive::Outcome;
use wavetank_engine::trace::{self, End, Line, Reader, TraceError};

use crate::head::Head;

/// A trace with more bytes is compressed.
const LARGE: usize = 1 << 20;
/// Of a trace that is kept under version control.
const LARGE_TO_KEEP: usize = 64 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A trace has at most so many bytes: some ten million events. Whatever is larger is none, or would fill the memory.
const LARGEST: u64 = 1 << 30;

/// A whole trace in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// How its world is built.
    pub head: Head,
    /// All lines, the last one being the end.
    pub lines: Vec<Line>,
}

impl Trace {
    /// The trace of a run.
    pub fn of(head: Head, outcome: &Outcome) -> Trace {
        let name = |process: ProcId| outcome.world.name(process).to_owned();
        let lines = outcome.record.lines(&name, outcome.end()).collect();
        Trace { head, lines }
    }

    /// How it ended.
    pub fn end(&self) -> &End {
        match self.lines.last() {
            Some(Line::End(end)) => end,
            _ => unreachable!("a trace is read or made whole"),
        }
    }

    /// As text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        trace::write(&mut bytes, &self.head.to_json(), self.lines.iter().cloned())
            .expect("writing to memory cannot fail");
        bytes
    }
}

/// Why a file is not a trace that can be used.
#[derive(Debug)]
pub struct Unreadable {
    path: PathBuf,
    why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}
impl std::error::Error for Unreadable {}

/// Reads a trace, compressed or not.
///
/// # Errors
/// [`Unreadable`], also if it stops before its end.
pub fn read(path: &Path) -> Result<Trace, Unreadable> {
    let unreadable = |why: String| Unreadable {
        path: path.to_owned(),
        why,
    };
    let bytes = read_bytes(path).map_err(|error| unreadable(why(&error)))?;
    parse(&bytes).map_err(unreadable)
}

/// The uncompressed bytes of a trace: its identity.
///
/// # Errors
/// Those of the file system.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let bytes = read_up_to(LARGEST, File::open(path)?)?;
    match bytes.starts_with(&GZIP) {
        true => read_up_to(LARGEST, MultiGzDecoder::new(bytes.as_slice())),
        false => Ok(bytes),
    }
}

/// All that there is to read, if that is not more than `most` bytes.
fn read_up_to(most: u64, from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// A trace, not compressed.
///
/// # Errors
/// Why it is none.
pub fn parse(bytes: &[u8]) -> Result<Trace, String> {
    let text = |error: TraceError| error.to_string();
    let mut reader = Reader::new(BufReader::new(bytes)).map_err(text)?;
    let head = Head::deserialize_from(reader.head())?;
    let lines = reader.rest().map_err(text)?;
    Ok(Trace { head, lines })
}

impl Head {
    fn deserialize_from(json: &serde_json::Value) -> Result<Head, String> {
        serde_json::from_value(json.clone()).map_err(|error| format!("its head: {error}"))
    }
}

/// A file system's error without its number.
pub(crate) fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory, not a file".to_owned(),
        io::ErrorKind::FileTooLarge => {
            format!("no trace: it has more than {} MiB", LARGEST >> 20)
        }
        io::ErrorKind::UnexpectedEof => "cut off: the compressed data end early".to_owned(),
        _ => error.to_string(),
    }
}

/// The name of a trace's file, without folder and extension: by case, violated property (or
/// `clean`) and seed.
pub fn file_stem(case: &str, property: &str, seed: u64) -> String {
    let safe = |c: char| match c.is_ascii_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    };
    format!("{case}-{property}-seed{seed}")
        .chars()
        .map(safe)
        .collect()
}

/// The name of a trace's file without `.trace` and `.gz`.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".trace").unwrap_or(name).to_owned()
}

/// Writes a trace's bytes as `<stem>.trace`, or `<stem>.trace.gz` when they are many, into `dir`,
/// which is created if need be. The file is there whole or not at all.
///
/// # Errors
/// Those of the file system.
pub fn write(dir: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    write_plain_up_to(LARGE, dir, stem, bytes)
}

/// The same for traces under version control, where fewer bytes are many.
///
/// # Errors
/// Those of the file system.
pub fn write_to_keep(dir: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    write_plain_up_to(LARGE_TO_KEEP, dir, stem, bytes)
}

fn write_plain_up_to(limit: usize, dir: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let (plain, packed) = (
        dir.join(format!("{stem}.trace")),
        dir.join(format!("{stem}.trace.gz")),
    );
    let (path, stale) = match bytes.len() > limit {
        true => (packed, plain),
        false => (plain, packed),
    };
    write_at(&path, bytes)?;
    match fs::remove_file(stale) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(path),
    }
}

/// Writes a trace's bytes to just this file, compressed if its name ends in `.gz`. The file is
/// there whole or not at all.
///
/// # Errors
/// Those of the file system.
pub fn write_at(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let unfinished = path.with_file_name(format!(
        ".{}.{}.tmp",
        name.to_string_lossy(),
        std::process::id()
    ));
    let written = write_out(&unfinished, path, bytes);
    if written.is_err() {
        // Whatever is left of it is of no use; the first error is the one to report.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write_out(unfinished: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(unfinished)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(file, Compression::default());
        encoder.write_all(bytes)?;
        file = encoder.finish()?;
    } else {
        file.write_all(bytes)?;
    }
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// Makes sure that files can be written into `dir`, creating it if need be.
///
/// # Errors
/// Why not.
pub fn check_writable(dir: &Path) -> Result<(), String> {
    let probe = dir.join(format!(".probe.{}.tmp", std::process::id()));
    fs::create_dir_all(dir)
        .and_then(|()| File::create(&probe))
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|error| format!("cannot write into `{}`: {error}", dir.display()))
}
