//! What is going to happen, drawn from the seed before it begins.

use std::time::Duration;

use super::manifests::Kind;
use crate::simulation::{chance::Chance, environment::Side, plan::FaultBurst};

/// One thing that happens. `usize`: which object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Apply(usize),
    Resize(usize, u32),
    Delete(usize, Propagation),
    Pause(usize),
    Unpause(usize),
    /// A person deletes something that it composes.
    DeleteComposed(usize, u32),
    /// The composition of a kind is changed.
    Compose(Kind),
    KillBridge,
    KillBridgeAt(u32, Side),
    TerminateBridge,
    TerminateOne(usize),
    KillOne(usize),
    /// Nothing comes to it and goes from it for so many seconds.
    Stall(usize, u32),
    KillFunction,
    /// It answers nothing for so many seconds.
    HangFunction(u32),
    ApiDown(u32),
    CutWatches,
    Compact,
}

/// As `kubectl delete --cascade` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Propagation {
    Background,
    Foreground,
    /// What it composed stays.
    Orphan,
}

/// What is going to happen.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Kind and name of each object.
    pub(super) objects: Vec<(Kind, String)>,
    /// How many bridges run at once, one of which leads.
    pub(super) bridges: usize,
    /// The API server streams its lists.
    pub(super) streaming: bool,
    /// No garbage collector runs.
    pub(super) no_collector: bool,
    /// Everything is deleted in the end.
    pub(super) ends_empty: bool,
    /// What happens, ordered by time since the start.
    pub(super) steps: Vec<(Duration, Step)>,
    pub(super) fault_burst: FaultBurst,
}

impl Plan {
    pub(super) fn draw(seed: u64) -> Self {
        let chance = Chance::new(seed, 10);
        let count = 1 + chance.below(3) as usize;
        let objects: Vec<(Kind, String)> = (0..count)
            .map(|number| {
                let kind = Kind::ALL[chance.below(2) as usize];
                (kind, format!("object-{number}"))
            })
            .collect();
        let levels = [(3, 0.0), (3, 0.03), (3, 0.12), (2, 0.3)];
        let level = || chance.weighted(&levels).unwrap_or_default();
        let fault_burst = FaultBurst {
            kube: level(),
            watch: level(),
            lag: [3_000, 3_000, 20_000][chance.below(3) as usize],
            cloud: 0.0,
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
        for _ in 0..2 + chance.below(10) {
            if let Some(step) = Self::step(&chance, count) {
                steps.push((chance.millis(length), step));
            }
        }
        let orphans = Chance::new(seed, 11);
        for (_, step) in &mut steps {
            if let Step::Delete(_, propagation) = step
                && orphans.happens(0.15)
            {
                *propagation = Propagation::Orphan;
            }
        }
        steps.sort_by_key(|(at, _)| *at);
        Self {
            bridges: if chance.happens(0.2) { 2 } else { 1 },
            streaming: chance.happens(0.6),
            no_collector: chance.happens(0.3),
            ends_empty: chance.happens(0.5),
            objects,
            steps,
            fault_burst,
        }
    }

    fn step(chance: &Chance, objects: usize) -> Option<Step> {
        let object = chance.below(u32::try_from(objects).unwrap_or(1)) as usize;
        let requests = 1 + chance.below(12);
        let seconds = 1 + chance.below(90);
        let bridge = chance.below(2) as usize;
        let size = 1 + chance.below(4);
        let kind = Kind::ALL[chance.below(2) as usize];
        let number = chance.below(4);
        let propagation = if chance.happens(0.25) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        chance.weighted(&[
            (4, Step::Apply(object)),
            (5, Step::Resize(object, size)),
            (5, Step::Delete(object, propagation)),
            (1, Step::Pause(object)),
            (2, Step::Unpause(object)),
            (2, Step::DeleteComposed(object, number)),
            (3, Step::Compose(kind)),
            (2, Step::KillBridge),
            (6, Step::KillBridgeAt(requests, Side::Before)),
            (8, Step::KillBridgeAt(requests, Side::After)),
            (2, Step::TerminateBridge),
            (1, Step::TerminateOne(bridge)),
            (2, Step::KillOne(bridge)),
            (3, Step::Stall(bridge, seconds / 2)),
            (3, Step::KillFunction),
            (2, Step::HangFunction(seconds)),
            (2, Step::ApiDown(seconds)),
            (1, Step::CutWatches),
            (1, Step::Compact),
        ])
    }
}
