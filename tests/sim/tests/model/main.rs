//! The managed-resource machine against a model world: random schedules, an exhaustive search over few faults, and named scenarios.

mod bridge;
mod choose;
mod cloud;
mod counts;
mod course;
mod etcd;
mod events;
mod fate;
mod invariants;
mod key;
mod kinds;
mod lane;
mod replacement;
mod script;
mod shell;
mod world;

mod explore;
mod operations;
mod policies;
mod random;
mod secrets;
mod stops;
mod traces;
mod troubles;
mod writes;
