//! Formats of texts (`validation/strfmt`), those that schemas of definitions may name (`apiserver/validation/formats.go`).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::patterns;
use crate::decode::{base64, values};
use crate::names;

/// Formats, without their dashes.
const TEXTS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Does a schema of this type know this format? No format is one that all know.
pub(super) fn is_supported(types: &[&str], format: &str) -> bool {
    if format.is_empty() {
        return true;
    }
    match types {
        [] | [_, _, ..] | ["string"] => is_known(format),
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Upstream's `ContainsName`
pub(super) fn is_known(format: &str) -> bool {
    TEXTS.contains(&format.replace('-', "").as_str())
}

fn matches(pattern: &str, text: &str) -> bool {
    patterns::compile(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// `Validates`
pub(super) fn validates(format: &str, text: &str) -> bool {
    let pattern = match format.replace('-', "").as_str() {
        "uri" => return is_request_uri(text),
        "email" => return is_email(text),
        "hostname" => return text.len() <= 255 && is_hostname(text),
        "ipv4" => return text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => return text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => return is_cidr(text),
        "isbn" => return is_isbn10(text) || is_isbn13(text),
        "isbn10" => return is_isbn10(text),
        "isbn13" => return is_isbn13(text),
        "byte" => return base64::decode(text).is_ok(),
        "date" => return is_date(text),
        "duration" => return is_duration(text),
        "datetime" => return is_date_time(text),
        "k8sshortname" => return names::is_dns1123_label(text).is_empty(),
        "k8slongname" => return names::is_dns1123_subdomain(text).is_empty(),
        "bsonobjectid" => "^[0-9a-fA-F]{24}$",
        "mac" => {
            "^([0-9a-fA-F]{2}[:-]){5,7}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}\\.){2,3}[0-9a-fA-F]{4}$"
        }
        "uuid" => "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
        "uuid3" => "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
        "uuid4" => "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
        "uuid5" => "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
        "creditcard" => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let card = "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}\
                        |3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
            return matches(card, &digits);
        }
        "ssn" => "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$",
        "hexcolor" => "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$",
        "rgbcolor" => {
            "^rgb\\((\\s*([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\\s*,){2}\\s*([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\\s*\\)$"
        }
        // A password is any text.
        _ => return true,
    };
    matches(pattern, text)
}

/// Upstream's `url.ParseRequestURI`: absolute, or a path.
fn is_request_uri(text: &str) -> bool {
    let plain = |text: &str| !text.chars().any(|char| char.is_control() || char == ' ');
    plain(text) && (text.starts_with('/') || matches("^[a-zA-Z][a-zA-Z0-9+.-]*:", text))
}

/// Upstream's `mail.ParseAddress`
fn is_email(text: &str) -> bool {
    let address = match text.rsplit_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text,
    };
    matches("^[^\\s@,;<>()\\[\\]]+@[^\\s@,;<>()\\[\\]]+$", address)
}

fn is_hostname(text: &str) -> bool {
    let label = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    matches(&format!("^{label}(\\.{label})*\\.?$"), text)
}

/// Upstream's `net.ParseCIDR`
fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let limit = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    bits.chars().all(|char| char.is_ascii_digit())
        && bits.parse::<u8>().is_ok_and(|bits| bits <= limit)
}

fn digits_of(text: &str) -> Vec<char> {
    text.chars()
        .filter(|char| !matches!(char, ' ' | '-'))
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits_of(text);
    let value = |(at, char): (usize, &char)| match char {
        'X' if at == 9 => Some(10),
        char => char.to_digit(10),
    };
    let values: Option<Vec<u32>> = digits.iter().enumerate().map(value).collect();
    let sum = |values: Vec<u32>| {
        values
            .iter()
            .zip(1..)
            .map(|(digit, at)| digit * at)
            .sum::<u32>()
    };
    digits.len() == 10 && values.is_some_and(|values| sum(values) % 11 == 0)
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits_of(text);
    let values: Option<Vec<u32>> = digits.iter().map(|char| char.to_digit(10)).collect();
    let weighed = |values: Vec<u32>| {
        let each = values.iter().zip([1, 3].into_iter().cycle());
        each.map(|(digit, weight)| digit * weight).sum::<u32>()
    };
    digits.len() == 13 && values.is_some_and(|values| weighed(values) % 10 == 0)
}

/// `full-date` of RFC 3339.
fn is_date(text: &str) -> bool {
    matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", text) && text.parse::<jiff::civil::Date>().is_ok()
}

/// `date-time` of RFC 3339, with or without a zone.
fn is_date_time(text: &str) -> bool {
    const SHAPE: &str = "^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$";
    if !matches(SHAPE, text) {
        return false;
    }
    let seconds = text.to_ascii_uppercase();
    values::time(&seconds, values::Layout::Seconds).is_ok()
        || seconds.parse::<jiff::Timestamp>().is_ok()
}

/// Upstream's `time.ParseDuration`, or as Scala writes one.
fn is_duration(text: &str) -> bool {
    const GO: &str = "^[+-]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
    const SCALA: &str = "^\\s*((\\d+)\\s*(?i:ns|nanosecond|nanoseconds|nano|nanos|us|microsecond|microseconds|micro|micros|µs|ms|milli|millis|millisecond|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hour|hours|d|day|days|w|wk|week|weeks))\\s*$";
    matches(GO, text) || matches(SCALA, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_what_fits() {
        for (format, good, bad) in [
            ("date-time", "2020-01-01T00:00:00Z", "yesterday"),
            ("ipv4", "1.2.3.4", "::1"),
            ("ipv6", "::1", "1.2.3.4"),
            ("byte", "YQ==", "!"),
            ("duration", "5m", "5 parsecs"),
            ("duration", "22 ns", "x"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("uri", "https://a/b", "no uri"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "x"),
            ("email", "a@b", "x"),
            ("date", "2020-12-01", "2020-13-01"),
            ("isbn10", "0321751043", "0321751044"),
            ("isbn13", "978-0321751041", "978-0321751042"),
            ("hexcolor", "#fff", "#ff"),
            ("mac", "01:02:03:04:05:06", "01:02"),
        ] {
            assert!(validates(format, good), "{format}: {good}");
            assert!(!validates(format, bad), "{format}: {bad}");
        }
        assert!(is_supported(&["integer"], "int32") && !is_supported(&["integer"], "date"));
        assert!(!is_known("madeup"));
    }
}
