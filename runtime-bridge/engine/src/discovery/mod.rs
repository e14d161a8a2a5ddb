//! What the cluster serves without a definition: built-in kinds, and those of API servers behind this one.
//!
//! The watch of `APIServices` says which groups and versions there are and who serves each; the aggregated discovery document says which kinds they
//! hold. It is read when the watch connects and when it shows a change. What definitions serve is left out: the watch of those is newer and
//! knows more. Nothing is read and watched before somebody needs it.

mod document;
mod services;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bridge_core::{
    back_off::policies,
    watch_plan::{BuiltIns, GroupKind},
};
use http::{Request, header};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::{
    document::{Document, Resource},
    services::{Service, Services},
};
use crate::{
    api_error::ApiError,
    client::ApiClient,
    object::ApiType,
    random,
    watch::{
        changes::ServedChanges,
        feed::{Condition, Feed, FeedEvent, Sink},
        running::supervise,
    },
};

/// Oldest format that is understood last: API servers before 1.30 know `v2beta1` alone.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// How one kind without a definition is served: by version.
pub(crate) type DiscoveredKind = BTreeMap<String, Resource>;

/// All kinds without a definition, or why they are not known.
pub(crate) type DiscoveredKinds = Result<Arc<BTreeMap<GroupKind, DiscoveredKind>>, String>;

/// What is served without a definition, kept up to date once it is needed.
pub(crate) struct Discovery {
    client: ApiClient,
    state: Mutex<State>,
    needed: Notify,
    /// The document is to be read.
    outdated: Notify,
    /// Whom to tell.
    changed: Arc<ServedChanges>,
}

#[derive(Default)]
struct State {
    is_needed: bool,
    services: Services,
    document: Option<Document>,
    /// Why the last read failed.
    failure: Option<String>,
    kinds: Option<Arc<BTreeMap<GroupKind, DiscoveredKind>>>,
}

impl Discovery {
    pub(crate) fn new(client: ApiClient, changed: Arc<ServedChanges>) -> Arc<Self> {
        Arc::new(Self {
            client,
            state: Mutex::default(),
            needed: Notify::new(),
            outdated: Notify::new(),
            changed,
        })
    }

    /// From now on it is kept up to date.
    pub(crate) fn need(&self) {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.is_needed, true) {
            self.needed.notify_one();
        }
    }

    /// The first read has ended: it is known what is served, or why that is not known.
    pub(crate) fn is_read(&self) -> bool {
        if self.kinds().is_ok() {
            return true;
        }
        let state = self.state.lock();
        state.failure.is_some() || matches!(state.services.condition(), Condition::Forbidden(_))
    }

    /// `None`: nobody needs it.
    pub(crate) fn condition(&self) -> Option<Condition> {
        let state = self.state.lock();
        state.is_needed.then(|| match (&state.failure, &state.document) {
            (Some(why), _) => Condition::Syncing(why.clone()),
            (None, None) if *state.services.condition() == Condition::Live => {
                Condition::Syncing("discovery is being read".to_owned())
            }
            (None, _) => state.services.condition().clone(),
        })
    }

    /// Everything that is served without a definition.
    pub(crate) fn kinds(&self) -> DiscoveredKinds {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(kinds) = &state.kinds {
            return Ok(Arc::clone(kinds));
        }
        let services = state
            .services
            .known()
            .map_err(|why| format!("APIServices: {why}"))?;
        let Some(document) = &state.document else {
            let why = state.failure.as_deref().unwrap_or("it has not been read yet");
            return Err(format!("discovery: {why}"));
        };
        let mut kinds = BTreeMap::<GroupKind, DiscoveredKind>::new();
        for (group, version) in services
            .filter(|service| !service.is_of_definitions())
            .map(Service::id)
        {
            for resource in document.resources(group, version) {
                let kind = GroupKind::new(group, &resource.kind);
                kinds
                    .entry(kind)
                    .or_default()
                    .entry(version.to_owned())
                    .or_insert_with(|| resource.clone());
            }
        }
        let kinds = Arc::new(kinds);
        state.kinds = Some(Arc::clone(&kinds));
        Ok(kinds)
    }

    /// As the plan of watches wants it.
    pub(crate) fn built_ins(&self) -> BuiltIns {
        if !self.state.lock().is_needed {
            return None;
        }
        Some(self.kinds().map(|kinds| {
            let versions = |kind: &DiscoveredKind| {
                let versions = kind.iter();
                versions
                    .map(|(version, resource)| (version.clone(), resource.watchable))
                    .collect()
            };
            kinds
                .iter()
                .map(|(name, kind)| (name.clone(), versions(kind)))
                .collect()
        }))
    }

    /// Why a kind that is not known may be served all the same: the API server behind its group has not answered.
    pub(crate) fn silent(&self, group: &str) -> Option<String> {
        let state = self.state.lock();
        let silent = silent(&state);
        let service = silent.into_iter().find(|service| service.id().0 == group)?;
        let (group, version) = service.id();
        let why = if service.is_available() {
            "has not answered"
        } else {
            "is not available"
        };
        Some(format!("the API server behind {group}/{version} {why}"))
    }

    /// Until it is dropped.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        self.needed.notified().await;
        let feed = Feed::new(self.client.clone(), Arc::new(ApiType::api_services()));
        supervise(feed, ServiceSink(Arc::downgrade(&self)), stop);
        loop {
            self.outdated.notified().await;
            let mut failures = 0_u32;
            while !self.read().await {
                failures = failures.saturating_add(1);
                let pause = policies::DISCOVERY.wait(failures, random::fraction());
                tokio::select! {
                    // In a fixed order, so that a simulation repeats itself.
                    biased;
                    () = self.outdated.notified() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Whether what was read shows all that is available.
    async fn read(&self) -> bool {
        let read = async {
            let (core, groups) = tokio::try_join!(self.fetch("/api"), self.fetch("/apis"))?;
            Ok::<_, ApiError>(Document::read(&[core, groups]))
        };
        let read = match read.await {
            Ok(read) => read.map_err(|why| format!("the API server offers no aggregated discovery: {why}")),
            Err(error) => Err(error.to_string()),
        };
        let mut state = self.state.lock();
        match read {
            Ok(document) => {
                let former = state.document.take();
                state.document = Some(document.completed(former));
                state.failure = None;
            }
            Err(why) => {
                tracing::warn!(
                    why,
                    "failed to read discovery, will retry; what it showed last counts"
                );
                state.failure = Some(why);
            }
        }
        state.kinds = None;
        // One that is not available is read again when that changes.
        let complete =
            state.failure.is_none() && !silent(&state).iter().any(|service| service.is_available());
        drop(state);
        self.changed.tell();
        complete
    }

    async fn fetch(&self, path: &'static str) -> Result<serde_json::Value, ApiError> {
        let request = Request::get(path)
            .header(header::ACCEPT, AGGREGATED)
            .body(Vec::new())
            .map_err(|e| ApiError::Unusable(e.to_string()))?;
        self.client.call("get", "discovery", request).await
    }

    /// Takes in what the watch of `APIServices` tells; `change` answers whether discovery may show something else now.
    fn services(&self, change: impl FnOnce(&mut Services) -> bool) {
        let mut state = self.state.lock();
        if change(&mut state.services) {
            state.kinds = None;
            drop(state);
            self.outdated.notify_one();
            self.changed.tell();
        }
    }

    /// Takes in how that watch fares.
    fn fares(&self, condition: Condition) {
        // One that connects anew may have lost its API server to another one, of another version.
        if condition == Condition::Live {
            self.outdated.notify_one();
        }
        self.state.lock().services.fares(condition);
        self.changed.tell();
    }
}

/// Weak, as it runs in a task of its own.
struct ServiceSink(Weak<Discovery>);

impl Sink for ServiceSink {
    fn on_event(&mut self, event: FeedEvent<'_>) {
        if let Some(discovery) = self.0.upgrade() {
            discovery.services(|services| services.take(&event));
        }
    }

    fn condition(&mut self, condition: Condition) {
        if let Some(discovery) = self.0.upgrade() {
            discovery.fares(condition);
        }
    }
}

/// Services whose groups and versions are not in the document, or not as they are now: what they serve exists, whether they are available or not.
fn silent(state: &State) -> Vec<&Service> {
    let (Ok(services), Some(document)) = (state.services.known(), &state.document) else {
        return Vec::new();
    };
    services
        .filter(|service| !service.is_of_definitions())
        .filter(|service| {
            let (group, version) = service.id();
            !document.is_current(group, version)
        })
        .collect()
}

#[cfg(test)]
mod tests;
