//! A real etcd server as a child process: found, started on an empty store, killed on drop.
//!
//! What is said to it does not belong here.

use std::env;
use std::fmt;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(20);

/// An etcd program, and which version it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    path: PathBuf,
    version: String,
    go: (u32, u32),
}

impl Program {
    /// The one that `WAVETANK_ETCD` names, else `etcd` on the `PATH`.
    pub fn find() -> Result<Program, String> {
        match env::var_os("WAVETANK_ETCD") {
            Some(path) => Program::at(path),
            None => Program::at("etcd"),
        }
    }

    /// The program at this path, or of this name on the `PATH`.
    pub fn at(path: impl Into<PathBuf>) -> Result<Program, String> {
        let path = path.into();
        let output = Command::new(&path)
            .arg("--version")
            .output()
            .map_err(|error| format!("there is no etcd at {}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let told = |what: &str| text.lines().find_map(|line| line.strip_prefix(what));
        match (told("etcd Version: "), told("Go Version: go")) {
            (Some(version), Some(go)) => Ok(Program {
                version: version.trim().to_owned(),
                go: two_numbers(go),
                path,
            }),
            _ => Err(format!(
                "{} does not tell its version as etcd does",
                path.display()
            )),
        }
    }

    /// The one that [`find`](Program::find) finds, for a test that can do nothing without: if there
    /// is none it says so loudly, and fails where `WAVETANK_REQUIRE_ETCD=1` is set.
    pub fn for_test() -> Option<Program> {
        match Program::find() {
            Ok(program) => Some(program),
            Err(error) if env::var_os("WAVETANK_REQUIRE_ETCD").is_some_and(|set| set == "1") => {
                panic!("{error}; WAVETANK_REQUIRE_ETCD=1 demands one")
            }
            Err(error) => {
                // Not by `eprintln!`, which a test that passes keeps to itself. That nobody can
                // be told is no reason to fail.
                let _ = writeln!(
                    std::io::stderr(),
                    "NOT TESTED against the real etcd: {error}.\n\
                     Install one (Debian: etcd-server), or name it by WAVETANK_ETCD."
                );
                None
            }
        }
    }

    /// Its version, as `3.5.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// From 3.5 on it can be told not to wait for the disk.
    fn may_skip_fsync(&self) -> bool {
        two_numbers(&self.version) >= (3, 5)
    }

    /// Which Go it was built with, as the first two numbers.
    pub fn go(&self) -> (u32, u32) {
        self.go
    }
}

/// The first two numbers of a version.
fn two_numbers(version: &str) -> (u32, u32) {
    let mut parts = version
        .split('.')
        .map(|part| part.trim().parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "etcd {}", self.version)
    }
}

/// How fast its raft ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ticks {
    /// Short ones: it starts at once. The least TTL of a lease is 1 s then.
    Fast,
    /// Those that it comes with: the least TTL of a lease is 2 s.
    Default,
}

/// A running server with a store of its own.
#[derive(Debug)]
pub struct Server {
    child: Child,
    endpoint: String,
    _data: TempDir,
}

impl Server {
    /// Starts one on an empty store and waits until somebody listens where it should: `started` says who that may be.
    pub fn start(program: &Program, ticks: Ticks) -> Result<Server, String> {
        let data =
            data_dir(program).map_err(|error| format!("no folder for etcd's data: {error}"))?;
        let (client, peer) = free_ports().map_err(|error| format!("no free port: {error}"))?;
        let clients = format!("http://127.0.0.1:{client}");
        let peers = format!("http://127.0.0.1:{peer}");
        let mut command = Command::new(&program.path);
        // It would take settings from the environment too.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(name);
            }
        }
        command.arg("--data-dir").arg(data.path().join("etcd"));
        command.args([
            "--listen-client-urls",
            &clients,
            "--advertise-client-urls",
            &clients,
        ]);
        command.args([
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
        ]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        command.args(["--logger", "zap", "--log-level", "error"]);
        if ticks == Ticks::Fast {
            command.args(["--heartbeat-interval", "10", "--election-timeout", "50"]);
        }
        if program.may_skip_fsync() {
            command.arg("--unsafe-no-fsync");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let begin = Instant::now();
        loop {
            if is_listened_to(client) {
                return Ok(Server {
                    child,
                    endpoint: clients,
                    _data: data,
                });
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!("{program} ended at its start: {status}"));
            }
            if begin.elapsed() > START {
                end(&mut child);
                return Err(format!(
                    "{program} does not listen after {} s",
                    START.as_secs()
                ));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where clients reach it.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a child and waits for its end. That it has ended already is as good.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// In memory where the machine has such a place and the program waits for the disk at every write.
/// Else on the disk, which gives the space for the log (64 MB) faster than memory does.
fn data_dir(program: &Program) -> std::io::Result<TempDir> {
    let within = |dir: &Path| {
        tempfile::Builder::new()
            .prefix("wavetank-etcd-")
            .tempdir_in(dir)
    };
    let memory = Path::new("/dev/shm");
    if program.may_skip_fsync() || !memory.is_dir() {
        return within(&env::temp_dir());
    }
    within(memory).or_else(|_| within(&env::temp_dir()))
}

/// Starts a server. Another process may take its free port first, and look like it: then the server ends, and is started again.
pub(crate) fn started<T>(mut start: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    start().or_else(|_| start()).or_else(|_| start())
}

/// Does somebody listen on this port? The system may give a connection to a free port that very port for its own end: then
/// it is connected with itself.
fn is_listened_to(port: u16) -> bool {
    let connected = TcpStream::connect(("127.0.0.1", port));
    let own = connected.and_then(|stream| stream.local_addr());
    own.is_ok_and(|own| own.port() != port)
}

/// Two ports that nobody listens on.
fn free_ports() -> std::io::Result<(u16, u16)> {
    let (one, two) = (
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    );
    Ok((one.local_addr()?.port(), two.local_addr()?.port()))
}
