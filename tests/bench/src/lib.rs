//! What the measurements reckon with: quantiles, rows, and how they are written down.

pub mod figures;
pub mod report;
