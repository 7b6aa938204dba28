//! Gives the build a name that changes with its sources, so that a trace knows whether it was
//! written by this very build. No host, path or date goes into it.
//!
//! And lists the scenarios and scopes that lie in their folders, so that they are bundled without being named, and the
//! functions of the files that tell notes, so that an explanation says in which it is; and the mutants of the algorithms.

#[path = "build/declared.rs"]
mod declared;
#[path = "build/mutants.rs"]
mod mutants;

use std::fs;
use std::path::{Path, PathBuf};

/// What the simulated world is made of, from the workspace's root. A published crate has none of
/// it, and its version has to do.
const SOURCES: [&str; 3] = ["sim", "scenarios/src", "Cargo.lock"];

fn main() {
    let root = Path::new("..");
    let mut files = Vec::new();
    for source in SOURCES {
        let path = root.join(source);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, &mut files);
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    files.sort();
    let mut hash = Fnv::new();
    for file in &files {
        // Separators differ between systems, and so may line ends; the build does not.
        let name = file.to_string_lossy().replace('\\', "/");
        hash.write(name.as_bytes());
        hash.write(&fs::read(file).unwrap_or_default());
    }
    let suffix = match files.is_empty() {
        true => String::new(),
        false => format!("+{:016x}", hash.0),
    };
    println!("cargo::rustc-env=WAVETANK_SOURCES={suffix}");
    compress_line_tables();
    let lists = [("FILES", "."), ("SCOPES", "scopes")];
    let lists = lists.map(|(name, folder)| bundled(name, folder)).concat();
    let out = std::env::var("OUT_DIR").expect("cargo says so");
    fs::write(Path::new(&out).join("bundled.rs"), lists).expect("it can be written");
    let functions = functions(&files);
    fs::write(Path::new(&out).join("functions.rs"), functions).expect("it can be written");
    let mutants = mutants(&files);
    fs::write(Path::new(&out).join("mutants.rs"), mutants).expect("it can be written");
}

/// A constant with the mutants of the algorithms: each with its place from the workspace's root.
fn mutants(files: &[PathBuf]) -> String {
    let mut lines = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_default();
        let path = file.to_string_lossy().replace('\\', "/");
        let path = path.trim_start_matches("../");
        let is_declaration = path.starts_with("sim/engine/");
        for (line, name, what) in mutants::declared(&text) {
            if !is_declaration {
                lines.push(format!(
                    "    Mutant {{ name: {name:?}, what: {what:?}, file: {path:?}, line: {line} }},\n"
                ));
            }
        }
    }
    let list: String = lines.into_iter().collect();
    format!("const MUTANTS: &[Mutant] = &[\n{list}];\n")
}

/// A constant with the functions of each file that tells notes, by its path from the workspace's root.
fn functions(files: &[PathBuf]) -> String {
    let mut lines = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_default();
        let name = file.to_string_lossy().replace('\\', "/");
        if !text.contains("note(") {
            continue;
        }
        let name = name.trim_start_matches("../");
        let functions = declared::functions(&text);
        lines.push((
            name.to_owned(),
            format!("    ({name:?}, &{functions:?}),\n"),
        ));
    }
    // Paths have another order than texts.
    lines.sort();
    let list: String = lines.into_iter().map(|(_, line)| line).collect();
    format!("const FUNCTIONS: &[(&str, &[Function])] = &[\n{list}];\n")
}

/// A constant with the name and the text of each scenario in a folder, by name.
fn bundled(constant: &str, folder: &str) -> String {
    println!("cargo::rerun-if-changed={folder}");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|own| own == "yaml"));
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    let lines = names.iter().map(|name| {
        format!(
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{folder}/{name}.yaml\"))),\n"
        )
    });
    let lines: String = lines.collect();
    format!("const {constant}: &[(&str, &str)] = &[\n{lines}];\n")
}

/// The Rust sources below `path`, or `path` itself if it is a file.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    for entry in entries.map(|entry| entry.path()) {
        let name = entry.file_name().unwrap_or_default();
        let is_source = entry.extension().is_some_and(|extension| extension == "rs");
        // Tests, benchmarks and fuzz targets of the layers are no part of the world.
        if (entry.is_dir() && !["tests", "benches", "fuzz"].iter().any(|n| name == *n)) || is_source
        {
            collect(&entry, files);
        }
    }
}

/// FNV-1a, 64 bits; each part is followed by its length.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Line tables, for the places in the backtrace of a panic, are most of a released program: where the linker is known to
/// be able to, it compresses them.
fn compress_line_tables() {
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|is| is == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
    }
}
