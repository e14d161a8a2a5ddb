//! A definition that is deleted: observes what is left of it, and carries out what [`teardown`] plans.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    definition::{
        Side, SideState, Standing,
        teardown::{self, Deletion, Plan},
    },
    queue::{Priority, Wake},
};
use serde_json::Value;

use super::{
    controller::DefinitionReconciler,
    crds::{claim_crd, claim_crd_left, former_claim_crd},
    instance_deletions::{Failed, InstanceDeletions, Outcome},
    remains::{Observed, Remains},
    served_types::By,
};
use crate::{
    api_error::ApiError, engine::Engine, event::EventType, object::Object, reconcile::Next, store::Listener,
};

/// What has changed since it was seen is looked at again after this.
const STALE_AGAIN: std::time::Duration = std::time::Duration::from_millis(250);

impl DefinitionReconciler {
    pub(super) async fn remove(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
        term: u64,
    ) -> Result<Next, ApiError> {
        if teardown::holding(definition.meta.finalizers.as_deref().unwrap_or_default()).is_empty() {
            self.let_go(definition);
            return Ok(Next::idle());
        }
        let composites = self.crds.read(definition.name()).await?;
        // Before anything is deleted, and after a restart, too: only who serves composite resources takes their finalizers off.
        self.serve_as_found(definition, composites.as_ref(), By::Pass(term));
        let claims = self.claims_crd(engine, definition).await?;
        let mut observed = self.observe(engine, definition, claims, composites);
        let mut said = Arc::clone(definition);
        loop {
            let plan = teardown::plan(&observed.seen, self.clock.now());
            tracing::debug!(definition = definition.name(), %plan, "ending a definition");
            let Some(side) = plan.side else {
                // Not earlier: what was created until its CRD went had to be let go.
                self.let_go(definition);
                return self.remove_finalizers(definition, &plan.finalizers).await;
            };
            self.watch_removal(engine, definition, observed.remains(side));
            if plan.lists {
                if let Err(error) = self.list(&mut observed, side).await {
                    if matches!(error, ApiError::Forbidden(_) | ApiError::Denied(_)) {
                        let plan = teardown::plan(&observed.seen, self.clock.now());
                        self.report(&said, side, plan.message).await?;
                    }
                    return Err(error);
                }
            } else if plan.reports {
                said = self.report(&said, side, plan.message).await?;
                observed.seen.is_reported = true;
            } else {
                return self.carry_out(definition, &said, &observed, side, &plan).await;
            }
        }
    }

    /// Claims that are offered no more go when their users delete them, and then their CRD. `None`: nothing of them is left.
    pub(super) async fn withdraw_claims(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
    ) -> Result<Option<SideState>, ApiError> {
        let claims = match former_claim_crd(definition, &engine.watches) {
            Some(name) => self.crds.read(&name).await?,
            None => return Ok(None),
        };
        let mut observed = self.observe(engine, definition, claims, None);
        loop {
            let Some(plan) = teardown::withdraw(&observed.seen, self.clock.now()) else {
                return Ok(None);
            };
            self.watch_removal(engine, definition, observed.remains(Side::Claim));
            if plan.lists {
                self.list(&mut observed, Side::Claim).await?;
                continue;
            }
            if !plan.deletions.is_empty() {
                self.writer.verify_current(definition, || self.may_act()).await?;
            }
            let outcome = self.delete(definition, &observed, Side::Claim, &plan).await?;
            let message = plan.message_after(outcome.rejected().as_ref());
            return Ok(message.map(|message| SideState::Terminating { message }));
        }
    }

    async fn claims_crd(&self, engine: &Engine, definition: &Object) -> Result<Option<Value>, ApiError> {
        match claim_crd_left(definition, &engine.watches) {
            Some(name) => self.crds.read(&name).await,
            None => Ok(None),
        }
    }

    pub(super) async fn remove_finalizers(
        &self,
        definition: &Object,
        finalizers: &[&'static str],
    ) -> Result<Next, ApiError> {
        let mut changed = Object::clone(definition);
        if let Some(held) = &mut changed.meta.finalizers {
            held.retain(|finalizer| !finalizers.contains(&finalizer.as_str()));
        }
        self.writer(definition).put(&changed).await?;
        Ok(Next::idle())
    }

    /// The answer is the definition as it is stored then.
    async fn report(
        &self,
        definition: &Arc<Object>,
        side: Side,
        message: Option<String>,
    ) -> Result<Arc<Object>, ApiError> {
        let Some(message) = message else {
            return Ok(Arc::clone(definition));
        };
        let offers = side == Side::Claim || claim_crd(definition).is_some();
        let standing = Standing::of_both(&SideState::Terminating { message }, offers);
        self.write_status(definition, &standing, None).await
    }

    /// `said`: the definition as it is stored since its status says that it ends.
    async fn carry_out(
        &self,
        definition: &Arc<Object>,
        said: &Arc<Object>,
        observed: &Observed,
        side: Side,
        plan: &Plan,
    ) -> Result<Next, ApiError> {
        if let Some((reason, message)) = &plan.event {
            self.record(definition, EventType::Normal, *reason, message);
        }
        let outcome = self.delete(definition, observed, side, plan).await?;
        let message = plan.message_after(outcome.rejected().as_ref());
        self.report(said, side, message).await?;
        match outcome.rejected {
            Some(Failed { error, .. }) if !error.is_refusal() => Err(error),
            _ if outcome.is_stale => Ok(Next::at(self.clock.now() + STALE_AGAIN, Priority::Dependency)),
            _ => Ok(plan
                .again
                .map_or_else(Next::idle, |at| Next::at(at, Priority::Dependency))),
        }
    }

    /// Deletes what the plan says, each as it was seen.
    ///
    /// # Errors
    /// [`ApiError::NotSent`], or another CRD has the name.
    async fn delete(
        &self,
        definition: &Object,
        observed: &Observed,
        side: Side,
        plan: &Plan,
    ) -> Result<Outcome, ApiError> {
        let Some(remains) = observed.remains(side) else {
            return Ok(Outcome::default());
        };
        if plan
            .deletions
            .iter()
            .any(|deletion| matches!(deletion, Deletion::Crd(_)))
        {
            return self.delete_crd(definition, side, &remains.crd).await;
        }
        let Some(api) = &remains.api else {
            return Ok(Outcome::default());
        };
        let objects = remains.objects.iter();
        let by_uid: BTreeMap<&str, &Arc<Object>> = objects.map(|object| (object.uid(), object)).collect();
        let planned = plan.deletions.iter().filter_map(|deletion| match deletion {
            Deletion::Object(instance) => by_uid.get(instance.uid.as_str()).copied(),
            Deletion::Crd(_) => None,
        });
        let deletions = InstanceDeletions {
            api,
            writer: &self.writer,
            store: &self.store,
            may_act: &|| self.may_act(),
        };
        deletions.run(planned).await
    }

    async fn delete_crd(&self, definition: &Object, side: Side, crd: &Value) -> Result<Outcome, ApiError> {
        if !self.may_act() {
            return Err(ApiError::NotSent);
        }
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        match self.crds.delete(crd).await {
            Ok(()) => {
                self.removals.lock().remove(definition.name());
                let message = format!("Deleted {} CustomResourceDefinition: {name}", side.noun());
                self.record(definition, EventType::Normal, side.removal_event(), &message);
                Ok(Outcome::default())
            }
            Err(error @ (ApiError::Conflict(_) | ApiError::NotFound(_) | ApiError::NotSent)) => Err(error),
            Err(error) => Ok(Outcome {
                rejected: Some(Failed {
                    what: format!("the CustomResourceDefinition {name}"),
                    error,
                }),
                is_stale: false,
            }),
        }
    }

    /// The last of its objects that goes is the definition's turn.
    fn watch_removal(&self, engine: &Engine, definition: &Object, remains: Option<&Remains>) {
        let Some(api) = remains.and_then(|remains| remains.api.as_ref()) else {
            return;
        };
        let mut removals = self.removals.lock();
        if removals
            .get(definition.name())
            .is_some_and(|(kind, _)| *kind == api.kind)
        {
            return;
        }
        let key = definition.key();
        // Weak: each of them keeps what hears of changes.
        let (store, dispatcher) = (Arc::downgrade(&engine.store), Arc::downgrade(&engine.dispatcher));
        let clock = Arc::clone(&engine.clock);
        let listener: Arc<Listener> = Arc::new(move |change: &_| {
            let (Some(store), Some(dispatcher)) = (store.upgrade(), dispatcher.upgrade()) else {
                return;
            };
            if change.new.is_none() && store.count(change.key.kind()) == 0 {
                let wake = Wake {
                    at: clock.now(),
                    priority: Priority::Dependency,
                };
                dispatcher.enqueue(&key, wake);
            }
        });
        let watched = engine.subscribe(api, "its definition is being deleted", &listener);
        removals.insert(definition.name().to_owned(), (api.kind.clone(), watched));
    }
}
