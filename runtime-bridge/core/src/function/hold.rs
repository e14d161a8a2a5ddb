//! Whether a function is called: one that does not answer is held, and asked by one probe at a time.

use std::time::Duration;

use jiff::Timestamp;

use super::FunctionFailure;
use crate::back_off::policies;

/// So many calls in a row without an answer, and a function is held.
pub const MISSES: u32 = 3;

/// What the calls of a function at one endpoint say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It is called.
    Available {
        /// Calls in a row that were not answered: fewer than [`MISSES`].
        misses: u32,
        /// End of the first of them, in whole seconds.
        since: Option<Timestamp>,
    },
    /// It did not answer [`MISSES`] times in a row, and not since.
    Held {
        /// End of the first call in a row that was not answered, in whole seconds.
        since: Timestamp,
        /// The failure that was last.
        why: String,
        /// Probes that were not answered.
        failed_probes: u32,
        /// The next one.
        probe: Probe,
    },
}

/// The call that finds out whether a held function answers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// The first call at this time or later is the probe.
    DueAt(Timestamp),
    /// No other call is made before it has ended.
    UnderWay,
}

/// As what a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// One among others.
    Call,
    /// The probe of a held function.
    Probe,
}

/// What a call says of its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// It answers, whatever that is.
    Answered,
    /// It does not, and why.
    Missed(String),
    /// Nothing: it was cancelled, or had no time.
    None,
}

/// What a call changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// Nothing that others must know.
    None,
    /// The function is held from now on.
    Held,
    /// The function was held, and answers again.
    Recovered,
}

impl Default for Availability {
    fn default() -> Self {
        Self::Available {
            misses: 0,
            since: None,
        }
    }
}

impl Availability {
    /// What whoever calls now gets instead; `None`: a call may be made. Changes nothing: see [`Self::admit`].
    pub fn rejection(&self, now: Timestamp) -> Option<FunctionFailure> {
        match self {
            Self::Held {
                probe: Probe::DueAt(at),
                ..
            } if is_due(*at, now) => None,
            _ => self.held(),
        }
    }

    /// The failure of all calls of a held function.
    pub fn held(&self) -> Option<FunctionFailure> {
        let Self::Held { since, why, .. } = self else {
            return None;
        };
        Some(FunctionFailure::Held {
            since: *since,
            why: why.clone(),
        })
    }

    /// Begins a call, which must be ended by [`Self::end`].
    ///
    /// # Errors
    /// [`FunctionFailure::Held`], where the function is held and no probe is due.
    pub fn admit(&mut self, now: Timestamp) -> Result<Attempt, FunctionFailure> {
        if let Some(held) = self.rejection(now) {
            return Err(held);
        }
        let Self::Held { probe, .. } = self else {
            return Ok(Attempt::Call);
        };
        *probe = Probe::UnderWay;
        Ok(Attempt::Probe)
    }

    /// Ends a call. `chance` from 0 to 1 keeps the probes of several bridges apart.
    pub fn end(&mut self, attempt: Attempt, signal: Signal, now: Timestamp, chance: f64) -> Transition {
        match (&mut *self, signal) {
            (Self::Available { .. }, Signal::Answered) => {
                *self = Self::default();
                Transition::None
            }
            (Self::Held { .. }, Signal::Answered) => {
                *self = Self::default();
                Transition::Recovered
            }
            (Self::Available { misses, since }, Signal::Missed(why)) => {
                *misses += 1;
                let since = *since.get_or_insert(whole_seconds(now));
                if *misses < MISSES {
                    return Transition::None;
                }
                *self = Self::Held {
                    since,
                    why,
                    failed_probes: 0,
                    probe: Probe::DueAt(after(now, policies::FUNCTION.wait(1, chance))),
                };
                Transition::Held
            }
            (
                Self::Held {
                    why,
                    failed_probes,
                    probe,
                    ..
                },
                signal,
            ) if attempt == Attempt::Probe => {
                if let Signal::Missed(now_why) = signal {
                    *why = now_why;
                    *failed_probes = failed_probes.saturating_add(1);
                }
                let wait = policies::FUNCTION.wait(failed_probes.saturating_add(1), chance);
                *probe = Probe::DueAt(after(now, wait));
                Transition::None
            }
            // What was sent before it was held says nothing new.
            (Self::Available { .. } | Self::Held { .. }, _) => Transition::None,
        }
    }
}

/// Also where the clock was set back: no probe is further away than the longest wait.
fn is_due(at: Timestamp, now: Timestamp) -> bool {
    now >= at
        || Duration::try_from(at.duration_since(now)).is_ok_and(|left| left > policies::FUNCTION.longest())
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(now)
}

/// It stands in conditions.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl Signal {
    /// What the end of a call says.
    pub fn of<T>(result: &Result<T, FunctionFailure>) -> Self {
        match result {
            Ok(_) => Self::Answered,
            Err(failure) => match failure {
                FunctionFailure::Unreachable(_) | FunctionFailure::TimedOut(_) => {
                    Self::Missed(failure.to_string())
                }
                // A proxy before it says so, or the function itself while it stops.
                FunctionFailure::Status { code, .. } if code == "UNAVAILABLE" => {
                    Self::Missed(failure.to_string())
                }
                FunctionFailure::Status { .. } | FunctionFailure::Invalid(_) => Self::Answered,
                FunctionFailure::NoEndpoint(_)
                | FunctionFailure::OutOfTime
                | FunctionFailure::Busy { .. }
                | FunctionFailure::Held { .. }
                | FunctionFailure::InvalidRequest(_)
                | FunctionFailure::TooLarge { .. } => Self::None,
            },
        }
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
