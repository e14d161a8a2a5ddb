//! The explorer of compositions: every scenario of theirs, with the real engine in virtual time, has a fault at each write of the bridge in each way;
//! and at two writes, for as many pairs as there is time. With any of them the scenario must come to the same end, and no commit on the way may break
//! an invariant.

use std::fmt;

use crate::{
    composition_scenario::{CompositionScenario, simulate_with_faults},
    simulation::{FaultAt, WriteFault},
};

/// A schedule is longer by what a fault costs: the second one comes so many writes behind the nominal end at most.
const MORE_WRITES: u32 = 12;

/// A scenario, and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The number of the scenario.
    scenario: usize,
    faults: Vec<FaultAt>,
}

impl Case {
    /// Whether one of its faults has this name.
    pub fn is_of(&self, name: &str) -> bool {
        self.faults.iter().any(|one| one.fault.to_string() == name)
    }
}

/// All scenarios, and how long each is.
#[derive(Debug)]
pub struct Exploration {
    scenarios: Vec<CompositionScenario>,
    /// Writes of the nominal schedule of each, with one bridge and with two.
    writes: Vec<[u32; 2]>,
}

/// What came of a case.
#[derive(Debug, Default)]
pub struct Explored {
    /// All its faults came: the last one may be behind the end.
    pub fired: bool,
    /// It did not end as its scenario has it, or broke an invariant.
    pub failed: Option<Failed>,
}

/// A case that failed.
#[derive(Debug)]
pub struct Failed {
    /// As `cargo xtask sim` takes it: `--scenario NAME --fault 12:LandsLate`.
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
    /// Follows the nominal schedule of each of these scenarios.
    ///
    /// # Errors
    /// One fails without any fault.
    pub fn begin(scenarios: Vec<CompositionScenario>) -> Result<Self, String> {
        let writes = scenarios.iter().map(|scenario| {
            let mut writes = [0; 2];
            // One whose fault is behind the end has two bridges, and no fault.
            let never = FaultAt {
                write: u32::MAX,
                fault: WriteFault::LeaseMoves,
            };
            for (writes, faults) in writes.iter_mut().zip([&[][..], &[never]]) {
                let explored = simulate_with_faults(scenario, faults, false);
                explored.ended.map_err(|(why, _)| why.to_string())?;
                *writes = explored.writes;
            }
            Ok(writes)
        });
        let writes = writes.collect::<Result<_, String>>()?;
        Ok(Self { scenarios, writes })
    }

    /// Each fault at each write of each scenario.
    pub fn single(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (scenario, writes) in self.writes.iter().enumerate() {
            for fault in WriteFault::ALL {
                let is_two = fault == WriteFault::LeaseMoves;
                cases.extend((0..writes[usize::from(is_two)]).map(|write| Case {
                    scenario,
                    faults: vec![FaultAt { write, fault }],
                }));
            }
        }
        cases
    }

    /// A case with two faults, drawn by this seed.
    pub fn pair(&self, seed: u64) -> Case {
        let mut random = fastrand::Rng::with_seed(seed);
        let scenario = random.usize(..self.scenarios.len());
        let [writes, _] = self.writes[scenario];
        let first = random.u32(..writes);
        let second = random.u32(first + 1..=writes + MORE_WRITES);
        let faults = [first, second].map(|write| FaultAt {
            write,
            fault: WriteFault::ALL[random.usize(..WriteFault::ALL.len())],
        });
        Case {
            scenario,
            faults: faults.to_vec(),
        }
    }

    /// Runs one.
    pub fn run(&self, case: &Case) -> Explored {
        let scenario = &self.scenarios[case.scenario];
        let explored = simulate_with_faults(scenario, &case.faults, false);
        let flags = case.faults.iter().map(|one| format!(" --fault {one}"));
        let failed = explored.ended.err().map(|(why, _)| Failed {
            flags: format!("--scenario {}{}", scenario.name, flags.collect::<String>()),
            why: why.to_string(),
        });
        Explored {
            fired: explored.fired as usize == case.faults.len(),
            failed,
        }
    }

    /// This fault at each write of each scenario.
    pub fn each(&self, fault: WriteFault) -> Vec<Case> {
        let mut cases = self.single();
        cases.retain(|case| case.faults[0].fault == fault);
        cases
    }
}
