//! What the measurements reckon with: quantiles, rows with their goals, and how they are written down.

pub mod composition_rows;
pub mod figures;
pub mod report;
pub mod rows;
pub mod svg;
