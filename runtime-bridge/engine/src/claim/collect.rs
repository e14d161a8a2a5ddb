//! Collects what a decision is made from.

use std::sync::Arc;

use bridge_core::{
    claim::{
        Additions, Bond, Claim, SecretRefs, SecretVersions, Snapshot, bound_elsewhere, candidates, is_taken,
        names,
    },
    composite::{LiveObject, ObjectState, ResourceRef, SecretName},
    definition::Terms,
    protection::{Mark, UsageView},
};

use super::reconciler::ClaimReconciler;
use crate::{
    api_error::ApiError,
    composite::{Finder, live},
    object::{Key, Object},
    protection::{StoredUsages, unknown_usages},
};

impl ClaimReconciler {
    /// What is known of a claim without asking anybody.
    pub(super) fn collect_cached(&self, object: &Object) -> Snapshot {
        let (shared, terms) = (&self.shared, self.terms());
        let claim = Claim::new(object.to_value());
        Snapshot {
            // Later it is the composite resource's to say.
            choice: (claim.composite().is_none())
                .then(|| shared.choose(&terms, &claim.object).ok())
                .flatten()
                .map(|chosen| chosen.selected),
            name: String::new(),
            xr: ObjectState::Absent,
            secrets: None,
            in_use: None,
            unknown_usages: None,
            is_unwatched: false,
            term_began: shared.remembers_since(&self.api.kind),
            may_act: false,
            settings: Arc::clone(&shared.settings),
            now: shared.clock.now(),
            terms,
            claim,
        }
    }

    /// What may have to be read.
    pub(super) async fn collect(&self, snapshot: &Snapshot) -> Additions {
        let finder = Finder::new(&self.shared);
        let (claim, terms) = (&snapshot.claim, &snapshot.terms);
        let mut found = (String::new(), ObjectState::Absent);
        for name in candidates(claim) {
            let state = finder.see(&reference(terms, &name), None).await;
            let is_taken = is_taken(claim, &name, &state);
            found = (name, state);
            if !is_taken {
                break;
            }
        }
        let is_watched = finder.is_watched_in_any_version(&terms.api_version(), terms.kind.kind());
        match self.bound_elsewhere(claim, &found.1, is_watched).await {
            Ok(None) => {}
            Ok(Some(name)) => {
                let state = finder.see(&reference(terms, &name), None).await;
                found = (name, state);
            }
            Err(error) => found.1 = ObjectState::Unknown(error.to_string()),
        }
        let (name, xr) = found;
        let secrets = match &xr {
            ObjectState::Exists(xr) => SecretRefs::of(claim, xr),
            _ => None,
        };
        let counts = secrets.iter().map(|refs| SecretName {
            namespace: refs.source_namespace.clone(),
            name: refs.source.clone(),
        });
        let user = Key::new(self.api.kind.clone(), Some(claim.namespace()), claim.name());
        self.shared.secret_users.set(&user, counts.collect());
        let version =
            |namespace: &str, name: &str| self.shared.secrets.version(&Key::secret(namespace, name));
        // In this order: a list that is completed in between brings usages that are then found.
        let is_marked = matches!(&xr, ObjectState::Exists(xr) if Mark::of(xr).label);
        let unknown_usages = unknown_usages(&self.shared.watches, is_marked);
        let in_use = match &xr {
            ObjectState::Exists(xr) => self.in_use(&name, xr),
            _ => None,
        };
        Additions {
            in_use,
            unknown_usages,
            secrets: secrets.map(|refs| SecretVersions {
                source: version(&refs.source_namespace, &refs.source),
                target: version(claim.namespace(), &refs.target),
            }),
            is_unwatched: !is_watched,
            now: self.shared.clock.now(),
            name,
            xr,
        }
    }

    /// The composite resource that the claim bound, if that is not what is known under the name that it has. The store knows all of them only while
    /// they are watched.
    async fn bound_elsewhere(
        &self,
        claim: &Claim,
        named: &ObjectState,
        is_watched: bool,
    ) -> Result<Option<String>, ApiError> {
        match named {
            ObjectState::KindGone | ObjectState::Unknown(_) => return Ok(None),
            ObjectState::Exists(xr) if Bond::of(claim, xr) == Bond::Ours => return Ok(None),
            ObjectState::Exists(_) | ObjectState::Absent => {}
        }
        let composites = self.composites();
        let all = if is_watched {
            self.shared.store.list(&composites.kind)
        } else {
            self.shared.writer.list_live(&composites, None).await?
        };
        let is_noted = |xr: &&Arc<Object>| xr.annotation(names::CLAIM_UID) == Some(claim.uid());
        let noted: Result<Vec<_>, _> = all.iter().filter(is_noted).map(|xr| live(xr)).collect();
        Ok(bound_elsewhere(claim, &noted?))
    }

    /// By what the composite resource is in use. It may have been read past the store, which does not hold it then.
    fn in_use(&self, name: &str, xr: &LiveObject) -> Option<String> {
        let id = reference(&self.terms(), name).id(None);
        let usages = StoredUsages::new(&self.shared.store).protecting_live(&id, || xr);
        usages.first().map(UsageView::text)
    }

    /// The composite resource of a name, past the store.
    pub(super) async fn observe(&self, name: &str) -> ObjectState {
        let finder = Finder::new(&self.shared);
        finder.see_live(&reference(&self.terms(), name), None).await
    }
}

fn reference(terms: &Terms, name: &str) -> ResourceRef {
    ResourceRef {
        api_version: terms.api_version(),
        kind: terms.kind.kind().to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}
