//! What becomes of single writes of the bridge, in a schedule that is explored.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use bridge_engine::clock::Clock;
use fake_kube::fault::{Outcome, Request};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    departure::UserStep,
    environment::{Environment, Process},
};

/// A write that lands late does so after this time: its caller waits no longer.
const LATE_SECONDS: u32 = 30;
/// For so long watches show nothing new.
const STALE: Duration = Duration::from_secs(20);
/// For so long a leader is paused: longer than its lease holds. What it has sent waits as long.
const PAUSE_SECONDS: u32 = 40;

/// What becomes of one write of the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteFault {
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
    Rejected,
    /// From this write on watches show nothing new for a while.
    StaleView,
    /// The leader of two bridges is paused until the other one leads; then its write lands, if it is still good.
    LeaseMoves,
    /// Just before it a user does something else than the scenario has.
    User(UserStep),
}

impl WriteFault {
    /// Each of them.
    pub const ALL: [Self; 18] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::AnswerLost,
        Self::LandsLate,
        Self::DiesAndLandsLate,
        Self::Conflict,
        Self::Rejected,
        Self::StaleView,
        Self::LeaseMoves,
        Self::User(UserStep::Deletes),
        Self::User(UserStep::Recreates),
        Self::User(UserStep::Pauses),
        Self::User(UserStep::DeletesComposed),
        Self::User(UserStep::DeletesDefinition),
        Self::User(UserStep::EditsReferences),
        Self::User(UserStep::RemovesReference),
        Self::User(UserStep::StripsOwner),
        Self::User(UserStep::DeletesUsage),
    ];
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(step) => write!(f, "User{step:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// A fault, and at which write: `12:LandsLate`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultAt {
    /// The number of the write.
    pub write: u32,
    /// What becomes of it.
    pub fault: WriteFault,
}

impl fmt::Display for FaultAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.write, self.fault)
    }
}

impl FromStr for FaultAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (write, name) = text.split_once(':')?;
            let fault = WriteFault::ALL.into_iter().find(|one| one.to_string() == name)?;
            let write = write.parse().ok()?;
            Some(Self { write, fault })
        };
        read().ok_or_else(|| {
            let names = WriteFault::ALL.map(|one| one.to_string()).join(", ");
            format!("{text:?} is not NUMBER:NAME with one of the names {names}")
        })
    }
}

/// The faults of one schedule.
#[derive(Debug, Default)]
pub(crate) struct WriteFaults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// `None`: nothing is counted yet.
    faults: Option<BTreeMap<u32, WriteFault>>,
    writes: u32,
    fired: u32,
    /// Watches show nothing new until then.
    stale_until: Option<Instant>,
}

impl WriteFaults {
    /// From now on writes are counted, and those of these numbers fail.
    pub(crate) fn begin(&self, faults: &[FaultAt]) {
        let faults = faults.iter().map(|one| (one.write, one.fault));
        self.0.lock().faults = Some(faults.collect());
    }

    /// How many writes were counted.
    pub(crate) fn writes(&self) -> u32 {
        self.0.lock().writes
    }

    /// How many faults came.
    pub(crate) fn fired(&self) -> u32 {
        self.0.lock().fired
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

    fn next(&self) -> Option<WriteFault> {
        let mut state = self.0.lock();
        let number = state.writes;
        let fault = state.faults.as_ref()?.get(&number).copied();
        state.writes += 1;
        state.fired += u32::from(fault.is_some());
        fault
    }
}

impl Environment {
    /// A write of this process comes: what becomes of it, if it has a fault.
    pub(super) fn write_fault(self: &Arc<Self>, process: &Process, request: &Request) -> Option<Outcome> {
        self.departure.note_sent(request);
        let fault = self.faults.next()?;
        self.log.note(|| format!("{fault}: {request}"));
        let dies = || {
            let process = process.clone();
            // Once the request that is under way was carried out, or was not.
            tokio::spawn(async move { process.kill() });
        };
        match fault {
            WriteFault::DiesBefore => {
                process.kill();
                Some(Outcome::HangBefore)
            }
            WriteFault::DiesAfter => {
                dies();
                Some(Outcome::HangAfter)
            }
            WriteFault::AnswerLost => Some(Outcome::BreakAfter),
            WriteFault::LandsLate => Some(Outcome::Late(LATE_SECONDS)),
            WriteFault::DiesAndLandsLate => {
                dies();
                Some(Outcome::Late(LATE_SECONDS))
            }
            WriteFault::Conflict => Some(Outcome::Conflict),
            WriteFault::Rejected => Some(Outcome::Invalid),
            WriteFault::User(step) => {
                self.take_user_step(step, request);
                None
            }
            WriteFault::StaleView => {
                self.faults.0.lock().stale_until = Some(Instant::now() + STALE);
                None
            }
            WriteFault::LeaseMoves => {
                let (environment, valve) = (Arc::clone(self), process.valve.clone());
                valve.close();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(PAUSE_SECONDS.into())).await;
                    valve.open(environment.time.now());
                });
                Some(Outcome::Late(PAUSE_SECONDS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultAt, WriteFault, WriteFaults};

    #[test]
    fn a_fault_is_read_as_it_is_written() {
        for fault in WriteFault::ALL {
            let one = FaultAt { write: 12, fault };
            assert_eq!(one.to_string().parse(), Ok(one));
        }
        for wrong in ["", "12", "12:Nothing", "x:LandsLate"] {
            assert!(wrong.parse::<FaultAt>().unwrap_err().contains("LandsLate"));
        }
    }

    #[test]
    fn the_write_of_its_number_fails_and_none_before_the_beginning() {
        let faults = WriteFaults::default();
        assert_eq!(faults.next(), None);
        faults.begin(&[FaultAt {
            write: 1,
            fault: WriteFault::Conflict,
        }]);
        let all = [(); 3].map(|()| faults.next());
        assert_eq!(all, [None, Some(WriteFault::Conflict), None]);
        assert_eq!((faults.writes(), faults.fired()), (3, 1));
    }
}
