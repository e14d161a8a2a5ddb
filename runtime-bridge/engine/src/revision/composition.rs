//! The controller of compositions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::{
    composite::names::CROSSPLANE_MANAGER,
    queue::Priority,
    reasons::DefinitionEvent,
    revision::{COMPOSITION_NAME, Collection, Composition, Revision, RevisionStep, plan},
};

use super::{compositions, references::Users, revisions};
use crate::{
    api_error::ApiError,
    clock::Clock,
    composite::CompositeShared,
    definition::DefinedTypes,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{ApiType, Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::{Retries, cannot_read, readable},
    store::{Edge, Interest, LabelSelection, Store},
    watch::{WatchState, Watches},
    write::{Deletion, Propagation, Writer},
};

/// Where Crossplane's own events of compositions come from.
const EVENT_SOURCE: &str = "revisions/composition.apiextensions.crossplane.io";

/// What is not known yet is looked at again after this.
const NOT_YET: Duration = Duration::from_secs(1);

/// Plans of one reconcile: a revision is created or changed, then older ones are collected.
const PLANS: usize = 4;

/// Reconciles compositions: creates and collects their revisions.
pub struct CompositionReconciler {
    store: Arc<Store>,
    watches: Arc<Watches>,
    events: Arc<EventRecorder>,
    clock: Arc<dyn Clock>,
    writer: Writer,
    composites: Arc<CompositeShared>,
    types: DefinedTypes,
    retries: Retries,
    revisions: Arc<ApiType>,
    /// Revisions that are kept though nobody refers to them; 0: all.
    history_limit: usize,
}

impl CompositionReconciler {
    /// On a running engine. Of revisions that no composite resource refers to, `history_limit` are kept; 0: all.
    pub fn new(
        engine: &Engine,
        composites: &Arc<CompositeShared>,
        types: &DefinedTypes,
        history_limit: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            events: Arc::clone(&engine.events),
            clock: Arc::clone(&engine.clock),
            writer: engine.writer.as_manager(CROSSPLANE_MANAGER),
            composites: Arc::clone(composites),
            types: types.clone(),
            retries: Retries::new(&engine.clock),
            revisions: revisions(),
            history_limit,
        })
    }

    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        let labelled = |composition: &Object| {
            let label = (COMPOSITION_NAME.to_owned(), composition.name().to_owned());
            vec![LabelSelection {
                kind: revisions().kind.clone(),
                namespace: None,
                labels: [label].into(),
            }]
        };
        Controller {
            owner: None,
            api: compositions(),
            edges: Arc::new([
                Edge::owned().with_interest(Interest::All),
                // Of those that were restored without owners.
                Edge::selections(Arc::new(labelled)).with_interest(Interest::All),
            ]),
            reconciler: Arc::clone(self) as _,
            reason: reason.to_owned(),
        }
    }

    async fn revise(&self, object: &Object) -> Result<Next, ApiError> {
        if !object.is_readable() {
            let reason = DefinitionEvent::UpdateRevision;
            self.record(object, EventType::Warning, reason, &cannot_read(object));
            return Ok(Next::idle());
        }
        let composition = Composition::read(&object.to_value());
        let writer = self.writer.for_reconcile(&object.key());
        for _ in 0..PLANS {
            let mut steps = self.plan(&composition)?;
            match steps.first() {
                None => return Ok(Next::idle()),
                // It may be one that nothing leads from here: neither its label nor its owner need be ours.
                Some(RevisionStep::Await { .. }) => break,
                // An older composition must not become the newest revision.
                Some(_) => {
                    writer
                        .verify_current(object, || self.composites.may_act())
                        .await?;
                }
            }
            self.spare_referenced(&composition, &mut steps).await?;
            for step in steps {
                if let RevisionStep::Await { .. } = &step {
                    break;
                }
                if !self.composites.may_act() {
                    return Err(ApiError::NotSent);
                }
                if let Err(error) = self.carry_out(&writer, object, &step).await {
                    if !matches!(
                        error,
                        ApiError::Conflict(_) | ApiError::AlreadyExists(_) | ApiError::NotSent
                    ) {
                        let reason = DefinitionEvent::UpdateRevision;
                        self.record(object, EventType::Warning, reason, &error.to_string());
                    }
                    return Err(error);
                }
            }
        }
        Ok(Next::at(self.clock.now() + NOT_YET, Priority::Dependency))
    }

    fn plan(&self, composition: &Composition) -> Result<Vec<RevisionStep>, ApiError> {
        let prefix = format!("{}-", composition.name);
        let stored = self.store.list(&self.revisions.kind);
        let its = stored.iter().filter(|revision| {
            revision.name().starts_with(&prefix)
                || revision.label(COMPOSITION_NAME) == Some(composition.name.as_str())
        });
        let read = |revision: &Arc<Object>| -> Result<Revision, ApiError> {
            let revision = readable(Arc::clone(revision))?;
            Ok(Revision::read(&revision.to_value()))
        };
        let its: Vec<Revision> = its.map(read).collect::<Result<_, _>>()?;
        let referenced = (self.history_limit > 0)
            .then(|| self.users(composition)?.referenced(&self.store, &self.watches))
            .flatten();
        let collection = referenced
            .as_ref()
            .map_or(Collection::Off, |referenced| Collection::Beyond {
                limit: self.history_limit,
                referenced,
            });
        Ok(plan(composition, &its, collection))
    }

    fn users(&self, composition: &Composition) -> Option<Users> {
        Users::of(composition, &self.types, &self.store, &self.watches)
    }

    /// Leaves out deletions of what is referred to though the copies do not show it.
    async fn spare_referenced(
        &self,
        composition: &Composition,
        steps: &mut Vec<RevisionStep>,
    ) -> Result<(), ApiError> {
        let is_deletion = |step: &RevisionStep| matches!(step, RevisionStep::Delete { .. });
        if !steps.iter().any(is_deletion) {
            return Ok(());
        }
        let referenced = match self.users(composition) {
            Some(users) => users.referenced_live(&self.writer, &self.watches).await?,
            None => return Err(ApiError::NotSent),
        };
        steps.retain(|step| !matches!(step, RevisionStep::Delete { name, .. } if referenced.contains(name)));
        Ok(())
    }

    async fn carry_out(
        &self,
        writer: &Writer,
        composition: &Object,
        step: &RevisionStep,
    ) -> Result<(), ApiError> {
        let key = |name: &str| Key::new(self.revisions.kind.clone(), None, name);
        match step {
            RevisionStep::Create(revision) => {
                writer.create_document(&self.revisions, None, revision).await?;
                let reason = DefinitionEvent::CreateRevision;
                self.record(composition, EventType::Normal, reason, "Created new revision");
            }
            RevisionStep::Update(update) => {
                let stored = self.store.get(&key(&update.name)).filter(|stored| {
                    stored.uid() == update.uid
                        && stored.resource_version().to_string() == update.resource_version
                });
                let Some(stored) = stored else {
                    return Err(ApiError::Conflict("the revision has changed".to_owned()));
                };
                let changed = update.applied_to(&stored.to_value());
                let changed = Object::decode(&self.revisions, &changed.to_string())
                    .map_err(|error| ApiError::Unusable(error.to_string()))?;
                writer.put(&changed).await?;
            }
            RevisionStep::Delete {
                name,
                uid,
                resource_version,
            } => {
                let deletion = Deletion {
                    uid,
                    version: resource_version.parse().ok(),
                    propagation: Propagation::Background,
                };
                writer.delete(&self.revisions, &key(name), deletion).await?;
            }
            RevisionStep::Await { .. } => {}
        }
        Ok(())
    }

    fn record(&self, object: &Object, event_type: EventType, reason: DefinitionEvent, message: &str) {
        self.events
            .record_as(EVENT_SOURCE, object, event_type, reason.as_str(), message);
    }
}

#[async_trait]
impl Reconcile for CompositionReconciler {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        let Some(composition) = self.store.get(key) else {
            self.retries.forget(key);
            return Next::idle();
        };
        // Without them each of its revisions would seem to be missing.
        let are_known = self.watches.state(&self.revisions.kind) == WatchState::Live;
        if !are_known || !self.composites.may_act() {
            return Next::at(self.clock.now() + NOT_YET, Priority::Dependency);
        }
        let result = self.revise(&composition).await;
        self.retries.after(&composition, result)
    }

    fn forget(&self, object: &Object) {
        self.retries.forget(&object.key());
    }
}
