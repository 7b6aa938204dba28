//! How Go shows values inside messages: `strconv.Quote`, `%#v`.

use std::fmt::Write;

use crate::json::Json;

/// `strconv.Quote`, `%q`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            char if (char as u32) < 0x20 || char as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", char as u32);
            }
            char if is_print(char) => out.push(char),
            char if (char as u32) < 0x10000 => {
                let _ = write!(out, "\\u{:04x}", char as u32);
            }
            char => {
                let _ = write!(out, "\\U{:08x}", char as u32);
            }
        }
    }
    out.push('"');
    out
}

/// `strconv.IsPrint`, but for what Rust's and Go's tables see differently.
pub(crate) fn is_print(char: char) -> bool {
    if char.is_ascii() {
        return (' '..='~').contains(&char);
    }
    if char.is_whitespace() {
        return false;
    }
    !char.escape_debug().eq(char.escape_unicode())
}

/// `%#v` of a list of strings, `[]string{"a", "b"}`.
pub(crate) fn go_strings<S: AsRef<str>>(texts: &[S]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

/// `%v` of a value that JSON was read into: `map[a:1 b:[x y]]`.
pub(crate) fn go_plain(json: &Json) -> String {
    match json {
        Json::Null => "<nil>".to_owned(),
        Json::Bool(bool) => bool.to_string(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => go_float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => text.clone(),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(go_plain).collect();
            format!("[{}]", items.join(" "))
        }
        Json::Object(map) => {
            let field = |(name, value): (&String, &Json)| format!("{name}:{}", go_plain(value));
            let fields: Vec<String> = map.iter().map(field).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// `%v` of a float64: `%g` with the shortest digits, exponents below -4 and from 21 on.
pub(crate) fn go_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        assert_eq!(quote("a\"b\\\n\u{1}\u{7f}"), r#""a\"b\\\n\x01\x7f""#);
        assert_eq!(quote("ü€\u{81}\u{feff}"), r#""ü€\u0081\ufeff""#);
        assert_eq!(go_strings(&["a", "b"]), r#"[]string{"a", "b"}"#);
    }

    #[test]
    fn values_are_shown_as_go_shows_them() {
        let json = serde_json::json!({"b": [1, "x", null], "a": {"c": true, "d": 1.5}});
        assert_eq!(go_plain(&json), "map[a:map[c:true d:1.5] b:[1 x <nil>]]");
        assert_eq!(go_float(1e21), "1e+21");
        assert_eq!(go_float(0.00001), "1e-05");
        assert_eq!(go_float(100_000.0), "100000");
    }
}
