//! What servers say when they refuse, understood as a client would.

use crate::service_writers::writer::Answer;

use super::books::Item;

/// Did etcd have trouble, by the words of a message?
pub fn is_trouble(message: &str) -> bool {
    message.contains("rpc error:")
}

/// Is every address (or, `true`, every port) said to be taken?
pub fn is_full(message: &str) -> Option<bool> {
    let full = ["range is full", "unable to allocate"];
    let is_full = full.iter().any(|end| message.ends_with(end));
    is_full.then(|| message.contains("nodePort") || message.contains("NodePort"))
}

/// The item that is said to be allocated already.
pub fn taken(message: &str, address: Option<&str>) -> Option<Item> {
    if let Some((before, _)) = message.split_once("provided IP is already allocated") {
        // Who asks for one family's address is given one of the other as well, and that may be the one: so v1.36 says it,
        // and so v1.20.
        let told = [
            ("failed to allocate IP ", ": "),
            ("failed to allocated ip:", " with error:"),
        ];
        let mut told = told.iter().filter_map(|(start, end)| {
            let (_, address) = before.rsplit_once(start)?;
            address.strip_suffix(end)
        });
        return Some(Item::Address(told.next().or(address)?.into()));
    }
    let (before, _) = message.split_once(": provided port is already allocated")?;
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    Some(Item::Port(digits.parse().ok()?))
}

/// The item that a repair is about to allocate.
pub fn repaired(message: &str) -> Option<Item> {
    let before = message.strip_suffix("repairing")?;
    let (item, _) = before
        .split_once(" for service ")
        .or_else(|| before.split_once(" for Service "))?;
    let item = item.split([' ', ']']).next_back()?;
    // With its family an address follows a colon.
    item_of(item.strip_prefix(':').unwrap_or(item))
}

/// The item that a repair takes for leaked, and whether it says so for the first time (else it is about to free it).
pub fn leaked(message: &str) -> Option<(Item, bool)> {
    let first = message.split_once(" may have leaked: flagging");
    let (item, _) = first.or_else(|| message.split_once(" appears to have leaked: cleaning up"))?;
    Some((item_of(item.split(' ').next_back()?)?, first.is_some()))
}

fn item_of(text: &str) -> Option<Item> {
    match text.parse() {
        Ok(port) => Some(Item::Port(port)),
        Err(_) => text
            .contains(['.', ':'])
            .then(|| Item::Address(text.into())),
    }
}

/// Does the client know what has become of its request? Not if it was not answered, nor if the server had
/// trouble while it served it.
pub fn is_definite(answer: &Answer) -> bool {
    match answer {
        Answer::Done(_) => true,
        Answer::Refused { code, message } => {
            !is_trouble(message) && (*code < 500 || is_full(message).is_some())
        }
        Answer::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_understood() {
        let port = "Service \"a\" is invalid: spec.ports[0].nodePort: Invalid value: 30002: \
                    provided port is already allocated";
        assert_eq!(taken(port, None), Some(Item::Port(30002)));
        let ip = "spec.clusterIP: Invalid value: \"10.0.0.3\": provided IP is already allocated";
        let item = Item::Address("10.0.0.3".into());
        assert_eq!(taken(ip, Some("10.0.0.3")), Some(item.clone()));
        let other = "spec.clusterIPs: Invalid value: [\"fd00::4\",\"10.0.0.3\"]: failed to allocate IP 10.0.0.3: \
                     provided IP is already allocated";
        assert_eq!(taken(other, Some("fd00::4")), Some(item.clone()));
        let other = "spec.clusterIPs: Invalid value: []string{\"fd00::4\", \"10.0.0.3\"}: failed to allocated ip:10.0.0.3 \
                     with error:provided IP is already allocated";
        assert_eq!(taken(other, Some("fd00::4")), Some(item));
        let address = |ip: &str| Some(Item::Address(ip.into()));
        let end = "for service n1/default is not allocated; repairing";
        assert_eq!(
            repaired(&format!("the cluster IP 10.0.0.3 {end}")),
            address("10.0.0.3")
        );
        assert_eq!(
            repaired(&format!("the cluster IP [IPv6]:fd00::3 {end}")),
            address("fd00::3")
        );
        assert_eq!(
            repaired(&format!("the node port 30001 {end}")),
            Some(Item::Port(30001))
        );
        let wrong = "the ClusterIP [IPv4]: 10.0.0.3 for Service default/n1 has a wrong reference; repairing";
        assert_eq!(repaired(wrong), address("10.0.0.3"));
        assert_eq!(
            repaired("the cluster IP 10.0.0.3 may have leaked: flagging for later clean up"),
            None
        );
        let flagged = "the node port 30001 may have leaked: flagging for later clean up";
        assert_eq!(leaked(flagged), Some((Item::Port(30001), true)));
        let freed = "the cluster IP fd00::3 appears to have leaked: cleaning up";
        assert_eq!(
            leaked(freed),
            Some((Item::Address("fd00::3".into()), false))
        );
        let full = "Internal error occurred: failed to allocate a nodePort: range is full";
        assert_eq!(is_full(full), Some(true));
        let full = "Internal error occurred: failed to allocate a serviceIP: range is full";
        assert_eq!((is_full(full), is_full(ip)), (Some(false), None));
        let repairs = "the ClusterIP [IPv6]: fd00::2 for Service n/a is not allocated; repairing";
        assert_eq!(repaired(repairs), Some(Item::Address("fd00::2".into())));
        assert_eq!(repaired("IPAddress fd00::2 appears to have leaked"), None);
        let code = 500;
        let message = "rpc error: code = Unavailable desc = transport is closing".into();
        assert!(!is_definite(&Answer::Refused { code, message }));
    }
}
