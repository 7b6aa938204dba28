//! Which time of a schedule is due (the half of `pkg/controller/cronjob/utils.go` that is about time).

use std::time::Duration;

use wavetank_api::cron::Schedule;
use wavetank_api::{Json, Stamp, json};
use wavetank_version::Set;

use super::defects::CronJobDefect;

/// `nextScheduleDelta`
const NEXT_SCHEDULE_DELTA: Duration = Duration::from_millis(100);
const SECOND: i128 = 1_000_000_000;
/// From so many on too many times were missed.
const MANY: i128 = 100;
/// The zero time of Go: what a schedule says that has no next time.
const NEVER: i64 = -62_135_596_800;

/// `missedSchedulesType`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// What `mostRecentScheduleTime` returns but for an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MostRecent {
    pub earliest: Stamp,
    pub time: Option<Stamp>,
    pub missed: Missed,
}

fn stamp(json: &Json, path: &[&str]) -> Option<Stamp> {
    Stamp::parse(json::text(json, path))
}

/// `spec.startingDeadlineSeconds`
pub(super) fn starting_deadline_seconds(cron_job: &Json) -> Option<i64> {
    json::number(cron_job, &["spec", "startingDeadlineSeconds"])
}

/// `status.lastScheduleTime`
pub(super) fn last_schedule_time(cron_job: &Json) -> Option<Stamp> {
    stamp(cron_job, &["status", "lastScheduleTime"])
}

/// The next time; the zero time if there is none.
fn next(schedule: &Schedule, after: Stamp) -> Stamp {
    let zero = || Stamp::at(NEVER, 0).expect("a date of the calendar");
    schedule.next(after).unwrap_or_else(zero)
}

/// `mostRecentScheduleTime`: the last time or when the CronJob was made, the most recent time at which a Job was due, if any
/// was, and how many were missed.
///
/// # Errors
/// If the schedule has no times.
pub(super) fn most_recent_schedule_time(
    cron_job: &Json,
    now: Stamp,
    schedule: &Schedule,
    include_starting_deadline_seconds: bool,
    defects: Set<CronJobDefect>,
) -> Result<MostRecent, String> {
    let made = stamp(cron_job, &["metadata", "creationTimestamp"]).unwrap_or(now);
    let mut earliest = last_schedule_time(cron_job).unwrap_or(made);
    // A constant delay begins where the last one ended.
    let is_fixed =
        matches!(schedule, Schedule::Every(_)) && defects.has(CronJobDefect::FixDelayFromLastTime);
    if include_starting_deadline_seconds
        && !is_fixed
        && let Some(seconds) = starting_deadline_seconds(cron_job)
        && !defects.has(CronJobDefect::StartingDeadlinesAreIgnored)
    {
        earliest = earliest.max(now.plus_seconds(-seconds));
    }
    let found = |time, missed| MostRecent {
        earliest,
        time,
        missed,
    };
    let t1 = next(schedule, earliest);
    let t2 = next(schedule, t1);
    if now < t1 {
        return Ok(found(None, Missed::None));
    }
    if now < t2 {
        return Ok(found(Some(t1), Missed::None));
    }
    let between = (t2.nanos() - t1.nanos()) / SECOND;
    if between < 1 {
        let why = "time difference between two schedules is less than 1 second";
        return Err(why.to_owned());
    }
    let elapsed = (now.nanos() - t1.nanos()) / SECOND;
    let number = elapsed / between + 1;
    let missed = match number > MANY {
        true => Missed::Many,
        false => Missed::Few,
    };
    let after_t1 = |times: i128| {
        let seconds = i64::try_from(times * between).unwrap_or(i64::MAX);
        t1.plus_seconds(seconds)
    };
    if defects.has(CronJobDefect::MissedTimesAreEven) {
        return Ok(found(Some(after_t1(number - 1)), missed));
    }
    let last_until_now = |from: Stamp| {
        let times = std::iter::successors(schedule.next(from), |own| schedule.next(*own));
        times.take_while(|time| *time <= now).last()
    };
    let mut time = last_until_now(after_t1(number - 2));
    if time.is_none() && defects.has(CronJobDefect::FixFindMissedTimes) {
        time = last_until_now(earliest);
    }
    Ok(found(time, missed))
}

/// `nextScheduleTimeDuration`: how long it takes until the CronJob is to be looked at again.
pub(super) fn next_schedule_time_duration(
    cron_job: &Json,
    now: Stamp,
    schedule: &Schedule,
    defects: Set<CronJobDefect>,
) -> Duration {
    let recent = match most_recent_schedule_time(cron_job, now, schedule, false, defects) {
        Err(_) => now,
        Ok(MostRecent {
            time: Some(time), ..
        }) => time,
        Ok(MostRecent {
            missed: Missed::None,
            earliest,
            ..
        }) => earliest,
        Ok(_) => now,
    };
    let left = next(schedule, recent).nanos() - now.nanos();
    let left = left + NEXT_SCHEDULE_DELTA.as_nanos() as i128;
    Duration::from_nanos(u64::try_from(left).unwrap_or(0))
}

/// `nextScheduleTime`: the time for which a Job is due now, if any is.
///
/// # Errors
/// If the schedule has no times.
pub(super) fn next_schedule_time(
    cron_job: &Json,
    now: Stamp,
    schedule: &Schedule,
    defects: Set<CronJobDefect>,
) -> Result<Option<Stamp>, String> {
    let recent = most_recent_schedule_time(cron_job, now, schedule, true, defects)?;
    let due = recent.time.filter(|time| *time <= now);
    if due.is_some()
        && recent.missed == Missed::Many
        && defects.has(CronJobDefect::HundredMissedTimesEndIt)
    {
        return Err("too many missed start time (> 100)".to_owned());
    }
    Ok(due)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::cron::parse_standard;

    fn most_recent(spec: &str, now: &str, defects: Set<CronJobDefect>) -> (Option<String>, Missed) {
        let cron_job = json!({"metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"}});
        let now = Stamp::parse(now).expect("an instant");
        let schedule = parse_standard(spec).expect("a schedule");
        let found = most_recent_schedule_time(&cron_job, now, &schedule, true, defects);
        let found = found.expect("a schedule with times");
        (found.time.map(Stamp::seconds), found.missed)
    }

    /// Some of upstream's `TestMostRecentScheduleTime`.
    #[test]
    fn the_most_recent_time_is_that_of_upstream() {
        let none = Set::default();
        let at = |time: &str| Some(format!("2026-01-01T{time}Z"));
        for (spec, now, time, missed) in [
            ("0 * * * *", "10:10:00", None, Missed::None),
            ("0 * * * *", "11:00:01", at("11:00:00"), Missed::None),
            ("0 * * * *", "12:10:00", at("12:00:00"), Missed::Few),
            ("* * * * *", "15:00:30", at("15:00:00"), Missed::Many),
            ("@every 90s", "10:10:00", at("10:09:00"), Missed::Few),
            ("30 6-16/4 * * 1-5", "14:40:00", at("14:30:00"), Missed::Few),
        ] {
            let now = format!("2026-01-01T{now}Z");
            assert_eq!(most_recent(spec, &now, none), (time, missed), "{spec}");
        }
    }

    /// A constant delay that is longer than the deadline never ends upstream.
    #[test]
    fn a_constant_delay_ends_with_the_fix() {
        let cron_job = json!({
            "metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"},
            "spec": {"startingDeadlineSeconds": 8},
        });
        let schedule = parse_standard("@every 20s").expect("a schedule");
        let now = Stamp::parse("2026-01-01T10:00:20.1Z").expect("an instant");
        let time = |defects| {
            let found = most_recent_schedule_time(&cron_job, now, &schedule, true, defects);
            found.expect("it has times").time.map(Stamp::seconds)
        };
        assert_eq!(time(Set::default()), None);
        let fixed = Set::default().with(CronJobDefect::FixDelayFromLastTime, true);
        assert_eq!(time(fixed), Some("2026-01-01T10:00:20Z".to_owned()));
    }

    /// Two times lie a minute apart, and the next ones an hour later: upstream looks between these only.
    #[test]
    fn uneven_times_are_found_with_the_fix() {
        let now = "2026-01-01T10:10:00Z";
        let found = most_recent("1,2 * * * *", now, Set::default());
        assert_eq!(found, (None, Missed::Few));
        let fixed = Set::default().with(CronJobDefect::FixFindMissedTimes, true);
        let found = most_recent("1,2 * * * *", now, fixed);
        let expected = "2026-01-01T10:02:00Z".to_owned();
        assert_eq!(found, (Some(expected), Missed::Few));
    }
}
