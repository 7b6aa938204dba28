//! What names, labels and keys may look like
//! (`apimachinery/pkg/util/validation/validation.go`, `pkg/api/validate/content`). Each rule answers
//! with the errors of a text, none if it is good.

use std::fmt;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// `RegexError`
fn regex_error(what: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{what} (regex used for validation is '{regex}')");
    }
    let examples: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!(
        "{what} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

fn too_long(limit: usize, unit: &str) -> String {
    format!("must be no more than {limit} {unit}")
}

/// `InclusiveRangeError`
pub(crate) fn inclusive_range_error(low: impl fmt::Display, high: impl fmt::Display) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// A text that begins with a letter or digit (`first`), ends with one, with others between.
fn is_framed(
    text: &str,
    first: fn(u8) -> bool,
    edge: fn(u8) -> bool,
    between: fn(u8) -> bool,
) -> bool {
    let bytes = text.as_bytes();
    let (Some(begin), Some(end)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first(*begin) && edge(*end) && bytes.iter().all(|byte| edge(*byte) || between(*byte))
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_label(text: &str) -> bool {
    is_framed(text, lower, lower, |byte| byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key(text: &str) -> bool {
    is_framed(text, alphanumeric, alphanumeric, |byte| {
        matches!(byte, b'-' | b'_' | b'.')
    })
}

fn label_shape() -> String {
    regex_error(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
         must start and end with an alphanumeric character",
        LABEL,
        &["my-name", "123-abc"],
    )
}

fn subdomain_shape() -> String {
    regex_error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
         '.', and must start and end with an alphanumeric character",
        SUBDOMAIN,
        &["example.com"],
    )
}

/// `IsDNS1123Label`
pub fn is_dns1123_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !is_label(text) {
        errors.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            label_shape()
        });
    }
    errors
}

/// `IsDNS1123Subdomain`
pub fn is_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253, "characters"));
    }
    if !is_subdomain(text) {
        errors.push(subdomain_shape());
    }
    errors
}

/// `IsDNS1035Label`
pub fn is_dns1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !is_framed(
        text,
        |byte| byte.is_ascii_lowercase(),
        lower,
        |byte| byte == b'-',
    ) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
             an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// `IsQualifiedName`, `IsLabelKey`: a name, with or without a prefix.
pub fn is_qualified_name(text: &str) -> Vec<String> {
    const KEY_SHAPE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
                             and end with an alphanumeric character";
    const EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];
    let mut errors = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > 253 {
                    errors.push(format!("prefix part {}", too_long(253, "bytes")));
                }
                if !is_subdomain(prefix) {
                    errors.push(format!("prefix part {}", subdomain_shape()));
                }
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')",
                regex_error(KEY_SHAPE, KEY, &EXAMPLES)
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !is_key(name) {
        errors.push(format!(
            "name part {}",
            regex_error(KEY_SHAPE, KEY, &EXAMPLES)
        ));
    }
    errors
}

/// `IsValidLabelValue`
pub fn is_valid_label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "bytes"));
    }
    if !text.is_empty() && !is_key(text) {
        errors.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
             or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// `hasChDirPrefix`
fn has_ch_dir_prefix(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        text if text.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// `IsConfigMapKey`
pub fn is_config_map_key(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253, "characters"));
    }
    let good = |byte: u8| alphanumeric(byte) || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(good) {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errors.extend(has_ch_dir_prefix(text));
    errors
}

/// `IsRelaxedEnvVarName`
pub(crate) fn is_relaxed_env_var_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.is_empty() {
        errors.push("environment variable name must be non-empty".to_owned());
    }
    if text
        .chars()
        .any(|char| !(' '..='~').contains(&char) || char == '=')
    {
        errors.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .to_owned(),
        );
    }
    errors
}

/// `IsValidPortName`
pub(crate) fn is_valid_port_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 15 {
        errors.push(too_long(15, "characters"));
    }
    if text.is_empty() || !text.bytes().all(|byte| lower(byte) || byte == b'-') {
        errors.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// `IsValidPortNum`
pub(crate) fn is_valid_port_num(port: i64) -> Vec<String> {
    if (1..=65535).contains(&port) {
        Vec::new()
    } else {
        vec![inclusive_range_error(1, 65535)]
    }
}

/// `path.IsValidPathSegmentName` and, for a prefix, `IsValidPathSegmentPrefix`: the rules for every
/// kind.
pub fn is_valid_path_segment_name(text: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let found = ["/", "%"]
        .into_iter()
        .filter(|illegal| text.contains(illegal));
    found
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}

/// `maskTrailingDash`: the generateName `a-` is fine where the name `a-` is not.
fn mask_trailing_dash(text: &str, prefix: bool) -> String {
    if prefix && text.len() > 1 && text.ends_with('-') {
        // Upstream takes two bytes away; a text cut inside a character is no name either way.
        let cut = text.get(..text.len() - 2).unwrap_or("-");
        return format!("{cut}a");
    }
    text.to_owned()
}

/// `NameIsDNSSubdomain`
pub fn name_is_dns_subdomain(text: &str, prefix: bool) -> Vec<String> {
    is_dns1123_subdomain(&mask_trailing_dash(text, prefix))
}

/// `NameIsDNSLabel`
pub fn name_is_dns_label(text: &str, prefix: bool) -> Vec<String> {
    is_dns1123_label(&mask_trailing_dash(text, prefix))
}

/// `NameIsDNS1035Label`
pub fn name_is_dns1035_label(text: &str, prefix: bool) -> Vec<String> {
    is_dns1035_label(&mask_trailing_dash(text, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for good in ["a", "a-b", "1.b", "a.b-c.d"] {
            assert!(is_dns1123_subdomain(good).is_empty(), "{good}");
        }
        for bad in ["", "-a", "a-", "a..b", "A", "a_b", "a b", "."] {
            assert_eq!(is_dns1123_subdomain(bad), [subdomain_shape()], "{bad}");
        }
        assert_eq!(is_dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            is_dns1123_label(&"x".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert!(is_dns1035_label("1a").len() == 1 && is_dns1035_label("a1").is_empty());
    }

    #[test]
    fn keys_have_prefixes() {
        assert!(is_qualified_name("example.com/Some_key.x").is_empty());
        assert_eq!(is_qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(is_qualified_name("a/b/c").len(), 1);
        assert_eq!(is_qualified_name("A/").len(), 3);
        assert!(is_valid_label_value("").is_empty() && is_valid_label_value("-").len() == 1);
        assert_eq!(is_config_map_key("..a"), ["must not start with '..'"]);
    }

    #[test]
    fn prefixes_may_end_with_a_dash() {
        assert!(name_is_dns_subdomain("a-", true).is_empty());
        assert_eq!(name_is_dns_subdomain("a-", false).len(), 1);
        assert_eq!(name_is_dns_subdomain("Bad_", true).len(), 1);
        assert_eq!(
            is_valid_path_segment_name("a/b", false),
            ["may not contain '/'"]
        );
    }
}
