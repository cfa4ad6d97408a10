//! Addresses that a name must not lead to.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What lies in no public network, after the registries of special-purpose addresses (RFC 6890 and its
/// successors), with the one address of a cloud's metadata that lies outside of them.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "private to a provider"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's metadata"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The same for IPv6. What is not given out at all is not public either, see [`GIVEN_OUT`].
const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "an IPv4 address in disguise"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "private"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    // Protocols, among them tunnels that hold an IPv4 address.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "an IPv4 address in disguise"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
    // Of an early network, given back and not given out since.
    (Ipv6Addr::new(0x3ff0, 0, 0, 0, 0, 0, 0, 0), 12, "reserved"),
];

/// Where networks without IPv4 put addresses of IPv4 (RFC 6052).
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
/// All that is given out to the public.
const GIVEN_OUT: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What an address is when it is not public; none where it is.
///
/// A name is anybody's: whoever owns it can let it lead to a service of this machine or of its network.
///
/// ```
/// use concertina_core::policy::not_public;
/// assert_eq!(not_public([127, 0, 0, 1].into()), Some("loopback"));
/// assert_eq!(not_public([169, 254, 169, 254].into()), Some("link-local"));
/// assert_eq!(not_public([9, 9, 9, 9].into()), None);
/// ```
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) if lies_in_v6(address, TRANSLATED) => {
            let [.., a, b, c, d] = address.octets();
            not_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => {
            let found = V6.iter().find(|(net, bits, _)| lies_in_v6(address, (*net, *bits)));
            let reserved = (!lies_in_v6(address, GIVEN_OUT)).then_some("reserved");
            found.map(|(_, _, what)| *what).or(reserved)
        }
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let differs = |net: Ipv4Addr| net.to_bits() ^ address.to_bits();
    let found = V4.iter().find(|(net, bits, _)| differs(*net).leading_zeros() >= *bits);
    found.map(|(_, _, what)| *what)
}

fn lies_in_v6(address: Ipv6Addr, (net, bits): (Ipv6Addr, u32)) -> bool {
    (net.to_bits() ^ address.to_bits()).leading_zeros() >= bits
}
