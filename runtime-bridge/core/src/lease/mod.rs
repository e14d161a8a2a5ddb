//! Who leads: a Lease of `coordination.k8s.io/v1`, kept as client-go's leader election keeps it, so that kubectl shows what people know.
//!
//! Two clocks. *Ticks* go on whatever happens to the process or the machine, and nobody sets them: only they decide. The wall clock stands
//! in the lease, for people. A leader stops acting before anybody else may begin: it counts from when it *sent* its last renewal, the others
//! from when they *saw* it.

mod timing;

use std::{fmt, time::Duration};

use jiff::Timestamp;

pub use self::timing::{Timing, TimingError};

/// What the lease says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// `holderIdentity`; empty: nobody.
    pub holder: String,
    /// `leaseDurationSeconds`.
    pub duration: Duration,
    /// `acquireTime`.
    pub acquired: Option<Timestamp>,
    /// `renewTime`.
    pub renewed: Option<Timestamp>,
    /// `leaseTransitions`.
    pub transitions: i32,
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectionStep {
    /// Nothing before these ticks.
    Wait(Duration),
    /// Read the lease.
    Read,
    /// Make it.
    Create(Terms),
    /// Replace it, if it still has this `resourceVersion`.
    Replace {
        /// As it was read or written last.
        version: String,
        /// What it is to say.
        terms: Terms,
    },
}

/// The lease as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedLease {
    /// `resourceVersion`.
    pub version: String,
    /// What it says.
    pub terms: Terms,
}

/// How a write ended, if not well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWritten {
    /// Somebody else wrote first.
    Overtaken,
    /// Refused, or nobody knows.
    Failed,
}

/// One candidate's view of the lease.
#[derive(Debug, Clone)]
pub struct Election {
    identity: String,
    timing: Timing,
    /// `None`: it is to be read before anything is written.
    known: Option<KnownLease>,
    /// Whose lease it was when it was seen last, and since when it stands unchanged: kept over failed reads.
    seen: Option<(Terms, Duration)>,
    next: Duration,
    leads_until: Option<Duration>,
}

#[derive(Debug, Clone)]
enum KnownLease {
    Absent,
    Exists(ObservedLease),
}

impl Election {
    /// `identity` is this process's alone: two that share it would both lead.
    pub fn new(identity: impl Into<String>, timing: Timing) -> Self {
        Self {
            identity: identity.into(),
            timing,
            known: None,
            seen: None,
            next: Duration::ZERO,
            leads_until: None,
        }
    }

    /// Who we are.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Who held the lease when it was seen last; empty: nobody, or nothing is known.
    pub fn holder(&self) -> &str {
        self.seen.as_ref().map_or("", |(terms, _)| &terms.holder)
    }

    /// Until when we lead; later only if a renewal lands before. `None`: we do not.
    pub fn leads_until(&self) -> Option<Duration> {
        self.leads_until
    }

    /// What to do next.
    pub fn next(&self, ticks: Duration, now: Timestamp) -> ElectionStep {
        if ticks < self.next {
            return ElectionStep::Wait(self.next);
        }
        let leads = self.leads_until.is_some_and(|until| ticks < until);
        match &self.known {
            Some(KnownLease::Absent) => ElectionStep::Create(self.terms(None, now)),
            Some(KnownLease::Exists(found)) if leads || self.may_take(&found.terms, ticks) => {
                ElectionStep::Replace {
                    version: found.version.clone(),
                    terms: self.terms(Some(&found.terms), now),
                }
            }
            None | Some(KnownLease::Exists(_)) => ElectionStep::Read,
        }
    }

    /// The lease was read; `None`: there is none.
    pub fn record_read(&mut self, found: Option<ObservedLease>, ticks: Duration) {
        let Some(found) = found else {
            (self.known, self.seen, self.leads_until) = (Some(KnownLease::Absent), None, None);
            return;
        };
        if self.seen.as_ref().is_none_or(|(terms, _)| *terms != found.terms) {
            self.seen = Some((found.terms.clone(), ticks));
        }
        if found.terms.holder != self.identity {
            self.leads_until = None;
        }
        self.known = Some(KnownLease::Exists(found));
        let Some(KnownLease::Exists(found)) = &self.known else {
            return;
        };
        if !self.may_take(&found.terms, ticks) {
            self.known = None;
            self.next = ticks + self.timing.retry_period;
        }
    }

    /// It could not be read.
    pub fn record_unreadable(&mut self, ticks: Duration) {
        self.known = None;
        self.next = ticks + self.timing.retry_period;
    }

    /// A write that was sent at `began` has ended; `Ok` is the new `resourceVersion`.
    pub fn record_written(
        &mut self,
        terms: Terms,
        written: Result<String, NotWritten>,
        began: Duration,
        ticks: Duration,
    ) {
        match written {
            Ok(version) => {
                self.leads_until =
                    (terms.holder == self.identity).then(|| began + self.timing.renew_deadline);
                self.seen = Some((terms.clone(), ticks));
                self.known = Some(KnownLease::Exists(ObservedLease { version, terms }));
                self.next = began + self.timing.retry_period;
            }
            Err(NotWritten::Overtaken) => self.known = None,
            Err(NotWritten::Failed) => self.record_unreadable(ticks),
        }
    }

    /// Lets the lease go, so that the next leader need not wait for its end. `None`: it is not ours. We lead no more.
    pub fn release(&mut self, now: Timestamp) -> Option<ElectionStep> {
        let led = self.leads_until.take().is_some();
        let Some(KnownLease::Exists(found)) = self.known.take().filter(|_| led) else {
            return None;
        };
        let terms = Terms {
            holder: String::new(),
            duration: Duration::from_secs(1),
            acquired: Some(now),
            renewed: Some(now),
            transitions: found.terms.transitions,
        };
        Some(ElectionStep::Replace {
            version: found.version,
            terms,
        })
    }

    /// Nobody's, ours, or another's who has not renewed it for as long as it lasts.
    fn may_take(&self, terms: &Terms, ticks: Duration) -> bool {
        let unchanged_since = self.seen.as_ref().map_or(ticks, |(_, since)| *since);
        terms.holder.is_empty()
            || terms.holder == self.identity
            || ticks >= unchanged_since + terms.duration.max(self.timing.lease_duration)
    }

    fn terms(&self, before: Option<&Terms>, now: Timestamp) -> Terms {
        let held = before.filter(|before| before.holder == self.identity);
        Terms {
            holder: self.identity.clone(),
            duration: self.timing.lease_duration,
            acquired: held.map_or(Some(now), |held| held.acquired),
            renewed: Some(now),
            transitions: match (held, before) {
                (Some(held), _) => held.transitions,
                (None, Some(before)) => before.transitions.saturating_add(1),
                (None, None) => 0,
            },
        }
    }
}

impl fmt::Display for ElectionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(until) => write!(f, "wait until {until:?}"),
            Self::Read => f.write_str("read"),
            Self::Create(terms) => write!(f, "create: {terms}"),
            Self::Replace { version, terms } => write!(f, "replace {version}: {terms}"),
        }
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = if self.holder.is_empty() {
            "nobody"
        } else {
            &self.holder
        };
        write!(
            f,
            "{holder} for {:?}, transition {}",
            self.duration, self.transitions
        )
    }
}

#[cfg(test)]
mod tests;
