//! What exists of a definition that ends: its CRDs, and their objects.

use std::sync::Arc;

use bridge_core::{
    controller_ref::ControllerRef,
    definition::{
        Side, readable_version,
        teardown::{Crd, Instance, Objects, Seen, Unlisted},
    },
    protection::{UsageView, names::IN_USE, unlisted},
    reasons::DefinitionReason,
    watch_plan::GroupKind,
};
use serde_json::Value;

use super::controller::DefinitionReconciler;
use crate::{
    api_error::ApiError,
    crd::established,
    engine::Engine,
    object::{ApiType, Object},
    protection::{StoredUsages, unknown_usages},
    watch::WatchState,
};

/// The CRD of a side, and its objects.
pub(super) struct Remains {
    pub crd: Value,
    /// How its objects are addressed; `None`: it serves no version.
    pub api: Option<Arc<ApiType>>,
    /// As far as they are known.
    pub objects: Vec<Arc<Object>>,
}

/// Both sides, as they are planned by, and as they are acted on.
pub(super) struct Observed {
    pub seen: Seen,
    claims: Option<Remains>,
    composites: Option<Remains>,
}

impl Observed {
    pub const fn remains(&self, side: Side) -> Option<&Remains> {
        match side {
            Side::Claim => self.claims.as_ref(),
            Side::Composite => self.composites.as_ref(),
        }
    }
}

impl DefinitionReconciler {
    /// As the store shows it.
    pub(super) fn observe(
        &self,
        engine: &Engine,
        definition: &Object,
        claims: Option<Value>,
        composites: Option<Value>,
    ) -> Observed {
        let [claims, composites] = [claims, composites].map(|crd| crd.map(|crd| watched(engine, crd)));
        // Before the usages are looked up: a list of them that ends in between brings usages that are then found.
        let unlisted = self.unlisted(engine, definition);
        let crd_of = |remains: &Option<Remains>| {
            let remains = remains.as_ref()?;
            let objects = Objects::Watched(self.instances(&remains.objects));
            Some(to_crd(&remains.crd, objects))
        };
        Observed {
            seen: Seen {
                uid: definition.uid().to_owned(),
                finalizers: definition.meta.finalizers.clone().unwrap_or_default(),
                is_reported: is_said_to_end(definition),
                claims: crd_of(&claims),
                composites: crd_of(&composites),
                unlisted,
            },
            claims,
            composites,
        }
    }

    /// That there are no objects is asked of the API server, not of a watch.
    pub(super) async fn list(&self, observed: &mut Observed, side: Side) -> Result<(), ApiError> {
        let (remains, seen) = match side {
            Side::Claim => (&mut observed.claims, &mut observed.seen.claims),
            Side::Composite => (&mut observed.composites, &mut observed.seen.composites),
        };
        let (Some(remains), Some(seen)) = (remains, seen) else {
            return Ok(());
        };
        let Some(api) = &remains.api else {
            seen.objects = Objects::NeverServed;
            return Ok(());
        };
        seen.objects = match self.writer.list_live(api, None).await {
            Ok(all) => {
                remains.objects = all;
                Objects::Listed(self.instances(&remains.objects))
            }
            // It was never established. Else the API server does not know it yet, and says nothing about its objects.
            Err(ApiError::NotServed(_)) if !established::is_readable(&remains.crd) => Objects::NeverServed,
            Err(error) => {
                seen.objects = Objects::Unreadable(error.to_string());
                return Err(error);
            }
        };
        Ok(())
    }

    fn instances(&self, objects: &[Arc<Object>]) -> Vec<Instance> {
        let is_marked = |object: &Object| object.label(IN_USE) == Some("true");
        // Those that the bridge has no right to see, as for a moment after a start: labels tell of them. First: a list that ends in between brings usages
        // that are then found.
        let unseen = objects.iter().any(|object| is_marked(object));
        let unseen = unseen
            .then(|| unknown_usages(&self.composites.watches, true))
            .flatten();
        let usages = StoredUsages::new(&self.store);
        let instance = |object: &Arc<Object>| Instance {
            name: object.key().to_string(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version(),
            is_deleting: object.is_deleting(),
            used_by: usages
                .protecting(object)
                .first()
                .map(UsageView::text)
                .or_else(|| unseen.as_deref().filter(|_| is_marked(object)).map(unlisted)),
        };
        objects.iter().map(instance).collect()
    }

    fn unlisted(&self, engine: &Engine, definition: &Object) -> Option<Unlisted> {
        let why = unknown_usages(&engine.watches, false).filter(|_| definition.is_deleting());
        let Some(why) = why else {
            self.unlisted_since.end(definition.uid());
            return None;
        };
        let since = self.unlisted_since.begin(definition.uid(), self.clock.now());
        Some(Unlisted { why, since })
    }
}

fn watched(engine: &Engine, crd: Value) -> Remains {
    let api = api_of(&crd);
    let live = api
        .as_ref()
        .filter(|api| engine.watches.state(&api.kind) == WatchState::Live);
    let objects = live.map(|api| engine.store.list(&api.kind)).unwrap_or_default();
    Remains { crd, api, objects }
}

fn to_crd(crd: &Value, objects: Objects) -> Crd {
    let metadata = &crd["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    Crd {
        name: text("name"),
        uid: text("uid"),
        resource_version: text("resourceVersion").parse().ok(),
        controller: ControllerRef::of(crd).map(|controller| controller.uid),
        is_deleting: !metadata["deletionTimestamp"].is_null(),
        objects,
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

fn api_of(crd: &Value) -> Option<Arc<ApiType>> {
    let spec = &crd["spec"];
    Some(Arc::new(ApiType {
        kind: GroupKind::new(spec["group"].as_str()?, spec["names"]["kind"].as_str()?),
        version: readable_version(crd)?.to_owned(),
        plural: spec["names"]["plural"].as_str()?.to_owned(),
        namespaced: spec["scope"] == "Namespaced",
    }))
}
