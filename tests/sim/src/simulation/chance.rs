//! What is drawn from the seed.

use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;

/// One stream of chance. Each part of the simulation has its own, so that one more draw here does not move everything there.
pub(crate) struct Chance(Mutex<Rng>);

impl Chance {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // Neighbouring seeds are to have nothing in common.
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut rng = Rng::with_seed(mixed);
        rng.u64(..);
        Self(Mutex::new(rng))
    }

    /// Whether an event of this probability happens; draws a number unless it is 0.
    pub(crate) fn happens(&self, probability: f64) -> bool {
        probability > 0.0 && self.0.lock().f64() < probability
    }

    /// From 0 to below `end`.
    pub(crate) fn below(&self, end: u32) -> u32 {
        if end == 0 { 0 } else { self.0.lock().u32(..end) }
    }

    /// From 0 to `most`.
    pub(crate) fn millis(&self, most: u32) -> Duration {
        Duration::from_millis(self.below(most + 1).into())
    }

    /// One of them, each as often as its weight asks for.
    pub(crate) fn weighted<T: Copy>(&self, choices: &[(u32, T)]) -> Option<T> {
        let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        choices.iter().find_map(|(weight, choice)| {
            if left < *weight {
                Some(*choice)
            } else {
                left -= weight;
                None
            }
        })
    }
}
