//! What is going to happen, drawn from the seed before it begins.

use std::time::Duration;

use super::{chance::Chance, environment::Side};

/// How often things go wrong, and how long requests take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultBurst {
    /// Share of requests to the API server.
    pub(crate) kube: f64,
    /// Share of events that a watch sends.
    pub(crate) watch: f64,
    /// Milliseconds by which such news come late at most.
    pub(crate) lag: u32,
    /// Share of calls to the cloud.
    pub(crate) cloud: f64,
    /// Milliseconds that each way takes at most.
    pub(crate) latency: u32,
}

/// One thing that happens. `usize`: which object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Apply(usize),
    Resize(usize),
    Delete(usize),
    Pause(usize),
    Unpause(usize),
    RemoveByHand(usize),
    /// Another owner creates an external object of its name.
    Foreign(usize),
    /// Another owner puts its own in the place of its external object.
    Usurp(usize),
    Spoil(usize),
    KillBridge,
    KillBridgeAt(u32, Side, UserAction),
    TerminateBridge,
    /// SIGTERM to one of two bridges, by its number.
    TerminateOne(usize),
    /// The other one lives on.
    KillOne(usize),
    /// Nothing comes to it and goes from it for so many seconds.
    Stall(usize, u32),
    /// The password that objects refer to changes.
    Rotate,
    KillPlugin,
    ApiDown(u32),
    CloudDown(u32),
    CutWatches,
    Compact,
    ForgetOperations,
}

/// What users do with every object in the moment in which the bridge dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserAction {
    Nothing,
    Resize,
    Pause,
    Delete,
}

/// What is going to happen.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // Each is drawn by itself.
pub(crate) struct Plan {
    pub(crate) kinds: Vec<String>,
    /// Kind and name of each object.
    pub(crate) objects: Vec<(String, String)>,
    /// How many bridges run at once, one of which leads.
    pub(crate) bridges: usize,
    /// Objects take a password from a Secret.
    pub(crate) password: bool,
    /// Objects name their policies, without `LateInitialize`.
    pub(crate) policies: bool,
    /// The second object names the external object of the first.
    pub(crate) rivals: bool,
    /// The API server streams its lists.
    pub(crate) streaming: bool,
    /// What happens, ordered by time since the start.
    pub(crate) steps: Vec<(Duration, Step)>,
    pub(crate) fault_burst: FaultBurst,
    /// Milliseconds that long work takes in the cloud.
    pub(crate) work: u32,
    /// Milliseconds for which a created resource stays invisible.
    pub(crate) invisible: u32,
    /// No API server stores the plugin's statuses as they are.
    pub(crate) untidy_status: bool,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let chance = Chance::new(seed, 0);
        let all: Vec<String> = fake_cloud::kinds::all()
            .iter()
            .map(|subject| subject.name().to_owned())
            .collect();
        let pick = || all[chance.below(u32::try_from(all.len()).unwrap_or(1)) as usize].clone();
        let mut kinds = vec![pick()];
        if chance.happens(0.3) {
            kinds.push(pick());
        }
        kinds.sort();
        kinds.dedup();
        // The marker identifies the owner.
        let rivals = chance.happens(0.06);
        if rivals {
            kinds = vec![["Bucket", "Table"][chance.below(2) as usize].to_owned()];
        }
        let most = 1 + chance.below(3) as usize;
        let count = if rivals { most.max(2) } else { most };
        let objects: Vec<(String, String)> = (0..count)
            .map(|number| (kinds[number % kinds.len()].clone(), format!("object-{number}")))
            .collect();
        let levels = [(3, 0.0), (3, 0.03), (3, 0.12), (2, 0.35)];
        let level = || chance.weighted(&levels).unwrap_or_default();
        let fault_burst = FaultBurst {
            kube: level(),
            watch: level(),
            lag: [3_000, 3_000, 20_000][chance.below(3) as usize],
            cloud: level(),
            latency: [0, 5, 50, 400][chance.below(4) as usize],
        };
        // Often one event follows the other at once.
        let length = if chance.happens(0.3) {
            1_000 + chance.below(8_000)
        } else {
            30_000 + chance.below(120_000)
        };
        let mut steps: Vec<(Duration, Step)> = (0..count)
            .map(|object| (chance.millis(3_000), Step::Apply(object)))
            .collect();
        if chance.happens(0.1) {
            let object = chance.below(u32::try_from(count).unwrap_or(1)) as usize;
            steps.push((Duration::ZERO, Step::Foreign(object)));
        }
        for _ in 0..2 + chance.below(10) {
            if let Some(step) = Self::step(&chance, count) {
                steps.push((chance.millis(length), step));
            }
        }
        steps.sort_by_key(|(at, _)| *at);
        Self {
            bridges: if chance.happens(0.25) { 2 } else { 1 },
            password: chance.happens(0.3),
            policies: chance.happens(0.3),
            streaming: chance.happens(0.6),
            rivals,
            kinds,
            objects,
            steps,
            fault_burst,
            work: 500 + chance.below(8_000),
            invisible: chance.below(2_500),
            // Of another row, so that what seeds meant before stays.
            untidy_status: Chance::new(seed, 3).happens(0.5),
        }
    }

    fn step(chance: &Chance, objects: usize) -> Option<Step> {
        let object = chance.below(u32::try_from(objects).unwrap_or(1)) as usize;
        let requests = 1 + chance.below(8);
        let seconds = 1 + chance.below(90);
        let bridge = chance.below(2) as usize;
        let deeds = [
            (4, UserAction::Nothing),
            (1, UserAction::Resize),
            (1, UserAction::Pause),
            (2, UserAction::Delete),
        ];
        let action = chance.weighted(&deeds).unwrap_or(UserAction::Nothing);
        chance.weighted(&[
            (4, Step::Apply(object)),
            (4, Step::Resize(object)),
            (5, Step::Delete(object)),
            (2, Step::Pause(object)),
            (2, Step::Unpause(object)),
            (1, Step::RemoveByHand(object)),
            (1, Step::Foreign(object)),
            (1, Step::Usurp(object)),
            (1, Step::Spoil(object)),
            (2, Step::KillBridge),
            (5, Step::KillBridgeAt(requests, Side::Before, action)),
            (7, Step::KillBridgeAt(requests, Side::After, action)),
            (2, Step::TerminateBridge),
            (2, Step::TerminateOne(bridge)),
            (3, Step::KillOne(bridge)),
            (4, Step::Stall(bridge, seconds / 2)),
            (1, Step::Rotate),
            (3, Step::KillPlugin),
            (2, Step::ApiDown(seconds * 2)),
            (1, Step::CloudDown(seconds)),
            (1, Step::CutWatches),
            (1, Step::Compact),
            (1, Step::ForgetOperations),
        ])
    }
}
