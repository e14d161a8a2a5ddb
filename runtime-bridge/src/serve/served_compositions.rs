//! The composition layer of one engine.

use std::{future::pending, sync::Arc, time::Duration};

use bridge_core::composite::Settings;
use bridge_engine::{
    composition_layer::{CompositionLayer, CompositionOptions},
    engine::Engine,
};
use futures::future::join;

use super::{
    ProcessContext,
    introspection::{Introspection, SERVING},
};
use crate::compositions::{Compositions, EndpointSources, Obstacle, OtherCore, install, report_functions};

/// The composition layer of one engine, if it has any.
pub struct ServedCompositions<'a> {
    process: &'a ProcessContext,
    engine: &'a Arc<Engine>,
    bridge: &'a Introspection,
    layer: Option<CompositionLayer>,
}

impl<'a> ServedCompositions<'a> {
    /// Nothing is served before [`ServedCompositions::run`].
    pub fn new(process: &'a ProcessContext, engine: &'a Arc<Engine>, bridge: &'a Introspection) -> Self {
        Self {
            process,
            engine,
            bridge,
            layer: None,
        }
    }

    /// Serves, until it is dropped. What was begun goes on: see [`ServedCompositions::drain`].
    pub async fn run(&mut self) {
        let process = self.process;
        let Some(compositions) = &process.compositions else {
            return pending().await;
        };
        let Some(namespace) = &compositions.unless_crossplane_in else {
            return self.install_and_serve(compositions).await;
        };
        let mut core = OtherCore::new(self.engine, namespace);
        loop {
            core.until_gone(|why| self.off(why)).await;
            let why = tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                why = core.until_seen() => why,
                () = self.install_and_serve(compositions) => return,
            };
            if let Some(layer) = self.layer.take() {
                // Nothing more is written; what was asked of a function may end by itself.
                layer.drain(Duration::ZERO).await;
            }
            self.off(&why);
        }
    }

    fn off(&self, why: &Obstacle) {
        self.bridge.set_usage_guard(None);
        self.bridge.set_functions(None);
        let message = format!("off: {why}");
        if !self.bridge.set_compositions(&message) {
            return;
        }
        match why {
            Obstacle::Core(why) => tracing::error!(
                why,
                "compositions are not served: two cores would write against each other. Scale Crossplane down, or pass --beside-crossplane"
            ),
            Obstacle::Unknown => tracing::warn!("compositions are not served yet: {why}"),
        }
    }

    async fn install_and_serve(&mut self, compositions: &Compositions) {
        let process = self.process;
        let crds = install(self.engine, &process.leadership, process.behaviour.crds);
        // In a fixed order, so that a simulation repeats itself.
        join(crds, self.serve(compositions)).await;
    }

    async fn serve(&mut self, compositions: &Compositions) {
        let process = self.process;
        let mut news = compositions.client.changes();
        let sources = EndpointSources::watch(self.engine, &compositions.flags);
        // Else what runs right after the start would be told that its functions listen nowhere.
        sources.until_read().await;
        compositions.endpoints.set(sources.endpoints());
        let leadership = &self.process.leadership;
        let guard = compositions
            .guard
            .start(self.engine, &compositions.namespace, leadership);
        self.bridge.set_usage_guard(Some(guard.changes()));
        self.bridge.set_functions(Some(Arc::clone(&compositions.client)));
        let options = CompositionOptions {
            settings: Settings {
                deletion_deadline: compositions.deletion_deadline,
                vanishing_parents: compositions.vanishing_parents,
                replay_window: compositions.replay_window,
                circuit: compositions.circuit,
                max_composed: compositions.max_composed,
                clock_skew: process.behaviour.clock_skew,
                ..Settings::default()
            },
            revision_history_limit: compositions.revision_history_limit,
            leadership: self.process.leadership.clone(),
            detached: self.process.detached.clone(),
            guard,
        };
        let functions = Arc::clone(&compositions.client) as _;
        let layer = self
            .layer
            .insert(CompositionLayer::start(self.engine, functions, options));
        self.bridge.set_compositions(SERVING);
        tracing::info!("serving compositions");
        let engine = self.engine;
        let follow = async {
            loop {
                tokio::select! {
                    biased;
                    () = sources.changed() => compositions.endpoints.set(sources.endpoints()),
                    Some(functions) = news.next() => {
                        tracing::debug!(?functions, "functions answer again, or listen elsewhere: composite resources that wait for them get their turns");
                        layer.publish_function_news(&functions);
                    }
                }
            }
        };
        let report = async {
            // Beside Crossplane they are its package manager's.
            if compositions.unless_crossplane_in.is_some() {
                report_functions(engine, &sources, &compositions.client, leadership).await;
            }
        };
        join(follow, report).await;
    }

    /// Begins nothing more, and waits for what was begun, but not longer than `limit`. Answers how many reconciles have not ended.
    pub async fn drain(&self, limit: Duration) -> usize {
        match &self.layer {
            Some(layer) => layer.drain(limit).await,
            None => 0,
        }
    }
}
