//! Logging in to a server at an address: OAuth, with the tokens kept in the state directory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use concertina_runtime::private::{read_json, write_json};
use concertina_runtime::upstream::{Definition, Reach};
use concertina_types::{Digest, canonical_json};
use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationSession};
use rmcp::transport::{AuthError, AuthorizationRequest, CredentialStore, StoredCredentials};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::failure::Failure;
use super::http::choose_cryptography;
use super::records;

/// How long somebody may take to log in.
const PATIENCE: Duration = Duration::from_mins(5);
/// What is read of the browser's request: its first line.
const REQUEST_BYTES: usize = 8 * 1024;

/// What helps where a login is missing.
pub(super) fn help(server: &str) -> String {
    format!("run `concertina upstream login {server}`")
}

/// Where the tokens of all servers are kept.
pub(super) fn directory(home: &Path) -> PathBuf {
    records::directory(home).join("tokens")
}

/// The tokens of one server, in a file that only this person can read.
struct Tokens(PathBuf);

impl Tokens {
    fn of(home: &Path, definition: &Definition, url: &str) -> Self {
        let key = Digest::of(canonical_json(&json!([definition.name, url])).as_bytes());
        Self(directory(home).join(format!("{}.json", key.hex())))
    }
}

fn store_error(words: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(words.to_string())
}

impl CredentialStore for Tokens {
    fn load<'a, 'b>(&'a self) -> BoxFuture<'b, Result<Option<StoredCredentials>, AuthError>>
    where
        'a: 'b,
    {
        let read = read_json(&self.0).map_err(store_error);
        Box::pin(std::future::ready(read))
    }

    fn save<'a, 'b>(
        &'a self,
        credentials: StoredCredentials,
    ) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
    {
        let written = write_json(&self.0, &credentials).map_err(store_error);
        Box::pin(std::future::ready(written))
    }

    fn clear<'a, 'b>(&'a self) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
    {
        let removed = match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(store_error(error)),
            _ => Ok(()),
        };
        Box::pin(std::future::ready(removed))
    }
}

/// What adds tokens to requests; none where nobody has logged in.
pub(super) async fn manager(
    home: &Path,
    definition: &Definition,
    url: &str,
) -> Result<Option<AuthorizationManager>, Failure> {
    let tokens = Tokens::of(home, definition, url);
    if !tokens.0.exists() {
        return Ok(None);
    }
    let failed = |error: AuthError| Failure::Start(format!("its login cannot be used: {error}"));
    choose_cryptography();
    let mut manager = AuthorizationManager::new(url).await.map_err(failed)?;
    manager.set_credential_store(tokens);
    let has_tokens = manager.initialize_from_store().await.map_err(failed)?;
    Ok(has_tokens.then_some(manager))
}

/// A login under way: somebody opens the address, and the answer comes back to this machine.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    /// Finds out where to log in, and makes this program known there.
    pub async fn begin(home: &Path, definition: &Definition) -> Result<Self, Failure> {
        let Reach::Address { url, .. } = &definition.reach else {
            let words = format!(
                "`{}` is a program; only servers at an address want logins",
                definition.name
            );
            return Err(Failure::Unknown(words));
        };
        let failed = |error: AuthError| Failure::Start(error.to_string());
        choose_cryptography();
        let mut manager = AuthorizationManager::new(url.as_str()).await.map_err(failed)?;
        manager.set_credential_store(Tokens::of(home, definition, url));
        let resolution = manager.resolve_metadata().await.map_err(failed)?;
        manager.set_metadata(resolution.metadata);
        let listening = |error: std::io::Error| {
            Failure::Start(format!("no port of this machine can be listened on: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(listening)?;
        let port = listener.local_addr().map_err(listening)?.port();
        let request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}/callback"))
            .with_client_name("Concertina")
            .with_initial_scope_selection();
        let session = AuthorizationSession::new(manager, request)
            .await
            .map_err(|(_, error)| failed(error))?;
        // A server that names a file or a program here would have it opened.
        let scheme = Url::parse(session.get_authorization_url()).map(|url| url.scheme().to_owned());
        if !matches!(scheme.as_deref(), Ok("http" | "https")) {
            return Err(Failure::Malformed("its login page is neither http nor https".to_owned()));
        }
        Ok(Self { session, listener })
    }

    /// The page where somebody logs in.
    pub fn page(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until somebody has logged in, and keeps the tokens.
    pub async fn finish(self) -> Result<(), Failure> {
        let waited = tokio::time::timeout(PATIENCE, self.answer()).await;
        waited.unwrap_or_else(|_| {
            Err(Failure::Late { method: "the login".to_owned(), waited: PATIENCE })
        })
    }

    async fn answer(&self) -> Result<(), Failure> {
        loop {
            let (mut stream, _) = self.listener.accept().await.map_err(|error| {
                Failure::Lost(format!("the port of the login was closed: {error}"))
            })?;
            // Browsers also ask for icons, and open connections that they never use.
            let Some(path) = requested(&mut stream).await else { continue };
            if !path.starts_with("/callback?") {
                respond(&mut stream, "404 Not Found", "Not the page of the login.").await;
                continue;
            }
            let back = format!("http://127.0.0.1{path}");
            if let Some(error) = refused(&back) {
                respond(&mut stream, "200 OK", "The login was refused.").await;
                return Err(Failure::NeedsLogin(format!("the login was refused: {error}")));
            }
            return match self.session.handle_callback_url(&back).await {
                Ok(_) => {
                    respond(&mut stream, "200 OK", "Logged in. This page can be closed.").await;
                    Ok(())
                }
                Err(error) => {
                    respond(&mut stream, "200 OK", "The login failed.").await;
                    Err(Failure::NeedsLogin(error.to_string()))
                }
            };
        }
    }
}

fn refused(back: &str) -> Option<String> {
    let url = Url::parse(back).ok()?;
    let error = url.query_pairs().find(|(key, _)| key == "error")?;
    Some(error.1.chars().filter(|c| !c.is_control()).take(200).collect())
}

/// The path that a browser asks for.
async fn requested(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let mut piece = [0_u8; 1_024];
    let until_line = async {
        while !read.contains(&b'\n') && read.len() < REQUEST_BYTES {
            match stream.read(&mut piece).await {
                Ok(count) if count > 0 => read.extend(piece.iter().take(count)),
                _ => break,
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), until_line).await;
    let text = String::from_utf8_lossy(&read);
    let mut words = text.lines().next()?.split(' ');
    (words.next()? == "GET").then(|| words.next().map(str::to_owned))?
}

async fn respond(stream: &mut TcpStream, status: &str, words: &str) {
    let length = words.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{words}"
    );
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}
