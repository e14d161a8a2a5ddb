//! The managed-resource machine against a model world: random schedules, an exhaustive search over few faults, and named scenarios.

mod bridge;
mod choose;
mod claim;
mod cloud;
mod composite;
mod counts;
mod definition;
mod etcd;
mod events;
mod fault_outcome;
mod invariants;
mod key;
mod kinds;
mod neighbor;
mod nominal_schedule;
mod records;
mod reference_model;
mod replacement;
mod script;
mod shell;

mod deletions;
mod explore;
mod failures;
mod operations;
mod policies;
mod protection;
mod random;
mod secrets;
mod stops;
mod traces;
mod writes;
