//! One reconcile of a definition that stays.

use std::sync::Arc;

use bridge_core::{
    composite::names::CROSSPLANE_MANAGER,
    crd::{claim, composite},
    definition::{
        DEFINED_FINALIZER, Definition, DefinitionRejected, OFFERED_FINALIZER, Side, SideState, Standing,
        Terms,
    },
    reasons::{DefinitionEvent, DefinitionReason},
};
use serde_json::Value;

use super::controller::DefinitionReconciler;
use crate::{api_error::ApiError, event::EventType, object::Object, reconcile::Next, write::Writer};

/// What follows from a definition.
struct Rendered {
    terms: Arc<Terms>,
    composite: Value,
    claim: Option<Value>,
}

fn read(definition: &Object) -> Result<Definition, DefinitionRejected> {
    // An object that was decoded is one that can be encoded.
    Definition::read(&serde_json::to_value(definition).unwrap_or_default())
}

/// The terms of its type, whatever its schemas are.
pub(super) fn terms(definition: &Object) -> Result<Terms, DefinitionRejected> {
    Terms::of(&read(definition)?)
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
    pub(super) async fn establish(&self, definition: &Arc<Object>) -> Result<Next, ApiError> {
        let rendered = match render(definition) {
            Ok(rendered) => rendered,
            Err(rejected) => {
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
                return Ok(Next::idle());
            }
        };
        // Before any CRD is created: it must go before the definition does.
        let definition = &self.add_finalizers(definition, rendered.claim.is_some()).await?;
        let composite = self
            .bring(definition, Side::Composite, &rendered.composite)
            .await?;
        match (&composite.state, &composite.uid) {
            (SideState::Served, Some(crd)) => self.served.serve(&rendered.terms, crd),
            // What was served goes on, unless that CRD is gone, or another's.
            (_, crd) => self.served.retain(definition.name(), crd.as_deref()),
        }
        let claim = match &rendered.claim {
            Some(crd) => Some(self.bring(definition, Side::Claim, crd).await?.state),
            None => None,
        };
        let standing = Standing {
            composite: composite.state,
            claim,
        };
        self.write_status(definition, &standing, Some(&rendered.terms))
            .await?;
        // A CRD that changes is its turn.
        Ok(Next::idle())
    }

    async fn bring(
        &self,
        definition: &Object,
        side: Side,
        crd: &Value,
    ) -> Result<super::crds::BroughtCrd, ApiError> {
        let event = match side {
            Side::Composite => DefinitionEvent::EstablishComposite,
            Side::Claim => DefinitionEvent::OfferClaim,
        };
        let brought = match self.crds.bring(crd).await {
            Ok(brought) => brought,
            Err(error) => {
                if !matches!(error, ApiError::Conflict(_) | ApiError::AlreadyExists(_)) {
                    self.record(definition, EventType::Warning, event, &error.to_string());
                }
                return Err(error);
            }
        };
        if brought.written {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let message = format!("Applied {} CustomResourceDefinition: {name}", side.noun());
            self.record(definition, EventType::Normal, event, &message);
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

    /// Unless it says that already.
    pub(super) async fn write_status(
        &self,
        definition: &Object,
        standing: &Standing,
        terms: Option<&Terms>,
    ) -> Result<(), ApiError> {
        let former = definition.status_value();
        let status = standing.status(&former, terms, definition.generation(), self.clock.now());
        let says_nothing = former.is_null() && status.as_object().is_some_and(serde_json::Map::is_empty);
        if status == former || says_nothing {
            return Ok(());
        }
        let mut changed = definition.clone();
        changed.set_status(&status);
        self.writer(definition).put_status(&changed).await.map(drop)
    }

    pub(super) fn writer(&self, definition: &Object) -> Writer {
        self.writer
            .for_reconcile(&definition.key())
            .as_manager(CROSSPLANE_MANAGER)
    }
}
