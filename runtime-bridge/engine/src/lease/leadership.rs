use std::{fmt, sync::Arc, time::Duration};

use bridge_core::lease::Election;
use parking_lot::RwLock;
use serde::Serialize;
use tokio::sync::watch;

use crate::clock::Clock;

/// Whether this process may act. Clones tell the same.
#[derive(Clone)]
pub struct Leadership(Arc<Inner>);

enum Inner {
    Unopposed(watch::Sender<bool>),
    Elected {
        clock: Arc<dyn Clock>,
        lease: String,
        identity: String,
        lease_duration: Duration,
        known: RwLock<LeaseView>,
        leads: watch::Sender<bool>,
    },
}

#[derive(Default)]
struct LeaseView {
    holder: String,
    until: Option<Duration>,
    term: u64,
    /// Since when the lease cannot be read, or not be taken, and why.
    failing: Option<(Duration, String)>,
}

/// For `/debug/state`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadershipState {
    /// This process may act.
    pub leads: bool,
    /// Namespace and name of the lease; `None`: there is no election.
    pub lease: Option<String>,
    /// Who we are in it.
    pub identity: Option<String>,
    /// Who held it when it was seen last; empty: nobody.
    pub holder: Option<String>,
    /// Why the lease can be neither read nor taken, if that has been so for longer than it lasts: this process can then not lead.
    pub failure: Option<String>,
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().fmt(f)
    }
}

impl Leadership {
    /// Without an election: always.
    pub fn unopposed() -> Self {
        Self(Arc::new(Inner::Unopposed(watch::channel(true).0)))
    }

    pub(super) fn elected(
        clock: Arc<dyn Clock>,
        lease: String,
        identity: String,
        lease_duration: Duration,
    ) -> Self {
        Self(Arc::new(Inner::Elected {
            clock,
            lease,
            identity,
            lease_duration,
            known: RwLock::default(),
            leads: watch::channel(false).0,
        }))
    }

    /// Now, by the clock: also if nothing of this process has run since the lease ended.
    pub fn leads(&self) -> bool {
        match &*self.0 {
            Inner::Unopposed(_) => true,
            Inner::Elected { clock, known, .. } => {
                known.read().until.is_some_and(|until| clock.ticks() < until)
            }
        }
    }

    /// Which time of leading this is, or the last one was: it counts up whenever this process begins to lead. Another may have led in between.
    pub fn term(&self) -> u64 {
        match &*self.0 {
            Inner::Unopposed(_) => 0,
            Inner::Elected { known, .. } => known.read().term,
        }
    }

    /// Changes when the leadership begins or ends; a stalled process notices late, so that whoever acts asks [`Leadership::leads`] too.
    pub fn watch(&self) -> watch::Receiver<bool> {
        match &*self.0 {
            Inner::Unopposed(leads) | Inner::Elected { leads, .. } => leads.subscribe(),
        }
    }

    /// A snapshot.
    pub fn state(&self) -> LeadershipState {
        let leads = self.leads();
        match &*self.0 {
            Inner::Unopposed(_) => LeadershipState {
                leads,
                lease: None,
                identity: None,
                holder: None,
                failure: None,
            },
            Inner::Elected {
                clock,
                lease,
                identity,
                lease_duration,
                known,
                ..
            } => {
                let known = known.read();
                let failing = known.failing.as_ref();
                let lasts = |since: &Duration| clock.ticks().saturating_sub(*since) > *lease_duration;
                LeadershipState {
                    leads,
                    lease: Some(lease.clone()),
                    identity: Some(identity.clone()),
                    holder: Some(known.holder.clone()),
                    failure: failing
                        .filter(|(since, _)| lasts(since))
                        .map(|(_, why)| why.clone()),
                }
            }
        }
    }

    /// The lease could not be read or written, and why; or `None`: it was, or another one's was seen to last.
    pub(super) fn record_failure(&self, failure: Option<String>) {
        let Inner::Elected { clock, known, .. } = &*self.0 else {
            return;
        };
        let mut known = known.write();
        known.failing = failure.map(|why| {
            let since = known.failing.as_ref().map(|(since, _)| *since);
            (since.unwrap_or_else(|| clock.ticks()), why)
        });
    }

    /// Namespace and name of the lease; empty: there is no election.
    pub(super) fn lease(&self) -> &str {
        match &*self.0 {
            Inner::Unopposed(_) => "",
            Inner::Elected { lease, .. } => lease,
        }
    }

    /// `is_release`: it stops as it was asked to, which is no news for an operator.
    pub(super) fn record_election(&self, election: &Election, is_release: bool) {
        let Inner::Elected {
            clock,
            known,
            leads,
            lease,
            identity,
            ..
        } = &*self.0
        else {
            return;
        };
        let now = clock.ticks();
        let former = {
            let mut known = known.write();
            let led = known.until.is_some_and(|until| now < until);
            known.until = election.leads_until();
            let leads = known.until.is_some_and(|until| now < until);
            known.term += u64::from(leads && !led);
            std::mem::replace(&mut known.holder, election.holder().to_owned())
        };
        let now = self.leads();
        if leads.send_replace(now) != now {
            if now {
                tracing::info!(lease, identity, "became leader");
            } else if is_release || election.holder().is_empty() {
                tracing::info!(lease, identity, "stopped leading");
            } else {
                tracing::warn!(lease, identity, holder = election.holder(), "stopped leading");
            }
        } else if !now && former != election.holder() {
            tracing::info!(lease, identity, holder = election.holder(), "standing by");
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::lease::{NotWritten, Terms, Timing};
    use jiff::Timestamp;
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Hand(Mutex<Timestamp>);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            *self.0.lock()
        }
    }

    fn elected(clock: &Arc<Hand>) -> Leadership {
        let clock = Arc::clone(clock) as _;
        Leadership::elected(clock, "n/l".to_owned(), "a".to_owned(), Duration::from_secs(15))
    }

    #[test]
    fn a_lease_that_cannot_be_had_is_reported_after_its_duration() {
        let clock = Arc::new(Hand::default());
        let leadership = elected(&clock);
        let forbidden = || Some("forbidden".to_owned());
        leadership.record_failure(forbidden());
        *clock.0.lock() += Duration::from_secs(15);
        leadership.record_failure(forbidden());
        assert_eq!(leadership.state().failure, None);
        *clock.0.lock() += Duration::from_secs(1);
        assert_eq!(leadership.state().failure, forbidden());
        leadership.record_failure(None);
        assert_eq!(leadership.state().failure, None);
    }

    #[test]
    fn it_ends_by_the_clock_though_nothing_ran_since() {
        let clock = Arc::new(Hand::default());
        let leadership = elected(&clock);
        let mut election = Election::new("a", Timing::default());
        assert!(!leadership.leads());
        let terms = Terms {
            holder: "a".to_owned(),
            ..Terms::default()
        };
        let written: Result<_, NotWritten> = Ok("1".to_owned());
        election.record_written(terms.clone(), written.clone(), clock.ticks(), clock.ticks());
        leadership.record_election(&election, false);
        assert_eq!(leadership.term(), 1);
        let watched = leadership.watch();
        assert!(leadership.leads() && *watched.borrow());
        *clock.0.lock() += Duration::from_secs(10);
        assert!(!leadership.leads());
        assert!(*watched.borrow(), "nobody has told it yet");
        leadership.record_election(&election, false);
        assert!(!*watched.borrow());

        election.record_written(terms, written, clock.ticks(), clock.ticks());
        leadership.record_election(&election, false);
        leadership.record_election(&election, false);
        assert!(leadership.leads());
        assert_eq!(leadership.term(), 2, "another may have led in between");
    }
}
