//! What kubectl printed, without what differs from run to run: the same is done to what was recorded.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, in this order. To make a pattern takes much longer than to look for it.
static REPLACED: LazyLock<[(Regex, &str); 14]> = LazyLock::new(|| {
    PATTERNS.map(|(pattern, by)| {
        let pattern = Regex::new(&format!("(?m){pattern}"));
        (pattern.expect("a pattern"), by)
    })
});

const PATTERNS: [(&str, &str); 14] = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"/tmp/[^ ]*?(LIVE|MERGED)-\d+/[^ \t\n]+", "FILE"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "DATE"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "DATE"),
    (r#"resourceVersion: "\d+""#, r#"resourceVersion: "RV""#),
    (r#""resourceVersion": "\d+""#, r#""resourceVersion": "RV""#),
    (r"(Resource Version: +)\d+", "${1}RV"),
    (r"https?://SERVER", "SERVER"),
    (r"v1\.(\d+)\.\d+-\S+", "v1.$1"),
    (r"Kustomize Version: \S+", "Kustomize Version: VERSION"),
    // How wide a column of ages is depends on them.
    (r"(^|[ \t])(\d+[ydhms]){1,2}([ \t\n]|$)", "${1}AGE${3}"),
    (r"AGE[ \t]+", "AGE "),
    (r"[ \t]+\n", "\n"),
];

/// What a command printed.
pub fn normal(command: &str, text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, by) in REPLACED.iter() {
        text = pattern.replace_all(&text, *by).into_owned();
    }
    if command.starts_with("kubectl explain") {
        return without_descriptions(&text);
    }
    if command.starts_with("kubectl describe configmap") {
        return sorted(&text);
    }
    text
}

/// Descriptions are indented by four or more; so are fields inside of others, which say their types behind a tab.
fn without_descriptions(text: &str) -> String {
    let is_description = |line: &str| line.starts_with("    ") && !line.contains("\t<");
    let kept = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !is_description(line));
    kept.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// kubectl ranges over a Go map.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
