//! What a composite resource is composed by.

use bridge_core::{
    composite::{Choice, ChoiceProblem, Chosen, Composite, Library, Missing, Preferences, choose},
    definition::Terms,
    reasons::CompositeEvent,
    revision::ActiveFunction,
};
use serde_json::Value;

use super::{
    library::{composition_kind, revision_kind},
    reconciler::CompositeReconciler,
    shared::CompositeShared,
};
use crate::{revision::active_functions, watch::WatchState};

impl CompositeReconciler {
    pub(super) fn choose(&self, xr: &Composite) -> Result<Chosen, ChoiceProblem> {
        self.shared.choose(&self.terms(), &xr.object)
    }
}

impl CompositeShared {
    /// Chooses from what is stored, for a composite resource or its claim.
    pub(crate) fn choose(&self, terms: &Terms, object: &Value) -> Result<Chosen, ChoiceProblem> {
        let (store, library) = (&self.store, &self.library);
        for kind in [composition_kind(), revision_kind()] {
            let state = self.watches.state(&kind);
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
        let preferences = Preferences::read(object, terms.machinery);
        let with = |functions: Option<&[ActiveFunction]>| {
            let library = Library {
                compositions: &compositions,
                revisions: &revisions,
                functions,
            };
            choose(terms, &preferences, library)
        };
        // They are read for a revision that is new, and for no other.
        let choice = match with(None) {
            Choice::Missing(Missing::PipelineStatus { .. }) => {
                with(active_functions(store, &self.watches).as_deref())
            }
            choice => choice,
        };
        match choice {
            Choice::Chosen(chosen) => Ok(Chosen {
                pipeline: library
                    .pipeline(store, &chosen.revision.name)
                    .unwrap_or_else(|| Err("the revision is gone".to_owned())),
                revision_uid: chosen.revision.uid.clone(),
                secrets_namespace: chosen.revision.spec["writeConnectionSecretsToNamespace"]
                    .as_str()
                    .filter(|namespace| !namespace.is_empty())
                    .map(ToOwned::to_owned),
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
