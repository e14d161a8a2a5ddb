//! Collects what a decision is made from.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{
    composite::{LiveObject, ObjectId, ObjectState, ResourceRef},
    controller_ref::ControllerRef,
    protection::{
        Additions, ControllerState, Known, Mark, Naming, Resolution, Side, Snapshot, Subject, Usage,
        UsageView, Which, cycle, describe,
    },
};

use super::{
    guard::GuardState,
    kinds::unknown_usages,
    reconciler::UsageReconciler,
    stored::{StoredUsages, ancestors, ancestors_of, keys},
};
use crate::{composite::Finder, object::Object};

impl UsageReconciler {
    /// What is known of a usage without asking anybody.
    pub(super) fn collect_cached(&self, object: &Object) -> Snapshot {
        let usage = Usage::new(object.to_value());
        let own = UsageView::of(&usage);
        let stored = StoredUsages::new(&self.shared.store);
        // Most have none to form a cycle with.
        let all = if own.by.is_some() {
            stored.all()
        } else {
            Vec::new()
        };
        Snapshot {
            cycle: describe(&cycle(&own, &all)),
            ancestors: ancestors(&self.shared.store, object),
            guard: match self.guard.proved() {
                GuardState::Proved => Ok(()),
                GuardState::NotProved { message } => Err(message),
            },
            of: Resolution::Unmatched,
            by: None,
            used: Known::Nothing,
            using: Known::Nothing,
            controller: ControllerState::None,
            owner: ControllerState::None,
            others: Vec::new(),
            gone: BTreeSet::new(),
            unknown_usages: unknown_usages(&self.shared.watches, false),
            notes_attempts: self.guard.notes_attempts(),
            is_unwatched: false,
            may_act: false,
            settings: Arc::clone(&self.shared.settings),
            now: self.shared.clock.now(),
            usage,
        }
    }

    /// What may have to be read.
    pub(super) async fn collect(&self, snapshot: &Snapshot) -> Additions {
        let usage = &snapshot.usage;
        let controller = usage
            .controller()
            .and_then(|controller| controller["uid"].as_str());
        let mut read = Read {
            of: self,
            known: BTreeMap::new(),
        };
        let of = match usage.naming(Side::Used) {
            Some(naming) => read.resolution(&naming, controller).await,
            None => Resolution::Invalid("neither a name nor a selector is given".to_owned()),
        };
        let by = match usage.naming(Side::Using) {
            Some(naming) => Some(read.resolution(&naming, controller).await),
            None => None,
        };
        let record = usage.record();
        let used = record.as_ref().map(|record| record.of.reference.clone());
        let using = record.as_ref().and_then(|record| record.by.as_ref());
        let using = using.map(|by| by.reference.clone());
        let used = read.known(usage, used, &of).await;
        let using = match (using, &by) {
            (None, None) => Known::Nothing,
            (recorded, Some(by)) => read.known(usage, recorded, by).await,
            (Some(recorded), None) => read.known(usage, Some(recorded), &Resolution::Unmatched).await,
        };
        let controller = read.controller(usage.object()).await;
        // That of what is let go.
        let object = match &used {
            Known::Object(reference, ObjectState::Exists(object)) => Some((reference.id(None), &**object)),
            _ => match &of {
                Resolution::Found(reference, object) => Some((reference.id(None), &**object)),
                _ => None,
            },
        };
        let owner = match object {
            Some((_, object)) if usage.is_deleting() && usage.replays_deletion() => read.owner(object).await,
            _ => ControllerState::None,
        };
        let others = object
            .as_ref()
            .map(|(id, object)| self.others(usage, id, object))
            .unwrap_or_default();
        let ancestors = object
            .as_ref()
            .map(|(id, object)| ancestors_of(&self.shared.store, id, object))
            .unwrap_or_default();
        let gone = object.map(|(_, object)| self.gone(object)).unwrap_or_default();
        let finder = Finder::in_any_version(&self.shared);
        let watched = |one: &ResourceRef| finder.is_watched_in_any_version(&one.api_version, &one.kind);
        let is_unwatched = read
            .known
            .values()
            .any(|(reference, state)| !matches!(state, ObjectState::KindGone) && !watched(reference));
        Additions {
            is_unwatched,
            of,
            by,
            used,
            using,
            controller,
            owner,
            others,
            ancestors,
            gone,
            now: self.shared.clock.now(),
        }
    }

    fn others(&self, usage: &Usage, id: &ObjectId, object: &LiveObject) -> Vec<UsageView> {
        let stored = StoredUsages::new(&self.shared.store);
        let api_version = object.object()["apiVersion"].as_str().unwrap_or_default();
        let mut others: BTreeMap<String, UsageView> = BTreeMap::new();
        for key in keys(api_version, &id.kind, id.namespace.as_deref(), &id.name) {
            for other in stored.about(&key) {
                if other.uid != usage.uid() && other.protects(id, object) {
                    others.insert(other.uid.clone(), other);
                }
            }
        }
        others.into_values().collect()
    }

    /// Of the usages that hold an object those that are certainly gone.
    fn gone(&self, object: &LiveObject) -> BTreeSet<String> {
        let held_by = Mark::of(object).held_by.into_iter();
        held_by
            .filter(|uid| self.shared.store.is_tombstoned(uid))
            .collect()
    }

    /// What is to be read past the store.
    pub(super) async fn observe(&self, object: &Object, subject: Subject) -> ObjectState {
        let usage = Usage::new(object.to_value());
        let finder = Finder::in_any_version(&self.shared);
        let reference = match subject {
            Subject::Controller => match ControllerRef::of(usage.object()) {
                Some(controller) => self.of_controller(usage.object(), &controller),
                None => return ObjectState::Absent,
            },
            Subject::Resource(side) => match self.found(&usage, side) {
                Some(reference) => reference,
                None => return ObjectState::Absent,
            },
            Subject::Owner => return self.observe_owner(&usage).await,
        };
        finder.see_live(&reference, None).await
    }

    /// The used resource of one that Crossplane made may be selected by labels alone.
    async fn found_or_selected(&self, usage: &Usage) -> Option<ResourceRef> {
        if let Some(found) = self.found(usage, Side::Used) {
            return Some(found);
        }
        let controller = usage.controller();
        let controller = controller.and_then(|controller| controller["uid"].as_str());
        match self.resolve(&usage.naming(Side::Used)?, controller).await {
            Resolution::Found(reference, _) => Some(reference),
            _ => None,
        }
    }

    /// The first of the owners of the used resource that is there; absent: there is none.
    async fn observe_owner(&self, usage: &Usage) -> ObjectState {
        let finder = Finder::in_any_version(&self.shared);
        let Some(used) = self.found_or_selected(usage).await else {
            return ObjectState::Unknown("it is not known which resource is used".to_owned());
        };
        let used = match finder.see_live(&used, None).await {
            ObjectState::Exists(used) => used,
            other => return other,
        };
        let of = used.object();
        let owners = match ControllerRef::of(of) {
            Some(controller) => vec![controller],
            None => owners(of),
        };
        for owner in owners {
            let state = finder.see_live(&self.of_controller(of, &owner), None).await;
            if ControllerState::of(&state, &owner.uid) != ControllerState::Gone {
                return state;
            }
        }
        ObjectState::Absent
    }

    /// The object that was found, by its name.
    fn found(&self, usage: &Usage, side: Side) -> Option<ResourceRef> {
        let recorded = usage.record().and_then(|record| match side {
            Side::Used => Some(record.of.reference),
            // One that was added since is found by its name.
            Side::Using => record.by.map(|by| by.reference),
        });
        if recorded.is_some() {
            return recorded;
        }
        let naming = usage.naming(side)?;
        let Which::Name(name) = &naming.which else {
            return None;
        };
        Some(self.scoped(naming.reference(name, true)))
    }

    /// An owner is of the namespace of what it owns, or of none.
    fn of_controller(&self, of: &serde_json::Value, controller: &ControllerRef) -> ResourceRef {
        self.scoped(ResourceRef {
            api_version: controller.api_version.clone(),
            kind: controller.kind.clone(),
            namespace: of["metadata"]["namespace"].as_str().map(ToOwned::to_owned),
            name: controller.name.clone(),
        })
    }

    /// Without a namespace, if its kind is cluster-scoped.
    fn scoped(&self, reference: ResourceRef) -> ResourceRef {
        let api = self
            .shared
            .watches
            .resolve_any(&reference.api_version, &reference.kind);
        let is_cluster_scoped = api.is_ok_and(|resolved| !resolved.api.namespaced);
        ResourceRef {
            namespace: reference.namespace.filter(|_| !is_cluster_scoped),
            ..reference
        }
    }
}

/// What was seen, each object once.
struct Read<'a> {
    of: &'a UsageReconciler,
    known: BTreeMap<ObjectId, (ResourceRef, ObjectState)>,
}

impl Read<'_> {
    async fn resolution(&mut self, naming: &Naming, controller: Option<&str>) -> Resolution {
        let resolution = self.of.resolve(naming, controller).await;
        let seen = match &resolution {
            Resolution::Found(reference, object) => Some((reference, ObjectState::Exists(object.clone()))),
            Resolution::Absent(reference) => Some((reference, ObjectState::Absent)),
            _ => None,
        };
        if let Some((reference, state)) = seen {
            self.known.insert(reference.id(None), (reference.clone(), state));
        }
        resolution
    }

    async fn state(&mut self, reference: &ResourceRef) -> ObjectState {
        let id = reference.id(None);
        if let Some((_, state)) = self.known.get(&id) {
            return state.clone();
        }
        let state = Finder::in_any_version(&self.of.shared).see(reference, None).await;
        self.known.insert(id, (reference.clone(), state.clone()));
        state
    }

    /// What was found first: as recorded, else, of a usage that has been seen to by Crossplane, what it names.
    async fn known(&mut self, usage: &Usage, recorded: Option<ResourceRef>, now: &Resolution) -> Known {
        if let Some(reference) = recorded {
            let state = self.state(&reference).await;
            return Known::Object(reference, state);
        }
        match now {
            _ if !usage.is_deleting() || !usage.has_finalizer() => Known::Nothing,
            Resolution::Found(reference, object) => {
                Known::Object(reference.clone(), ObjectState::Exists(object.clone()))
            }
            Resolution::Absent(reference) => Known::Object(reference.clone(), ObjectState::Absent),
            Resolution::Unknown(why) => match self.named(usage) {
                Some(reference) => Known::Object(reference, ObjectState::Unknown(why.clone())),
                None => Known::Nothing,
            },
            Resolution::Unmatched | Resolution::KindGone(_) | Resolution::Invalid(_) => Known::Nothing,
        }
    }

    fn named(&self, usage: &Usage) -> Option<ResourceRef> {
        self.of.found(usage, Side::Used)
    }

    async fn controller(&mut self, of: &serde_json::Value) -> ControllerState {
        let Some(controller) = ControllerRef::of(of) else {
            return ControllerState::None;
        };
        let reference = self.of.of_controller(of, &controller);
        let state = self.state(&reference).await;
        ControllerState::of(&state, &controller.uid)
    }

    /// What owns an object: its controller, else all its owners together.
    async fn owner(&mut self, object: &LiveObject) -> ControllerState {
        let of = object.object();
        if ControllerRef::of(of).is_some() {
            return self.controller(of).await;
        }
        let mut all = ControllerState::None;
        for one in owners(of) {
            let reference = self.of.of_controller(of, &one);
            let state = self.state(&reference).await;
            match ControllerState::of(&state, &one.uid) {
                ControllerState::Gone => all = ControllerState::Gone,
                other => {
                    return if other == ControllerState::None {
                        other
                    } else {
                        ControllerState::Lives
                    };
                }
            }
        }
        all
    }
}

fn owners(of: &serde_json::Value) -> Vec<ControllerRef> {
    let owners = of["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owner = |owner: &serde_json::Value| {
        let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        ControllerRef {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
        }
    };
    owners.map(owner).collect()
}
