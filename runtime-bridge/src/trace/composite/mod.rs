//! The tree of a composite resource or a claim: what it refers to, what that refers to, and what belongs to it beside that.

mod desired;
mod gather;
mod last_run;
mod node;
mod table;
#[cfg(test)]
mod tests;

pub(super) use self::{
    desired::{Desired, compare_all},
    gather::Gather,
    last_run::last_run,
    node::Node,
    table::table,
};
