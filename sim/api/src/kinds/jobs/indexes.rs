//! How indexes of a Job are written (`validateIndexesFormat`), and what the spec of an Indexed Job may say.

use super::is_indexed;
use crate::json::{self, Json};
use crate::quote::quote;
use crate::validation::ErrorList;

/// `maxParallelismForIndexedJob`
const MAX_PARALLELISM_FOR_INDEXED_JOB: i64 = 100_000;
/// `maxFailedIndexesForIndexedJob`
const MAX_FAILED_INDEXES_FOR_INDEXED_JOB: i64 = 100_000;

/// What `validateJobSpec` says of indexes.
pub(super) fn validate_indexed_spec(job: &Json, errors: &mut ErrorList) {
    let number = |field| json::number(job, &["spec", field]);
    let per_index = number("backoffLimitPerIndex");
    let most_failed = number("maxFailedIndexes");
    if most_failed.is_some() && per_index.is_none() {
        let detail = "when maxFailedIndexes is specified";
        errors.required("spec.backoffLimitPerIndex", detail);
    }
    let mode = json::text(job, &["spec", "completionMode"]);
    let modes = ["NonIndexed", "Indexed"];
    if !mode.is_empty() && !modes.contains(&mode) {
        errors.not_supported("spec.completionMode", mode, &modes);
    }
    if is_indexed(job) {
        return validate_counts(job, errors);
    }
    if mode.is_empty() || mode == "NonIndexed" {
        let given = [
            ("backoffLimitPerIndex", per_index),
            ("maxFailedIndexes", most_failed),
        ];
        for (field, value) in given {
            if let Some(value) = value {
                let detail = "requires indexed completion mode";
                errors.invalid(format!("spec.{field}"), value, detail);
            }
        }
    }
}

fn validate_counts(job: &Json, errors: &mut ErrorList) {
    let number = |field| json::number(job, &["spec", field]);
    let completions = number("completions");
    if completions.is_none() {
        errors.required("spec.completions", "when completion mode is Indexed");
    }
    let parallelism = number("parallelism");
    if let Some(own) = parallelism.filter(|own| *own > MAX_PARALLELISM_FOR_INDEXED_JOB) {
        let detail = format!(
            "must be less than or equal to {MAX_PARALLELISM_FOR_INDEXED_JOB} when completion mode is Indexed"
        );
        errors.invalid("spec.parallelism", own, detail);
    }
    let Some(most_failed) = number("maxFailedIndexes") else {
        return;
    };
    if completions.is_some_and(|completions| most_failed > completions) {
        let detail = "must be less than or equal to completions";
        errors.invalid("spec.maxFailedIndexes", most_failed, detail);
    }
    if most_failed > MAX_FAILED_INDEXES_FOR_INDEXED_JOB {
        let detail = format!("must be less than or equal to {MAX_FAILED_INDEXES_FOR_INDEXED_JOB}");
        errors.invalid("spec.maxFailedIndexes", most_failed, detail);
    }
}

/// `validateFailedIndexesNotOverlapCompleted`
pub(super) fn validate_failed_indexes_not_overlap_completed(
    completed: &str,
    failed: &str,
    completions: i64,
) -> Result<(), String> {
    let all = |text: &str| -> Vec<(i64, i64)> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let read = parts.map(|part| parse_index_interval(part, completions));
        read.filter_map(Result::ok).collect()
    };
    let failed = all(failed);
    for (first, last) in all(completed) {
        let both = failed.iter().find(|own| first <= own.1 && own.0 <= last);
        if let Some(own) = both {
            let index = first.max(own.0);
            return Err(format!(
                "failedIndexes and completedIndexes overlap at index: {index}"
            ));
        }
    }
    Ok(())
}

/// `validateIndexesFormat`: how many there are.
pub(super) fn validate_indexes_format(text: &str, completions: i64) -> Result<i64, String> {
    let (mut previous, mut total) = (None, 0);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = parse_index_interval(part, completions)?;
        if let Some(previous) = previous.filter(|previous| *previous >= first) {
            return Err(format!(
                "non-increasing order, previous: {previous}, current: {first}"
            ));
        }
        total += last - first + 1;
        previous = Some(last);
    }
    Ok(total)
}

/// `parseIndexInterval`
fn parse_index_interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = text.split('-').collect();
    if limits.len() > 2 {
        let shown = quote(text);
        return Err(format!(
            "the fragment {shown} violates the requirement that an index interval can have at most two parts separated by '-'"
        ));
    }
    let read = |limit: &str| -> Result<i64, String> {
        let shown = quote(limit);
        let number: i64 = limit
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {shown}"))?;
        match number >= completions {
            true => Err(format!("too large index: {shown}")),
            false => Ok(number),
        }
    };
    let first = read(limits[0])?;
    let Some(last) = limits.get(1) else {
        return Ok((first, first));
    };
    let last = read(last)?;
    match first >= last {
        true => Err(format!(
            "non-increasing order, previous: {first}, current: {last}"
        )),
        false => Ok((first, last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_intervals_in_order() {
        assert_eq!(validate_indexes_format("0,2-4", 5), Ok(4));
        assert_eq!(validate_indexes_format("", 5), Ok(0));
        for wrong in ["2,1", "0-0", "1-2-3", "a", "5"] {
            assert!(validate_indexes_format(wrong, 5).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_index_does_not_fail_and_succeed() {
        let overlap =
            |completed, failed| validate_failed_indexes_not_overlap_completed(completed, failed, 9);
        assert_eq!(overlap("0-2,5", "3,4"), Ok(()));
        let why = "failedIndexes and completedIndexes overlap at index: 5";
        assert_eq!(overlap("0-2,5", "3-6"), Err(why.to_owned()));
    }
}
