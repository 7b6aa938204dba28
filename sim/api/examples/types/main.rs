//! The table of Kubernetes' types, which is generated, and made anew by hand.
//!
//! `cargo run -p wavetank-api --example types -- v1.36.2 --api DIR --apimachinery DIR --aggregator DIR --older DIR` prints the table of the Go
//! types behind the kinds that are served, `sim/api/src/schema/types.txt`, out of the sources of k8s.io/api, k8s.io/apimachinery and
//! k8s.io/kube-aggregator at that release, and says of each field which release brought it, out of those of older ones. The sources stay
//! where they are: the table holds names, types and markers, and none of upstream's words.
//!
//! - `go`: reads Go's type declarations, as far as these sources use them;
//! - `table`: which types are wanted, and how the table is written;
//! - `since`: which release brought a field.

mod go;
mod since;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::table::Sources;

const USAGE: &str =
    "usage: cargo run -p wavetank-api --example types -- RELEASE --api DIR --apimachinery DIR --aggregator DIR --older DIR
  RELEASE          of Kubernetes, for the head of the table, such as v1.36.2
  --api            the sources of k8s.io/api at that release: the folder that holds core/v1/types.go
  --apimachinery   those of k8s.io/apimachinery: the folder that holds pkg/apis/meta/v1/types.go
  --aggregator     those of k8s.io/kube-aggregator: the folder that holds pkg/apis/apiregistration/v1/types.go
  --older          those of older releases: a folder with one for each, as v1.20, that has api, apimachinery and aggregator in it";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(2)
        }
    }
}

/// The table that the command asks for.
fn run(args: impl Iterator<Item = String>) -> Result<String, String> {
    let mut args = args;
    let release = args.next().filter(|release| release.starts_with('v'));
    let release = release.ok_or(USAGE)?;
    let (mut api, mut apimachinery, mut aggregator, mut older) = (None, None, None, None);
    while let Some(flag) = args.next() {
        let folder = args.next().map(PathBuf::from);
        match flag.as_str() {
            "--api" => api = folder,
            "--apimachinery" => apimachinery = folder,
            "--aggregator" => aggregator = folder,
            "--older" => older = folder,
            other => return Err(format!("there is no flag {other}\n{USAGE}")),
        }
    }
    let sources = Sources {
        release,
        api: api.ok_or(USAGE)?,
        apimachinery: apimachinery.ok_or(USAGE)?,
        aggregator: aggregator.ok_or(USAGE)?,
    };
    let older = since::releases(&older.ok_or(USAGE)?, &sources.release)?;
    table::write(&sources, &older)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<String, String> {
        run(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_command_that_is_not_understood_is_told_what_would_be() {
        for line in ["", "--api x", "v1.2.3 --api x"] {
            assert_eq!(asked(line), Err(USAGE.to_owned()), "{line}");
        }
        let wrong = asked("v1.2.3 --else x").expect_err("no such flag");
        assert!(
            wrong.starts_with("there is no flag --else\nusage"),
            "{wrong}"
        );
        let older = tempfile::tempdir().expect("a folder");
        for (older, missing) in [
            ("/nowhere/older", "/nowhere/older:"),
            (&*older.path().to_string_lossy(), "/nowhere/"),
        ] {
            let line = format!(
                "v1.2.3 --api /nowhere --apimachinery /nowhere --aggregator /nowhere --older {older}"
            );
            let wrong = asked(&line).expect_err("there is no such folder");
            assert!(wrong.starts_with(missing), "{wrong}");
        }
    }
}
