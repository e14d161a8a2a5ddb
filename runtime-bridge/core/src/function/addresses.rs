//! The addresses behind a name: each call goes to the next one.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use jiff::Timestamp;

/// How long the addresses of a name are used before it is resolved anew.
pub const RESOLVE_EVERY: Duration = Duration::from_secs(30);

/// The addresses of one name, in the order of their turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    known: Vec<SocketAddr>,
    /// Those that could not be reached since the name was resolved: they are tried last.
    failed: BTreeSet<SocketAddr>,
    resolved: Option<Timestamp>,
    turn: usize,
}

impl Addresses {
    /// Whether the name is to be resolved before the next call.
    pub fn are_due(&self, now: Timestamp) -> bool {
        let Some(resolved) = self.resolved.filter(|_| !self.is_empty()) else {
            return true;
        };
        // A clock that was set back must not keep them for ever.
        Duration::try_from(now.duration_since(resolved)).map_or(true, |age| age >= RESOLVE_EVERY)
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether this is one of them.
    pub fn contains(&self, address: &SocketAddr) -> bool {
        self.known.contains(address)
    }

    /// The name was resolved. Without any address the former ones stay: a name server that forgets a name for a moment breaks nothing.
    pub fn resolve(&mut self, found: Vec<SocketAddr>, now: Timestamp) {
        self.resolved = Some(now);
        if found.is_empty() {
            return;
        }
        let found: BTreeSet<SocketAddr> = found.into_iter().collect();
        self.known = found.into_iter().collect();
        self.failed.clear();
    }

    /// All of them in the order in which one call tries them; the next call begins with another one.
    pub fn next_order(&mut self) -> Vec<SocketAddr> {
        if self.known.is_empty() {
            return Vec::new();
        }
        self.turn = (self.turn + 1) % self.known.len();
        let (before, from) = self.known.split_at(self.turn);
        let (failed, good): (Vec<SocketAddr>, Vec<SocketAddr>) = from
            .iter()
            .chain(before)
            .copied()
            .partition(|address| self.failed.contains(address));
        good.into_iter().chain(failed).collect()
    }

    /// The name is resolved with the next call, whatever its age.
    pub fn expire(&mut self) {
        self.resolved = None;
    }

    /// No connection could be opened to this one. After all of them have failed, the name is resolved with the next call.
    pub fn mark_failed(&mut self, address: SocketAddr) {
        if !self.contains(&address) {
            return;
        }
        self.failed.insert(address);
        if self.failed.len() == self.known.len() {
            self.expire();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 9443))
    }

    fn resolved(found: &[u8]) -> Addresses {
        let mut addresses = Addresses::default();
        addresses.resolve(found.iter().copied().map(address).collect(), at(0));
        addresses
    }

    fn next(addresses: &mut Addresses) -> Vec<u8> {
        let order = addresses.next_order().into_iter();
        order
            .map(|address| match address {
                SocketAddr::V4(address) => address.ip().octets()[3],
                SocketAddr::V6(_) => 0,
            })
            .collect()
    }

    #[test]
    fn calls_begin_with_each_address_in_turn() {
        let mut addresses = resolved(&[3, 1, 2, 1]);
        let orders = [0; 4].map(|_| next(&mut addresses));
        assert_eq!(orders, [[2, 3, 1], [3, 1, 2], [1, 2, 3], [2, 3, 1]]);
        assert_eq!(next(&mut Addresses::default()), [0; 0]);
    }

    #[test]
    fn an_address_that_failed_is_tried_last() {
        let mut addresses = resolved(&[1, 2, 3]);
        addresses.mark_failed(address(2));
        let orders = [0; 3].map(|_| next(&mut addresses));
        assert_eq!(orders, [[3, 1, 2], [3, 1, 2], [1, 3, 2]]);
        assert!(!addresses.are_due(at(29)));
        addresses.resolve(vec![address(1), address(2)], at(30));
        let orders = [0; 2].map(|_| next(&mut addresses));
        assert_eq!(orders, [[2, 1], [1, 2]]);
    }

    #[test]
    fn a_name_is_resolved_every_30_seconds() {
        assert!(Addresses::default().are_due(at(0)));
        let addresses = resolved(&[1]);
        let due = [0, 29, 30, -1].map(|seconds| addresses.are_due(at(seconds)));
        assert_eq!(due, [false, false, true, true]);
    }

    #[test]
    fn a_name_of_which_all_addresses_failed_is_resolved_at_once() {
        let mut addresses = resolved(&[1, 2]);
        addresses.mark_failed(address(9));
        addresses.mark_failed(address(1));
        assert!(!addresses.are_due(at(1)));
        addresses.mark_failed(address(2));
        assert!(addresses.are_due(at(1)));
    }

    #[test]
    fn a_name_without_addresses_keeps_its_former_ones() {
        let mut addresses = resolved(&[1]);
        addresses.resolve(Vec::new(), at(30));
        assert!(!addresses.are_due(at(31)));
        assert_eq!(next(&mut addresses), [1]);
    }
}
