//! Chance, drawn here and nowhere else in this crate.
//!
//! What spreads work comes from a generator that a simulation seeds; what nobody may guess comes from the operating system's.

use std::ops::Range;

/// From 0 to 1: how far a wait or a turn is moved, so that what began together does not go on together.
pub(crate) fn fraction() -> f64 {
    fastrand::f64()
}

/// A whole number of this range.
pub(crate) fn between(range: Range<u16>) -> u16 {
    fastrand::u16(range)
}

/// A client request token.
pub(crate) fn token() -> String {
    // Of a generator that the operating system seeds: one is drawn for each decision, and few are used.
    uuid::Builder::from_random_bytes(rand::random())
        .into_uuid()
        .to_string()
}

/// Tells a question to a person from those before it.
pub(crate) fn question() -> String {
    format!("{:08x}", rand::random::<u32>())
}

/// The end of a name that nothing else has.
pub(crate) fn suffix() -> u64 {
    rand::random()
}

/// The key of a digest.
pub(crate) fn key() -> [u8; 32] {
    rand::random()
}
