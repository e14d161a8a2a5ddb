//! The scenarios of the real path: one binary, so that they share the two cores fairly.

mod at_rest;
mod aws_examples;
mod conformance;
mod credentials;
mod crossplane_habits;
mod definitions;
mod distribution_survives;
mod life_of_each_kind;
mod wishes;
