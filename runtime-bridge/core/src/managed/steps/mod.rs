//! The steps of a decision. Each looks at the context alone, and decides or leaves it to the next; none calls another. Their order is
//! [`super::decide`]'s.

pub mod absent;
pub mod adopt;
pub mod create;
pub mod delete;
pub mod found;
pub mod gate;
pub mod in_sync;
pub mod obstacle;
pub mod operation;
pub mod orphan;
pub mod question;
pub mod recovery;
pub mod renew;
pub mod replace;
pub mod update;
