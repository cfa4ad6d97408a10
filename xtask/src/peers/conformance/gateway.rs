//! `concertina serve` on loopback, with the suite's server behind it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Outcome;
use crate::peers::Stage;
use crate::peers::install::Python;

/// Until it listens.
const START: Duration = Duration::from_secs(20);

/// A gateway that ends with its value.
#[derive(Debug)]
pub(super) struct Gateway {
    child: Child,
    address: SocketAddr,
    /// Its settings, its state and its workspace.
    _home: TempDir,
}

impl Gateway {
    pub(super) fn start(stage: &Stage, python: &Python, tools: &str) -> Outcome<Self> {
        let home = tempfile::tempdir()?;
        let settings = home.path().join("config/concertina");
        let workspace = home.path().join("workspace");
        fs::create_dir_all(&settings)?;
        fs::create_dir_all(&workspace)?;
        fs::write(settings.join("concertina.toml"), self::settings(stage, python, tools))?;
        let address = free()?;
        let child = Command::new(&stage.concertina)
            .args(["serve", "--no-token", &address.to_string()])
            .current_dir(&workspace)
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .env("CONCERTINA_HOME", home.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut gateway = Self { child, address, _home: home };
        gateway.wait()?;
        Ok(gateway)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn wait(&mut self) -> Outcome<()> {
        let end = Instant::now() + START;
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("`concertina serve` ended with {status}").into());
            }
            if Instant::now() >= end {
                return Err(format!("nothing listens after {} seconds", START.as_secs()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The user's own settings, so that nothing needs trust.
fn settings(stage: &Stage, python: &Python, tools: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let script = stage.scripts.join("conformance_server.py");
    format!(
        "[upstream.conformance]\ncommand = {}\nargs = [\"-W\", \"ignore\", {}, {}]\n",
        quoted(&python.program().to_string_lossy()),
        quoted(&script.to_string_lossy()),
        quoted(tools),
    )
}

/// An address at which nothing listens.
fn free() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
