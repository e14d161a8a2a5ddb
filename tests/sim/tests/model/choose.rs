//! Where a schedule may leave the plain course, and whether it does: by chance, or by plan.

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Call, ObserveCall},
};
use std::time::Duration;

use crate::fault_outcome::{CallOutcome, ObserveOutcome, Outcomes, WriteOutcome};

/// Leaves the plain course at the n-th choice, with that option.
pub type Plan = Vec<(usize, usize)>;

/// `SplitMix64`: small, seeded, the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}

#[derive(Debug, Clone)]
enum Source {
    Chance {
        random: Random,
        per_mille: usize,
        left: u32,
    },
    Plan(Plan),
}

/// What there is to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Everything that can happen.
    All,
    /// Processes die or stand still, the lease moves, answers are lost, calls come late.
    Crashes,
}

/// A row of choices. Option 0 is the plain course.
#[derive(Debug, Clone)]
pub struct Choices {
    source: Source,
    pub faults: Faults,
    /// How many options each choice had.
    pub points: Vec<usize>,
    /// Where the plain course was left.
    pub taken: Plan,
    /// A known resource may once read as absent.
    pub blips: u32,
    /// A look may say "absent" now.
    pub may_blip: bool,
}

impl Choices {
    /// By chance, at most `left` times.
    pub fn by_chance(random: Random, per_mille: usize, left: u32) -> Self {
        Self::from(Source::Chance {
            random,
            per_mille,
            left,
        })
    }

    pub fn by_plan(plan: Plan) -> Self {
        Self::from(Source::Plan(plan))
    }

    /// The next choices go by this plan, counted from now.
    pub fn go_by(&mut self, plan: Plan) {
        self.source = Source::Plan(plan);
        self.points.clear();
        self.taken.clear();
    }

    fn from(source: Source) -> Self {
        Self {
            source,
            faults: Faults::All,
            points: Vec::new(),
            taken: Plan::new(),
            blips: 1,
            may_blip: false,
        }
    }

    /// Which of so many options.
    pub fn choose(&mut self, options: usize) -> usize {
        let at = self.points.len();
        self.points.push(options);
        let option = match &mut self.source {
            Source::Chance {
                random,
                per_mille,
                left,
            } => {
                if *left > 0 && options > 1 && random.below(1000) < *per_mille {
                    *left -= 1;
                    1 + random.below(options - 1)
                } else {
                    0
                }
            }
            Source::Plan(plan) => plan
                .iter()
                .find(|(point, _)| *point == at)
                .map_or(0, |(_, option)| (*option).min(options - 1)),
        };
        if option > 0 {
            self.taken.push((at, option));
        }
        option
    }

    fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.choose(options.len())]
    }
}

const MAKES: &[CallOutcome] = &[
    CallOutcome::Answered,
    CallOutcome::LostBefore,
    CallOutcome::LostAfter,
    CallOutcome::Late,
    CallOutcome::GivesUp,
    CallOutcome::SlowAnswer(Duration::from_secs(4)),
    CallOutcome::Fails(FailureCode::Throttled, Effect::None),
    CallOutcome::Fails(FailureCode::Unavailable, Effect::Unknown),
    CallOutcome::DoneButFails(FailureCode::Timeout, Effect::Unknown),
    CallOutcome::DoneButFails(FailureCode::Internal, Effect::Partial),
    CallOutcome::NamedWithoutEffect(FailureCode::Throttled),
    CallOutcome::Refused,
    CallOutcome::CrashBefore,
    CallOutcome::CrashLate,
    CallOutcome::CrashBeforePersist,
    CallOutcome::CrashAfterPersist,
];

const MAKES_OR_DIES: &[CallOutcome] = &[
    CallOutcome::Answered,
    CallOutcome::LostAfter,
    CallOutcome::Late,
    CallOutcome::CrashBefore,
    CallOutcome::CrashLate,
    CallOutcome::CrashBeforePersist,
    CallOutcome::CrashAfterPersist,
];

const FOLLOWS: &[CallOutcome] = &[
    CallOutcome::Answered,
    CallOutcome::LostBefore,
    CallOutcome::LostAfter,
    CallOutcome::Late,
    CallOutcome::Fails(FailureCode::Throttled, Effect::None),
    CallOutcome::CrashLate,
    CallOutcome::CrashBeforePersist,
    CallOutcome::CrashAfterPersist,
];

const FOLLOWS_OR_DIES: &[CallOutcome] = &[
    CallOutcome::Answered,
    CallOutcome::CrashLate,
    CallOutcome::CrashBeforePersist,
    CallOutcome::CrashAfterPersist,
];

const LOOKS: &[ObserveOutcome] = &[
    ObserveOutcome::Answered,
    ObserveOutcome::Fails(FailureCode::Unauthenticated),
    ObserveOutcome::Unknown,
    ObserveOutcome::Slow(Duration::from_secs(12)),
    ObserveOutcome::Slow(Duration::from_secs(45)),
];

const LOOKS_OR_STALLS: &[ObserveOutcome] = &[
    ObserveOutcome::Answered,
    ObserveOutcome::Slow(Duration::from_secs(45)),
];

const WRITES: &[WriteOutcome] = &[
    WriteOutcome::Lands,
    WriteOutcome::LostBefore,
    WriteOutcome::LostAfter,
    WriteOutcome::Late(Duration::from_secs(3)),
    WriteOutcome::Late(Duration::from_secs(20)),
    WriteOutcome::CrashBefore,
    WriteOutcome::CrashAfter,
];

const WRITES_OR_DIES: &[WriteOutcome] = &[
    WriteOutcome::Lands,
    WriteOutcome::CrashBefore,
    WriteOutcome::CrashAfter,
];

impl Outcomes for Choices {
    fn call(&mut self, call: &Call) -> CallOutcome {
        let makes = matches!(call.verb, Verb::Create | Verb::Update | Verb::Delete);
        self.pick(match (self.faults, makes) {
            (Faults::All, true) => MAKES,
            (Faults::All, false) => FOLLOWS,
            (Faults::Crashes, true) => MAKES_OR_DIES,
            (Faults::Crashes, false) => FOLLOWS_OR_DIES,
        })
    }

    fn look(&mut self, _: &ObserveCall) -> ObserveOutcome {
        let looks = match self.faults {
            Faults::All => LOOKS,
            Faults::Crashes => LOOKS_OR_STALLS,
        };
        let blip = usize::from(self.faults == Faults::All && self.blips > 0 && self.may_blip);
        let option = self.choose(looks.len() + blip);
        looks.get(option).copied().unwrap_or_else(|| {
            self.blips -= 1;
            ObserveOutcome::Absent
        })
    }

    fn write(&mut self, _: &str, persists: bool) -> WriteOutcome {
        let writes = match self.faults {
            Faults::All => WRITES,
            Faults::Crashes => WRITES_OR_DIES,
        };
        match self.pick(writes) {
            // What is detached is not given up while it may still land.
            WriteOutcome::Late(_) if persists => WriteOutcome::LostAfter,
            fate => fate,
        }
    }
}
