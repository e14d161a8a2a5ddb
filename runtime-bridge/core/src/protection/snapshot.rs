//! All that a decision about a usage is made from, save what the process remembers.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use super::{
    usage::{Side, Usage},
    view::UsageView,
};
use crate::composite::{LiveObject, ObjectState, ResourceRef, Settings};

/// The reconcile input of a usage.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The stored version.
    pub usage: Usage,
    /// The used resource, as the usage names it now.
    pub of: Resolution,
    /// Likewise the using one; `None`: it names none.
    pub by: Option<Resolution>,
    /// The used resource, as it was found first.
    pub used: Known,
    /// Likewise the using one.
    pub using: Known,
    /// What controls the usage.
    pub controller: ControllerState,
    /// What owns the used resource.
    pub owner: ControllerState,
    /// Uids of what controls the usage, of what controls that, and so on, and of their claims: they wait for the usage.
    pub ancestors: BTreeSet<String>,
    /// Other usages that protect the used resource.
    pub others: Vec<UsageView>,
    /// Uids of usages that hold the used resource, and that are known to be gone.
    pub gone: BTreeSet<String>,
    /// The usages with which it forms a cycle, for people; empty: it forms none.
    pub cycle: String,
    /// Why not all usages have been read; `None`: they have.
    pub unknown_usages: Option<String>,
    /// Deletions of what is in use are refused; `Err`: not as far as anybody knows, and why.
    pub guard: Result<(), String>,
    /// Who refuses deletions of what is in use notes that they were tried.
    pub notes_attempts: bool,
    /// Something that it is about is of a kind that is not watched now.
    pub is_unwatched: bool,
    /// Something new may be begun.
    pub may_act: bool,
    /// Limits and waits.
    pub settings: Arc<Settings>,
    /// Wall clock.
    pub now: Timestamp,
}

/// What a usage names by name or by labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolution {
    /// It exists.
    Found(ResourceRef, Arc<LiveObject>),
    /// There is none of this name.
    Absent(ResourceRef),
    /// No object is selected.
    Unmatched,
    /// Its kind is not served, and why.
    KindGone(String),
    /// Nothing is known, and why.
    Unknown(String),
    /// It names nothing that can exist, and why.
    Invalid(String),
}

/// An object that a usage has found before.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// None was ever found.
    Nothing,
    /// What is known of the name now. An object with another uid is another one.
    Object(ResourceRef, ObjectState),
}

/// What is known of the controller of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControllerState {
    /// It has none.
    None,
    /// It lives, by its uid.
    Lives,
    /// It is being deleted. `orphans`: what it controls stays.
    Going {
        /// It has the finalizer `orphan`.
        orphans: bool,
    },
    /// It is gone.
    Gone,
    /// Nothing is known, and why.
    Unknown(String),
}

impl ControllerState {
    /// What an object with this uid is, as a controller.
    pub fn of(state: &ObjectState, uid: &str) -> Self {
        match state {
            ObjectState::Exists(object) if object.uid() == uid && object.is_deleting() => Self::Going {
                orphans: object
                    .finalizers()
                    .any(|one| one == crate::composite::names::ORPHAN_FINALIZER),
            },
            ObjectState::Exists(object) if object.uid() == uid => Self::Lives,
            ObjectState::Exists(_) | ObjectState::Absent | ObjectState::KindGone => Self::Gone,
            ObjectState::Unknown(why) => Self::Unknown(why.clone()),
        }
    }
}

/// What can be read past the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// One of the two resources.
    Resource(Side),
    /// The controller of the usage.
    Controller,
    /// What owns the used resource; absent: all that owned it is gone.
    Owner,
}
