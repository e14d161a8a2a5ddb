use std::{collections::BTreeMap, sync::Arc};

use crate::object::{Key, Object};

/// Where the news came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The first list of its kind: it was there before.
    Listed,
    /// The watch, or a later list: somebody else wrote.
    Watched,
    /// A write of this process.
    Written,
}

/// One object came, changed or went. A hint: what counts is what the store holds when one looks.
#[derive(Debug, Clone)]
pub struct Change {
    /// Of what.
    pub key: Key,
    /// As it was.
    pub old: Option<Arc<Object>>,
    /// As it is; `None`: gone.
    pub new: Option<Arc<Object>>,
    /// Who says so.
    pub cause: Cause,
}

impl Change {
    /// More than `status` changed: spec, marks, finalizers, deletion, or which object bears the name. Of a kind of which only
    /// metadata is watched, anything.
    pub fn beyond_status(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => new.api.is_metadata_only() || !old.same_but_status(new),
            _ => true,
        }
    }

    /// More changed than what depends on the object can do without: `status` and finalizers.
    pub fn concerns_dependants(&self) -> bool {
        let bare = |object: &Object| {
            let mut bare = object.clone();
            bare.meta.finalizers = None;
            bare
        };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) if !new.api.is_metadata_only() => !bare(old).same_but_status(&bare(new)),
            _ => true,
        }
    }
}

/// Which objects of a kind somebody cares for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// All of them.
    Whole,
    /// One.
    Name {
        /// `None`: cluster-scoped.
        namespace: Option<String>,
        /// Name.
        name: String,
    },
    /// Those that bear, or bore, all these labels.
    Labels(BTreeMap<String, String>),
}

impl Selector {
    /// Whether a change is of interest: before it, or after it.
    pub fn matches(&self, change: &Change) -> bool {
        match self {
            Self::Whole => true,
            Self::Name { namespace, name } => {
                change.key.name() == name && change.key.namespace() == namespace.as_deref()
            }
            Self::Labels(wanted) => [&change.old, &change.new]
                .into_iter()
                .flatten()
                .any(|object| wanted.iter().all(|(key, value)| object.label(key) == Some(value))),
        }
    }
}
