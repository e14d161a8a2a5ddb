//! The certificates of the webhook: one pair, which all replicas share, and its successor.
//!
//! Each pair has an authority of its own, whose key is thrown away once the pair is signed. A successor is trusted before it is used.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A pair is replaced after so much of its life: two thirds.
const RENEWED_AFTER: (u32, u32) = (2, 3);

/// API servers take up a configuration within this time.
const TAKEN_UP: Duration = Duration::from_secs(10);

/// From when to when a pair counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// It counts from then on.
    pub from: Timestamp,
    /// It counts no more.
    pub until: Timestamp,
}

impl Validity {
    fn life(&self) -> Duration {
        Duration::try_from(self.until.duration_since(self.from)).unwrap_or_default()
    }

    fn renewal(&self) -> Timestamp {
        let (part, of) = RENEWED_AFTER;
        let after = self.life() / of * part;
        self.from.checked_add(after).unwrap_or(self.from)
    }
}

/// A certificate of the server, with its key and its authority. All PEM. `Debug` leaves out the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Who signed it.
    pub authority: String,
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The hosts that it names.
    pub hosts: Vec<String>,
    /// When it counts.
    #[serde(flatten)]
    pub validity: Validity,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("hosts", &self.hosts)
            .field("validity", &self.validity)
            .finish_non_exhaustive()
    }
}

/// What is kept in the Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificates {
    /// In use.
    pub current: Pair,
    /// Trusted, and used once that is known everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Pair>,
    /// The authority of the pair before, which a replica may still use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_authority: Option<String>,
}

/// What is to be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateStep {
    /// Nothing before then.
    Keep(Timestamp),
    /// A successor is to be created, and trusted.
    Prepare,
    /// The successor is to be used.
    Promote,
}

impl Certificates {
    /// With one pair.
    pub fn new(current: Pair) -> Self {
        Self {
            current,
            next: None,
            previous_authority: None,
        }
    }

    /// Who is to be trusted, PEM.
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|pair| pair.authority.as_str());
        let authorities = next
            .into_iter()
            .chain([self.current.authority.as_str()])
            .chain(self.previous_authority.as_deref());
        authorities
            .map(|authority| format!("{}\n", authority.trim_end()))
            .collect()
    }

    /// What is to be done for a server of these hosts. `trusted_since`: from when on the configuration in the cluster has had this bundle.
    pub fn step(
        &self,
        hosts: &[String],
        now: Timestamp,
        trusted_since: Option<Timestamp>,
    ) -> CertificateStep {
        if let Some(next) = self.next.as_ref().filter(|next| next.hosts == hosts) {
            // One that is short-lived has less time for everything.
            let taken_up = TAKEN_UP.min(next.validity.life() / 10);
            let Some(since) = trusted_since else {
                return CertificateStep::Keep(next.validity.until);
            };
            let at = since.checked_add(taken_up).unwrap_or(since);
            return if now >= at {
                CertificateStep::Promote
            } else {
                CertificateStep::Keep(at)
            };
        }
        let renewal = self.current.validity.renewal();
        if self.current.hosts != hosts || now >= renewal {
            CertificateStep::Prepare
        } else {
            CertificateStep::Keep(renewal)
        }
    }

    /// With a successor, in place of one that was never used.
    #[must_use]
    pub fn prepared(self, next: Pair) -> Self {
        Self {
            next: Some(next),
            ..self
        }
    }

    /// The successor is in use.
    #[must_use]
    pub fn promoted(self) -> Self {
        match self.next {
            Some(next) => Self {
                previous_authority: Some(self.current.authority),
                current: next,
                next: None,
            },
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn hosts(name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    fn pair(name: &str, from: i64) -> Pair {
        Pair {
            authority: format!("CA {name}\n"),
            certificate: format!("certificate {name}"),
            key: format!("key {name}"),
            hosts: hosts("a"),
            validity: Validity {
                from: at(from),
                until: at(from + 300),
            },
        }
    }

    #[test]
    fn a_pair_is_succeeded_at_two_thirds_of_its_life() {
        let certificates = Certificates::new(pair("1", 0));
        let step = |now| certificates.step(&hosts("a"), at(now), None);
        assert_eq!(step(0), CertificateStep::Keep(at(200)));
        assert_eq!(step(199), CertificateStep::Keep(at(200)));
        assert_eq!(step(200), CertificateStep::Prepare);
        assert_eq!(
            certificates.step(&hosts("b"), at(0), Some(at(0))),
            CertificateStep::Prepare
        );
    }

    #[test]
    fn a_successor_is_trusted_before_it_is_used() {
        let both = Certificates::new(pair("1", 0)).prepared(pair("2", 200));
        assert_eq!(both.bundle(), "CA 2\nCA 1\n");
        assert_eq!(both.current, pair("1", 0));
        let step = |now, since| both.step(&hosts("a"), at(now), since);
        assert_eq!(step(201, None), CertificateStep::Keep(at(500)));
        assert_eq!(step(201, Some(at(201))), CertificateStep::Keep(at(211)));
        assert_eq!(step(211, Some(at(201))), CertificateStep::Promote);
        let promoted = both.promoted();
        assert_eq!(promoted.current, pair("2", 200));
        // A replica that has not read them yet is still trusted.
        assert_eq!(promoted.bundle(), "CA 2\nCA 1\n");
        let third = promoted.prepared(pair("3", 400));
        assert_eq!(third.bundle(), "CA 3\nCA 2\nCA 1\n");
        assert_eq!(third.promoted().bundle(), "CA 3\nCA 2\n");
    }

    #[test]
    fn a_successor_for_other_hosts_is_replaced() {
        let both = Certificates::new(pair("1", 0)).prepared(pair("2", 200));
        assert_eq!(
            both.step(&hosts("b"), at(300), Some(at(0))),
            CertificateStep::Prepare
        );
    }

    #[test]
    fn keys_are_stored_and_never_printed() {
        let both = Certificates::new(pair("1", 0)).prepared(pair("2", 200));
        let text = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<Certificates>(&text).unwrap(), both);
        assert!(!format!("{both:?}").contains("key"), "{both:?}");
    }
}
