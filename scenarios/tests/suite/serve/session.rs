//! What an engineer types at `wavetank serve`, beyond what is recorded of a real server: the lines are in `session.txt`,
//! and `snapshots/kubectl` has what came of them. And who waits sees what others write.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use super::normal::normal;
use super::serving::{Kubectl, Serving, scenario, words};
use crate::support::root;

const LINES: &str = include_str!("session.txt");

const ARGS: [&str; 5] = ["--at", "20s", "--speed", "1", "--writes"];

/// What is printed by the lines, each with its exit code if that is not 0.
fn session(kubectl: &Kubectl) -> String {
    let mut shown = String::new();
    let mut lines = LINES.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            shown += &format!("{line}\n");
            continue;
        }
        if let Some(name) = line.strip_prefix("write ") {
            let file = lines.by_ref().take_while(|line| *line != "end");
            let file: String = file.map(|line| format!("{line}\n")).collect();
            kubectl.write(name, &file);
            continue;
        }
        let done = kubectl.line(line);
        shown += &format!("$ {line}\n");
        for text in [&done.stdout, &done.stderr] {
            let text = normal(line, &kubectl.without_place(text));
            shown += &text;
            if !text.is_empty() && !text.ends_with('\n') {
                shown.push('\n');
            }
        }
        match done.code {
            Some(0) => {}
            code => shown += &format!("exit {}\n", code.unwrap_or(-1)),
        }
    }
    shown
}

#[test]
fn an_engineer_s_session_goes_as_it_went() {
    let serving = Serving::of(&scenario("cluster"), &ARGS);
    let Some(kubectl) = serving.kubectl("a1") else {
        return;
    };
    if kubectl.minor != "32" {
        eprintln!(
            "kubectl is of 1.{}, which words things otherwise",
            kubectl.minor
        );
        return;
    }
    let shown = session(&kubectl);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/kubectl"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("session", shown));
}

/// A kubectl that waits.
struct Waiting {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Waiting {
    fn of(kubectl: &Kubectl, line: &str) -> Waiting {
        let mut command = kubectl.command(&words(line)[1..]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Waiting { child, lines }
    }

    /// Reads on until a line has this in it.
    fn until(&mut self, text: &str) -> String {
        let mut lines = self.lines.by_ref().map(|line| line.expect("UTF-8"));
        let found = lines.find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("it ended without a line with `{text}`"))
    }

    fn ends_well(mut self) {
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}

/// Whoever waits has a connection open while others write.
#[test]
fn who_waits_sees_what_others_write() {
    let serving = Serving::of(&scenario("cluster"), &ARGS);
    let Some(kubectl) = serving.kubectl("a1") else {
        return;
    };
    let line = |line: &str| kubectl.line(line).expect(0, &[]);
    line("kubectl create deployment web --image=nginx:1.27 --replicas=2");
    let status = |status: &str| {
        let patch = format!(r#"{{"status":{{"observedGeneration":1,{status}}}}}"#);
        let args = [
            "patch",
            "deployment",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
        ];
        kubectl
            .run(&[&args[..], &[&patch]].concat())
            .expect(0, &["patched"]);
    };

    let mut rollout = Waiting::of(
        &kubectl,
        "kubectl rollout status deployment/web --timeout=60s",
    );
    rollout.until("Waiting for deployment spec update to be observed");
    status(r#""replicas":1,"updatedReplicas":1"#);
    rollout.until("1 out of 2 new replicas have been updated");
    status(r#""replicas":2,"updatedReplicas":2,"readyReplicas":1,"availableReplicas":1"#);
    rollout.until("1 of 2 updated replicas are available");
    status(r#""replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2"#);
    rollout.until("successfully rolled out");
    rollout.ends_well();

    let mut available = Waiting::of(
        &kubectl,
        "kubectl wait --for=condition=Available deployment/web --timeout=60s",
    );
    status(
        r#""replicas":2,"readyReplicas":2,"availableReplicas":2,"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}]"#,
    );
    available.until("condition met");
    available.ends_well();

    let mut watch = Waiting::of(
        &kubectl,
        "kubectl get configmaps --watch --output-watch-events",
    );
    line("kubectl create configmap first");
    watch.until("ADDED      first");
    line(
        "kubectl patch configmap first --type=merge -p '{\"metadata\":{\"finalizers\":[\"a.example/b\"]}}'",
    );
    watch.until("MODIFIED   first");
    // Its deletion waits for the finalizer.
    let mut deletion = Waiting::of(&kubectl, "kubectl delete configmap first");
    deletion.until("configmap \"first\" deleted");
    watch.until("MODIFIED   first");
    line("kubectl patch configmap first --type=merge -p '{\"metadata\":{\"finalizers\":null}}'");
    watch.until("DELETED    first");
    deletion.ends_well();
}

/// Where there are controllers and somebody runs the pods, a Deployment is rolled out. Time goes ten times as fast.
#[test]
fn a_deployment_is_rolled_out_where_controllers_run() {
    let args = ["--at", "40s", "--speed", "10", "--writes"];
    let serving = Serving::of(&scenario("live"), &args);
    let Some(kubectl) = serving.kubectl("a1") else {
        return;
    };
    let line = |line: &str, texts: &[&str]| kubectl.line(line).expect(0, texts);
    line(
        "kubectl create deployment web --image=nginx:1.27 --replicas=3",
        &["created"],
    );
    let done = ["deployment \"web\" successfully rolled out"];
    line("kubectl rollout status deployment/web --timeout=60s", &done);
    let pods = line("kubectl get pods -l app=web --no-headers", &[]);
    let running = pods.stdout.lines().filter(|line| line.contains("Running"));
    assert_eq!(running.count(), 3, "{}", pods.stdout);
    line(
        "kubectl set image deployment/web nginx=nginx:1.28",
        &["image updated"],
    );
    line("kubectl rollout status deployment/web --timeout=60s", &done);
    line(
        "kubectl rollout history deployment/web",
        &["1         <none>", "2         <none>"],
    );
    line("kubectl rollout undo deployment/web", &["rolled back"]);
    line("kubectl rollout status deployment/web --timeout=60s", &done);
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let shown = kubectl.run(&["get", "deployment", "web", "-o", image]);
    assert_eq!(shown.stdout, "nginx:1.27");
    line("kubectl scale deployment web --replicas=1", &["scaled"]);
    line("kubectl rollout status deployment/web --timeout=60s", &done);
}
