//! Indexes of pods and of Jobs (`pkg/controller/job/indexed_job_utils.go`): how they are written as intervals, and what is
//! read of them in annotations.

use std::collections::BTreeSet;

use wavetank_api::Stored;
use wavetank_api::json::{self, Json};

/// `JobCompletionIndexAnnotation`
pub(super) const JOB_COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// `JobIndexFailureCountAnnotation`
pub(super) const JOB_INDEX_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
/// `JobIndexIgnoredFailureCountAnnotation`
pub(super) const JOB_INDEX_IGNORED_FAILURE_COUNT: &str =
    "batch.kubernetes.io/job-index-ignored-failure-count";

/// `isIndexedJob`
pub(super) fn is_indexed_job(job: &Json) -> bool {
    json::text(job, &["spec", "completionMode"]) == "Indexed"
}

/// `hasBackoffLimitPerIndex`
pub(super) fn has_backoff_limit_per_index(job: &Json) -> bool {
    json::number(job, &["spec", "backoffLimitPerIndex"]).is_some()
}

/// `orderedIntervals`: the first and last index of each.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OrderedIntervals(Vec<(i64, i64)>);

impl OrderedIntervals {
    /// `parseIndexesFromString`
    pub fn parse_indexes_from_string(text: &str, completions: i64) -> OrderedIntervals {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let Ok(first) = first.parse::<i64>() else {
                continue;
            };
            if first >= completions {
                break;
            }
            let Ok(last) = last.parse::<i64>() else {
                continue;
            };
            let last = last.min(completions - 1);
            match all.last_mut() {
                Some(before) if before.1 == first - 1 => before.1 = last,
                _ => all.push((first, last)),
            }
        }
        OrderedIntervals(all)
    }

    /// `withOrderedIndexes`
    pub fn with_ordered_indexes(&self, indexes: impl IntoIterator<Item = i64>) -> OrderedIntervals {
        let new = indexes.into_iter().map(|index| (index, index));
        self.merge(&OrderedIntervals(new.collect()))
    }

    /// `merge`
    pub fn merge(&self, other: &OrderedIntervals) -> OrderedIntervals {
        let mut all: Vec<(i64, i64)> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_by_key(|interval| interval.0);
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (first, last) in all {
            match merged.last_mut() {
                Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        OrderedIntervals(merged)
    }

    /// `total`
    pub fn total(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// `has`
    pub fn has(&self, index: i64) -> bool {
        let mut all = self.0.iter();
        all.any(|(first, last)| (*first..=*last).contains(&index))
    }

    /// How many indexes both have.
    pub fn overlap(&self, other: &OrderedIntervals) -> i64 {
        let of = |own: &(i64, i64)| {
            let common = other.0.iter().map(|other| {
                let (first, last) = (own.0.max(other.0), own.1.min(other.1));
                (last - first + 1).max(0)
            });
            common.sum::<i64>()
        };
        self.0.iter().map(of).sum()
    }

    /// The first so many indexes below `completions` that are in none of them.
    fn gaps(&self, count: usize, completions: i64) -> Vec<i64> {
        let free = (0..completions).filter(|index| !self.has(*index));
        free.take(count).collect()
    }

    /// Upstream's `String`: two neighbours stand alone, more of them as an interval.
    pub fn text(&self) -> String {
        let parts = self.0.iter().map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        });
        parts.collect::<Vec<_>>().join(",")
    }
}

/// `getCompletionIndex`; nothing for `unknownCompletionIndex`.
pub(super) fn get_completion_index(pod: &Json) -> Option<i64> {
    let text = json::text(pod, &["metadata", "annotations", JOB_COMPLETION_INDEX]);
    text.parse().ok().filter(|index| *index >= 0)
}

/// The index of a pod, if the Job has so many.
pub(super) fn valid_index(pod: &Json, completions: i64) -> Option<i64> {
    get_completion_index(pod).filter(|index| *index < completions)
}

/// `getIndexes`
pub(super) fn get_indexes<'a>(pods: impl IntoIterator<Item = &'a Stored>) -> BTreeSet<i64> {
    let all = pods.into_iter();
    all.filter_map(|pod| get_completion_index(pod.object.json()))
        .collect()
}

/// Upstream's `byCompletionIndex`
pub(super) fn sort_by_completion_index(pods: &mut [Stored]) {
    pods.sort_by_key(|pod| get_completion_index(pod.object.json()).unwrap_or(-1));
}

/// `firstPendingIndexes`
pub(super) fn first_pending_indexes(
    not_pending: &OrderedIntervals,
    count: usize,
    completions: i64,
) -> Vec<i64> {
    not_pending.gaps(count, completions)
}

/// Upstream's `parseIndexFailureCountAnnotation`, `parseIndexFailureIgnoreCountAnnotation`
fn parse_annotation(pod: &Json, annotation: &str) -> i64 {
    let text = json::text(pod, &["metadata", "annotations", annotation]);
    let number = text.parse().ok();
    number
        .filter(|number| (0..=i64::from(i32::MAX)).contains(number))
        .unwrap_or(0)
}

/// `getIndexFailureCount`
pub(super) fn get_index_failure_count(pod: &Json) -> i64 {
    parse_annotation(pod, JOB_INDEX_FAILURE_COUNT)
}

/// How many failures of its index before it were ignored.
pub(super) fn ignored_failure_count(pod: &Json) -> i64 {
    parse_annotation(pod, JOB_INDEX_IGNORED_FAILURE_COUNT)
}

/// `getIndexAbsoluteFailureCount`
pub(super) fn get_index_absolute_failure_count(pod: &Json) -> i64 {
    get_index_failure_count(pod) + ignored_failure_count(pod)
}

/// `podGenerateNameWithIndex`
pub(super) fn pod_generate_name_with_index(job: &str, index: i64) -> String {
    /// `MaxGeneratedNameLength`
    const MOST: usize = 58;
    let end = format!("-{index}-");
    let kept = job.len().min(MOST - end.len());
    let whole = job.len() + end.len() <= MOST;
    match whole {
        true => format!("{job}{end}"),
        false => format!("{}{end}", &job[..kept]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> OrderedIntervals {
        OrderedIntervals::parse_indexes_from_string(text, 10)
    }

    #[test]
    fn intervals_are_read_merged_and_written() {
        assert_eq!(parse("0,1,3-5,20").text(), "0,1,3-5");
        assert_eq!(parse("8-20").text(), "8,9");
        let all = parse("0,4").with_ordered_indexes([1, 2, 7]);
        assert_eq!(all.text(), "0-2,4,7");
        assert_eq!(all.total(), 5);
        assert!(all.has(2) && !all.has(3));
        assert_eq!(all.overlap(&parse("1-4")), 3);
        assert_eq!(parse("").text(), "");
    }

    #[test]
    fn the_first_indexes_that_are_free_are_pending() {
        let busy = parse("0,2-3");
        assert_eq!(first_pending_indexes(&busy, 2, 10), [1, 4]);
        assert_eq!(first_pending_indexes(&busy, 9, 5), [1, 4]);
    }

    #[test]
    fn a_name_with_an_index_is_short_enough() {
        assert_eq!(pod_generate_name_with_index("job", 3), "job-3-");
        let long = pod_generate_name_with_index(&"a".repeat(60), 12);
        assert!(long.len() == 58 && long.ends_with("a-12-"), "{long}");
    }
}
