//! The network beyond the proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use concertina_core::policy::{Host, HostName, not_public};

use super::refusal::{Refusal, Status};

/// Addresses of one name that are tried: who has more has them for other reasons than to be reached.
const TRIED: usize = 8;

/// The network beyond the proxy: how names are looked up and addresses dialled.
pub trait Outside: Send + Sync {
    /// The addresses of `name`.
    fn resolve(&self, name: &HostName) -> io::Result<Vec<IpAddr>>;

    /// A connection to exactly this address.
    fn connect(&self, address: SocketAddr, within: Duration) -> io::Result<TcpStream>;
}

/// The network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Outside for Direct {
    /// As DNS has it. The dot at the end keeps the system from trying the name below its own domains
    /// as well: what was judged is looked up, nothing else. Names of `/etc/hosts` are not found so.
    fn resolve(&self, name: &HostName) -> io::Result<Vec<IpAddr>> {
        let absolute = format!("{}.", name.as_str());
        Ok((absolute.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }

    fn connect(&self, address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&address, within)
    }
}

/// Where `host` may be dialled. A name is looked up here and nowhere else, so that it cannot lead
/// somewhere else later, and it leads to public addresses only. An address was named by a rule.
pub(super) fn addresses(outside: &dyn Outside, host: &Host) -> Result<Vec<IpAddr>, Refusal> {
    let name = match host {
        Host::V4(address) => return Ok(vec![(*address).into()]),
        Host::V6(address) => return Ok(vec![(*address).into()]),
        Host::Name(_) if host.is_localhost() => {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        Host::Name(name) => name,
    };
    let found = outside.resolve(name).unwrap_or_default();
    let Some(first) = found.first() else {
        let reason = format!("no address was found for `{host}`");
        let help = "check the name, and whether this machine can look up names";
        return Err(Refusal::new(Status::BadGateway, "NAME_NOT_FOUND", reason, help));
    };
    let public = found.iter().copied().filter(|address| not_public(*address).is_none());
    let public: Vec<IpAddr> = public.take(TRIED).collect();
    if public.is_empty() {
        let what = not_public(*first).unwrap_or_default();
        let reason = format!("`{host}` leads to {first}, which is {what}");
        let help = "where it is meant, add the address itself to the domains of permissions.network, \
                    and ask for the address";
        return Err(Refusal::new(Status::Forbidden, "ADDRESS_NOT_PUBLIC", reason, help));
    }
    Ok(public)
}

/// A connection to the first of `addresses` that answers.
pub(super) fn dial(
    outside: &dyn Outside,
    addresses: &[IpAddr],
    port: u16,
    within: Duration,
) -> Result<TcpStream, Refusal> {
    let end = Instant::now() + within;
    let mut last = None;
    for (at, address) in addresses.iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        // One that does not answer leaves time for the others.
        let share = left / u32::try_from(addresses.len() - at).unwrap_or(1);
        if share.is_zero() {
            break;
        }
        match outside.connect(SocketAddr::new(*address, port), share) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Some((address, error)),
        }
    }
    let reason = match last {
        Some((address, error)) => format!("{address} cannot be reached at port {port}: {error}"),
        None => "the host took too long to be reached".to_owned(),
    };
    Err(Refusal::new(Status::BadGateway, "HOST_UNREACHABLE", reason, "try again later"))
}
