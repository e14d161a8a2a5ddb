//! Which watches must run: a pure difference between what is wanted, what the API serves, and what runs.

mod group_kind;

pub use group_kind::GroupKind;
