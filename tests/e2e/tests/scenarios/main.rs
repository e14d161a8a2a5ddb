//! The scenarios of the real path: one binary, so that they share the two cores fairly.

mod aws_examples;
mod conformance;
mod credentials;
mod crossplane_compatibility;
mod definitions;
mod distribution_survives;
mod first_hour;
mod lifecycle;
mod manifests;
mod steady_state;
