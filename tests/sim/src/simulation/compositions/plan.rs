//! What is going to happen, drawn from the seed before it begins.

use std::time::Duration;

use fake_function::Profile;

use super::{
    functions::ProgramOptions,
    manifests::Kind,
    releases::Released,
    standalone::{Standalone, UsageAction},
};
use crate::simulation::{chance::Chance, coverage::Coverage, environment::Side, plan::FaultBurst};

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
    /// A person puts a finalizer on something that it composes, and takes it off in the end.
    Hold(usize, u32),
    /// A person writes into a claim what only the machinery says.
    Meddle(usize),
    /// The composition of a kind is changed.
    Compose(Kind),
    /// The definition of a kind is deleted, with all that it defines.
    DeleteDefinition(Kind),
    /// A kind is defined, unless it is.
    Define(Kind),
    /// The schema of a kind is changed.
    EditDefinition(Kind),
    KillBridge,
    KillBridgeAt(u32, Side),
    TerminateBridge,
    TerminateOne(usize),
    KillOne(usize),
    /// Nothing comes to it and goes from it for so many seconds.
    Stall(usize, u32),
    KillPlugin,
    /// The cloud answers every call with a 5xx for so many seconds.
    CloudDown(u32),
    KillFunction,
    /// It answers nothing for so many seconds.
    HangFunction(u32),
    /// It answers wrongly for so many seconds.
    FailFunction(Profile, u32),
    /// A user changes what functions require.
    ChangeSetting(usize),
    DeleteSetting(usize),
    /// A user does something with a usage that stands alone, or with what it is about.
    Standalone(usize, UsageAction),
    /// A person releases what a composite resource composes.
    Release(usize, Released),
    ApiDown(u32),
    CutWatches,
    Compact,
}

/// What sets a seed apart from others.
#[derive(Debug, Clone, Copy)]
enum Feature {
    TwoBridges,
    Nested,
    Managed,
    Secrets,
    Ttl,
    Settings,
    Standalone,
    Releases,
    VanishingParents,
    ShortDeadline,
    NoCollector,
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
#[allow(clippy::struct_excessive_bools)] // Each is drawn by itself.
pub(super) struct Plan {
    /// What is defined.
    pub(super) kinds: Vec<Kind>,
    /// Kind and name of each object.
    pub(super) objects: Vec<(Kind, String)>,
    pub(super) program: ProgramOptions,
    pub(super) standalone: Vec<Standalone>,
    /// A person may release what is composed.
    pub(super) releases: bool,
    /// Bridges run with `--vanishing-parents`.
    pub(super) vanishing_parents: bool,
    /// Deletions of objects are overdue after a few seconds.
    pub(super) short_deadline: bool,
    /// Milliseconds that long work takes in the cloud.
    pub(super) work: u32,
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
    /// `edition`: what is drawn at all; see [`SeedKind::edition`](crate::simulation::SeedKind::edition).
    pub(super) fn draw(seed: u64, edition: u32) -> Self {
        let chance = Chance::new(seed, 10);
        let count = 1 + chance.below(3) as usize;
        let objects: Vec<(Kind, String)> = (0..count)
            .map(|number| {
                let kind = Kind::ALWAYS[chance.below(2) as usize];
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
        let mut plan = Self {
            bridges: if chance.happens(0.2) { 2 } else { 1 },
            streaming: chance.happens(0.6),
            no_collector: chance.happens(0.3),
            ends_empty: chance.happens(0.5),
            kinds: Kind::ALWAYS.to_vec(),
            objects,
            program: ProgramOptions {
                has_secrets: Chance::new(seed, 13).happens(0.4),
                ..ProgramOptions::default()
            },
            standalone: Vec::new(),
            releases: false,
            vanishing_parents: false,
            short_deadline: Chance::new(seed, 17).happens(0.3),
            work: 0,
            steps,
            fault_burst,
        };
        // Each of another row, so that one more of them changes nothing of the others.
        plan.draw_kinds(&Chance::new(seed, 12), length);
        plan.draw_definitions(&Chance::new(seed, 14), length);
        plan.draw_holds(&Chance::new(seed, 16), length);
        plan.draw_meddling(&Chance::new(seed, 18), length);
        if edition >= 2 {
            plan.draw_profiles(&Chance::new(seed, 19), length);
            plan.draw_program(&Chance::new(seed, 20), length);
        }
        if edition >= 3 {
            plan.draw_standalone(&Chance::new(seed, 21), length);
            plan.draw_releases(&Chance::new(seed, 22), length);
        }
        // What they leave behind is the collector's.
        plan.vanishing_parents = Chance::new(seed, 15).happens(0.2) && !plan.no_collector;
        plan.steps.sort_by_key(|(at, _)| *at);
        plan
    }

    /// What sets this seed apart from others.
    pub(super) fn count_features(&self, coverage: &Coverage) {
        let features = [
            (self.bridges > 1, Feature::TwoBridges),
            (self.kinds.contains(&Kind::Chain), Feature::Nested),
            (self.kinds.contains(&Kind::Shop), Feature::Managed),
            (self.program.has_secrets, Feature::Secrets),
            (self.program.ttl.is_some(), Feature::Ttl),
            (self.program.has_settings, Feature::Settings),
            (!self.standalone.is_empty(), Feature::Standalone),
            (self.releases, Feature::Releases),
            (self.vanishing_parents, Feature::VanishingParents),
            (self.short_deadline, Feature::ShortDeadline),
            (self.no_collector, Feature::NoCollector),
        ];
        for (_, feature) in features.into_iter().filter(|(is_so, _)| *is_so) {
            coverage.count("world", feature);
        }
    }

    /// Some of the objects compose others, or a managed resource; of these there is one, as all have one external name.
    fn draw_kinds(&mut self, chance: &Chance, length: u32) {
        for number in 0..self.objects.len() {
            let has_shop = self.kinds.contains(&Kind::Shop);
            match chance.below(9) {
                0..3 => self.objects[number].0 = Kind::Chain,
                3..5 if !has_shop => self.objects[number].0 = Kind::Shop,
                _ => {}
            }
            self.kinds.push(self.objects[number].0);
        }
        self.kinds.sort();
        self.kinds.dedup();
        self.work = 500 + chance.below(20_000);
        for kind in [Kind::Chain, Kind::Shop] {
            if self.kinds.contains(&kind) && chance.happens(0.5) {
                self.steps.push((chance.millis(length), Step::Compose(kind)));
            }
        }
        if !self.kinds.contains(&Kind::Shop) {
            return;
        }
        let levels = [(3, 0.0), (3, 0.05), (2, 0.25)];
        self.fault_burst.cloud = chance.weighted(&levels).unwrap_or_default();
        for _ in 0..chance.below(3) {
            let step = if chance.happens(0.5) {
                Step::KillPlugin
            } else {
                Step::CloudDown(1 + chance.below(60))
            };
            self.steps.push((chance.millis(length), step));
        }
    }

    /// Definitions are edited, and go while what they define lives; then most come back, and so do objects.
    fn draw_definitions(&mut self, chance: &Chance, length: u32) {
        if !chance.happens(0.4) {
            return;
        }
        let count = |all: usize| u32::try_from(all).unwrap_or(1);
        for _ in 0..=chance.below(3) {
            let kind = self.kinds[chance.below(count(self.kinds.len())) as usize];
            let at = chance.millis(length);
            if chance.happens(0.35) {
                self.steps.push((at, Step::EditDefinition(kind)));
                continue;
            }
            self.steps.push((at, Step::DeleteDefinition(kind)));
            // Also while the former one is still there.
            for _ in 0..chance.below(4) {
                self.steps.push((at + chance.millis(60_000), Step::Define(kind)));
            }
            for number in 0..self.objects.len() {
                if chance.happens(0.5) {
                    self.steps.push((at + chance.millis(90_000), Step::Apply(number)));
                }
            }
        }
    }

    fn draw_holds(&mut self, chance: &Chance, length: u32) {
        if chance.happens(0.3) {
            let object = chance.below(u32::try_from(self.objects.len()).unwrap_or(1)) as usize;
            self.steps
                .push((chance.millis(length), Step::Hold(object, chance.below(4))));
        }
    }

    /// Claims say what only the machinery says, mostly under a schema that keeps it.
    fn draw_meddling(&mut self, chance: &Chance, length: u32) {
        for number in 0..self.objects.len() {
            if self.objects[number].0 == Kind::Purchase && chance.happens(0.4) {
                let at = chance.millis(length);
                if chance.happens(0.7) {
                    self.steps.push((at, Step::EditDefinition(Kind::Purchase)));
                }
                self.steps.push((at + chance.millis(5_000), Step::Meddle(number)));
            }
        }
    }

    fn step(chance: &Chance, objects: usize) -> Option<Step> {
        let object = chance.below(u32::try_from(objects).unwrap_or(1)) as usize;
        let requests = 1 + chance.below(12);
        let seconds = 1 + chance.below(90);
        let bridge = chance.below(2) as usize;
        let size = 1 + chance.below(4);
        let kind = Kind::ALWAYS[chance.below(2) as usize];
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
