//! A second object of the same kind and the same name in another namespace: served by the same two processes, in the same cloud.

use std::collections::BTreeMap;

use bridge_core::managed::{
    Found, World,
    rules::{self, Right},
};
use jiff::Timestamp;

use crate::{
    bridge::{Bridge, LateWrite},
    etcd::Etcd,
    world::{A, B, Model},
};

/// All that is one object's.
#[derive(Debug, Clone)]
pub struct Lane {
    pub etcd: Etcd,
    pub bridges: [Bridge; 2],
    pub paused_since: Option<Timestamp>,
}

/// Which object has which external resource, by canonical id, as one process knows it.
pub type Claims = BTreeMap<String, (String, Right)>;

/// Which object has said first that it is about to make one of this name, as one process knows it.
pub type Makers = BTreeMap<String, String>;

impl Model {
    /// Gives it a second object, not made yet.
    pub fn add_lane(&mut self) {
        let mut etcd = Etcd::default();
        (etcd.lane, etcd.forgets) = ("b", self.etcd.forgets);
        self.second = Some(Box::new(Lane {
            etcd,
            bridges: [Bridge::new(true), Bridge::new(false)],
            paused_since: None,
        }));
    }

    /// Does something where the other object is the one that is worked upon.
    pub fn beside<T>(&mut self, does: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.second.as_ref()?;
        self.turn();
        let done = does(self);
        self.turn();
        Some(done)
    }

    fn turn(&mut self) {
        if let Some(lane) = &mut self.second {
            std::mem::swap(&mut self.etcd, &mut lane.etcd);
            std::mem::swap(&mut self.bridges, &mut lane.bridges);
            std::mem::swap(self.watcher.paused_since_mut(), &mut lane.paused_since);
        }
    }

    /// When the next step of a process is due.
    pub fn due(&self) -> Option<Timestamp> {
        let second = self.second.iter().flat_map(|lane| &lane.bridges);
        self.bridges.iter().chain(second).filter_map(Bridge::due).min()
    }

    /// Both processes have nothing to do for a while, for any object.
    pub fn all_quiet(&mut self) -> bool {
        let quiet = |model: &mut Self| [A, B].into_iter().all(|b| model.quiet(b));
        quiet(self) && self.beside(quiet).unwrap_or(true)
    }

    /// The process dies, for all objects.
    pub fn crash(&mut self, b: usize) {
        self.bridges[b].crash();
        self.beside(|model| model.bridges[b].crash());
        self.claims[b].clear();
        self.makers[b].clear();
    }

    /// Another object of ours that has the same external resource, as the engine finds it.
    pub fn rival_of(&mut self, b: usize, world: &World) -> Option<String> {
        let lane = self.second.as_ref()?;
        // A process lists before it does anything.
        let beside = lane.bridges[b].store.clone().or_else(|| lane.etcd.object.clone());
        let looked = self.bridges[b].memory.looked.as_ref()?;
        let Found::There(observation) = &looked.found else {
            let uid = &world.managed.uid;
            let Some(name) = rules::name_to_make(world, &self.bridges[b].memory) else {
                self.makers[b].retain(|_, maker| maker != uid);
                return None;
            };
            let maker = self.makers[b].entry(name.clone()).or_insert_with(|| uid.clone());
            let beside = beside
                .filter(|other| rules::mean_the_same_place(&world.kind, &world.bare, &other.parameters))?;
            let other = beside.managed.uid.clone();
            let before = *maker == other || rules::is_rival(&beside.managed, &name, None);
            return before.then_some(other);
        };
        self.makers[b].retain(|_, maker| *maker != world.managed.uid);
        let right = rules::right(world, observation);
        let claims = &mut self.claims[b];
        // Its record has the name with more right, and no look has told yet what it has.
        let recorded = beside.filter(|other| {
            let claimed = claims.values().any(|(uid, _)| *uid == other.managed.uid);
            !claimed
                && rules::is_rival(&other.managed, &observation.external_name, right)
                && rules::mean_the_same_place(&world.kind, &world.bare, &other.parameters)
        });
        if let Some(other) = recorded {
            return Some(other.managed.uid);
        }
        let uid = &world.managed.uid;
        let claimed = claims
            .get(&observation.canonical_id)
            .filter(|(other, _)| other != uid);
        if let Some((other, _)) = claimed.filter(|(_, held)| right.is_none_or(|right| right <= *held)) {
            return Some(other.clone());
        }
        if let Some(right) = right {
            claims.insert(observation.canonical_id.clone(), (uid.clone(), right));
        }
        None
    }

    /// Is this write one of the other object's?
    pub fn is_beside(&self, write: &LateWrite) -> bool {
        let uid = match write {
            LateWrite::Metadata(base, _) | LateWrite::Status(base, _) => &base.managed.uid,
            LateWrite::Release(base) => &base.uid,
        };
        let Some(lane) = &self.second else { return false };
        lane.etcd
            .object
            .as_ref()
            .is_some_and(|object| object.managed.uid == *uid)
    }
}
