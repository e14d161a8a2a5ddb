//! From what a usage names to the object that it means.

use std::sync::Arc;

use bridge_core::{
    composite::{LiveObject, ObjectState},
    protection::{Naming, Resolution, Selector, Which, select},
};

use super::reconciler::UsageReconciler;
use crate::{
    composite::{Finder, live},
    object::{ApiType, Object},
    shell::cannot_read,
    watch::Unresolved,
};

impl UsageReconciler {
    /// What is named now. `controller`: uid of what controls the usage.
    pub(super) async fn resolve(&self, naming: &Naming, controller: Option<&str>) -> Resolution {
        let api = match self.shared.watches.resolve_any(&naming.api_version, &naming.kind) {
            Ok(resolved) => resolved.api,
            Err(Unresolved::NotServed(_)) => {
                let (kind, version) = (&naming.kind, &naming.api_version);
                return Resolution::KindGone(format!("the cluster does not serve {kind} in {version}"));
            }
            // None of its versions can be used now, as of one that is not established for a moment.
            Err(Unresolved::OtherVersion(why) | Unresolved::Unknown(why)) => return Resolution::Unknown(why),
        };
        if api.namespaced && naming.namespace.is_none() {
            return Resolution::Invalid(format!(
                "{} is namespaced: what is in a namespace is protected by a Usage of that namespace",
                api.kind
            ));
        }
        match &naming.which {
            Which::Name(name) => {
                let reference = naming.reference(name, api.namespaced);
                let finder = Finder::in_any_version(&self.shared);
                match finder.see(&reference, None).await {
                    ObjectState::Exists(object) => Resolution::Found(reference, object),
                    ObjectState::Absent => Resolution::Absent(reference),
                    ObjectState::KindGone => {
                        let (kind, version) = (&naming.kind, &naming.api_version);
                        Resolution::KindGone(format!("the cluster does not serve {kind} in {version}"))
                    }
                    ObjectState::Unknown(why) => Resolution::Unknown(why),
                }
            }
            Which::Selector(selector) => self.select(naming, selector, &api, controller).await,
        }
    }

    async fn select(
        &self,
        naming: &Naming,
        selector: &Selector,
        api: &Arc<ApiType>,
        controller: Option<&str>,
    ) -> Resolution {
        let namespace = naming.namespace.as_deref().filter(|_| api.namespaced);
        let finder = Finder::in_any_version(&self.shared);
        let objects = match finder.list(api, namespace).await {
            Ok(objects) => objects,
            Err(why) => return Resolution::Unknown(why),
        };
        // Of what cannot be read names, labels and owners are known: it hides no other.
        let selectable = |object: &Arc<Object>| {
            live(object).unwrap_or_else(|_| LiveObject::new(object.identity().to_value()))
        };
        let candidates: Vec<LiveObject> = objects.iter().map(selectable).collect();
        let Some(found) = select(selector, controller, &candidates) else {
            return Resolution::Unmatched;
        };
        let name = found.object()["metadata"]["name"].as_str().unwrap_or_default();
        let uid = found.object()["metadata"]["uid"].as_str().unwrap_or_default();
        if let Some(object) = objects
            .iter()
            .find(|object| object.uid() == uid && !object.is_readable())
        {
            return Resolution::Unknown(cannot_read(object));
        }
        Resolution::Found(naming.reference(name, api.namespaced), Arc::new(found.clone()))
    }
}
