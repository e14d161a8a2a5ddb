//! Usages: what is in use is not deleted.

pub mod guard;
