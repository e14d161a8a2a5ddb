//! A definition that is deleted: its objects go one by one, then their CRD, then its finalizers. No schema is needed for it.

use std::sync::Arc;

use bridge_core::{
    definition::{DEFINED_FINALIZER, OFFERED_FINALIZER, Side, SideState, Standing},
    queue::{Priority, Wake},
    reasons::DefinitionEvent,
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{
    controller::DefinitionReconciler,
    crds::{claim_crd, is_controlled_by},
    pass::terms,
};
use crate::{
    api_error::ApiError,
    engine::Engine,
    event::EventType,
    object::{ApiType, Object},
    reconcile::Next,
    store::Listener,
    write::{Deletion, Propagation, Writer},
};

/// Deletions under way at once.
const DELETIONS: usize = 16;

/// What is waited for is looked at again after this, should no watch show it.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

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
        let claims = claim_crd(definition);
        let standing =
            |message: String| Standing::of_both(&SideState::Terminating { message }, claims.is_some());
        let sides = [
            (Side::Claim, claims.as_deref()),
            (Side::Composite, Some(definition.name())),
        ];
        for (side, crd) in sides {
            let Some(crd) = crd else { continue };
            if let Some(waiting) = self.remove_side(engine, definition, side, crd).await? {
                self.write_status(definition, &standing(waiting), None).await?;
                return Ok(Next::at(self.clock.now() + AGAIN, Priority::Dependency));
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

    /// What is waited for; `None`: nothing of this side is left.
    async fn remove_side(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
        side: Side,
        name: &str,
    ) -> Result<Option<String>, ApiError> {
        let crd = self.crds.read(name).await?;
        let Some(crd) = crd.filter(|crd| is_controlled_by(crd, definition.uid())) else {
            return Ok(None);
        };
        let is_deleting = !crd["metadata"]["deletionTimestamp"].is_null();
        if side == Side::Composite
            && let Ok(terms) = terms(definition)
        {
            // After a restart, too: only who serves them takes their finalizers off.
            let uid = crd["metadata"]["uid"].as_str().unwrap_or_default();
            self.served.serve(&Arc::new(terms), uid);
        }
        if !is_deleting {
            let left = self.delete_all(engine, definition, side, &crd).await?;
            if left > 0 {
                return Ok(Some(format!(
                    "waiting for {left} {}(s) to be deleted",
                    side.noun()
                )));
            }
            self.crds.delete(&crd).await?;
            self.removals.lock().remove(definition.uid());
            let message = format!("Deleted {} CustomResourceDefinition: {name}", side.noun());
            self.record(definition, EventType::Normal, removal_event(side), &message);
        }
        Ok(Some(format!(
            r#"waiting for the CustomResourceDefinition "{name}" to be deleted"#
        )))
    }

    /// Deletes the objects of a CRD, wherever they are. Answers how many there are.
    async fn delete_all(
        &self,
        engine: &Arc<Engine>,
        definition: &Arc<Object>,
        side: Side,
        crd: &Value,
    ) -> Result<usize, ApiError> {
        let Some(api) = api_of(crd) else {
            return Ok(0);
        };
        self.watch_removal(engine, definition, &api);
        let all = match self.writer.list_live(&api, None).await {
            Ok(all) => all,
            // It was never established: there are none.
            Err(ApiError::NotServed(_) | ApiError::NotFound(_)) => return Ok(0),
            Err(error) => return Err(error),
        };
        let deletions: Vec<_> = all
            .iter()
            .filter(|object| !object.is_deleting())
            .map(|object| delete(self.writer.clone(), Arc::clone(&api), Arc::clone(object)))
            .collect();
        let ended: Vec<Result<(), ApiError>> = stream::iter(deletions)
            .buffer_unordered(DELETIONS)
            .collect()
            .await;
        ended.into_iter().collect::<Result<(), _>>()?;
        if !all.is_empty() {
            let message = format!("waiting for defined {}s to be deleted", side.noun());
            self.record(definition, EventType::Normal, removal_event(side), &message);
        }
        Ok(all.len())
    }

    /// The last of them that goes is the definition's turn.
    fn watch_removal(&self, engine: &Engine, definition: &Object, api: &Arc<ApiType>) {
        let mut removals = self.removals.lock();
        if removals.contains_key(definition.uid()) {
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
        removals.insert(definition.uid().to_owned(), watched);
    }
}

async fn delete(writer: Writer, api: Arc<ApiType>, object: Arc<Object>) -> Result<(), ApiError> {
    let deletion = Deletion {
        uid: object.uid(),
        version: None,
        propagation: Propagation::Background,
    };
    match writer.delete(&api, &object.key(), deletion).await {
        // Another one has its name: the next look shows it.
        Ok(_) | Err(ApiError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn removal_event(side: Side) -> DefinitionEvent {
    match side {
        Side::Composite => DefinitionEvent::TerminateComposite,
        Side::Claim => DefinitionEvent::RedactClaim,
    }
}

/// How the objects of a CRD are addressed: in the version in which they are stored, if that is served.
fn api_of(crd: &Value) -> Option<Arc<ApiType>> {
    let spec = &crd["spec"];
    let versions = spec["versions"].as_array()?;
    let mut served = versions.iter().filter(|version| version["served"] == true);
    let stored = served.clone().find(|version| version["storage"] == true);
    let version = stored.or_else(|| served.next())?;
    Some(Arc::new(ApiType {
        kind: GroupKind::new(spec["group"].as_str()?, spec["names"]["kind"].as_str()?),
        version: version["name"].as_str()?.to_owned(),
        plural: spec["names"]["plural"].as_str()?.to_owned(),
        namespaced: spec["scope"] == "Namespaced",
    }))
}
