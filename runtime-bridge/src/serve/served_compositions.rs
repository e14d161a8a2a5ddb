//! The composition layer of one engine.

use std::{future::pending, sync::Arc, time::Duration};

use bridge_core::composite::Settings;
use bridge_engine::{
    composition_layer::{CompositionLayer, CompositionOptions},
    engine::Engine,
};
use futures::future::join;

use super::ProcessContext;
use crate::compositions::{Compositions, EndpointSources, install};

/// Revisions of a composition that are kept though nothing refers to them.
const REVISION_HISTORY_LIMIT: usize = 20;

/// The composition layer of one engine, if it has any.
pub struct ServedCompositions<'a> {
    process: &'a ProcessContext,
    engine: &'a Arc<Engine>,
    layer: Option<CompositionLayer>,
}

impl<'a> ServedCompositions<'a> {
    /// Nothing is served before [`ServedCompositions::run`].
    pub fn new(process: &'a ProcessContext, engine: &'a Arc<Engine>) -> Self {
        Self {
            process,
            engine,
            layer: None,
        }
    }

    /// Serves, until it is dropped. What was begun goes on: see [`ServedCompositions::drain`].
    pub async fn run(&mut self) {
        let process = self.process;
        let Some(compositions) = &process.compositions else {
            return pending().await;
        };
        let crds = install(self.engine, &process.leadership, process.behaviour.crds);
        // In a fixed order, so that a simulation repeats itself.
        join(crds, self.serve(compositions)).await;
    }

    async fn serve(&mut self, compositions: &Compositions) {
        let mut news = compositions.client.changes();
        let sources = EndpointSources::watch(self.engine, &compositions.flags);
        // Else what runs right after the start would be told that its functions listen nowhere.
        sources.until_read().await;
        compositions.endpoints.set(sources.endpoints());
        let options = CompositionOptions {
            settings: Settings::default(),
            revision_history_limit: REVISION_HISTORY_LIMIT,
            leadership: self.process.leadership.clone(),
            detached: self.process.detached.clone(),
        };
        let functions = Arc::clone(&compositions.client) as _;
        let layer = self
            .layer
            .insert(CompositionLayer::start(self.engine, functions, options));
        tracing::info!("serving compositions");
        loop {
            tokio::select! {
                biased;
                () = sources.changed() => compositions.endpoints.set(sources.endpoints()),
                Some(functions) = news.next() => {
                    tracing::debug!(?functions, "functions answer again, or listen elsewhere: composite resources get their turns");
                    layer.wake_all(self.engine);
                }
            }
        }
    }

    /// Begins nothing more, and waits for what was begun, but not longer than `limit`. Answers how many reconciles have not ended.
    pub async fn drain(&self, limit: Duration) -> usize {
        match &self.layer {
            Some(layer) => layer.drain(limit).await,
            None => 0,
        }
    }
}
