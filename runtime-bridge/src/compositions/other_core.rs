//! Whether Crossplane's own core runs in the cluster: two cores on one composite resource would write against each other for ever.

use std::{fmt, sync::Arc, time::Duration};

use bridge_core::watch_plan::GroupKind;
use bridge_engine::{
    api_error::ApiError,
    clock::Clock,
    engine::Engine,
    object::{ApiType, Key, Object},
    write::Writer,
};
use jiff::Timestamp;
use tokio::time::sleep;

/// The lease by which Crossplane's core elects its leader.
const LEASE: &str = "crossplane-leader-election-core";

/// A core whose lease was renewed within this time runs.
const RECENT: Duration = Duration::from_mins(1);

/// Between two looks at the lease. It lasts 60 s, and is renewed every 10 s.
const LOOK: Duration = Duration::from_secs(10);

/// Crossplane's core, as its lease shows it. A core without leader election cannot be seen.
pub struct OtherCore {
    writer: Writer,
    clock: Arc<dyn Clock>,
    api: Arc<ApiType>,
    key: Key,
    seen: Option<SeenRenewal>,
    /// The lease was looked for, and found or not.
    is_known: bool,
    forbidden: bool,
}

/// Why nothing is served now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Crossplane's core runs: who says so.
    Core(String),
    /// Its lease could not be read yet.
    Unknown,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core(why) => f.write_str(why),
            Self::Unknown => f.write_str("it is not known yet whether Crossplane's core runs"),
        }
    }
}

/// A renewal, and when this process saw it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenRenewal {
    renewed: Timestamp,
    noticed: Timestamp,
    /// Another one was seen before it: whatever the clock of its writer says, it was made between the two looks.
    follows: bool,
}

impl SeenRenewal {
    fn next(former: Option<Self>, renewed: Timestamp, now: Timestamp) -> Self {
        match former {
            Some(former) if former.renewed == renewed => former,
            former => Self {
                renewed,
                noticed: now,
                follows: former.is_some(),
            },
        }
    }

    fn is_recent(self, now: Timestamp) -> bool {
        let within = |since: Timestamp| now.duration_since(since).unsigned_abs() < RECENT;
        within(self.renewed) || (self.follows && within(self.noticed))
    }
}

impl OtherCore {
    /// In the namespace in which Crossplane is installed.
    pub fn new(engine: &Engine, namespace: &str) -> Self {
        let api = Arc::new(ApiType {
            kind: GroupKind::new("coordination.k8s.io", "Lease"),
            version: "v1".to_owned(),
            plural: "leases".to_owned(),
            namespaced: true,
        });
        Self {
            writer: engine.writer.clone(),
            clock: Arc::clone(&engine.clock),
            key: Key::new(api.kind.clone(), Some(namespace), LEASE),
            api,
            seen: None,
            is_known: false,
            forbidden: false,
        }
    }

    /// Until nobody runs it.
    ///
    /// `says` hears why it is waited for.
    pub async fn until_gone(&mut self, says: impl Fn(&Obstacle)) {
        while let Some(why) = self.look().await {
            says(&why);
            sleep(LOOK).await;
        }
    }

    /// Until somebody runs it: who. Cancel safe.
    pub async fn until_seen(&mut self) -> Obstacle {
        loop {
            sleep(LOOK).await;
            if let Some(why) = self.look().await {
                return why;
            }
        }
    }

    /// Who runs it; `None`: nobody.
    async fn look(&mut self) -> Option<Obstacle> {
        let lease = match self.writer.get_live(&self.api, &self.key).await {
            Ok(lease) => Some(lease),
            Err(ApiError::NotFound(_) | ApiError::DependencyNotFound(_)) => None,
            Err(error @ ApiError::Forbidden(_)) => {
                if !std::mem::replace(&mut self.forbidden, true) {
                    tracing::warn!(%error, "cannot see whether Crossplane's core runs: two cores on one composite resource would fight");
                }
                None
            }
            Err(error) => {
                tracing::warn!(%error, "cannot see whether Crossplane's core runs: will check again");
                if !self.is_known {
                    return Some(Obstacle::Unknown);
                }
                // What was known goes on.
                let now = self.clock.now();
                let seen = self.seen.filter(|seen| seen.is_recent(now));
                let why = "Crossplane's core ran when its lease was read last";
                return seen.map(|_| Obstacle::Core(why.to_owned()));
            }
        };
        self.is_known = true;
        let held = lease.as_deref().and_then(renewal);
        let Some((holder, renewed)) = held else {
            self.seen = None;
            return None;
        };
        let now = self.clock.now();
        let seen = SeenRenewal::next(self.seen, renewed, now);
        self.seen = Some(seen);
        let namespace = self.key.namespace().unwrap_or_default();
        let why = || format!("Crossplane's core runs ({holder} renews the lease {namespace}/{LEASE})");
        seen.is_recent(now).then(|| Obstacle::Core(why()))
    }
}

/// Holder and time of the last renewal; `None`: nobody holds it.
fn renewal(lease: &Object) -> Option<(String, Timestamp)> {
    let spec = lease.spec_value();
    let holder = spec["holderIdentity"]
        .as_str()
        .filter(|holder| !holder.is_empty())?;
    Some((holder.to_owned(), spec["renewTime"].as_str()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_lease_renewed_in_the_last_minute_is_held() {
        let seen = SeenRenewal::next(None, at(1000), at(1059));
        assert!(seen.is_recent(at(1059)));
        assert!(!seen.is_recent(at(1060)), "not for having been seen then");
    }

    #[test]
    fn a_renewal_that_is_seen_to_happen_counts_by_our_clock() {
        let old = SeenRenewal::next(None, at(0), at(1000));
        assert!(!old.is_recent(at(1000)));
        assert_eq!(SeenRenewal::next(Some(old), at(0), at(1010)), old);
        let new = SeenRenewal::next(Some(old), at(10), at(1010));
        assert!(new.is_recent(at(1069)));
        assert!(!new.is_recent(at(1070)));
    }
}
