use std::sync::Arc;

use crate::object::{Key, Object};

/// Where the news came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The first list of its kind: it was there before.
    Listed,
    /// The watch, or a later list: another process wrote, or this one outside of any reconcile.
    Watched,
    /// The write of a reconcile of this process, which knows what it wrote. To every other object it is news.
    Written {
        /// The object that was reconciled.
        by: Key,
    },
}

impl Cause {
    /// Of a write by the reconcile of an object, or by none.
    pub(crate) fn of_write(by: Option<&Key>) -> Self {
        by.map_or(Self::Watched, |by| Self::Written { by: by.clone() })
    }

    /// The reconcile of this object brought it about.
    pub fn is_by(&self, key: &Key) -> bool {
        matches!(self, Self::Written { by } if by == key)
    }
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
    /// More than `status` changed: any other field, finalizers, deletion, or which object bears the name. Of a kind of which only
    /// metadata is watched, anything.
    pub fn beyond_status(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => new.api.is_metadata_only() || !old.same_but_status(new),
            _ => true,
        }
    }

    /// The status could not be read, and now it can.
    pub fn reveals_status(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !old.has_readable_status() && new.has_readable_status(),
            _ => false,
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
