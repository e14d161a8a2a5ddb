//! What a composite resource is composed by.

use bridge_core::{
    composite::{Choice, ChoiceProblem, Chosen, Composite, Library, Preferences, choose},
    reasons::CompositeEvent,
};

use super::{
    library::{composition_kind, revision_kind},
    reconciler::CompositeReconciler,
};
use crate::watch::WatchState;

impl CompositeReconciler {
    /// Chooses from what is stored.
    pub(super) fn choose(&self, xr: &Composite) -> Result<Chosen, ChoiceProblem> {
        let (store, library) = (&self.shared.store, &self.shared.library);
        for kind in [composition_kind(), revision_kind()] {
            let state = self.shared.watches.state(&kind);
            if state != WatchState::Live {
                return Err(ChoiceProblem {
                    event: CompositeEvent::SelectComposition,
                    message: format!(
                        "cannot select Composition: {}s are not known: their watch is {}",
                        kind.kind(),
                        state.name()
                    ),
                    may_pass: true,
                });
            }
        }
        let (compositions, revisions) = (library.compositions(store), library.revisions(store));
        let terms = self.terms();
        let preferences = Preferences::read(&xr.object, terms.machinery);
        let stored = Library {
            compositions: &compositions,
            revisions: &revisions,
        };
        match choose(&terms, &preferences, stored) {
            Choice::Chosen(chosen) => Ok(Chosen {
                pipeline: library
                    .pipeline(store, &chosen.revision.name)
                    .unwrap_or_else(|| Err("the revision is gone".to_owned())),
                revision_uid: chosen.revision.uid.clone(),
                selected: chosen.selected,
            }),
            Choice::Missing(missing) => Err(ChoiceProblem {
                event: missing.event(),
                may_pass: missing.may_pass(),
                message: missing.to_string(),
            }),
        }
    }
}
