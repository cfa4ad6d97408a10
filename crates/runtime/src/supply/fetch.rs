//! Downloading an archive: the only thing about skills that opens the network, and only when a person
//! names an address.

use std::fs::File;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use concertina_types::{Blob, Digest};
use reqwest::header::LOCATION;
use reqwest::{Client, Response, Url, redirect};

use super::SupplyError;
use super::address::{PublicOnly, Resolver, SystemResolver, is_public};
use crate::llm::http::{innermost, use_ring};

/// Redirects that are followed; code hosts use one or two.
pub const REDIRECTS: usize = 5;
/// An archive, in bytes.
pub const DOWNLOAD_BYTES: u64 = 64 * 1024 * 1024;

/// How long a download may take, and what resolves names.
#[derive(Clone)]
pub struct Fetching {
    /// For a connection.
    pub connect: Duration,
    /// For the next piece.
    pub idle: Duration,
    /// For all of it, redirects included.
    pub whole: Duration,
    /// What resolves names.
    pub resolver: Arc<dyn Resolver>,
}

impl Default for Fetching {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
            whole: Duration::from_mins(3),
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl std::fmt::Debug for Fetching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetching").field("whole", &self.whole).finish_non_exhaustive()
    }
}

/// Whether `source` is an address rather than a path.
pub fn is_address(source: &str) -> bool {
    source.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Downloads `address` into `file`.
///
/// # Errors
/// `ADDRESS_REFUSED` where it, or what it redirects to, may not be reached; `DOWNLOAD_TOO_LARGE`;
/// `DOWNLOAD_FAILED`.
pub async fn fetch(address: &str, file: &mut File, how: &Fetching) -> Result<(), SupplyError> {
    let url = Url::parse(address)
        .map_err(|error| refused(address, &format!("it cannot be read ({error})")))?;
    // A person may name a server on this very machine, and only there is plain HTTP private.
    let is_own = is_loopback(&url);
    if !is_own {
        reachable(&url)?;
    } else if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(address, "only https can be used"));
    }
    unadorned(&url)?;
    tokio::time::timeout(how.whole, follow(url, is_own, file, how)).await.unwrap_or_else(|_| {
        Err(failed(address, &format!("it was not there whole within {:?}", how.whole)))
    })
}

async fn follow(
    first: Url,
    is_own: bool,
    file: &mut File,
    how: &Fetching,
) -> Result<(), SupplyError> {
    let client = client(&first, is_own, how)?;
    let mut url = first.clone();
    for _ in 0..=REDIRECTS {
        let sent = client.get(url.clone()).send().await;
        let response = sent.map_err(|error| why(&url, &error))?;
        if !response.status().is_redirection() {
            return body(&url, response, file).await;
        }
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let next = next_hop(&first, &url, location, is_own)?;
        url = next;
    }
    Err(refused(url.as_str(), &format!("it was reached by more than {REDIRECTS} redirects")))
}

/// Where a redirect of `url` leads, if that may be followed: on the server that a person named, or to a
/// public one over https. What may reach this machine may reach nothing else, and the other way round.
fn next_hop(
    first: &Url,
    url: &Url,
    location: Option<&str>,
    is_own: bool,
) -> Result<Url, SupplyError> {
    let next = location.and_then(|location| url.join(location).ok());
    let next = next.ok_or_else(|| failed(url.as_str(), "it redirects to nowhere"))?;
    unadorned(&next)?;
    if next.origin() != first.origin() {
        reachable(&next)?;
        if is_own {
            let message = "a server on this machine sends elsewhere; name that address yourself";
            return Err(refused(next.as_str(), message));
        }
    }
    Ok(next)
}

fn client(url: &Url, is_own: bool, how: &Fetching) -> Result<Client, SupplyError> {
    use_ring();
    let mut builder = Client::builder()
        .user_agent(concat!("concertina/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(how.connect)
        .read_timeout(how.idle)
        .redirect(redirect::Policy::none())
        // A proxy would resolve names by itself, and nothing would be known of where they lead.
        .no_proxy();
    if !is_own {
        builder =
            builder.https_only(true).dns_resolver(Arc::new(PublicOnly(Arc::clone(&how.resolver))));
    }
    if url.scheme() == "http" {
        // The system's certificates are not read where they are not needed: some systems have none.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| failed(url.as_str(), &innermost(&error)))
}

async fn body(url: &Url, mut response: Response, file: &mut File) -> Result<(), SupplyError> {
    let status = response.status();
    if !status.is_success() {
        return Err(failed(url.as_str(), &format!("the server answers {}", status.as_u16())));
    }
    let too_large = || {
        let message = format!("{url} is larger than {DOWNLOAD_BYTES} bytes; a skill is smaller");
        SupplyError::refused("DOWNLOAD_TOO_LARGE", message)
    };
    if response.content_length().is_some_and(|length| length > DOWNLOAD_BYTES) {
        return Err(too_large());
    }
    let mut bytes = 0;
    while let Some(piece) = response.chunk().await.map_err(|error| why(url, &error))? {
        bytes += piece.len() as u64;
        if bytes > DOWNLOAD_BYTES {
            return Err(too_large());
        }
        file.write_all(&piece).map_err(|error| {
            SupplyError::environment("NOT_SAVED", format!("the download cannot be kept: {error}"))
        })?;
    }
    Ok(())
}

/// Whether `url` may be reached, as far as it says so by itself; names are judged when they are resolved.
fn reachable(url: &Url) -> Result<(), SupplyError> {
    if url.scheme() != "https" {
        return Err(refused(url.as_str(), "only https can be used, and http on this machine"));
    }
    match host_address(url) {
        Some(address) if !is_public(address) => {
            Err(refused(url.as_str(), "it is no address of the public network"))
        }
        _ => Ok(()),
    }
}

/// Refuses a user name or a password: it would be kept in the lock file, for everybody to read.
fn unadorned(url: &Url) -> Result<(), SupplyError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(());
    }
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    Err(refused(shown.as_str(), "it holds a user name or a password"))
}

/// The address that the host of `url` is written as; none where it is a name.
fn host_address(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

fn is_loopback(url: &Url) -> bool {
    url.host_str() == Some("localhost")
        || host_address(url).is_some_and(|address| address.is_loopback())
}

fn why(url: &Url, error: &reqwest::Error) -> SupplyError {
    let mut inner: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = inner {
        if cause.is::<super::address::NotPublic>() {
            return refused(url.as_str(), &cause.to_string());
        }
        inner = cause.source();
    }
    let what = if error.is_timeout() { "it is too slow".to_owned() } else { innermost(error) };
    failed(url.as_str(), &what)
}

fn refused(address: &str, why: &str) -> SupplyError {
    let message = format!("{} is not downloaded: {why}", clean(address));
    SupplyError::refused("ADDRESS_REFUSED", message)
}

fn failed(address: &str, why: &str) -> SupplyError {
    let message = format!("{} cannot be downloaded: {why}; nothing was changed", clean(address));
    SupplyError::environment("DOWNLOAD_FAILED", message)
}

fn clean(address: &str) -> String {
    address.chars().take(300).flat_map(char::escape_debug).collect()
}

/// Whether the bytes of `file` are the ones that were promised.
pub(super) fn expect(file: &mut File, wanted: &Digest) -> std::io::Result<Result<(), SupplyError>> {
    let found = Blob::of_written(|out| std::io::copy(file, out).map(drop))?.digest;
    if found == *wanted {
        return Ok(Ok(()));
    }
    let message = format!(
        "the archive is not the one that was wanted: expected {wanted}, found {found}; take it from its source again, or ask its author"
    );
    Ok(Err(SupplyError::refused("DIGEST_WRONG", message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s83_a_redirect_stays_on_its_server_or_leads_to_a_public_one_over_https() {
        let hop = |from: &str, to: &str| {
            let first = Url::parse(from).unwrap();
            let next = next_hop(&first, &first, Some(to), is_loopback(&first));
            next.map(|url| url.to_string()).map_err(|error| error.code())
        };
        let public = "https://skills.example/a.tar";
        let own = "http://127.0.0.1:8000/a.tar";
        for (from, to, leads) in [
            (public, "/b.tar", Ok("https://skills.example/b.tar")),
            (public, "https://cdn.example/b", Ok("https://cdn.example/b")),
            (public, "//cdn.example/b", Ok("https://cdn.example/b")),
            (public, "http://skills.example/b", Err("ADDRESS_REFUSED")),
            (public, "https://169.254.169.254/latest", Err("ADDRESS_REFUSED")),
            (public, "https://[::1]/b", Err("ADDRESS_REFUSED")),
            (public, "https://2130706433/b", Err("ADDRESS_REFUSED")),
            (public, "https://0x7f.1/b", Err("ADDRESS_REFUSED")),
            (public, "https://10.0.0.8/b", Err("ADDRESS_REFUSED")),
            (public, "file:///etc/passwd", Err("ADDRESS_REFUSED")),
            (public, "ftp://cdn.example/b", Err("ADDRESS_REFUSED")),
            (public, "https://me:secret@cdn.example/b", Err("ADDRESS_REFUSED")),
            (own, "/b.tar", Ok("http://127.0.0.1:8000/b.tar")),
            (own, "http://127.0.0.1:8001/b", Err("ADDRESS_REFUSED")),
            (own, "https://cdn.example/b", Err("ADDRESS_REFUSED")),
        ] {
            assert_eq!(hop(from, to), leads.map(str::to_owned), "{from} to {to}");
        }
    }
}
