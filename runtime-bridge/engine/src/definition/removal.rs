//! A definition that is deleted: its objects go one by one, then their CRD, then its finalizers. No schema is needed for it.

use std::sync::Arc;

use bridge_core::{
    definition::{DEFINED_FINALIZER, OFFERED_FINALIZER, Side, SideState, Standing, readable_version},
    protection::unlisted,
    queue::{Priority, Wake},
    reasons::{DefinitionEvent, DefinitionReason},
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{
    controller::{DefinitionReconciler, NOT_YET},
    crds::{claim_crd, claim_crd_left, is_controlled_by},
};
use crate::{
    api_error::ApiError,
    crd::established,
    engine::Engine,
    event::EventType,
    object::{ApiType, Object},
    protection::{StoredUsages, unknown_usages},
    reconcile::Next,
    store::Listener,
    watch::WatchState,
    write::{Deletion, Propagation},
};

/// Deletions under way at once.
const DELETIONS: usize = 16;

/// What is waited for is looked at again after this, should no watch show it.
pub(super) const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// What has changed since it was seen is looked at again after this.
const STALE_AGAIN: std::time::Duration = std::time::Duration::from_millis(250);

/// It is reported only after this that usages cannot be listed.
const UNLISTED_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// What is left of one side of a definition.
enum Left {
    /// Its objects, of the type of its CRD.
    Objects(Arc<ApiType>, Vec<Arc<Object>>),
    /// Its CRD alone.
    Crd(Value),
}

impl Left {
    fn message(&self, side: Side, refused: Option<&Refused>) -> String {
        let waiting = match self {
            Self::Objects(_, objects) => {
                format!("waiting for {} {}(s) to be deleted", objects.len(), side.noun())
            }
            Self::Crd(crd) => format!(
                r#"waiting for the CustomResourceDefinition "{}" to be deleted"#,
                crd["metadata"]["name"].as_str().unwrap_or_default()
            ),
        };
        match refused {
            Some(Refused { what, error }) => format!("{waiting}; cannot delete {what}: {error}"),
            None => waiting,
        }
    }
}

/// What came of deletions.
struct Outcome {
    refused: Option<Refused>,
    /// Something is not as it was seen, and may be another one of its name: the next look shows it.
    is_stale: bool,
}

/// A deletion that did not take place.
struct Refused {
    what: String,
    error: ApiError,
}

impl DefinitionReconciler {
    pub(super) async fn remove(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
    ) -> Result<Next, ApiError> {
        let held = [DEFINED_FINALIZER, OFFERED_FINALIZER];
        if !held.iter().any(|finalizer| definition.has_finalizer(finalizer)) {
            self.let_go(definition);
            return Ok(Next::idle());
        }
        let composite = self.owned_crd(definition, definition.name()).await?;
        // Before anything is deleted, and after a restart, too: only who serves composite resources takes their finalizers off.
        self.serve_as_found(definition, composite.as_ref());
        let claims = match claim_crd_left(definition, &engine.watches) {
            Some(name) => self.owned_crd(definition, &name).await?,
            None => None,
        };
        for (side, crd) in [(Side::Claim, claims), (Side::Composite, composite)] {
            if let Some(crd) = crd {
                return self.remove_side(engine, definition, side, crd).await;
            }
        }
        // Not earlier: what was created until its CRD went had to be let go.
        self.let_go(definition);
        let mut changed = Object::clone(definition);
        if let Some(finalizers) = &mut changed.meta.finalizers {
            finalizers.retain(|finalizer| !held.contains(&finalizer.as_str()));
        }
        self.writer(definition).put(&changed).await?;
        Ok(Next::idle())
    }

    /// Claims that are offered no more go when their users delete them, and then their CRD. `None`: nothing of them is left.
    pub(super) async fn withdraw_claims(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
    ) -> Result<Option<SideState>, ApiError> {
        let Some(name) = claim_crd_left(definition, &engine.watches) else {
            return Ok(None);
        };
        let Some(crd) = self.owned_crd(definition, &name).await? else {
            return Ok(None);
        };
        let left = self.left(engine, definition, crd).await?;
        let message = match &left {
            Left::Objects(..) => left.message(Side::Claim, None),
            Left::Crd(crd) => {
                self.writer.verify_current(definition, || self.may_act()).await?;
                let refused = self.delete_crd(definition, Side::Claim, crd).await?;
                left.message(Side::Claim, refused.as_ref())
            }
        };
        Ok(Some(SideState::Terminating { message }))
    }

    async fn owned_crd(&self, definition: &Object, name: &str) -> Result<Option<Value>, ApiError> {
        let crd = self.crds.read(name).await?;
        Ok(crd.filter(|crd| is_controlled_by(crd, definition.uid())))
    }

    /// Says what is waited for, then deletes it.
    async fn remove_side(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
        side: Side,
        crd: Value,
    ) -> Result<Next, ApiError> {
        let offers = side == Side::Claim || claim_crd(definition).is_some();
        let standing = |message| Standing::of_both(&SideState::Terminating { message }, offers);
        let left = match self.left(engine, definition, crd).await {
            Ok(left) => left,
            Err(error) => {
                // Who wonders why nothing goes looks here.
                if matches!(error, ApiError::Forbidden(_) | ApiError::Denied(_)) {
                    let message = format!("cannot see what is left to be deleted: {error}");
                    self.write_status(definition, &standing(message), None).await?;
                }
                return Err(error);
            }
        };
        let said = if is_said_to_end(definition) {
            Arc::clone(definition)
        } else {
            let standing = standing(left.message(side, None));
            self.write_status(definition, &standing, None).await?
        };
        // What is in use is known only once all usages are. That the definition ends is said before.
        let now = self.clock.now();
        if let Some(why) = unknown_usages(&engine.watches) {
            let since = *self.unlisted_since.lock().get_or_insert(now);
            if now < since + UNLISTED_PATIENCE {
                return Ok(Next::at(now + NOT_YET, Priority::Dependency));
            }
            let message = format!("{}; {}", left.message(side, None), unlisted(&why));
            self.write_status(&said, &standing(message), None).await?;
            return Ok(Next::at(now + AGAIN, Priority::Dependency));
        }
        *self.unlisted_since.lock() = None;
        let Outcome { refused, is_stale } = match &left {
            Left::Objects(api, objects) => {
                let message = format!("waiting for defined {}s to be deleted", side.noun());
                self.record(definition, EventType::Normal, removal_event(side), &message);
                self.delete_all(api, objects).await
            }
            Left::Crd(crd) => Outcome {
                refused: self.delete_crd(definition, side, crd).await?,
                is_stale: false,
            },
        };
        if refused
            .as_ref()
            .is_some_and(|refused| refused.error == ApiError::NotSent)
        {
            return Err(ApiError::NotSent);
        }
        let standing = standing(left.message(side, refused.as_ref()));
        self.write_status(&said, &standing, None).await?;
        match refused {
            Some(refused) if !refused.error.is_refusal() => Err(refused.error),
            // What has changed since it was seen is seen within a moment.
            _ if is_stale => Ok(Next::at(self.clock.now() + STALE_AGAIN, Priority::Dependency)),
            _ => Ok(Next::at(self.clock.now() + AGAIN, Priority::Dependency)),
        }
    }

    async fn left(&self, engine: &Arc<Engine>, definition: &Object, crd: Value) -> Result<Left, ApiError> {
        let Some(api) = api_of(&crd) else {
            return Ok(Left::Crd(crd));
        };
        self.watch_removal(engine, definition, &api);
        if engine.watches.state(&api.kind) == WatchState::Live {
            let seen = engine.store.list(&api.kind);
            if !seen.is_empty() {
                return Ok(Left::Objects(api, seen));
            }
        }
        // That there are none is asked of the API server, not of a watch.
        match self.writer.list_live(&api, None).await {
            Ok(all) if all.is_empty() => Ok(Left::Crd(crd)),
            Ok(all) => Ok(Left::Objects(api, all)),
            // It was never established, so that there are none. Else the API server does not know it yet, and says nothing about its objects.
            Err(ApiError::NotServed(_)) if !established::is_readable(&crd) => Ok(Left::Crd(crd)),
            Err(error) => Err(error),
        }
    }

    /// Deletes these objects, each as it was seen. The first that is refused is named.
    async fn delete_all(&self, api: &Arc<ApiType>, objects: &[Arc<Object>]) -> Outcome {
        let deletions = objects.iter().filter(|object| !object.is_deleting());
        let deletions: Vec<_> = deletions.map(|object| self.delete(api, object)).collect();
        let failed: Vec<Refused> = stream::iter(deletions)
            .buffer_unordered(DELETIONS)
            .filter_map(std::future::ready)
            .collect()
            .await;
        let (stale, refused): (Vec<Refused>, Vec<Refused>) = failed
            .into_iter()
            .partition(|failed| matches!(failed.error, ApiError::Conflict(_)));
        Outcome {
            refused: refused.into_iter().min_by(|one, other| one.what.cmp(&other.what)),
            is_stale: !stale.is_empty(),
        }
    }

    async fn delete(&self, api: &Arc<ApiType>, object: &Object) -> Option<Refused> {
        let deletion = Deletion {
            uid: object.uid(),
            version: Some(object.resource_version()),
            propagation: Propagation::Background,
        };
        let key = object.key();
        let usages = StoredUsages::new(&self.store).protecting(object);
        let error = if let Some(usage) = usages.first() {
            ApiError::Denied(format!("it is in use by {}", usage.text()))
        } else if self.may_act() {
            match self.writer.delete(api, &key, deletion).await {
                Ok(_) | Err(ApiError::NotFound(_)) => return None,
                Err(error) => error,
            }
        } else {
            ApiError::NotSent
        };
        Some(Refused {
            what: key.to_string(),
            error,
        })
    }

    async fn delete_crd(
        &self,
        definition: &Object,
        side: Side,
        crd: &Value,
    ) -> Result<Option<Refused>, ApiError> {
        if !crd["metadata"]["deletionTimestamp"].is_null() {
            return Ok(None);
        }
        if !self.may_act() {
            return Err(ApiError::NotSent);
        }
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        match self.crds.delete(crd).await {
            Ok(()) => {
                self.removals.lock().remove(definition.name());
                let message = format!("Deleted {} CustomResourceDefinition: {name}", side.noun());
                self.record(definition, EventType::Normal, removal_event(side), &message);
                Ok(None)
            }
            Err(error @ (ApiError::Conflict(_) | ApiError::NotFound(_))) => Err(error),
            Err(error) => Ok(Some(Refused {
                what: format!("the CustomResourceDefinition {name}"),
                error,
            })),
        }
    }

    /// The last of them that goes is the definition's turn.
    fn watch_removal(&self, engine: &Engine, definition: &Object, api: &Arc<ApiType>) {
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

/// Its status says already that it ends.
fn is_said_to_end(definition: &Object) -> bool {
    let status = definition.status_value();
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| {
        condition["type"] == "Established"
            && condition["reason"] == DefinitionReason::TerminatingCompositeResource.as_str()
    })
}

fn removal_event(side: Side) -> DefinitionEvent {
    match side {
        Side::Composite => DefinitionEvent::TerminateComposite,
        Side::Claim => DefinitionEvent::RedactClaim,
    }
}

/// How the objects of a CRD are addressed; `None`: it serves no version.
fn api_of(crd: &Value) -> Option<Arc<ApiType>> {
    let spec = &crd["spec"];
    Some(Arc::new(ApiType {
        kind: GroupKind::new(spec["group"].as_str()?, spec["names"]["kind"].as_str()?),
        version: readable_version(crd)?.to_owned(),
        plural: spec["names"]["plural"].as_str()?.to_owned(),
        namespaced: spec["scope"] == "Namespaced",
    }))
}
