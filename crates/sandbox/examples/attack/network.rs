//! Ways out over the network, and to services of this machine.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixStream};
use std::time::Duration;

use crate::{Outcome, call};

pub(crate) fn attempt(name: &str, a: &[String]) -> Option<Outcome> {
    let word = a.first().map(String::as_str).unwrap_or_default();
    let port: u16 = word.parse().unwrap_or(0);
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Some(match name {
        "tcp" => TcpStream::connect(here).map(drop),
        "dial" => {
            TcpStream::connect_timeout(&word.parse().unwrap(), Duration::from_secs(3)).map(drop)
        }
        "fast-open" => with_socket(libc::AF_INET, libc::SOCK_STREAM, 0, |fd| fast_open(fd, port)),
        "mptcp" => with_socket(libc::AF_INET, libc::SOCK_STREAM, 262, |fd| connect(fd, port)),
        "sctp" => with_socket(libc::AF_INET, libc::SOCK_STREAM, 132, |_| Ok(())),
        "listen" => TcpListener::bind("127.0.0.1:0").map(drop),
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|s| s.send_to(b"x", here).map(drop)),
        "icmp" => with_socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP, |_| Ok(())),
        "packet" => with_socket(libc::AF_PACKET, libc::SOCK_RAW, 0x300, |_| Ok(())),
        "netlink" => with_socket(libc::AF_NETLINK, libc::SOCK_RAW, 0, |_| Ok(())),
        "vsock" => with_socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0, |_| Ok(())),
        "alg" => with_socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0, |_| Ok(())),
        "abstract" => UnixAddress::from_abstract_name(word)
            .and_then(|address| UnixStream::connect_addr(&address).map(drop)),
        "unix" => UnixStream::connect(word).map(drop),
        "unix-pair" => UnixStream::pair().map(drop),
        // A pair that is pointed at somebody else's socket.
        "unix-datagram" => {
            UnixDatagram::pair().and_then(|(one, _)| one.send_to(b"x", word).map(drop))
        }
        "ask-gate" => ask_gate(word),
        _ => return None,
    })
}

fn with_socket(family: i32, kind: i32, protocol: i32, then: impl Fn(i32) -> Outcome) -> Outcome {
    let fd = unsafe { libc::socket(family, kind, protocol) };
    call(fd)?;
    then(fd)
}

fn address(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    }
}

fn connect(fd: i32, port: u16) -> Outcome {
    let to = address(port);
    call(unsafe { libc::connect(fd, (&raw const to).cast(), size_of_val(&to) as u32) })
}

fn fast_open(fd: i32, port: u16) -> Outcome {
    let to = address(port);
    let sent = unsafe {
        libc::sendto(
            fd,
            b"x".as_ptr().cast(),
            1,
            libc::MSG_FASTOPEN,
            (&raw const to).cast(),
            size_of_val(&to) as u32,
        )
    };
    call(sent as i64)
}

/// Asks the gate that the environment names for a host; its answer is printed.
fn ask_gate(host: &str) -> Outcome {
    let gate = std::env::var("HTTP_PROXY").map_err(std::io::Error::other)?;
    let mut stream = TcpStream::connect(gate.trim_start_matches("http://"))?;
    stream.write_all(format!("CONNECT {host}\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("{answer}");
    std::process::exit(0);
}
