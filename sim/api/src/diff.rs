//! The unified diff that messages carry, as `go-difflib` makes it: Python's `SequenceMatcher`
//! (`apimachinery/pkg/util/diff/diff.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// Equal lines around a change that are shown.
const CONTEXT: usize = 3;

/// What differs between two texts; empty if nothing does.
pub(crate) fn unified(a: &str, b: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
    let mut out = String::new();
    for group in get_grouped_op_codes(&Matcher::new(&a, &b).get_op_codes()) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let of_a = format_range_unified(first.a.start..last.a.end);
        let of_b = format_range_unified(first.b.start..last.b.end);
        let _ = writeln!(out, "@@ -{of_a} +{of_b} @@");
        for change in group {
            if change.equal {
                lines(' ', &a[change.a.clone()], &mut out);
            } else {
                lines('-', &a[change.a.clone()], &mut out);
                lines('+', &b[change.b.clone()], &mut out);
            }
        }
    }
    out
}

fn lines(sign: char, lines: &[&str], out: &mut String) {
    for line in lines {
        let _ = writeln!(out, "{sign}{line}");
    }
}

/// `formatRangeUnified`
fn format_range_unified(lines: Range<usize>) -> String {
    match lines.len() {
        1 => format!("{}", lines.start + 1),
        0 => format!("{},0", lines.start),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// A stretch of lines that is equal in both, or replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    equal: bool,
    a: Range<usize>,
    b: Range<usize>,
}

/// `GetGroupedOpCodes`: changes with their surroundings.
fn get_grouped_op_codes(changes: &[Change]) -> Vec<Vec<Change>> {
    let mut codes = changes.to_vec();
    if codes.is_empty() {
        return Vec::new();
    }
    if let Some(first) = codes.first_mut().filter(|change| change.equal) {
        let skip = first.a.len().saturating_sub(CONTEXT);
        first.a.start += skip;
        first.b.start += skip;
    }
    if let Some(last) = codes.last_mut().filter(|change| change.equal) {
        let skip = last.a.len().saturating_sub(CONTEXT);
        last.a.end -= skip;
        last.b.end -= skip;
    }
    let mut all = Vec::new();
    let mut group: Vec<Change> = Vec::new();
    for mut code in codes {
        if code.equal && code.a.len() > 2 * CONTEXT {
            group.push(Change {
                equal: true,
                a: code.a.start..code.a.start + CONTEXT,
                b: code.b.start..code.b.start + CONTEXT,
            });
            all.push(std::mem::take(&mut group));
            code.a.start = code.a.end - CONTEXT;
            code.b.start = code.b.end - CONTEXT;
        }
        group.push(code);
    }
    if !matches!(group.as_slice(), [] | [Change { equal: true, .. }]) {
        all.push(group);
    }
    all.retain(|group| group.iter().any(|change| !change.equal));
    all
}

struct Matcher<'a> {
    a: &'a [&'a str],
    b: &'a [&'a str],
    places: BTreeMap<&'a str, Vec<usize>>,
}

/// `(i, j, n)`: `n` lines from `i` in one text are those from `j` in the other.
type Match = (usize, usize, usize);

impl<'a> Matcher<'a> {
    fn new(a: &'a [&'a str], b: &'a [&'a str]) -> Matcher<'a> {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, line) in b.iter().enumerate() {
            places.entry(line).or_default().push(at);
        }
        // Lines that are everywhere say nothing about where one is.
        if b.len() >= 200 {
            let often = b.len() / 100 + 1;
            places.retain(|_, places| places.len() <= often);
        }
        Matcher { a, b, places }
    }

    /// `findLongestMatch`
    fn find_longest_match(&self, a: Range<usize>, b: Range<usize>) -> Match {
        let (mut i, mut j, mut size) = (a.start, b.start, 0);
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        for at in a.clone() {
            let mut next = BTreeMap::new();
            for place in self.places.get(self.a[at]).into_iter().flatten() {
                if *place < b.start {
                    continue;
                }
                if *place >= b.end {
                    break;
                }
                let before = place.checked_sub(1).and_then(|p| lengths.get(&p));
                let length = before.copied().unwrap_or(0) + 1;
                next.insert(*place, length);
                if length > size {
                    (i, j, size) = (at + 1 - length, place + 1 - length, length);
                }
            }
            lengths = next;
        }
        while i > a.start && j > b.start && self.a[i - 1] == self.b[j - 1] {
            (i, j, size) = (i - 1, j - 1, size + 1);
        }
        while i + size < a.end && j + size < b.end && self.a[i + size] == self.b[j + size] {
            size += 1;
        }
        (i, j, size)
    }

    fn matches(&self) -> Vec<Match> {
        let mut found = BTreeSet::new();
        let mut open = vec![(0..self.a.len(), 0..self.b.len())];
        while let Some((a, b)) = open.pop() {
            let (i, j, size) = self.find_longest_match(a.clone(), b.clone());
            if size == 0 {
                continue;
            }
            found.insert((i, j, size));
            open.push((a.start..i, b.start..j));
            open.push((i + size..a.end, j + size..b.end));
        }
        let mut joined: Vec<Match> = Vec::new();
        for (i, j, size) in found {
            match joined.last_mut() {
                Some((li, lj, length)) if *li + *length == i && *lj + *length == j => {
                    *length += size;
                }
                _ => joined.push((i, j, size)),
            }
        }
        joined.push((self.a.len(), self.b.len(), 0));
        joined
    }

    /// `GetOpCodes`
    fn get_op_codes(&self) -> Vec<Change> {
        let (mut i, mut j) = (0, 0);
        let mut all = Vec::new();
        for (ai, bj, size) in self.matches() {
            if i < ai || j < bj {
                all.push(Change {
                    equal: false,
                    a: i..ai,
                    b: j..bj,
                });
            }
            (i, j) = (ai + size, bj + size);
            if size > 0 {
                all.push(Change {
                    equal: true,
                    a: ai..i,
                    b: bj..j,
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_are_shown_with_what_stands_around_them() {
        let a = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        assert_eq!(unified(a, a), "");
        let b = "1\n2\n3\n4\nx\n6\n7\n8\n9";
        assert_eq!(
            unified(a, b),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
        let far = a.replace('\n', "\n\n");
        let both = far.replacen('1', "x", 1).replacen('9', "y", 1);
        assert_eq!(unified(&far, &both).matches("@@ -").count(), 2);
    }

    /// Puts the changes of a diff into a text.
    fn applied(a: &str, diff: &str) -> Vec<String> {
        let a: Vec<&str> = a.split('\n').collect();
        let mut out = Vec::new();
        let mut at = 0;
        for line in diff.lines() {
            if let Some(head) = line.strip_prefix("@@ -") {
                let digits: String = head.chars().take_while(char::is_ascii_digit).collect();
                let empty = head[digits.len()..].starts_with(",0");
                let start = digits.parse::<usize>().expect("a number") - usize::from(!empty);
                out.extend(a[at..start].iter().map(|line| (*line).to_owned()));
                at = start;
                continue;
            }
            match line.split_at(1) {
                (" ", rest) => {
                    out.push(rest.to_owned());
                    at += 1;
                }
                ("-", _) => at += 1,
                (_, rest) => out.push(rest.to_owned()),
            }
        }
        out.extend(a[at..].iter().map(|line| (*line).to_owned()));
        out
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_text_to_the_other(a in "[abc\n]{0,60}", b in "[abc\n]{0,60}") {
            let b_lines: Vec<&str> = b.split('\n').collect();
            prop_assert_eq!(applied(&a, &unified(&a, &b)), b_lines);
        }
    }
}
