//! A command that serves, and kubectl beside it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::{Done, root, scratch, wavetank};

/// A command that serves, until it is dropped.
pub struct Serving {
    child: Child,
    /// The first line: where it stands.
    pub opening: String,
    ports: Vec<(String, u16)>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scenario beside these tests.
pub fn scenario(name: &str) -> String {
    let path = root().join(format!("scenarios/tests/suite/serve/{name}.yaml"));
    path.to_str().expect("UTF-8").to_owned()
}

impl Serving {
    /// Of a scenario file or a trace.
    pub fn of(what: &str, args: &[&str]) -> Serving {
        let mut command = wavetank();
        command.args(["serve", what]).args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (mut ports, mut opening) = (Vec::new(), None);
        for line in out.lines() {
            let line = line.expect("UTF-8");
            opening.get_or_insert_with(|| line.clone());
            if let Some((name, port)) = line.split_once("http://127.0.0.1:") {
                let port = port.trim().parse();
                ports.extend(port.ok().map(|port| (name.trim().to_owned(), port)));
            }
            if line.contains("Ctrl-C") {
                break;
            }
        }
        assert!(ports.len() > 1, "apiservers and control: {ports:?}");
        let opening = opening.expect("a line");
        Serving {
            child,
            opening,
            ports,
        }
    }

    pub fn port(&self, of: &str) -> u16 {
        let mut all = self.ports.iter();
        all.find(|(name, _)| name == of).expect("it is served").1
    }

    pub fn send(&self, of: &str, method: &str, path: &str, more: &str) -> TcpStream {
        let port = self.port(of);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("it can be set");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{more}\r\n"
        )
        .expect("it is sent");
        stream
    }

    /// The head and the body of an answer.
    pub fn answer(&self, of: &str, method: &str, path: &str, more: &str) -> (String, String) {
        let mut text = String::new();
        let mut stream = self.send(of, method, path, more);
        stream.read_to_string(&mut text).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let body = match head.contains("Transfer-Encoding: chunked") {
            true => chunks(body),
            false => body.to_owned(),
        };
        (head.to_owned(), body)
    }

    /// The status and the body of an answer.
    pub fn ask(&self, of: &str, method: &str, path: &str, more: &str) -> (u16, String) {
        let (head, body) = self.answer(of, method, path, more);
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        (code.expect("a status"), body)
    }

    pub fn get(&self, of: &str, path: &str) -> Json {
        let (code, body) = self.ask(of, "GET", path, "");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    pub fn control(&self, path: &str) -> Json {
        let (code, body) = self.ask(
            "control",
            "POST",
            path,
            "X-Wavetank: test\r\nContent-Length: 0\r\n",
        );
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// A kubectl that asks this server, in a folder of its own.
    pub fn kubectl(&self, of: &str) -> Option<Kubectl> {
        let version = Command::new("kubectl")
            .args(["version", "--client", "-o", "json"])
            .output();
        let Ok(version) = version else {
            eprintln!("no kubectl on the PATH: it is not asked");
            return None;
        };
        let version: Json = serde_json::from_slice(&version.stdout).unwrap_or_default();
        // What is built downstream has a `+` behind it.
        let minor = version["clientVersion"]["minor"].as_str();
        let minor = minor.map(|minor| minor.trim_end_matches('+'));
        Some(Kubectl {
            server: format!("http://127.0.0.1:{}", self.port(of)),
            home: scratch(&format!("kubectl-{}-{of}", self.port(of))),
            minor: minor.unwrap_or_default().to_owned(),
        })
    }
}

/// A body that comes in parts, each after its length.
fn chunks(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        whole += &rest[..length];
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}

/// A kubectl.
pub struct Kubectl {
    server: String,
    pub home: PathBuf,
    /// Of its version.
    pub minor: String,
}

impl Kubectl {
    /// The command, to be run or started.
    pub fn command(&self, args: impl IntoIterator<Item: AsRef<OsStr>>) -> Command {
        let mut command = Command::new("kubectl");
        let own = [("HOME", &self.home), ("TMPDIR", &self.home)];
        command.envs(own).env_remove("KUBECONFIG");
        command.env_remove("KUBECTL_EXTERNAL_DIFF").env("TZ", "UTC");
        command.current_dir(&self.home);
        command.args(["--server", &self.server]).args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().expect("it starts").into()
    }

    /// A line as one would type it, with single quotes around what has blanks.
    pub fn line(&self, line: &str) -> Done {
        let words = words(line);
        let (first, args) = words.split_first().expect("a command");
        assert_eq!(first, "kubectl", "{line}");
        self.command(args).output().expect("it starts").into()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.home.join(name), text).expect("a folder of its own");
    }

    /// What differs from run to run is replaced: this server, this folder.
    pub fn without_place(&self, text: &str) -> String {
        let server = self.server.trim_start_matches("http://");
        let home: &Path = &self.home;
        text.replace(server, "SERVER")
            .replace(&format!("{}/", home.display()), "/tmp/")
    }
}

/// The words of a line; what stands in single quotes is one.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
