//! Types that read themselves from JSON: instants, quantities.
//! (`apimachinery/pkg/apis/meta/v1/time.go`, `micro_time.go`, `pkg/api/resource/quantity.go`, and
//! Go's `time.Parse`.)

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use crate::quote;

/// How an instant is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// `time.RFC3339`
    Seconds,
    /// `metav1.RFC3339Micro`
    Micros,
}

impl Layout {
    fn go(self) -> &'static str {
        match self {
            Layout::Seconds => "2006-01-02T15:04:05Z07:00",
            Layout::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// What `time.Parse` misses.
enum Miss<'a> {
    /// `cannot parse .. as ..`
    Element(&'a str, &'static str),
    /// Anything else, `month out of range`.
    Message(String),
}

/// Reads an instant and writes it as the server does, in UTC; the error is `time.Parse`'s.
pub(crate) fn time(text: &str, layout: Layout) -> Result<String, String> {
    let stamp = parse(text, layout).map_err(|miss| match miss {
        Miss::Element(rest, element) => format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote::quote(text),
            quote::quote(layout.go()),
            quote::quote(rest),
            quote::quote(element),
        ),
        Miss::Message(message) => format!("parsing time {}: {message}", quote::quote(text)),
    })?;
    let format = match layout {
        Layout::Seconds => "%Y-%m-%dT%H:%M:%SZ",
        Layout::Micros => "%Y-%m-%dT%H:%M:%S.%6fZ",
    };
    Ok(stamp.strftime(format).to_string())
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn literal(&mut self, text: &'static str) -> Result<(), Miss<'a>> {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(Miss::Element(self.rest, text)),
        }
    }

    fn digit(&self, at: usize) -> Option<i32> {
        let byte = self.rest.as_bytes().get(at)?;
        byte.is_ascii_digit().then(|| i32::from(byte - b'0'))
    }

    /// `getnum`: two digits, or one where that is enough.
    fn pair(&mut self, fixed: bool, element: &'static str) -> Result<i32, Miss<'a>> {
        match (self.digit(0), self.digit(1)) {
            (Some(tens), Some(ones)) => {
                self.rest = &self.rest[2..];
                Ok(tens * 10 + ones)
            }
            (Some(ones), None) if !fixed => {
                self.rest = &self.rest[1..];
                Ok(ones)
            }
            _ => Err(Miss::Element(self.rest, element)),
        }
    }

    fn below(
        &mut self,
        limit: i32,
        fixed: bool,
        element: &'static str,
        what: &str,
    ) -> Result<i32, Miss<'a>> {
        let number = self.pair(fixed, element)?;
        if number < limit {
            Ok(number)
        } else {
            Err(out_of_range(what))
        }
    }

    fn year(&mut self) -> Result<i32, Miss<'a>> {
        let digits: Option<Vec<i32>> = (0..4).map(|at| self.digit(at)).collect();
        let Some(digits) = digits else {
            return Err(Miss::Element(self.rest, "2006"));
        };
        self.rest = &self.rest[4..];
        Ok(digits.into_iter().fold(0, |year, digit| year * 10 + digit))
    }

    /// A fraction of a second in nanoseconds: exactly `wanted` digits, or as many as there are.
    fn fraction(&mut self, wanted: Option<usize>) -> Result<i32, Miss<'a>> {
        let begins = self.rest.starts_with(['.', ',']);
        let count = (1..).take_while(|at| self.digit(*at).is_some()).count();
        let digits = match wanted {
            Some(wanted) if !begins || count < wanted => {
                return Err(Miss::Element(self.rest, ".000000"));
            }
            Some(wanted) => wanted,
            None if !begins || count == 0 => return Ok(0),
            None => count,
        };
        let mut nanos = 0;
        for at in 1..=9 {
            let digit = if at <= digits { self.digit(at) } else { None };
            nanos = nanos * 10 + digit.unwrap_or(0);
        }
        self.rest = &self.rest[digits + 1..];
        Ok(nanos)
    }

    /// Seconds east of UTC.
    fn zone(&mut self) -> Result<i32, Miss<'a>> {
        const ELEMENT: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let whole = self.rest;
        let miss = || Miss::Element(whole, ELEMENT);
        let sign = match whole.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(miss()),
        };
        self.rest = &whole[1..];
        let hours = self.pair(true, ELEMENT).map_err(|_| miss())?;
        self.literal(":").map_err(|_| miss())?;
        let minutes = self.pair(true, ELEMENT).map_err(|_| miss())?;
        if hours > 24 {
            return Err(out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(out_of_range("time zone offset minute"));
        }
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

fn out_of_range<'a>(what: &str) -> Miss<'a> {
    Miss::Message(format!("{what} out of range"))
}

fn parse(text: &str, layout: Layout) -> Result<Timestamp, Miss<'_>> {
    let mut cursor = Cursor { rest: text };
    let year = cursor.year()?;
    cursor.literal("-")?;
    let month = cursor.below(13, true, "01", "month")?;
    if month == 0 {
        return Err(out_of_range("month"));
    }
    cursor.literal("-")?;
    let day = cursor.pair(true, "02")?;
    cursor.literal("T")?;
    let hour = cursor.below(24, false, "15", "hour")?;
    cursor.literal(":")?;
    let minute = cursor.below(60, true, "04", "minute")?;
    cursor.literal(":")?;
    let second = cursor.below(60, true, "05", "second")?;
    let nanos = cursor.fraction((layout == Layout::Micros).then_some(6))?;
    let east = cursor.zone()?;
    if !cursor.rest.is_empty() {
        let rest = quote::quote(cursor.rest);
        return Err(Miss::Message(format!("extra text: {rest}")));
    }
    let small = |number: i32| i8::try_from(number).unwrap_or_default();
    let year = i16::try_from(year).unwrap_or_default();
    let date = Date::new(year, small(month), small(day)).map_err(|_| out_of_range("day"))?;
    let local = date.at(small(hour), small(minute), small(second), nanos);
    let offset = Offset::from_seconds(east).unwrap_or(Offset::UTC);
    offset.to_timestamp(local).map_err(|_| out_of_range("year"))
}

/// `resource.ErrFormatWrong`
const FORMAT: &str = "quantities must match the regular expression \
                      '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const NANO: i128 = 1_000_000_000;

/// Reads a quantity and writes it in its canonical form; the error is `resource.ParseQuantity`'s.
pub(crate) fn quantity(text: &str) -> Result<String, String> {
    let quantity = Quantity::parse(text)?;
    Ok(quantity.canonical())
}

/// A quantity: nanos, and how it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quantity {
    /// Its value in units of 1e-9.
    pub(crate) nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

impl std::ops::Add for Quantity {
    type Output = Quantity;

    /// `Quantity.Add`: a sum is written as its first part, unless that is zero.
    fn add(self, other: Quantity) -> Quantity {
        let of = if self.nanos == 0 { other } else { self };
        of.with(self.nanos.saturating_add(other.nanos))
    }
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    pub(crate) fn parse(text: &str) -> Result<Quantity, String> {
        let wrong = || FORMAT.to_owned();
        let (negative, rest) = match text.as_bytes().first() {
            None => return Err(wrong()),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let whole_end = rest.find(|c: char| !c.is_ascii_digit());
        let (whole, rest) = rest.split_at(whole_end.unwrap_or(rest.len()));
        let (part, suffix) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(rest) => {
                let end = rest.find(|c: char| !c.is_ascii_digit());
                rest.split_at(end.unwrap_or(rest.len()))
            }
        };
        let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if exponent.bytes().any(|byte| !byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let (format, base, power) = Quantity::suffix(suffix)
            .ok_or_else(|| "unable to parse quantity's suffix".to_owned())?;
        if whole.is_empty() && part.is_empty() {
            return Err("unable to parse numeric part of quantity".to_owned());
        }
        let mut nanos: i128 = 0;
        let mut exact = true;
        for byte in whole.bytes().chain(part.bytes()) {
            nanos = nanos
                .saturating_mul(10)
                .saturating_add(i128::from(byte - b'0'));
        }
        let shift = 9 - i32::try_from(part.len()).unwrap_or(i32::MAX / 2);
        let shift = if base == 10 { shift + power } else { shift };
        if base == 2 {
            nanos = nanos.saturating_mul(1 << power);
        }
        for _ in 0..shift.clamp(0, 60) {
            nanos = nanos.saturating_mul(10);
        }
        for _ in 0..(-shift).clamp(0, 60) {
            exact &= nanos % 10 == 0;
            nanos /= 10;
        }
        nanos += i128::from(!exact);
        let nanos = if negative { -nanos } else { nanos };
        Ok(Quantity { nanos, format })
    }

    fn suffix(suffix: &str) -> Option<(Format, u8, i32)> {
        if let Some((_, power)) = DECIMAL.iter().find(|(text, _)| *text == suffix) {
            return Some((Format::Decimal, 10, *power));
        }
        if let Some(at) = BINARY.iter().position(|text| *text == suffix) {
            return Some((Format::Binary, 2, (i32::try_from(at).ok()? + 1) * 10));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        let power: i32 = exponent.parse().ok()?;
        Some((Format::Exponent, 10, power))
    }

    /// A number without a suffix.
    pub(crate) fn whole(number: i64) -> Quantity {
        Quantity {
            nanos: i128::from(number) * NANO,
            format: Format::Decimal,
        }
    }

    /// Another value, written as this one is.
    pub(crate) fn with(self, nanos: i128) -> Quantity {
        Quantity { nanos, ..self }
    }

    /// Rounded up to whole numbers.
    pub(crate) fn round_up(self) -> Quantity {
        let rest = self.nanos.rem_euclid(NANO);
        let up = if rest == 0 { 0 } else { NANO - rest };
        self.with(self.nanos.saturating_add(up))
    }

    /// Rounded up to thousandths.
    pub(crate) fn round_up_to_milli(self) -> Quantity {
        const MILLI: i128 = 1_000_000;
        let rest = self.nanos.rem_euclid(MILLI);
        let up = if rest == 0 { 0 } else { MILLI - rest };
        Quantity {
            nanos: self.nanos.saturating_add(up),
            ..self
        }
    }

    pub(crate) fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let units = self.nanos / NANO;
        if self.format == Format::Binary && self.nanos % NANO == 0 && units.abs() >= 1024 {
            let mut units = units;
            let mut power = 0;
            while units % 1024 == 0 && power < BINARY.len() {
                units /= 1024;
                power += 1;
            }
            let suffix = power.checked_sub(1).map_or("", |at| BINARY[at]);
            return format!("{units}{suffix}");
        }
        let mut number = self.nanos;
        let mut at = 0;
        while number % 1000 == 0 && at + 1 < DECIMAL.len() {
            number /= 1000;
            at += 1;
        }
        let (suffix, power) = DECIMAL[at];
        match (self.format, power) {
            (Format::Exponent, 0) | (Format::Decimal | Format::Binary, _) => {
                format!("{number}{suffix}")
            }
            (Format::Exponent, power) => format!("{number}e{power}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instants_are_read_as_go_reads_them() {
        let seconds = |text: &str| time(text, Layout::Seconds);
        let good = seconds("2020-01-02T03:04:05.678+02:00").expect("an instant");
        assert_eq!(good, "2020-01-02T01:04:05Z");
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, error) in [
            (
                "",
                format!("as \"{layout}\": cannot parse \"\" as \"2006\""),
            ),
            (
                "2020-1",
                format!("as \"{layout}\": cannot parse \"1\" as \"01\""),
            ),
            (
                "2020/1",
                format!("as \"{layout}\": cannot parse \"/1\" as \"-\""),
            ),
        ] {
            let expected = format!("parsing time {} {error}", quote::quote(text));
            assert_eq!(seconds(text), Err(expected));
        }
        let far = seconds("2020-02-30T00:00:00Z").expect_err("no day");
        assert_eq!(
            far,
            "parsing time \"2020-02-30T00:00:00Z\": day out of range"
        );
        let micro = time("2020-01-01T00:00:00Z", Layout::Micros).expect_err("no fraction");
        assert_eq!(
            micro,
            "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
        let micro = time("2020-01-01T00:00:00.123456Z", Layout::Micros);
        assert_eq!(micro.expect("an instant"), "2020-01-01T00:00:00.123456Z");
    }

    #[test]
    fn quantities_have_one_form() {
        for (written, canonical) in [
            ("1", "1"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("512", "512"),
            ("100000", "100k"),
            ("1e3", "1e3"),
            ("0Ki", "0"),
            ("-2", "-2"),
            ("0.0000000001", "1n"),
        ] {
            assert_eq!(quantity(written).as_deref(), Ok(canonical), "{written}");
        }
        assert_eq!(quantity("x"), Err(FORMAT.to_owned()));
        assert!(quantity("1Qi").is_err());
        assert!(quantity("").is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_canonical(
            text in "\\PC{0,20}",
            numeric in "[-+.0-9eEkKMi]{0,12}",
            stamp in "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]0[0-9]:30)",
        ) {
            for text in [&text, &numeric] {
                if let Ok(once) = quantity(text) {
                    prop_assert_eq!(quantity(&once), Ok(once.clone()));
                }
            }
            for text in [&text, &stamp] {
                for layout in [Layout::Seconds, Layout::Micros] {
                    if let Ok(once) = time(text, layout) {
                        prop_assert_eq!(time(&once, layout), Ok(once.clone()));
                    }
                }
            }
        }
    }
}
