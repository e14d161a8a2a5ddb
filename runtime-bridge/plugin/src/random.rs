//! Chance, drawn here and nowhere else in this crate.

use rand::Rng;

/// From 0 to 1: keeps bridges that lost one plugin apart. A simulation seeds it.
pub(crate) fn fraction() -> f64 {
    fastrand::f64()
}

/// The id of a call.
pub(crate) fn call_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The ids of a W3C trace and of its first span; neither is zero.
pub(crate) fn trace() -> (u128, u64) {
    let mut random = rand::rng();
    (
        random.random_range(1..=u128::MAX),
        random.random_range(1..=u64::MAX),
    )
}
