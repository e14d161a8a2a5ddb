//! What a process knows before it decides.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    composite::{
        Additions, Chosen, InUse, LiveObject, ObjectId, ObjectState, PipelineSpec, Reservation, ResourceRef,
        Selected, Snapshot, names,
    },
    watch_plan::GroupKind,
};
use serde_json::{Value, json};

use super::World;
use crate::composite::api::{Api, parsed};

impl World {
    pub(super) fn snapshot(&self, xr: &Value) -> Snapshot {
        let xr = parsed(xr);
        let owned = self.view.objects.iter().filter(|(id, object)| {
            let object = LiveObject::new((*object).clone());
            object.resource_name().is_some()
                && object.controller().is_some_and(|owner| owner["uid"] == xr.uid())
                && !xr.refs.iter().any(|one| one.id(xr.namespace()) == **id)
        });
        let strays = owned
            .map(|(id, object)| ResourceRef {
                api_version: object["apiVersion"].as_str().unwrap().to_owned(),
                kind: id.kind.clone(),
                namespace: None,
                name: id.name.clone(),
            })
            .collect();
        Snapshot {
            choice: self.no_choice.clone().map_or_else(|| Ok(chosen()), Err),
            seen: BTreeMap::new(),
            strays,
            required: BTreeMap::new(),
            secrets: BTreeMap::new(),
            secrets_watched: true,
            unlisted_secrets: None,
            connection_keys: Arc::default(),
            in_use: InUse::default(),
            is_unwatched: false,
            run: self.run.clone(),
            function_news: false,
            namespaced: BTreeMap::from([
                (GroupKind::new("", "ConfigMap"), true),
                (GroupKind::new("", "Secret"), true),
                (GroupKind::new("protection.crossplane.io", "Usage"), true),
            ]),
            reserved: self.reserved(),
            term_began: self.term_began,
            may_act: false,
            settings: Arc::new(self.settings.clone()),
            jitter: 0.5,
            now: self.now,
            xr,
        }
    }

    /// Whatever is desired: the machine asks for what it desires alone.
    fn reserved(&self) -> BTreeMap<(GroupKind, String), Vec<Reservation>> {
        let mut reserved: BTreeMap<_, Vec<Reservation>> = BTreeMap::new();
        for (id, object) in &self.view.objects {
            let object = LiveObject::new(object.clone());
            if let Some(name) = object
                .annotation(names::EXTERNAL_NAME)
                .filter(|_| object.is_deleting())
            {
                let holders = reserved.entry((id.group_kind(), name.to_owned())).or_default();
                holders.push(Reservation {
                    id: id.clone(),
                    uid: object.uid().to_owned(),
                    since: object.deletion_time(),
                });
            }
        }
        reserved
    }

    pub(super) fn additions(&self, snapshot: &Snapshot) -> Additions {
        let home = snapshot.xr.namespace();
        let refs = snapshot.xr.refs.iter().chain(&snapshot.strays);
        let is_unread = self.unread_until.is_some_and(|until| self.now < until);
        let seen = |id: &ObjectId| {
            if is_unread {
                return ObjectState::Unknown("as the test wants".to_owned());
            }
            state(&self.view, id)
        };
        Additions {
            seen: refs.map(|one| (one.id(home), seen(&one.id(home)))).collect(),
            required: BTreeMap::new(),
            secrets: self.secrets.clone(),
            secrets_watched: true,
            unlisted_secrets: None,
            in_use: (self.in_use)(&self.view),
            is_unwatched: false,
            now: self.now,
        }
    }
}

pub(super) fn state(api: &Api, id: &ObjectId) -> ObjectState {
    match api.objects.get(id) {
        Some(object) => ObjectState::Exists(Arc::new(LiveObject::new(object.clone()))),
        None => ObjectState::Absent,
    }
}

fn chosen() -> Chosen {
    let pipeline = json!([{"step": "compose", "functionRef": {"name": "function"}}]);
    Chosen {
        selected: Selected {
            composition: "app".to_owned(),
            revision: "app-1".to_owned(),
            revision_selector: None,
            changes: Vec::new(),
        },
        secrets_namespace: None,
        revision_uid: "revision".to_owned(),
        pipeline: PipelineSpec::parse(&pipeline)
            .map(Arc::new)
            .map_err(|error| error.to_string()),
    }
}
