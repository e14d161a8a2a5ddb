//! The composition layer: definitions, compositions, revisions, composite resources, claims and usages, served together.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bridge_core::{composite::Settings, function::Functions};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    claim::OfferedClaims,
    composite::{CompositeOptions, CompositeShared},
    definition::{DefinedTypes, DefinitionReconciler, Standby},
    engine::Engine,
    lease::Leadership,
    protection::{Guard, ServedUsages},
    revision::{CompositionReconciler, RevisionReconciler},
    serve::Served,
    shell::Detached,
};

/// Why their kinds are watched, for people.
const REASON: &str = "compositions are served";

/// How compositions are served.
pub struct CompositionOptions {
    /// Of composite resources.
    pub settings: Settings,
    /// Revisions of a composition that are kept though nobody refers to them; 0: all.
    pub revision_history_limit: usize,
    /// The right to act.
    pub leadership: Leadership,
    /// Reconciles that nothing cuts off.
    pub detached: Detached,
    /// What refuses deletions of objects in use.
    pub guard: Arc<dyn Guard>,
}

/// Serves compositions until it is dropped. Kinds that the cluster does not have yet are waited for.
pub struct CompositionLayer {
    composites: Arc<CompositeShared>,
    types: DefinedTypes,
    detached: Detached,
    _follow: AbortOnDropHandle<()>,
    _standby: Standby,
    _claims: OfferedClaims,
    _usages: ServedUsages,
    _served: Vec<Served>,
}

impl CompositionLayer {
    /// Begins to serve. `functions`: how functions are called.
    pub fn start(engine: &Arc<Engine>, functions: Arc<dyn Functions>, options: CompositionOptions) -> Self {
        let leadership = options.leadership;
        let detached = options.detached.clone();
        let composites = CompositeShared::new(
            engine,
            functions,
            CompositeOptions {
                settings: options.settings,
                leadership: leadership.clone(),
                detached: options.detached,
            },
        );
        // What composed objects are is asked for at once, not by the first of them.
        engine.watches.is_discovery_read();
        let types = DefinedTypes::default();
        let revisions = RevisionReconciler::new(engine, &composites);
        let limit = options.revision_history_limit;
        let compositions = CompositionReconciler::new(engine, &composites, &types, limit);
        let definitions = DefinitionReconciler::new(engine, &composites, &types);
        Self {
            types,
            detached,
            _follow: DefinitionReconciler::follow(engine),
            _standby: Standby::start(engine, &definitions),
            _claims: OfferedClaims::serve(engine, &composites),
            _usages: ServedUsages::serve(engine, &composites, &options.guard, REASON),
            _served: vec![
                engine.serve(revisions.controller(REASON)),
                engine.serve(compositions.controller(REASON)),
                engine.serve(definitions.controller(REASON)),
            ],
            composites,
        }
    }

    /// The types that are served.
    pub fn types(&self) -> &DefinedTypes {
        &self.types
    }

    /// Functions answer again, or listen elsewhere: composite resources whose last run waits for one of them get their turns, and no others.
    pub fn publish_function_news(&self, functions: &BTreeSet<String>) {
        self.composites.publish_function_news(functions);
    }

    /// Begins nothing more, and waits for what was begun, but not longer than `limit`. Answers how many reconciles have not ended.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.composites.stop_acting();
        self.detached.wait(limit).await
    }
}
