//! Which watches must run: a pure difference between what is wanted, what the API serves, and what runs.
//!
//! Watch errors play no part: a watch starts when its definition is established, and stops when that goes or nobody cares any more.

mod group_kind;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::{SignedDuration, Timestamp};

pub use self::{
    group_kind::GroupKind,
    plan::{Ending, Plan, Start, Stop, Wait, plan},
};

/// Somebody wants the objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Version to watch.
    pub version: String,
    /// Served by every API server, without a definition: nobody is asked.
    pub always_served: bool,
    /// Why -> how many subscribers say so.
    pub reasons: BTreeMap<String, usize>,
    /// When the last subscriber left, if none is left.
    pub unwanted_since: Option<Timestamp>,
}

impl Want {
    /// Without subscribers yet.
    pub fn new(version: &str, always_served: bool) -> Self {
        Self {
            version: version.to_owned(),
            always_served,
            reasons: BTreeMap::new(),
            unwanted_since: None,
        }
    }

    /// One subscriber more.
    pub fn subscribe(&mut self, reason: &str) {
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
        self.unwanted_since = None;
    }

    /// One subscriber less.
    pub fn unsubscribe(&mut self, reason: &str, now: Timestamp) {
        if let Some(count) = self.reasons.get_mut(reason) {
            *count -= 1;
            if *count == 0 {
                self.reasons.remove(reason);
            }
        }
        if self.reasons.is_empty() {
            self.unwanted_since = Some(now);
        }
    }

    /// Nobody has wanted it for so long.
    fn is_over(&self, now: Timestamp, grace: SignedDuration) -> bool {
        self.unwanted_since.is_some_and(|since| now >= since + grace)
    }

    fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.reasons.keys().map(String::as_str).collect();
        if reasons.is_empty() {
            "kept for a while".to_owned()
        } else {
            reasons.join("; ")
        }
    }
}

/// What a custom resource definition says, as far as watches care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// `metadata.uid`: another one is another definition. Objects outlive the change only if the finalizer of the former was removed by force.
    pub uid: String,
    /// Versions that are served.
    pub served: BTreeSet<String>,
    /// Condition `Established`.
    pub established: bool,
}

impl Definition {
    /// Whether objects of the kind can be reached in this version.
    ///
    /// # Errors
    /// Why they cannot, for people.
    pub fn serves(&self, version: &str) -> Result<(), String> {
        if !self.served.contains(version) {
            let served: Vec<&str> = self.served.iter().map(String::as_str).collect();
            let served = served.join(", ");
            return Err(format!("its definition does not serve {version}, only {served}"));
        }
        if !self.established {
            return Err("its definition is not established".to_owned());
        }
        Ok(())
    }
}

/// Names one watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId {
    /// Group and kind.
    pub kind: GroupKind,
    /// Version.
    pub version: String,
    /// Uid of the definition; `None`: served without one.
    pub definition: Option<String>,
}

impl fmt::Display for WatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.version)?;
        match &self.definition {
            Some(uid) => write!(f, " of definition {uid}"),
            None => Ok(()),
        }
    }
}

/// Definitions by kind, or why they are not known.
pub type Definitions = Result<BTreeMap<GroupKind, Definition>, String>;

/// A kind that the API server, or one behind it, serves without a definition: version -> whether its objects can be watched.
pub type BuiltIn = BTreeMap<String, bool>;

/// What is served without a definition, or why that is not known. `None`: nobody asked, as nothing needs it.
pub type BuiltIns = Option<Result<BTreeMap<GroupKind, BuiltIn>, String>>;

#[cfg(test)]
mod tests;
