//! Whether what the flags --defect and --without name matters in a scenario: a defect that has no place in it, or that
//! its options hide, would be looked for in vain.

use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, Kind};

use super::Kube;
use super::describing::{homes, releases_that_fit};
use super::job::Job;
use crate::case::Case as _;

/// Does all that is asked for matter in `plain`, which is the scenario without these two flags?
///
/// # Errors
/// What does not, why, and where it would.
pub(super) fn check(kube: &Kube, plain: &Job, asked: &Composition) -> Result<(), String> {
    if let Some(both) = asked.on.iter().find(|defect| asked.off.contains(defect)) {
        return Err(format!(
            "`{}` is named by --defect, which turns it on, and by --without, which turns it off: give one of the two",
            both.name
        ));
    }
    let unfit = |flag: &str, defect: &'static Defect, why: String| {
        let name = defect.name;
        let advice = advice(kube, plain, defect);
        Err(format!("{flag} {name}: `{name}` {why}{advice}"))
    };
    for defect in &asked.on {
        if let Some(why) = plain.cannot_show(defect) {
            return unfit("--defect", defect, why);
        }
    }
    for defect in &asked.off {
        let why = plain.cannot_show(defect);
        if let Some(why) = why.or_else(|| is_off_already(plain, defect, asked.fixed)) {
            return unfit("--without", defect, why);
        }
    }
    Ok(())
}

/// Why there is nothing to turn off, if there is not.
fn is_off_already(plain: &Job, defect: &Defect, fixed: bool) -> Option<String> {
    if plain.has(defect) {
        return None;
    }
    Some(match defect.kind {
        Kind::Fix => {
            "is the fix of a finding, which no release has: it is off already, and on only with --fixed".to_owned()
        }
        Kind::Defect | Kind::OpenDefect if fixed => {
            "is off already: --fixed turns all known bugs off".to_owned()
        }
        Kind::Defect | Kind::OpenDefect => {
            let ships = shipped_with(defect);
            format!("is off already: what runs in `{}` did not ship with it, but {ships} did", plain.name())
        }
    })
}

/// The releases that shipped with a defect.
pub(super) fn shipped_with(defect: &Defect) -> String {
    let releases = Release::TABLE.iter();
    let with_it = releases.filter(|release| defect.ships_with(release.version));
    let mut ships: Vec<String> = with_it.map(|release| release.name.to_owned()).collect();
    let lines = defect.etcd_lines().iter();
    ships.extend(lines.map(|line| format!("etcd {line}")));
    ships.join(", ")
}

/// Where it would matter.
fn advice(kube: &Kube, plain: &Job, defect: &'static Defect) -> String {
    let mut lines = Vec::new();
    if !plain.fits_a_release(defect) {
        let releases = releases_that_fit(defect);
        lines.push(format!(
            "releases that have its place (--release): {releases}"
        ));
    }
    let (scenarios, scopes) = homes(kube, defect);
    for (kind, names) in [("scenarios", scenarios), ("scopes", scopes)] {
        if !names.is_empty() {
            lines.push(format!("{kind} that have its place: {}", names.join(", ")));
        }
    }
    lines.push(format!(
        "`wavetank describe {}` tells what is known of it",
        defect.name
    ));
    lines.iter().map(|line| format!("\n  {line}")).collect()
}
