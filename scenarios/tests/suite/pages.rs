//! `wavetank report --html`: the page carries the trace and nothing from elsewhere, and a browser, where there is one,
//! opens it without an error, finds an event and shows the slice.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::support::{Done, game, root, scratch, violated, wavetank};

/// What is done to the page, appended to it: all that is found goes into an attribute of its root, for whoever dumps it.
const DRIVER: &str = include_str!("pages/driver.js");

fn report(trace: &Path, page: &Path, more: &[&str]) -> Done {
    let mut command = wavetank();
    command.arg("report").arg(trace).arg("--html").arg(page);
    command.args(more).output().expect("it starts").into()
}

fn kept(trace: &str) -> std::path::PathBuf {
    root().join("snapshots/traces").join(trace)
}

/// The JSON in an element of the page.
fn carried(page: &str, id: &str) -> Json {
    let begin = format!("<script id=\"{id}\" type=\"application/json\">");
    let (_, rest) = page.split_once(&begin).expect("it is carried");
    let (json, _) = rest.split_once("</script>").expect("it ends");
    serde_json::from_str(json).expect("JSON")
}

/// The document after its scripts have run, and what the browser complained of; `None`: there is no browser.
fn opened(page: &Path) -> Option<(String, String)> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let profile = page.with_extension("profile");
    let output = browsers.into_iter().find_map(|browser| {
        let mut command = Command::new(browser);
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            "--window-size=1400,900",
            "--dump-dom",
        ];
        command.args(flags);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.arg(format!("file://{}", page.display()));
        command.output().ok()
    });
    let Some(output) = output else {
        eprintln!("no chromium on the PATH: the page is not opened (apt-get install chromium)");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let complaints = text(&output.stderr);
    let complaints = complaints.lines().filter(|line| line.contains("CONSOLE"));
    let complaints: Vec<&str> = complaints.collect();
    Some((text(&output.stdout), complaints.join("\n")))
}

#[test]
fn a_page_carries_the_trace_and_asks_for_nothing_else() {
    let dir = scratch("pages-carries");
    let page = dir.join("page.html");
    let trace = kept("k-k-22609-master-count.trace");
    let more = ["--futures", "4", "--simulations", "100"];
    report(&trace, &page, &more).expect(0, &["for a browser"]);
    let text = fs::read_to_string(&page).expect("it is written");
    for outside in ["src=", "@import", "url(", "http://", "fetch("] {
        assert!(!text.contains(outside), "{outside}");
    }
    let shown = carried(&text, "shown");
    let events = shown["at"].as_array().expect("a column").len();
    assert_eq!(events, 353);
    for column in ["on", "names", "because"] {
        assert_eq!(shown[column].as_array().expect("a column").len(), events);
    }
    // What each follows from comes before it.
    let because = shown["because"].as_array().expect("a column");
    let back = |own: &Json| {
        own.as_array()
            .expect("pairs")
            .iter()
            .step_by(2)
            .cloned()
            .collect()
    };
    let back = because.iter().map(back).enumerate();
    let mut edges = 0;
    for (event, back) in back {
        let back: Vec<Json> = back;
        edges += back.len();
        assert!(back.iter().all(|own| {
            own.as_u64()
                .is_some_and(|own| own >= 1 && own <= event as u64)
        }));
    }
    assert!(edges > events, "{edges}");
    assert!(
        shown["slice"]
            .as_array()
            .is_some_and(|slice| slice.len() > 50)
    );
    assert_eq!(shown["curve"]["lost"], serde_json::json!([89, 90]));
    let crash = shown["faults"]
        .as_array()
        .expect("faults")
        .last()
        .expect("one")
        .clone();
    assert_eq!(
        (&crash["event"], &crash["needed"], &crash["lasts"]),
        (&89.into(), &true.into(), &true.into())
    );
    let written = carried(&text, "written");
    let changes = written["changes"].as_array().expect("changes");
    let now = changes[0]["now"].as_str().expect("an object");
    assert!(serde_json::from_str::<Json>(now).is_ok_and(|now| now.is_object()));
}

#[test]
fn a_browser_opens_the_page_finds_an_event_and_shows_the_slice() {
    let dir = scratch("pages-browser");
    let page = dir.join("page.html");
    let trace = kept("finding-1-conflict-on-removal.trace");
    report(&trace, &page, &["--futures", "4", "--simulations", "60"]).expect(0, &[]);
    let text = fs::read_to_string(&page).expect("it is written");
    let driven = text.replace(
        "</body>",
        &format!("<script>\n{DRIVER}\n</script>\n</body>"),
    );
    fs::write(&page, driven).expect("it is written");
    let Some((document, complaints)) = opened(&page) else {
        return;
    };
    assert_eq!(complaints, "");
    assert!(document.contains("data-done=\"true\""), "{document}");
    let (_, rest) = document.split_once("data-wrong=\"").expect("it was driven");
    let (wrong, _) = rest.split_once('"').expect("it ends");
    assert_eq!(wrong, "");
}

#[test]
fn a_page_of_a_sweep_shows_what_was_found_and_trends() {
    let dir = scratch("pages-sweep");
    let args = [
        "run",
        "ping-pong",
        "--defect",
        "blind",
        "--seeds",
        "0..20",
        "--keep-going",
    ];
    let args = [&args[..], &["--out", ".", "--format", "json"]].concat();
    let swept = game(&dir, &args).expect(1, &[]);
    fs::write(dir.join("sweep.json"), &swept.stdout).expect("it is written");
    let page = dir.join("sweep.html");
    let json = dir.join("sweep.json");
    let earlier = ["--earlier", json.to_str().expect("UTF-8")];
    report(&json, &page, &earlier).expect(0, &["for a browser"]);
    let text = fs::read_to_string(&page).expect("it is written");
    let reports = carried(&text, "reports");
    assert_eq!(reports.as_array().expect("reports").len(), 2);
    let Some((document, complaints)) = opened(&page) else {
        return;
    };
    assert_eq!(complaints, "");
    for shown in [
        "Violations by blame",
        "blind",
        "Over 2 reports",
        "<svg",
        "data-ready",
    ] {
        assert!(document.contains(shown), "no {shown} in {document}");
    }
}

#[test]
fn what_is_no_trace_and_no_report_is_refused() {
    let dir = scratch("pages-refused");
    let page = dir.join("page.html");
    let json = dir.join("other.json");
    fs::write(&json, "{\"case\": 1}").expect("it is written");
    report(&json, &page, &[]).expect(2, &["has no `totals`", "run --format json"]);
    fs::write(&json, "{\"case\": ").expect("it is written");
    report(&json, &page, &[]).expect(2, &["no report of a sweep"]);
    let (dir, trace) = violated("pages-violated", "blind");
    let earlier = [
        "report",
        trace.as_str(),
        "--html",
        "page.html",
        "--earlier",
        trace.as_str(),
    ];
    game(&dir, &earlier).expect(2, &["is for reports of sweeps"]);
    game(&dir, &["report", trace.as_str()]).expect(2, &["--html"]);
    assert!(!page.exists());
    // A case of somebody else has pages, too.
    game(&dir, &["report", trace.as_str(), "--html", "page.html"]).expect(0, &["for a browser"]);
}
