//! Chance, drawn here and nowhere else in this crate.

/// From 0 to 1: keeps the probes of bridges that lost one function apart. A simulation seeds it.
pub(crate) fn fraction() -> f64 {
    fastrand::f64()
}
