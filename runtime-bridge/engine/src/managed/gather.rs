//! Gathers what a decision is made from.

use std::sync::Arc;

use bridge_core::managed::{
    ConfigIdentity, Found, Fresh, Memory, Problem, Stored, World,
    rules::{self, Right},
};

use super::{reconciler::ManagedReconciler, view};
use crate::object::Object;

impl ManagedReconciler {
    /// The world as far as it is known without asking anybody: enough for [`bridge_core::managed::decide_unasked`].
    pub(super) fn glance(&self, object: &Object, memory: &Memory) -> World {
        let shared = &self.shared;
        let unasked = Problem {
            reason: "NotAsked".to_owned(),
            message: "nobody has asked for it yet".to_owned(),
        };
        World {
            kind: Arc::clone(&self.kind),
            managed: view::managed(object),
            wish: Err(unasked.clone()),
            bare: super::wish::bare(&self.kind, object),
            config: Err(unasked),
            hold: None,
            blocker: None,
            rival: None,
            may_act: self.may_go_on(memory),
            marker: view::ownership_marker(&shared.cluster_id, object.uid()),
            plugin_version: self.plugin_version.clone(),
            settings: Arc::clone(&shared.settings),
            fresh: Fresh {
                token: uuid::Uuid::new_v4().to_string(),
                question: format!("{:08x}", rand::random::<u32>()),
                jitter: fastrand::f64(),
            },
            now: shared.clock.now(),
        }
    }

    /// Adds what has to be asked for, which may take long.
    pub(super) async fn gather(&self, world: &mut World, object: &Object, memory: &Memory) {
        let shared = &self.shared;
        world.config = self.configs.resolve(object).await;
        world.wish = super::wish::read(&self.kind, object, &shared.secrets, &shared.digester).await;
        world.now = shared.clock.now();
        world.may_act = self.may_go_on(memory);
        let group = &self.kind.capabilities.rate_limit_group;
        world.hold = match &world.config {
            Ok(config) => shared.holds.of(config, group, world.now),
            Err(_) => None,
        };
        world.rival = self.rival(world, object, memory);
    }

    /// While draining, a call whose intent stands is sent all the same: else nobody would know what became of it.
    fn may_go_on(&self, memory: &Memory) -> bool {
        self.shared.may_begin(memory) || self.shared.leads(memory) && memory.may_send.is_some()
    }

    fn rival(&self, world: &World, object: &Object, memory: &Memory) -> Option<String> {
        let claims = &self.shared.claims;
        let observation = match &memory.looked.as_ref()?.found {
            Found::There(observation) => observation,
            Found::Absent(_) => return self.maker_of_the_same(world, object, memory),
        };
        claims.end(object.uid());
        let right = rules::right(world, observation);
        // Of which no look of this process has told yet what it has.
        let unclaimed = |other: &Object| !claims.has_claimed(other.uid());
        let name = &observation.external_name;
        if let Some(recorded) = self.recorded_by_another(world, object, name, right, unclaimed) {
            return Some(recorded);
        }
        claims.claim(
            &observation.canonical_id,
            object.uid(),
            &self.name_of(object),
            right,
        )
    }

    /// Another object whose record has the name that this one is about to make, or that is about to make it too.
    fn maker_of_the_same(&self, world: &World, object: &Object, memory: &Memory) -> Option<String> {
        let Some(name) = rules::name_to_make(world, memory) else {
            // Its record says so from now on, or it wants another, or none.
            self.shared.claims.end(object.uid());
            return None;
        };
        if let Some(recorded) = self.recorded_by_another(world, object, &name, None, |_| true) {
            return Some(recorded);
        }
        let before = self.shared.claims.begin(&name, object);
        let mut others = before.iter().filter_map(|key| self.shared.store.get(key));
        let other = others.find(|other| self.is_of_the_same_place(world, object, other))?;
        Some(self.name_of(&other))
    }

    fn recorded_by_another(
        &self,
        world: &World,
        object: &Object,
        name: &str,
        right: Option<Right>,
        counts: impl Fn(&Object) -> bool,
    ) -> Option<String> {
        let store = &self.shared.store;
        let others = store.with_external_name(&self.api.kind, name).into_iter();
        others
            .filter_map(|key| store.get(&key))
            .filter(|other| other.uid() != object.uid() && counts(other))
            .find(|other| {
                rules::is_rival(&view::managed(other), name, right)
                    && self.is_of_the_same_place(world, object, other)
            })
            .map(|other| self.name_of(&other))
    }

    /// The other object's names mean the same as this one's.
    fn is_of_the_same_place(&self, world: &World, object: &Object, other: &Object) -> bool {
        let config = match (&world.config, view::managed(other).record()) {
            (Ok(ours), Stored::Ours(record)) => record.config.shares_names_with(&ConfigIdentity::of(ours)),
            // What has not begun is to be made by the config that its spec names.
            (Ok(_), Stored::None) => self.lane(object) == self.lane(other),
            (Ok(_), Stored::Unreadable(_)) | (Err(_), _) => false,
        };
        config && rules::mean_the_same_place(&self.kind, &world.bare, &super::wish::bare(&self.kind, other))
    }

    fn name_of(&self, object: &Object) -> String {
        let kind = &self.kind.resource_type.kind;
        match object.namespace() {
            Some(namespace) => format!("{kind} {namespace}/{}", object.name()),
            None => format!("{kind} {}", object.name()),
        }
    }
}
