//! Schedules of CronJobs (`robfig/cron/v3`: `parser.go`, `spec.go`, `constantdelay.go`), in UTC. A schedule asks no clock: it
//! says which instant comes next after another.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan, tz::TimeZone};

use crate::Stamp;
use crate::quote::quote;

/// `Schedule`: when something is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// `SpecSchedule`
    At(Fields),
    /// `ConstantDelaySchedule`: so many seconds apart.
    Every(i64),
}

/// The bits of the five fields; the second is always the first of a minute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    minute: u64,
    hour: u64,
    day_of_month: u64,
    month: u64,
    day_of_week: u64,
}

/// What a field may hold.
#[derive(Clone, Copy)]
struct Bounds {
    min: u64,
    max: u64,
    /// Names of its values, from `min` on.
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds {
    min: 0,
    max: 59,
    names: &[],
};
const HOURS: Bounds = Bounds {
    min: 0,
    max: 23,
    names: &[],
};
const DAYS_OF_MONTH: Bounds = Bounds {
    min: 1,
    max: 31,
    names: &[],
};
const MONTHS: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
const DAYS_OF_WEEK: Bounds = Bounds {
    min: 0,
    max: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// `starBit`: set if a star was in the field.
const STAR_BIT: u64 = 1 << 63;

/// `ParseStandard`
///
/// # Errors
/// If this is no schedule: why, in the words of the library.
pub fn parse_standard(spec: &str) -> Result<Schedule, String> {
    if spec.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let mut spec = spec;
    if spec.starts_with("TZ=") || spec.starts_with("CRON_TZ=") {
        let (zone, rest) = spec
            .split_once(' ')
            .ok_or("invalid schedule format: runtime error: slice bounds out of range [:-1]")?;
        let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
        if !matches!(zone, "" | "UTC" | "Etc/UTC") {
            let why = format!("provided bad location {zone}: unknown time zone {zone}");
            return Err(why);
        }
        spec = rest.trim();
    }
    if spec.starts_with('@') {
        return parse_descriptor(spec);
    }
    let fields: Vec<&str> = spec.split_whitespace().collect();
    let [minute, hour, day_of_month, month, day_of_week] = fields[..] else {
        let (found, shown) = (fields.len(), fields.join(" "));
        return Err(format!(
            "expected exactly 5 fields, found {found}: [{shown}]"
        ));
    };
    Ok(Schedule::At(Fields {
        minute: get_field(minute, MINUTES)?,
        hour: get_field(hour, HOURS)?,
        day_of_month: get_field(day_of_month, DAYS_OF_MONTH)?,
        month: get_field(month, MONTHS)?,
        day_of_week: get_field(day_of_week, DAYS_OF_WEEK)?,
    }))
}

/// `getField`
fn get_field(field: &str, bounds: Bounds) -> Result<u64, String> {
    let ranges = field.split(',').filter(|range| !range.is_empty());
    ranges.map(|range| get_range(range, bounds)).sum_bits()
}

/// Bits that are set in any of these.
trait SumBits {
    fn sum_bits(self) -> Result<u64, String>;
}

impl<I: Iterator<Item = Result<u64, String>>> SumBits for I {
    fn sum_bits(mut self) -> Result<u64, String> {
        self.try_fold(0, |bits, own| Ok(bits | own?))
    }
}

/// `getRange`
fn get_range(expr: &str, bounds: Bounds) -> Result<u64, String> {
    let range_and_step: Vec<&str> = expr.split('/').collect();
    let low_and_high: Vec<&str> = range_and_step[0].split('-').collect();
    let mut extra = 0;
    let (start, mut end) = match low_and_high[..] {
        ["*" | "?", ..] => {
            extra = STAR_BIT;
            (bounds.min, bounds.max)
        }
        [low] => {
            let low = parse_int_or_name(low, bounds)?;
            (low, low)
        }
        [low, high] => (
            parse_int_or_name(low, bounds)?,
            parse_int_or_name(high, bounds)?,
        ),
        _ => {
            // The beginning is read first.
            parse_int_or_name(low_and_high[0], bounds)?;
            return Err(format!("too many hyphens: {expr}"));
        }
    };
    let step = match range_and_step[..] {
        [_] => 1,
        [_, step] => {
            let step = must_parse_int(step)?;
            if low_and_high.len() == 1 {
                end = bounds.max;
            }
            if step > 1 {
                extra = 0;
            }
            step
        }
        _ => return Err(format!("too many slashes: {expr}")),
    };
    let (min, max) = (bounds.min, bounds.max);
    if start < min {
        return Err(format!(
            "beginning of range ({start}) below minimum ({min}): {expr}"
        ));
    }
    if end > max {
        return Err(format!(
            "end of range ({end}) above maximum ({max}): {expr}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {expr}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {expr}"));
    }
    Ok(get_bits(start, end, step) | extra)
}

/// `parseIntOrName`
fn parse_int_or_name(expr: &str, bounds: Bounds) -> Result<u64, String> {
    let lower = expr.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(at) => Ok(at as u64 + bounds.min),
        None => must_parse_int(expr),
    }
}

/// `mustParseInt`
fn must_parse_int(expr: &str) -> Result<u64, String> {
    let number: i64 = expr.parse().map_err(|_| {
        let shown = quote(expr);
        format!("failed to parse int from {expr}: strconv.Atoi: parsing {shown}: invalid syntax")
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {expr}"))
}

/// `getBits`
fn get_bits(min: u64, max: u64, step: u64) -> u64 {
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    (min..=max).step_by(step).fold(0, |bits, at| bits | 1 << at)
}

/// `all`
fn all(bounds: Bounds) -> u64 {
    get_bits(bounds.min, bounds.max, 1) | STAR_BIT
}

/// `parseDescriptor`
fn parse_descriptor(descriptor: &str) -> Result<Schedule, String> {
    let daily = Fields {
        minute: 1,
        hour: 1,
        day_of_month: all(DAYS_OF_MONTH),
        month: all(MONTHS),
        day_of_week: all(DAYS_OF_WEEK),
    };
    let fields = match descriptor {
        "@yearly" | "@annually" => Fields {
            day_of_month: 1 << 1,
            month: 1 << 1,
            ..daily
        },
        "@monthly" => Fields {
            day_of_month: 1 << 1,
            ..daily
        },
        "@weekly" => Fields {
            day_of_week: 1,
            ..daily
        },
        "@daily" | "@midnight" => daily,
        "@hourly" => Fields {
            hour: all(HOURS),
            ..daily
        },
        _ => {
            let Some(delay) = descriptor.strip_prefix("@every ") else {
                return Err(format!("unrecognized descriptor: {descriptor}"));
            };
            let nanos = parse_duration(delay).map_err(|why| {
                format!(
                    "failed to parse duration {descriptor}: time: {why} {}",
                    quote(delay)
                )
            })?;
            // `Every`: at least a second, and whole ones.
            let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX);
            return Ok(Schedule::Every(seconds.max(1)));
        }
    };
    Ok(Schedule::At(fields))
}

/// `time.ParseDuration`: nanoseconds.
fn parse_duration(text: &str) -> Result<i128, String> {
    const INVALID: &str = "invalid duration";
    let (sign, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(INVALID.to_owned());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let (number, after) = rest.split_at(whole);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        let unit = after
            .bytes()
            .take_while(|own| *own != b'.' && !own.is_ascii_digit());
        let (unit, after) = after.split_at(unit.count());
        if number.is_empty() && fraction.is_empty() {
            return Err(INVALID.to_owned());
        }
        let nanos: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => return Err("missing unit in duration".to_owned()),
            _ => return Err(format!("unknown unit {} in duration", quote(unit))),
        };
        // No duration of Go has more digits.
        if number.len() > 18 || fraction.len() > 18 {
            return Err(INVALID.to_owned());
        }
        let parsed = |digits: &str| digits.parse::<i128>().unwrap_or(0);
        let scale = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        total += parsed(number) * nanos + parsed(fraction) * nanos / scale;
        rest = after;
    }
    match total > i128::from(i64::MAX) {
        true => Err(INVALID.to_owned()),
        false => Ok(sign * total),
    }
}

impl Schedule {
    /// `Next`: the first instant of the schedule after this one; none if there is none within five years.
    pub fn next(&self, after: Stamp) -> Option<Stamp> {
        let seconds = i64::try_from(after.nanos().div_euclid(1_000_000_000)).ok()?;
        match self {
            Schedule::Every(delay) => Stamp::at(seconds.checked_add(*delay)?, 0),
            Schedule::At(fields) => fields.next(seconds),
        }
    }
}

impl Fields {
    /// Upstream goes from field to field, and back to the first where one wraps around. Without zones that change their
    /// clocks that is: the first day that matches, the first hour of it, the first minute.
    fn next(&self, after: i64) -> Option<Stamp> {
        let start = Timestamp::from_second(after.checked_add(1)?).ok()?;
        // The second is the first of a minute.
        let into = start.as_second().rem_euclid(60);
        let wait = SignedDuration::from_secs((60 - into) % 60);
        let start = start.checked_add(wait).ok()?.to_zoned(TimeZone::UTC);
        let (mut day, time) = (start.date(), start.time());
        let last_year = Timestamp::from_second(after + 1).ok()?;
        let last_year = last_year.to_zoned(TimeZone::UTC).year() + 5;
        let mut from = (time.hour(), time.minute());
        while day.year() <= last_year {
            if self.matches(day)
                && let Some((hour, minute)) = self.first_from(from)
            {
                let at = day.at(hour, minute, 0, 0).to_zoned(TimeZone::UTC).ok()?;
                return Stamp::at(at.timestamp().as_second(), 0);
            }
            from = (0, 0);
            day = day.checked_add(1.day()).ok()?;
        }
        None
    }

    /// The first hour and minute of a day that match, from these on.
    fn first_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        let has = |bits: u64, at: i8| bits & (1 << at) != 0;
        let minute_from = |from: i8| (from..60).find(|at| has(self.minute, *at));
        let hours = (hour..24).filter(|at| has(self.hour, *at));
        let mut all = hours.filter_map(|own| {
            let from = if own == hour { minute } else { 0 };
            Some((own, minute_from(from)?))
        });
        all.next()
    }

    /// Is it a day of a month of the schedule (`dayMatches`)?
    fn matches(&self, day: Date) -> bool {
        let has = |bits: u64, at: i8| bits & (1 << at) != 0;
        let of_month = has(self.day_of_month, day.day());
        let of_week = has(self.day_of_week, day.weekday().to_sunday_zero_offset());
        let any = (self.day_of_month | self.day_of_week) & STAR_BIT != 0;
        let of_days = if any {
            of_month && of_week
        } else {
            of_month || of_week
        };
        has(self.month, day.month()) && of_days
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp(text: &str) -> Stamp {
        Stamp::parse(text).expect("an instant")
    }

    fn next(spec: &str, after: &str) -> String {
        let schedule = parse_standard(spec).expect("a schedule");
        let next = schedule.next(stamp(after));
        next.map_or("never".to_owned(), Stamp::seconds)
    }

    /// Upstream's `TestNext`, where its times lie in UTC.
    #[test]
    fn the_next_instant_is_that_of_the_library() {
        for (after, spec, expected) in [
            (
                "2012-07-09T14:45:00Z",
                "0/15 * * * *",
                "2012-07-09T15:00:00Z",
            ),
            (
                "2012-07-09T14:59:59Z",
                "0/15 * * * *",
                "2012-07-09T15:00:00Z",
            ),
            (
                "2012-07-09T15:45:00Z",
                "20-35/15 * * * *",
                "2012-07-09T16:20:00Z",
            ),
            (
                "2012-07-09T23:46:00Z",
                "0/15 * * * *",
                "2012-07-10T00:00:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "0 0 9 Apr-Oct ?",
                "2012-08-09T00:00:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "0 0 */5 Apr,Aug,Oct Mon",
                "2012-08-01T00:00:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "0 0 */5 Oct Mon",
                "2012-10-01T00:00:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "0 0 * Feb Mon",
                "2013-02-04T00:00:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "0 0 * Feb Mon/2",
                "2013-02-01T00:00:00Z",
            ),
            ("2012-12-31T23:59:45Z", "* * * * *", "2013-01-01T00:00:00Z"),
            (
                "2012-07-09T23:35:00Z",
                "0 0 29 Feb ?",
                "2016-02-29T00:00:00Z",
            ),
            ("2012-07-09T23:35:00Z", "59 23 31 2 *", "never"),
            (
                "2012-07-09T23:35:00.5Z",
                "@every 1h30m",
                "2012-07-10T01:05:00Z",
            ),
            (
                "2012-07-09T23:35:00Z",
                "@every 1.5s",
                "2012-07-09T23:35:01Z",
            ),
            ("2012-07-09T23:35:00Z", "@hourly", "2012-07-10T00:00:00Z"),
            ("2012-07-09T23:35:00Z", "@weekly", "2012-07-15T00:00:00Z"),
            (
                "2012-07-09T23:35:00Z",
                "TZ=UTC @yearly",
                "2013-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(next(spec, after), expected, "{spec} after {after}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_in_the_words_of_the_library() {
        for (spec, why) in [
            ("", "empty spec string"),
            ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            (
                "5-2 * * * *",
                "beginning of range (5) beyond end of range (2): 5-2",
            ),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("*/2/3 * * * *", "too many slashes: */2/3"),
            (
                "x * * * *",
                "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            ("@unrecognized", "unrecognized descriptor: @unrecognized"),
            (
                "@every 5",
                "failed to parse duration @every 5: time: missing unit in duration \"5\"",
            ),
            (
                "TZ=0",
                "invalid schedule format: runtime error: slice bounds out of range [:-1]",
            ),
        ] {
            assert_eq!(parse_standard(spec), Err(why.to_owned()), "{spec}");
        }
    }

    /// A field, and which values it has.
    fn field(min: i8, max: i8) -> impl Strategy<Value = (String, Vec<i8>, bool)> {
        let all = move || (min..=max).collect::<Vec<i8>>();
        prop_oneof![
            Just(("*".to_owned(), all(), true)),
            (2..=max / 2).prop_map(move |step| {
                let steps = (min..=max).step_by(step as usize).collect();
                (format!("*/{step}"), steps, false)
            }),
            (min..=max, min..=max).prop_map(|(a, b)| {
                let (low, high) = (a.min(b), a.max(b));
                (format!("{low}-{high}"), (low..=high).collect(), false)
            }),
            (min..=max, min..=max).prop_map(|(a, b)| (format!("{a},{b}"), vec![a, b], false)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Against one that looks at each minute of the next 40 days.
        #[test]
        fn no_instant_is_left_out_and_none_is_made_up(
            minute in field(0, 59), hour in field(0, 23), day in field(1, 31), month in field(1, 12),
            week in field(0, 6), after in 1_700_000_000_i64..1_900_000_000,
        ) {
            let spec = [&minute, &hour, &day, &month, &week].map(|(text, ..)| text.clone()).join(" ");
            let schedule = parse_standard(&spec).expect("a schedule");
            let matches = |at: i64| {
                let at = Timestamp::from_second(at).expect("an instant").to_zoned(TimeZone::UTC);
                let of_month = day.1.contains(&at.day());
                let of_week = week.1.contains(&at.weekday().to_sunday_zero_offset());
                let of_days = if day.2 || week.2 { of_month && of_week } else { of_month || of_week };
                minute.1.contains(&at.minute()) && hour.1.contains(&at.hour())
                    && month.1.contains(&at.month()) && of_days
            };
            let first = after - after.rem_euclid(60) + 60;
            let mut minutes = (0..40 * 24 * 60).map(|own| first + own * 60);
            let expected = minutes.find(|at| matches(*at)).and_then(|at| Stamp::at(at, 0));
            let next = schedule.next(Stamp::at(after, 500).expect("an instant"));
            match expected {
                Some(_) => prop_assert_eq!(next, expected, "{}", spec),
                None => {
                    let last = Stamp::at(first + 40 * 24 * 60 * 60, 0);
                    prop_assert!(next.is_none() || next >= last, "{}", spec);
                }
            }
        }
    }
}
