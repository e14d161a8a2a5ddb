//! What a process knows of a usage: as the engine collects it.

use std::{collections::BTreeSet, sync::Arc};

use bridge_core::{
    composite::{LiveObject, ObjectState, ResourceRef, Settings},
    protection::{
        Additions, ControllerState, Known, Resolution, Side, Snapshot, Subject, Usage, UsageView, Which,
        cycle, describe, select,
    },
};
use serde_json::Value;

use super::{
    api::{Id, id, live},
    process::World,
};

/// The kinds of the model, by the name that a document has.
fn kind(name: &str) -> &'static str {
    match name {
        "Db" => "Db",
        "App" => "App",
        _ => "Xr",
    }
}

impl World {
    pub(super) fn snapshot(&self, usage: &Value) -> Snapshot {
        let usage = Usage::new(usage.clone());
        let own = UsageView::of(&usage);
        let all: Vec<UsageView> = self.view.usages().map(|usage| UsageView::of(&usage)).collect();
        let controller = usage.controller().and_then(|one| one["uid"].as_str());
        Snapshot {
            cycle: describe(&cycle(&own, &all)),
            ancestors: controller.map(ToOwned::to_owned).into_iter().collect(),
            guard: self.unguarded.clone().map_or(Ok(()), Err),
            of: Resolution::Unmatched,
            by: None,
            used: Known::Nothing,
            using: Known::Nothing,
            controller: ControllerState::None,
            owner: ControllerState::None,
            others: Vec::new(),
            gone: BTreeSet::new(),
            unknown_usages: None,
            notes_attempts: true,
            is_unwatched: false,
            may_act: false,
            settings: Arc::new(Settings::default()),
            now: self.now,
            usage,
        }
    }

    fn known(&self, reference: &ResourceRef) -> ObjectState {
        let of = id(kind(&reference.kind), &reference.name);
        self.state(&of)
    }

    fn resolved(&self, usage: &Usage, side: Side) -> Option<Resolution> {
        let naming = usage.naming(side)?;
        let name = match &naming.which {
            Which::Name(name) => name.clone(),
            Which::Selector(selector) => {
                // In an order that no store promises.
                let all = self.view.objects.iter().rev();
                let all = all.filter(|(of, _)| of.0 == kind(&naming.kind));
                let all: Vec<LiveObject> = all.map(|(_, object)| live(object)).collect();
                let Some(one) = select(selector, None, &all) else {
                    return Some(Resolution::Unmatched);
                };
                one.name().to_owned()
            }
        };
        let name = &name;
        let reference = naming.reference(name, true);
        Some(match self.known(&reference) {
            ObjectState::Exists(object) => Resolution::Found(reference, object),
            _ => Resolution::Absent(reference),
        })
    }

    pub(super) fn additions(&self, snapshot: &Snapshot) -> Additions {
        let usage = &snapshot.usage;
        let record = usage.record();
        let known = |reference: ResourceRef| {
            let state = self.known(&reference);
            Known::Object(reference, state)
        };
        let used = record.as_ref().map(|record| record.of.reference.clone());
        let using = record
            .as_ref()
            .and_then(|record| record.by.clone())
            .map(|by| by.reference);
        let of = self.resolved(usage, Side::Used).unwrap_or(Resolution::Unmatched);
        let used = used.map_or(Known::Nothing, known);
        let object: Option<(ResourceRef, LiveObject)> = match (&used, &of) {
            (Known::Object(reference, ObjectState::Exists(object)), _)
            | (_, Resolution::Found(reference, object)) => Some((reference.clone(), (**object).clone())),
            _ => None,
        };
        let others = object.as_ref().map(|(reference, object)| {
            let others = self.view.usages().filter(|other| other.uid() != usage.uid());
            let views = others.map(|other| UsageView::of(&other));
            views
                .filter(|other| other.protects(&reference.id(None), object))
                .collect()
        });
        Additions {
            by: self.resolved(usage, Side::Using),
            using: using.map_or(Known::Nothing, known),
            controller: self.controller(usage.object()),
            owner: object.as_ref().map_or(ControllerState::None, |(_, object)| {
                self.controller(object.object())
            }),
            ancestors: object
                .as_ref()
                .and_then(|(_, object)| Some(object.controller()?["uid"].as_str()?.to_owned()))
                .into_iter()
                .collect(),
            others: others.unwrap_or_default(),
            gone: BTreeSet::new(),
            is_unwatched: false,
            now: self.now,
            of,
            used,
        }
    }

    fn controller(&self, of: &Value) -> ControllerState {
        let owners = of["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let mut controllers = owners.filter(|owner| owner["controller"] == true);
        let Some(controller) = controllers.next() else {
            return ControllerState::None;
        };
        let state = self.state(&id("Xr", controller["name"].as_str().unwrap_or_default()));
        ControllerState::of(&state, controller["uid"].as_str().unwrap_or_default())
    }

    /// What is read past the caches.
    pub(super) fn subject(&self, usage: &Usage, subject: Subject) -> Option<Id> {
        match subject {
            Subject::Owner => {
                let used = usage.record()?.of.reference.name;
                let owner = live(self.api.get("Db", &used)?).controller()?.clone();
                let of = id("Xr", owner["name"].as_str()?);
                let is_it = |object: &&Value| object["metadata"]["uid"] == owner["uid"];
                self.api.objects.get(&of).filter(is_it).map(|_| of)
            }
            Subject::Controller => {
                let controller = usage.controller()?;
                Some(id("Xr", controller["name"].as_str()?))
            }
            Subject::Resource(side) => {
                let record = usage.record()?;
                let identity = match side {
                    Side::Used => record.of,
                    Side::Using => record.by?,
                };
                Some(id(kind(&identity.reference.kind), &identity.reference.name))
            }
        }
    }
}
