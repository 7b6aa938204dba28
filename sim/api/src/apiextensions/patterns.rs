//! Regular expressions of schemas. Go's `regexp` and the crate here are both RE2 in what they accept; what is wrong with
//! one they word differently.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use regex::Regex;

/// Those that were compiled: a pattern is asked for with each object, and is always the same.
static COMPILED: LazyLock<Mutex<BTreeMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// `regexp.Compile`
///
/// # Errors
/// What is wrong, as Go words it where that is known.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let mut compiled = COMPILED.lock().expect("nobody panics while holding it");
    if let Some(known) = compiled.get(pattern) {
        return Ok(known.clone());
    }
    let regex = Regex::new(pattern).map_err(|_| compile_error(pattern))?;
    compiled.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

/// Upstream's `syntax.Error`
fn compile_error(pattern: &str) -> String {
    let (mut open, mut class, mut escaped) = (0_i32, false, false);
    for char in pattern.chars() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '(' if !class => open += 1,
            ')' if !class => {
                open -= 1;
                if open < 0 {
                    return format!("error parsing regexp: unexpected ): `{pattern}`");
                }
            }
            _ => {}
        }
    }
    let what = match (class, open, escaped) {
        (true, ..) => "missing closing ]",
        (_, 1.., _) => "missing closing )",
        (.., true) => "trailing backslash at end of expression",
        _ => "invalid or unsupported Perl syntax",
    };
    format!("error parsing regexp: {what}: `{pattern}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_worded_as_go_words_it() {
        let error = |pattern| compile(pattern).expect_err("it is wrong");
        assert_eq!(error("("), "error parsing regexp: missing closing ): `(`");
        assert_eq!(error("a)"), "error parsing regexp: unexpected ): `a)`");
        assert_eq!(error("[a"), "error parsing regexp: missing closing ]: `[a`");
        assert!(compile("^[a-z]+$").is_ok_and(|regex| regex.is_match("ab")));
    }
}
