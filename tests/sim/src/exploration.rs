//! The explorer of compositions: every scenario of theirs, with the real engine in virtual time, departs from its plain course at each write of the
//! bridge in each way; and at two writes, for as many pairs as there is time. Whatever departs, the scenario must come to the same end, and no
//! commit on the way may break an invariant.

use std::fmt;

use crate::{
    composition_scenario::{CompositionScenario, simulate_departures},
    simulation::{Departure, DepartureAt},
};

/// A course is longer by what a departure costs: so many writes behind its plain end may still depart.
const MORE_WRITES: u32 = 12;

/// A scenario, and its departures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The number of the scenario.
    scenario: usize,
    departures: Vec<DepartureAt>,
}

/// All scenarios, and how long each is.
#[derive(Debug)]
pub struct Exploration {
    scenarios: Vec<CompositionScenario>,
    /// Writes of the plain course of each.
    writes: Vec<u32>,
}

/// A case that did not end as its scenario has it, or broke an invariant.
#[derive(Debug)]
pub struct Failed {
    /// As `cargo xtask sim` takes it: `--scenario NAME --depart 12:LandsLate`.
    pub flags: String,
    /// What did not come to pass.
    pub why: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; replay it with `cargo xtask sim {}`", self.why, self.flags)
    }
}

impl Exploration {
    /// Reads the scenarios, and follows the plain course of each.
    ///
    /// # Errors
    /// A scenario cannot be read, or fails without any departure.
    pub fn begin() -> Result<Self, String> {
        let scenarios = CompositionScenario::explored()?;
        let plain = scenarios.iter().map(|scenario| {
            let departed = simulate_departures(scenario, &[], false);
            departed.ended.map_err(|(why, _)| why.to_string())?;
            Ok(departed.writes)
        });
        let writes = plain.collect::<Result<_, String>>()?;
        Ok(Self { scenarios, writes })
    }

    /// Each departure at each write of each scenario.
    pub fn single(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (scenario, writes) in self.writes.iter().enumerate() {
            for write in 0..*writes {
                cases.extend(Departure::ALL.map(|departure| Case {
                    scenario,
                    departures: vec![DepartureAt { write, departure }],
                }));
            }
        }
        cases
    }

    /// A case with two departures, drawn by this seed.
    pub fn pair(&self, seed: u64) -> Case {
        let mut random = fastrand::Rng::with_seed(seed);
        let scenario = random.usize(..self.scenarios.len());
        let writes = self.writes[scenario];
        let first = random.u32(..writes);
        let second = random.u32(first + 1..=writes + MORE_WRITES);
        let departures = [first, second].map(|write| DepartureAt {
            write,
            departure: Departure::ALL[random.usize(..Departure::ALL.len())],
        });
        Case {
            scenario,
            departures: departures.to_vec(),
        }
    }

    /// Runs one; `None`: it ended as its scenario has it.
    pub fn run(&self, case: &Case) -> Option<Failed> {
        let scenario = &self.scenarios[case.scenario];
        let (why, _) = simulate_departures(scenario, &case.departures, false)
            .ended
            .err()?;
        let departs = case.departures.iter().map(|one| format!(" --depart {one}"));
        Some(Failed {
            flags: format!("--scenario {}{}", scenario.name, departs.collect::<String>()),
            why: why.to_string(),
        })
    }
}
