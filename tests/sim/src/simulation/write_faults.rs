//! Where a schedule departs from its plain course: what becomes of one write of the bridge.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use bridge_engine::clock::Clock;
use fake_kube::fault::{Outcome, Request};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::environment::{Environment, Process};

/// A write that lands late does so after this time: its caller waits no longer.
const LATE_SECONDS: u32 = 30;
/// For so long watches show nothing new.
const STALE: Duration = Duration::from_secs(20);
/// For so long a leader is paused: longer than its lease holds.
const PAUSE: Duration = Duration::from_secs(40);

/// What becomes of one write of the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// The bridge dies, and the write is not sent.
    DiesBefore,
    /// The write is carried out, and the bridge dies.
    DiesAfter,
    /// The write is carried out, and its answer is lost.
    AnswerLost,
    /// The write is carried out half a minute later, if it is still good then; there is no answer.
    LandsLate,
    /// The bridge dies, and its write is carried out half a minute later, if it is still good then.
    DiesAndLandsLate,
    /// 409, and nothing is done.
    Conflict,
    /// 422, and nothing is done.
    Refused,
    /// From this write on watches show nothing new for a while.
    StaleView,
    /// The leader of two bridges is paused until another one leads, and its write is sent when it goes on.
    LeaseMoves,
}

impl Departure {
    /// Each of them.
    pub const ALL: [Self; 9] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::AnswerLost,
        Self::LandsLate,
        Self::DiesAndLandsLate,
        Self::Conflict,
        Self::Refused,
        Self::StaleView,
        Self::LeaseMoves,
    ];
}

/// A departure, and at which write: `12:LandsLate`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DepartureAt {
    /// The number of the write.
    pub write: u32,
    /// What becomes of it.
    pub departure: Departure,
}

impl fmt::Display for DepartureAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:?}", self.write, self.departure)
    }
}

impl FromStr for DepartureAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (write, name) = text.split_once(':')?;
            let departure = Departure::ALL
                .into_iter()
                .find(|one| format!("{one:?}") == name)?;
            let write = write.parse().ok()?;
            Some(Self { write, departure })
        };
        read().ok_or_else(|| {
            let names = Departure::ALL.map(|one| format!("{one:?}")).join(", ");
            format!("{text:?} is not NUMBER:NAME with one of the names {names}")
        })
    }
}

/// The departures of one schedule.
#[derive(Debug, Default)]
pub(crate) struct Departures(Mutex<Course>);

#[derive(Debug, Default)]
struct Course {
    /// `None`: nothing is counted yet.
    departs: Option<BTreeMap<u32, Departure>>,
    writes: u32,
    /// Watches show nothing new until then.
    stale_until: Option<Instant>,
}

impl Departures {
    /// From now on writes are counted, and these depart.
    pub(crate) fn begin(&self, departures: &[DepartureAt]) {
        let departs = departures.iter().map(|one| (one.write, one.departure));
        self.0.lock().departs = Some(departs.collect());
    }

    /// How many writes were counted.
    pub(crate) fn writes(&self) -> u32 {
        self.0.lock().writes
    }

    /// A runtime has ended, and with it its clock.
    pub(crate) fn forget_time(&self) {
        self.0.lock().stale_until = None;
    }

    /// How long news are held back now.
    pub(crate) fn staleness(&self) -> Duration {
        let until = self.0.lock().stale_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    fn next(&self) -> Option<Departure> {
        let mut course = self.0.lock();
        let number = course.writes;
        let departure = course.departs.as_ref()?.get(&number).copied();
        course.writes += 1;
        departure
    }
}

impl Environment {
    /// A write of this process comes: what becomes of it, if it departs from the plain course.
    pub(super) fn depart(self: &Arc<Self>, process: &Process, request: &Request) -> Option<Outcome> {
        let departure = self.departures.next()?;
        self.log.note(|| format!("{departure:?}: {request}"));
        let dies = || {
            let process = process.clone();
            // Once the request that is under way was carried out, or was not.
            tokio::spawn(async move { process.kill() });
        };
        match departure {
            Departure::DiesBefore => {
                process.kill();
                Some(Outcome::HangBefore)
            }
            Departure::DiesAfter => {
                dies();
                Some(Outcome::HangAfter)
            }
            Departure::AnswerLost => Some(Outcome::BreakAfter),
            Departure::LandsLate => Some(Outcome::Late(LATE_SECONDS)),
            Departure::DiesAndLandsLate => {
                dies();
                Some(Outcome::Late(LATE_SECONDS))
            }
            Departure::Conflict => Some(Outcome::Conflict),
            Departure::Refused => Some(Outcome::Invalid),
            Departure::StaleView => {
                self.departures.0.lock().stale_until = Some(Instant::now() + STALE);
                None
            }
            Departure::LeaseMoves => {
                let (environment, valve) = (Arc::clone(self), process.valve.clone());
                valve.close();
                tokio::spawn(async move {
                    tokio::time::sleep(PAUSE).await;
                    valve.open(environment.time.now());
                });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Departure, DepartureAt, Departures};

    #[test]
    fn a_departure_is_read_as_it_is_written() {
        for departure in Departure::ALL {
            let one = DepartureAt { write: 12, departure };
            assert_eq!(one.to_string().parse(), Ok(one));
        }
        for wrong in ["", "12", "12:Nothing", "x:LandsLate"] {
            assert!(wrong.parse::<DepartureAt>().unwrap_err().contains("LandsLate"));
        }
    }

    #[test]
    fn the_write_of_its_number_departs_and_none_before_the_beginning() {
        let departures = Departures::default();
        assert_eq!(departures.next(), None);
        departures.begin(&[DepartureAt {
            write: 1,
            departure: Departure::Conflict,
        }]);
        let all = [(); 3].map(|()| departures.next());
        assert_eq!(all, [None, Some(Departure::Conflict), None]);
        assert_eq!(departures.writes(), 3);
    }
}
