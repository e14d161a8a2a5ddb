//! How objects of one kind depend on others: whose changes are their turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{queue::Priority, watch_plan::GroupKind};

use super::Change;
use crate::object::{Key, Object};

/// Finds what an object refers to: its `ProviderConfig`, its Secrets, other managed resources.
pub type References = dyn Fn(&Object) -> Vec<Key> + Send + Sync;

/// Finds what an object selects by labels.
pub type Selections = dyn Fn(&Object) -> Vec<LabelSelection> + Send + Sync;

/// Finds the kinds that are to be watched as long as an object is as it is.
pub type Needs = dyn Fn(&Object) -> Vec<NeededKind> + Send + Sync;

/// A kind that an object needs to be watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeededKind {
    /// Group and kind.
    pub kind: GroupKind,
    /// In which version; one version of a kind is watched.
    pub version: String,
}

/// How urgent a change is to those that depend on what changed; `None`: not at all.
pub type WakePriority = dyn Fn(&Change) -> Option<Priority> + Send + Sync;

/// What of another object's changes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Everything but status and finalizers. Passed on: a change of a Secret is a change of a config that refers to it, and so of all that refer
    /// to that.
    Desired,
    /// Status, finalizers and deletion too. Not passed on.
    All,
}

/// Objects of a kind that bear labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSelection {
    /// Of which kind.
    pub kind: GroupKind,
    /// Where; `None`: everywhere. What is cluster-scoped is selected whatever it is.
    pub namespace: Option<String>,
    /// All of them; empty: whatever its labels.
    pub labels: BTreeMap<String, String>,
}

impl LabelSelection {
    /// Whether the object is selected.
    pub fn matches(&self, object: &Object) -> bool {
        self.kind == object.api.kind
            && self
                .namespace
                .as_deref()
                .is_none_or(|namespace| object.namespace().is_none_or(|is| is == namespace))
            && has_labels(object, &self.labels)
    }
}

fn has_labels(object: &Object, labels: &BTreeMap<String, String>) -> bool {
    labels
        .iter()
        .all(|(name, value)| object.label(name) == Some(value))
}

/// How an object finds those that it depends on.
#[derive(Clone)]
pub(super) enum Relation {
    References(Arc<References>),
    Selections(Arc<Selections>),
    Owner,
    Needs(Arc<Needs>),
}

/// One way in which objects of a controller's kind depend on others: a change of those is their turn.
#[derive(Clone)]
pub struct Edge {
    pub(super) relation: Relation,
    kinds: Option<BTreeSet<GroupKind>>,
    pub(super) interest: Interest,
    priority: Arc<WakePriority>,
}

impl Edge {
    /// On what they refer to by name, whether it exists or not.
    pub fn references(find: Arc<References>) -> Self {
        Self::new(Relation::References(find))
    }

    /// On what bears labels, or bore them before the change.
    pub fn selections(find: Arc<Selections>) -> Self {
        Self::new(Relation::Selections(find))
    }

    /// On what names them as an owner, by uid, or did so before the change.
    pub fn owned() -> Self {
        Self::new(Relation::Owner)
    }

    /// On kinds: these are watched. Nobody adds or removes such a watch: those that are wanted are what the stored objects need, at any time.
    pub fn needs(find: Arc<Needs>) -> Self {
        Self::new(Relation::Needs(find))
    }

    fn new(relation: Relation) -> Self {
        Self {
            relation,
            kinds: None,
            interest: Interest::Desired,
            priority: Arc::new(|_| Some(Priority::Dependency)),
        }
    }

    /// Only objects of these kinds count.
    #[must_use]
    pub fn of_kinds(mut self, kinds: impl IntoIterator<Item = GroupKind>) -> Self {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }

    /// What of a change counts; without it [`Interest::Desired`].
    #[must_use]
    pub fn with_interest(mut self, interest: Interest) -> Self {
        self.interest = interest;
        self
    }

    /// How urgent a change is that counts; without it [`Priority::Dependency`]. Called with no lock of the store held.
    #[must_use]
    pub fn with_priority(mut self, priority: Arc<WakePriority>) -> Self {
        self.priority = priority;
        self
    }

    pub(super) fn is_to(&self, kind: &GroupKind) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
    }

    pub(super) fn priority(&self, change: &Change) -> Option<Priority> {
        (self.priority)(change)
    }
}

/// What an object refers to by these edges.
pub fn references(edges: &[Edge], object: &Object) -> Vec<Key> {
    edges
        .iter()
        .filter_map(|edge| match &edge.relation {
            Relation::References(find) => Some(find(object)),
            Relation::Selections(_) | Relation::Owner | Relation::Needs(_) => None,
        })
        .flatten()
        .collect()
}

/// What an object depends on, each with the place of its edge.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) references: Box<[(u16, Key)]>,
    pub(super) selections: Box<[(u16, LabelSelection)]>,
    pub(super) needs: Box<[NeededKind]>,
}

impl Outgoing {
    pub(super) fn of(edges: &[Edge], object: &Object) -> Self {
        let (mut references, mut selections, mut needs) = (Vec::new(), Vec::new(), Vec::new());
        for (edge, nth) in edges.iter().zip(0_u16..) {
            match &edge.relation {
                Relation::References(find) => {
                    references.extend(find(object).into_iter().map(|key| (nth, key)));
                }
                Relation::Selections(find) => {
                    selections.extend(find(object).into_iter().map(|selection| (nth, selection)));
                }
                Relation::Needs(find) => needs.extend(find(object)),
                Relation::Owner => {}
            }
        }
        Self {
            references: references.into(),
            selections: selections.into(),
            needs: needs.into(),
        }
    }
}
