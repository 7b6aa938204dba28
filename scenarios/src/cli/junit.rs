//! JUnit files, which CI systems show: one test a scope, or one a guarantee of a scenario.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::replay::in_words;

use super::checked::{self, Checked, Turned, Verdict};
use super::exit::Problem;
use super::report;

const NAME: &str = "wavetank";

/// The scopes that were checked.
pub(super) fn checked(all: &[Checked]) -> Report {
    let mut suite = TestSuite::new("wavetank check");
    for one in all {
        let status = match one.verdict {
            Verdict::Clean | Verdict::FoundAsExpected => TestCaseStatus::success(),
            Verdict::Violated => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                if let Some(found) = &one.found {
                    let told = format!("{}\n\n{}", found.story.join("\n"), found.replay);
                    status
                        .set_message(in_words(&found.what))
                        .set_description(told);
                }
                status
            }
            Verdict::Untested
            | Verdict::NotFound
            | Verdict::FoundAfterAll
            | Verdict::Incomplete
            | Verdict::Interrupted => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_message(checked::verdict(one));
                if let Some(why) = &one.because {
                    status.set_description(why.as_str());
                }
                status
            }
        };
        let name = match &one.turned {
            Some(Turned::Shows(switch)) => format!("{} shows {switch}", one.case),
            Some(Turned::CannotShow(switch)) => format!("{} cannot show {switch}", one.case),
            None => one.case.clone(),
        };
        let mut case = TestCase::new(name, status);
        case.set_classname(NAME);
        case.set_time(Duration::from_secs_f64(one.figures.seconds));
        case.set_system_out(checked::verdict(one));
        suite.add_test_case(case);
    }
    of(suite)
}

/// The guarantees that a sweep has put to the test.
pub(super) fn swept(report: &report::Report) -> Report {
    let mut suite = TestSuite::new(report.case.as_str());
    suite.set_time(Duration::from_secs_f64(report.totals.real_seconds));
    for property in report.properties.iter().filter(|p| p.class == "guarantee") {
        let violations = report.violations.iter();
        let violated = violations.filter(|v| !v.expected && v.what.property == property.name);
        let told: Vec<String> = violated
            .map(|violation| {
                let replay = violation.replay.as_deref().unwrap_or_default();
                let story = violation.story.join("\n");
                format!("{}\n{story}\n\n{replay}", in_words(&violation.what))
            })
            .collect();
        let status = if !told.is_empty() {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let message = told[0].lines().next().unwrap_or_default();
            status
                .set_message(message)
                .set_description(told.join("\n\n"));
            status
        } else if property.tested.times == 0 {
            TestCaseStatus::skipped()
        } else {
            TestCaseStatus::success()
        };
        let mut case = TestCase::new(property.name.as_str(), status);
        case.set_classname(NAME);
        suite.add_test_case(case);
    }
    // What is simulated may also panic or run in circles: no property has that name.
    for violation in &report.violations {
        if report
            .properties
            .iter()
            .all(|p| p.name != violation.what.property)
        {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(in_words(&violation.what));
            let mut case = TestCase::new(violation.what.property.as_str(), status);
            case.set_classname(NAME);
            suite.add_test_case(case);
        }
    }
    of(suite)
}

fn of(suite: TestSuite) -> Report {
    let mut report = Report::new(NAME);
    report.add_test_suite(suite);
    report
}

/// Can the file be written? Whoever asks for one learns that it cannot before the work is done.
pub(super) fn check_writable(path: &Path) -> Result<(), Problem> {
    let is_new = !path.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| unwritable(path, &error))?;
    match is_new {
        true => fs::remove_file(path).map_err(|error| unwritable(path, &error)),
        false => Ok(()),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot write `{}`: {error}", path.display()))
}

/// Writes the file.
pub(super) fn write(path: &Path, report: &Report) -> Result<(), Problem> {
    let text = report.to_string();
    let text = text.map_err(|error| Problem::new(format!("cannot make the report: {error}")))?;
    fs::write(path, text).map_err(|error| unwritable(path, &error))
}
