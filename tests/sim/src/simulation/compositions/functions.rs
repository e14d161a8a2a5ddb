//! How functions fail beyond dying and hanging, and what they ask for.

use std::time::Duration;

use bridge_engine::clock::Clock;
use fake_function::Profile;
use jiff::{SignedDuration, Timestamp};

use super::{
    plan::{Plan, Step},
    settings,
};
use crate::simulation::{chance::Chance, environment::Environment};

/// What programs have beside their resources.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProgramOptions {
    /// Claims and what is behind them publish connection details.
    pub(super) has_secrets: bool,
    /// For how many seconds a response is good.
    pub(super) ttl: Option<u32>,
    /// They copy the settings of users.
    pub(super) has_settings: bool,
}

const FAILING: [(u32, Profile); 5] = [
    (3, Profile::Fatal),
    (3, Profile::Flapping),
    (2, Profile::Undecodable),
    (2, Profile::WithoutKind),
    (2, Profile::UnstableRequirements),
];

impl Plan {
    /// Functions fail for a while, and then answer again.
    pub(super) fn draw_profiles(&mut self, chance: &Chance, length: u32) {
        if !chance.happens(0.5) {
            return;
        }
        for _ in 0..=chance.below(3) {
            let profile = chance.weighted(&FAILING).unwrap_or_default();
            let seconds = 1 + chance.below(90);
            let step = Step::FailFunction(profile, seconds);
            self.steps.push((chance.millis(length), step));
        }
    }

    /// Responses are good for a while, and functions require what exists before them, comes later, changes, and goes.
    pub(super) fn draw_program(&mut self, chance: &Chance, length: u32) {
        if chance.happens(0.4) {
            self.program.ttl = chance.weighted(&[(1, 3), (2, 20), (1, 60)]);
        }
        self.program.has_settings = chance.happens(0.5);
        if !self.program.has_settings {
            return;
        }
        let count = u32::try_from(settings::NAMES.len()).unwrap_or(1);
        let number = || chance.below(count) as usize;
        if chance.happens(0.5) {
            self.steps.push((Duration::ZERO, Step::ChangeSetting(number())));
        }
        for _ in 0..=chance.below(5) {
            let step = if chance.happens(0.75) {
                Step::ChangeSetting(number())
            } else {
                Step::DeleteSetting(number())
            };
            self.steps.push((chance.millis(length), step));
        }
    }
}

/// How the function answers, and until when. It outlives the function, which may die and start again.
#[derive(Debug, Default)]
pub(crate) struct FunctionProfile(parking_lot::Mutex<Option<(Profile, Timestamp)>>);

impl Environment {
    /// From now on the function answers so, for so many seconds.
    pub(super) fn fail_function(&self, profile: Profile, seconds: u32) {
        let until = self.time.now() + SignedDuration::from_secs(seconds.into());
        *self.function_profile.0.lock() = Some((profile, until));
    }

    /// The function answers as its program has it.
    pub(super) fn mend_function(&self) {
        *self.function_profile.0.lock() = None;
    }

    /// How the function answers a call that comes now.
    pub(crate) fn profile_of_call(&self) -> Profile {
        let now = self.time.now();
        let current = *self.function_profile.0.lock();
        match current {
            Some((profile, until)) if now < until => {
                self.coverage.count("function", profile);
                profile
            }
            _ => Profile::Nominal,
        }
    }
}
