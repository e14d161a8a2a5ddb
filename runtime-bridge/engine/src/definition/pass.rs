//! One reconcile of a definition that stays.

use std::sync::Arc;

use bridge_core::{
    composite::names::CROSSPLANE_MANAGER,
    crd::{claim, composite},
    definition::{
        DEFINED_FINALIZER, Definition, DefinitionRejected, OFFERED_FINALIZER, Side, SideState, Standing,
        Terms, teardown::AGAIN,
    },
    queue::Priority,
    reasons::{DefinitionEvent, DefinitionReason},
};
use serde_json::Value;

use super::{
    controller::DefinitionReconciler,
    crds::{BroughtCrd, former_claim_crd, is_controlled_by, uid},
    served_types::By,
};
use crate::{
    api_error::ApiError, crd::established, engine::Engine, event::EventType, object::Object, reconcile::Next,
    shell::cannot_read, write::Writer,
};

/// What follows from a definition.
struct Rendered {
    terms: Arc<Terms>,
    composite: Value,
    claim: Option<Value>,
}

fn read(definition: &Object) -> Result<Definition, DefinitionRejected> {
    if !definition.is_readable() {
        return Err(DefinitionRejected::Field {
            field: "spec".to_owned(),
            why: cannot_read(definition),
        });
    }
    Definition::read(&definition.to_value())
}

fn render(definition: &Object) -> Result<Rendered, DefinitionRejected> {
    let definition = read(definition)?;
    let terms = Terms::of(&definition)?;
    Ok(Rendered {
        composite: composite(&definition, &terms)?,
        claim: claim(&definition, &terms)?,
        terms: Arc::new(terms),
    })
}

impl DefinitionReconciler {
    pub(super) async fn establish(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
        term: u64,
    ) -> Result<Next, ApiError> {
        let rendered = match render(definition) {
            Ok(rendered) => rendered,
            Err(rejected) => return self.reject(definition, &rejected, term).await,
        };
        let (definition, composite) = match self.bring_composite(definition, &rendered).await {
            Ok(brought) => brought,
            Err(error) => {
                self.serve_despite(&error, definition, term).await;
                return Err(error);
            }
        };
        let definition = &definition;
        self.serve_as_found(definition, composite.crd.as_ref(), By::Pass(term));
        // Claims of other names go first: of two kinds of claims one alone is served.
        let former = former_claim_crd(definition, &engine.watches);
        let offered = rendered.claim.as_ref().filter(|_| former.is_none());
        // An error of one side keeps nothing from being said of the other.
        let claim = match offered {
            Some(crd) => Some(self.bring(definition, Side::Claim, crd).await),
            None => None,
        };
        let (claim, error) = match claim.transpose() {
            Ok(claim) => (claim, None),
            Err(error) => (None, Some(error)),
        };
        let (withdrawn, error) = match (offered, error) {
            (None, None) => match self.withdraw_claims(engine, definition).await {
                Ok(withdrawn) => (withdrawn, None),
                Err(error) => (None, Some(error)),
            },
            (_, error) => (None, error),
        };
        let again = (withdrawn.is_some() || former.is_some()).then_some(AGAIN);
        let waits = error.is_some().then_some(SideState::Waiting);
        let claim_state = claim.as_ref().map(|claim| claim.state.clone());
        let standing = Standing {
            composite: composite.state,
            claim: claim_state.or(withdrawn).or(waits),
        };
        let said = self
            .write_status(definition, &standing, Some(&rendered.terms))
            .await?;
        let (claim_rejected, claim_not_before) =
            claim.map_or((None, None), |claim| (claim.rejected, claim.not_before));
        if let Some(error) = error.or(composite.rejected).or(claim_rejected) {
            return Err(error);
        }
        // After Crossplane nobody would take it off: there only who offers claims does.
        let are_known = engine
            .watches
            .definitions_controlled_by(definition.uid())
            .is_some();
        let offers_none = rendered.claim.is_none() && again.is_none() && are_known;
        if offers_none && definition.has_finalizer(OFFERED_FINALIZER) {
            self.remove_finalizers(&said, &[OFFERED_FINALIZER]).await?;
        }
        // Else a CRD that changes is its turn.
        let pauses = [composite.not_before, claim_not_before];
        let now = tokio::time::Instant::now();
        let pauses = pauses
            .into_iter()
            .flatten()
            .map(|at| at.saturating_duration_since(now));
        let pause = pauses.chain(again).min();
        let pause = pause.map(|wait| Next::at(self.clock.now() + wait, Priority::Dependency));
        Ok(pause.unwrap_or_else(Next::idle))
    }

    /// A write that fails keeps nothing from being served by the CRD that is there, unless it failed as this is not the definition, or not its CRD, that is
    /// stored by now: then the next pass, which follows at once, knows more.
    async fn serve_despite(&self, error: &ApiError, definition: &Object, term: u64) {
        let is_behind = matches!(
            error,
            ApiError::Conflict(_) | ApiError::AlreadyExists(_) | ApiError::NotFound(_) | ApiError::NotSent
        );
        if is_behind {
            return;
        }
        if let Ok(crd) = self.crds.read(definition.name()).await {
            self.serve_as_found(definition, crd.as_ref(), By::Pass(term));
        }
    }

    async fn bring_composite(
        &self,
        definition: &Arc<Object>,
        rendered: &Rendered,
    ) -> Result<(Arc<Object>, BroughtCrd), ApiError> {
        // Before any CRD is created: it must go before the definition does.
        let definition = self.add_finalizers(definition, rendered.claim.is_some()).await?;
        let crd = self
            .bring(&definition, Side::Composite, &rendered.composite)
            .await?;
        Ok((definition, crd))
    }

    /// What was served goes on, as its CRD stands.
    async fn reject(
        &self,
        definition: &Arc<Object>,
        rejected: &DefinitionRejected,
        term: u64,
    ) -> Result<Next, ApiError> {
        let crd = self.crds.read(definition.name()).await?;
        self.serve_as_found(definition, crd.as_ref(), By::Pass(term));
        let message = rejected.to_string();
        self.record(
            definition,
            EventType::Warning,
            DefinitionEvent::RenderCRD,
            &message,
        );
        let offers = !definition.spec_value()["claimNames"].is_null();
        let state = SideState::NotServed {
            reason: DefinitionReason::InvalidDefinition,
            message,
        };
        let standing = Standing::of_both(&state, offers);
        self.write_status(definition, &standing, None).await?;
        Ok(Next::idle())
    }

    /// Serves the composite resources of a definition as its CRD stands, whatever the definition says by now, and whatever became of the last edit: a function of
    /// what is stored, not of what this process has served. Nothing is served without a CRD. False: others say by now how it stands.
    pub(super) fn serve_as_found(&self, definition: &Object, crd: Option<&Value>, by: By) -> bool {
        // One that is still to be taken over may be somebody's, with objects that are not composite resources.
        let crd = crd.filter(|crd| is_controlled_by(crd, definition.uid()));
        let terms = crd
            .filter(|crd| established::is_readable(crd))
            .and_then(|crd| Terms::as_served(&read(definition).ok()?, crd));
        self.served
            .follow(definition.name(), terms.map(Arc::new), crd.map(uid), by)
    }

    /// Likewise as a standby, by the CRD as it is now.
    pub(super) async fn serve_as_standby(&self, definition: &Object) -> Result<bool, ApiError> {
        let crd = self.crds.read(definition.name()).await?;
        Ok(self.serve_as_found(definition, crd.as_ref(), By::Standby))
    }

    /// As a standby, serves for no other definition than these, and waits for the end of none.
    pub(super) fn serve_these_as_standby(&self, definitions: &[Arc<Object>]) {
        let uids = definitions.iter().map(|definition| definition.uid()).collect();
        self.served.retain_definitions(&uids);
        let is_there = |name: &str| definitions.iter().any(|definition| definition.name() == name);
        self.removals.lock().retain(|name, _| is_there(name));
    }

    async fn bring(&self, definition: &Object, side: Side, crd: &Value) -> Result<BroughtCrd, ApiError> {
        let event = match side {
            Side::Composite => DefinitionEvent::EstablishComposite,
            Side::Claim => DefinitionEvent::OfferClaim,
        };
        let brought = match self.bring_quietly(definition, crd).await {
            Ok(brought) => brought,
            Err(error) => {
                if !matches!(
                    error,
                    ApiError::Conflict(_) | ApiError::AlreadyExists(_) | ApiError::NotSent
                ) {
                    self.record(definition, EventType::Warning, event, &error.to_string());
                }
                return Err(error);
            }
        };
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        if brought.written {
            let message = format!("Applied {} CustomResourceDefinition: {name}", side.noun());
            self.record(definition, EventType::Normal, event, &message);
        }
        if brought.not_before.is_some() {
            let message = format!(
                "another writer changes the {} CustomResourceDefinition {name} whenever it is applied: it is applied less and less often; \
                 find who else writes it (kubectl get crd {name} --show-managed-fields -o yaml)",
                side.noun()
            );
            self.record(definition, EventType::Warning, event, &message);
        }
        match &brought.state {
            SideState::NotServed { message, .. } => {
                self.record(definition, EventType::Warning, event, message);
            }
            SideState::Waiting => {
                let message = format!(
                    "waiting for {} CustomResourceDefinition to be established",
                    side.noun()
                );
                self.record(definition, EventType::Normal, event, &message);
            }
            SideState::Served | SideState::Terminating { .. } => {}
        }
        Ok(brought)
    }

    async fn bring_quietly(&self, definition: &Object, crd: &Value) -> Result<BroughtCrd, ApiError> {
        let planned = self.crds.plan(crd, definition.generation()).await?;
        if planned.writes() {
            // The CRD's version guards the CRD alone: an older definition must not take back what a newer one has brought.
            self.writer.verify_current(definition, || self.may_act()).await?;
        }
        self.crds.carry_out(planned).await
    }

    async fn add_finalizers(&self, definition: &Arc<Object>, offers: bool) -> Result<Arc<Object>, ApiError> {
        let wanted = [(DEFINED_FINALIZER, true), (OFFERED_FINALIZER, offers)];
        let missing: Vec<String> = wanted
            .into_iter()
            .filter(|(finalizer, wanted)| *wanted && !definition.has_finalizer(finalizer))
            .map(|(finalizer, _)| finalizer.to_owned())
            .collect();
        if missing.is_empty() {
            return Ok(Arc::clone(definition));
        }
        let mut changed = Object::clone(definition);
        changed.meta.finalizers.get_or_insert_default().extend(missing);
        self.writer(definition).put(&changed).await
    }

    /// Unless it says that already. The answer is the definition as it is stored then.
    pub(super) async fn write_status(
        &self,
        definition: &Arc<Object>,
        standing: &Standing,
        terms: Option<&Terms>,
    ) -> Result<Arc<Object>, ApiError> {
        let former = definition.status_value();
        let status = standing.status(&former, terms, definition.generation(), self.clock.now());
        let says_nothing = former.is_null() && status.as_object().is_some_and(serde_json::Map::is_empty);
        if status == former || says_nothing {
            return Ok(Arc::clone(definition));
        }
        let mut changed = Object::clone(definition);
        changed.set_status(&status);
        self.writer(definition).put_status(&changed).await
    }

    pub(super) fn writer(&self, definition: &Object) -> Writer {
        self.writer
            .for_reconcile(&definition.key())
            .as_manager(CROSSPLANE_MANAGER)
    }
}
