//! IP addresses and ranges in fields (`apimachinery/pkg/util/validation/ip.go`,
//! `kubernetes/pkg/apis/core/validation/validation.go`).

use std::net::{IpAddr, Ipv4Addr};

use crate::quote;
use crate::validation::ErrorList;

/// `netutils.ParseIPSloppy`: numbers may begin with zeros.
pub fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(match ip {
            IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
            four => four,
        });
    }
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts
            .next()
            .filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?;
        *octet = part.parse().ok()?;
    }
    parts
        .next()
        .is_none()
        .then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// A range in CIDR notation with an address below its prefix, if there is one.
pub fn parse_range(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, length) = text.split_once('/')?;
    let ip = parse_ip_sloppy(ip)?;
    let length: u8 = length.parse().ok()?;
    let bits = if ip.is_ipv4() { 32 } else { 128 };
    (length <= bits).then_some((ip, length))
}

/// The first address of a range.
pub fn masked(ip: IpAddr, length: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((ip.to_bits() & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((ip.to_bits() & mask).into())
        }
    }
}

/// `IsValidIPForLegacyField`, strictly.
pub(crate) fn is_valid_ip_for_legacy_field(
    text: &str,
    field: &str,
    errors: &mut ErrorList,
) -> Option<IpAddr> {
    let Some(ip) = parse_ip_sloppy(text) else {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(field, text, detail);
        return None;
    };
    match text.parse::<IpAddr>() {
        Err(_) => errors.invalid(field, text, "must not have leading 0s"),
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            errors.invalid(field, text, "must not be an IPv4-mapped IPv6 address");
        }
        Ok(_) => {}
    }
    Some(ip)
}

/// `IsValidIP`
pub(crate) fn is_valid_ip(text: &str, field: &str, errors: &mut ErrorList) {
    let before = errors.len();
    let ip = is_valid_ip_for_legacy_field(text, field, errors);
    if let Some(ip) = ip.filter(|_| errors.len() == before) {
        let canonical = ip.to_string();
        if canonical != text {
            let canonical = quote::quote(&canonical);
            errors.invalid(
                field,
                text,
                format!("must be in canonical form ({canonical})"),
            );
        }
    }
}

/// `IsValidCIDR`
pub(crate) fn is_valid_cidr(text: &str, field: &str, errors: &mut ErrorList) {
    let Some((ip, length)) = parse_range(text) else {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        errors.invalid(field, text, detail);
        return;
    };
    let (address, digits) = text.split_once('/').unwrap_or((text, ""));
    let mapped = matches!(address.parse(), Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some());
    let network = masked(ip, length);
    if address.parse::<IpAddr>().is_err() || digits != length.to_string() {
        errors.invalid(
            field,
            text,
            "must not have leading 0s in IP or prefix length",
        );
    } else if mapped {
        errors.invalid(field, text, "must not have an IPv4-mapped IPv6 address");
    } else if network != ip {
        errors.invalid(
            field,
            text,
            "must not have bits set beyond the prefix length",
        );
    } else {
        let canonical = format!("{network}/{length}");
        if canonical != text {
            let canonical = quote::quote(&canonical);
            errors.invalid(
                field,
                text,
                format!("must be in canonical form ({canonical})"),
            );
        }
    }
}

/// `ValidateEndpointIP`: what no endpoint may be.
pub(crate) fn validate_endpoint_ip(text: &str, field: &str, errors: &mut ErrorList) {
    let Some(ip) = parse_ip_sloppy(text) else {
        errors.invalid(field, text, "must be a valid IP address");
        return;
    };
    let (link_local, local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => {
            let begin = ip.segments()[0];
            (begin & 0xffc0 == 0xfe80, begin & 0xff0f == 0xff02)
        }
    };
    if ip.is_unspecified() {
        let shown = if ip.is_ipv4() { "0.0.0.0" } else { "::" };
        errors.invalid(field, text, format!("may not be unspecified ({shown})"));
    }
    if ip.is_loopback() {
        let detail = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
        errors.invalid(field, text, detail);
    }
    if link_local {
        let detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        errors.invalid(field, text, detail);
    }
    if local_multicast {
        let detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        errors.invalid(field, text, detail);
    }
}

/// `GetWarningsForIP`
pub(crate) fn get_warnings_for_ip(text: &str, field: &str) -> Option<String> {
    let ip = parse_ip_sloppy(text)?;
    let shown = quote::quote(text);
    match text.parse::<IpAddr>() {
        Err(_) => {}
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {}
        Ok(IpAddr::V6(six)) if six.to_string() != text => {
            let canonical = quote::quote(&six.to_string());
            return Some(format!(
                "{field}: IPv6 address {shown} should be in RFC 5952 canonical format ({canonical})"
            ));
        }
        Ok(_) => return None,
    }
    let canonical = quote::quote(&ip.to_string());
    Some(format!(
        "{field}: non-standard IP address {shown} is invalid: use {canonical}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(rule: impl Fn(&str, &str, &mut ErrorList), text: &str) -> String {
        let mut errors = ErrorList::default();
        rule(text, "f", &mut errors);
        errors.to_string()
    }

    #[test]
    fn addresses_are_told_from_what_looks_like_one() {
        assert_eq!(parse_ip_sloppy("192.0.2.020"), "192.0.2.20".parse().ok());
        for bad in ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "+1.2.3.4", "x"] {
            assert_eq!(parse_ip_sloppy(bad), None, "{bad}");
        }
        assert_eq!(all(is_valid_ip, "10.0.0.1"), "[]");
        assert!(all(is_valid_ip, "2001:DB8::1").contains("canonical form (\"2001:db8::1\")"));
        assert!(all(is_valid_ip, "010.0.0.1").ends_with("must not have leading 0s"));
        assert!(all(is_valid_ip, "::ffff:1.2.3.4").contains("IPv4-mapped"));
        assert!(all(validate_endpoint_ip, "fe80::1").contains("link-local range"));
        assert!(all(validate_endpoint_ip, "224.0.0.1").contains("multicast"));
    }

    #[test]
    fn ranges_begin_with_their_first_address() {
        assert_eq!(all(is_valid_cidr, "10.98.0.0/29"), "[]");
        assert!(all(is_valid_cidr, "10.98.0.1/29").contains("beyond the prefix length"));
        assert_eq!(all(is_valid_cidr, "0.0.0.0/0"), "[]");
        assert_eq!(all(is_valid_cidr, "::/0"), "[]");
        assert!(all(is_valid_cidr, "10.0.0.0/33").contains("valid CIDR value"));
        assert!(all(is_valid_cidr, "10.0.0.0/08").contains("leading 0s"));
    }
}
