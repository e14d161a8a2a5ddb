//! The scenarios of the real path: one binary, so that they share the two cores fairly.

mod aws_examples;
mod conformance;
mod credentials;
mod crossplane_compatibility;
mod definitions;
mod demo;
mod describe;
mod dev;
mod distribution_survives;
mod first_hour;
mod first_hour_transcript;
mod lifecycle;
mod manifests;
mod steady_state;
