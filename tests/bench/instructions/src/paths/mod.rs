//! The paths.

pub mod pure;
pub mod whole;
