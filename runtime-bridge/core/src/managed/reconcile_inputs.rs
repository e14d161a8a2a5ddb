//! What the user controls, as one value that tells whether anything of it has changed.

use super::{
    names,
    record::Stored,
    snapshot::{Managed, Snapshot},
};

/// What the user controls. While it stays as it was, a wait goes on and a look is not repeated before its time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileInputs {
    generation: i64,
    deleting: bool,
    config_revision: String,
    sensitive_digest: String,
    words: Vec<String>,
}

impl ReconcileInputs {
    /// The desired state is the same: words of a person change nothing of it.
    pub(super) fn desires_the_same(&self, other: &Self) -> bool {
        self.generation == other.generation
            && self.config_revision == other.config_revision
            && self.sensitive_digest == other.sensitive_digest
    }

    /// Of the world as it is.
    pub fn of(snapshot: &Snapshot) -> Self {
        let words = [
            names::EXTERNAL_NAME,
            names::RECONCILE_REQUESTED,
            names::CREATE_OUTCOME,
            names::ADOPT,
            names::APPROVE_REPLACEMENT,
            names::ORPHAN,
        ];
        // Names that we wrote ourselves are not asked for by the user: only one that differs from the record's counts.
        let named_by_us = |managed: &Managed| match &*managed.record() {
            Stored::Owned(record) => record.external_name == managed.annotation(names::EXTERNAL_NAME),
            Stored::None | Stored::Unreadable(_) => false,
        };
        Self {
            generation: snapshot.managed.generation,
            deleting: snapshot.managed.deletion.is_some(),
            config_revision: snapshot
                .config
                .as_ref()
                .map(|config| config.revision.clone())
                .unwrap_or_default(),
            sensitive_digest: snapshot
                .desired
                .as_ref()
                .map(|desired| desired.sensitive_digest.clone())
                .unwrap_or_default(),
            words: words
                .into_iter()
                .map(|word| match word {
                    names::EXTERNAL_NAME if named_by_us(&snapshot.managed) => String::new(),
                    word => snapshot.managed.annotation(word).to_owned(),
                })
                .collect(),
        }
    }
}
