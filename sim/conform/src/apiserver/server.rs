//! A real kube-apiserver as a child process: found, started over etcds of its own on loopback, killed on drop.

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use wavetank_oracle::head::{self, FLAGS};

use super::gateway::Gateway;
use super::http::Http;
use crate::server::{Program as Etcd, Server as EtcdServer, Ticks, started};

/// How long a server may take until it is ready: it has certificates to make, and a busy machine takes its time.
const START: Duration = Duration::from_secs(180);
/// At its start a server writes for a while. It has come to rest when it has written nothing for so long.
const QUIET: Duration = Duration::from_millis(1500);
/// So many lines of its log are told of one thing.
const LINES: usize = 6;
/// Whoever has this token may do all.
const TOKEN: &str = "admintoken";

/// A kube-apiserver program, and which version it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    path: PathBuf,
    version: String,
}

impl Program {
    /// The one that `WAVETANK_KUBE_APISERVER` names, else `kube-apiserver` on the `PATH`.
    ///
    /// # Errors
    /// There is none.
    pub fn find() -> Result<Program, String> {
        match env::var_os("WAVETANK_KUBE_APISERVER") {
            Some(path) => Program::at(path),
            None => Program::at("kube-apiserver"),
        }
    }

    /// The program at this path, or of this name on the `PATH`.
    ///
    /// # Errors
    /// There is none, or it is something else, or of a release that is not simulated.
    pub fn at(path: impl Into<PathBuf>) -> Result<Program, String> {
        let path = path.into();
        if path.is_dir() {
            let path = path.display();
            return Err(format!("{path} is a folder, and no kube-apiserver"));
        }
        let output = Command::new(&path).arg("--version").output();
        let output = output.map_err(|error| {
            format!("there is no kube-apiserver at {}: {error}", path.display())
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.trim().strip_prefix("Kubernetes ").ok_or_else(|| {
            let path = path.display();
            format!("{path} does not tell its version as a kube-apiserver does: {text:?}")
        })?;
        head::apiserver(version)?;
        Ok(Program {
            version: version.to_owned(),
            path,
        })
    }

    /// The one that [`find`](Program::find) finds, for a test that can do nothing without: if there is none it says so.
    pub fn for_test() -> Option<Program> {
        match Program::find() {
            Ok(program) => Some(program),
            Err(error) => {
                // Not by `eprintln!`, which a test that passes keeps to itself. That nobody can be told is no reason to
                // fail.
                let _ = writeln!(
                    std::io::stderr(),
                    "NOT TESTED against a real kube-apiserver: {error}.\n\
                     docs/LIVE.md says how to get one; name it by WAVETANK_KUBE_APISERVER."
                );
                None
            }
        }
    }

    /// Its version, as `v1.36.2`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kube-apiserver {}", self.version)
    }
}

/// A running server, with an etcd for Events and one for all else.
pub(crate) struct Server {
    child: Child,
    port: u16,
    head: Json,
    /// Speaks to the server.
    pub http: Http,
    /// Speaks to its etcd.
    pub gateway: Gateway,
    _etcds: [EtcdServer; 2],
    dir: TempDir,
}

impl Server {
    /// Starts one over empty etcds with the flags of recordings, some of them with other values, and waits until it is
    /// ready and has come to rest.
    pub fn start(program: &Program, etcd: &Etcd, flags: &[(&str, &str)]) -> Result<Server, String> {
        started(|| Server::try_start(program, etcd, flags))
    }

    fn try_start(program: &Program, etcd: &Etcd, flags: &[(&str, &str)]) -> Result<Server, String> {
        let start = || EtcdServer::start(etcd, Ticks::Default);
        let etcds = [start()?, start()?];
        let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let dir = tempfile::Builder::new()
            .prefix("wavetank-apiserver-")
            .tempdir()
            .map_err(|error| failed("no folder for the apiserver", error))?;
        let listener = TcpListener::bind("127.0.0.1:0");
        let port = listener
            .and_then(|listener| listener.local_addr())
            .map_err(|error| failed("no free port", error))?
            .port();
        let (head, child) = spawn(program, etcd, flags, &etcds, dir.path(), port)?;
        let mut child = Guard(Some(child));
        let http = wait_until_ready(program, child.get(), dir.path(), port)?;
        let gateway = Gateway::new(etcds[0].endpoint());
        let server = Server {
            child: child.release(),
            port,
            head,
            http,
            gateway,
            _etcds: etcds,
            dir,
        };
        server.come_to_rest(QUIET)?;
        Ok(server)
    }

    /// Waits until nothing has been written for so long.
    pub fn come_to_rest(&self, quiet: Duration) -> Result<(), String> {
        let begin = Instant::now();
        let (mut last, mut since) = (self.gateway.revision()?, Instant::now());
        while since.elapsed() < quiet && begin.elapsed() < START {
            thread::sleep(Duration::from_millis(50));
            let now = self.gateway.revision()?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// What the head of a recording says of it.
    pub fn head(&self) -> &Json {
        &self.head
    }

    /// The last lines of its log that name this.
    pub fn log_about(&self, what: &str) -> Vec<String> {
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let about = log.lines().filter(|line| line.contains(what));
        let mut about: Vec<String> = about.map(str::to_owned).collect();
        about.split_off(about.len().saturating_sub(LINES))
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A child that is killed unless it is released.
struct Guard(Option<Child>);

impl Guard {
    fn get(&mut self) -> &mut Child {
        self.0.as_mut().expect("it was not released")
    }

    fn release(mut self) -> Child {
        self.0.take().expect("it was not released")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

/// Kills a child and waits for its end. That it has ended already is as good.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Starts the process; what the head of a recording says of it.
fn spawn(
    program: &Program,
    etcd: &Etcd,
    flags: &[(&str, &str)],
    etcds: &[EtcdServer; 2],
    dir: &Path,
    port: u16,
) -> Result<(Json, Child), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", dir.display());
    let tokens = dir.join("tokens.csv");
    fs::write(&tokens, format!("{TOKEN},admin,admin,system:masters\n")).map_err(wrong)?;
    let log = File::create(dir.join("log")).map_err(wrong)?;
    let certs = dir.join("certs");
    // The key that it makes for its own certificate signs the tokens of ServiceAccounts as well as any.
    let key = certs.join("apiserver.key");
    let mut named = json!({});
    for (name, value) in FLAGS.iter().chain(flags) {
        named[*name] = (*value).into();
    }
    let mut command = Command::new(&program.path);
    for (name, value) in named.as_object().into_iter().flatten() {
        command.arg(format!("--{name}={}", value.as_str().unwrap_or_default()));
    }
    let [objects, events] = etcds.each_ref().map(EtcdServer::endpoint);
    command.args([
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", certs.display()),
        format!("--token-auth-file={}", tokens.display()),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--etcd-servers={objects}"),
        format!("--etcd-servers-overrides=/events#{events}"),
    ]);
    let log = log.try_clone().map(|other| (log, other)).map_err(wrong)?;
    command.stdin(Stdio::null()).stdout(log.0).stderr(log.1);
    let child = command
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let head = json!({
        "apiserver": program.version,
        "etcd": etcd.version(),
        "servers": 1,
        "flags": named,
    });
    Ok((head, child))
}

fn wait_until_ready(
    program: &Program,
    child: &mut Child,
    dir: &Path,
    port: u16,
) -> Result<Http, String> {
    let begin = Instant::now();
    let last_words = || {
        let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    };
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!(
                "{program} ended at its start: {status}\n{}",
                last_words()
            ));
        }
        if begin.elapsed() > START {
            let seconds = START.as_secs();
            return Err(format!(
                "{program} is not ready after {seconds} s\n{}",
                last_words()
            ));
        }
        if let Ok(pem) = fs::read(dir.join("certs/apiserver.crt")) {
            let http = Http::trusting(&format!("https://127.0.0.1:{port}"), &pem, TOKEN)?;
            let ready = http.send(&json!({"method": "GET", "path": "/readyz"}));
            if ready.is_ok_and(|answer| answer["code"] == 200) {
                return Ok(http);
            }
        }
        thread::sleep(Duration::from_millis(100));
    }
}
