//! A second object of the same kind and the same name in another namespace: served by the same two processes, in the same cloud.

use bridge_core::managed::{Neighbour, Neighbours, OwnershipClaims, Snapshot, names};
use jiff::Timestamp;

use crate::{
    bridge::{Bridge, LateWrite},
    etcd::{Etcd, Object},
    reference_model::{A, B, Model},
};

/// All that is one object's.
#[derive(Debug, Clone)]
pub struct Neighbor {
    pub etcd: Etcd,
    pub bridges: [Bridge; 2],
    pub paused_since: Option<Timestamp>,
}

impl Model {
    /// Gives it a second object, not made yet.
    pub fn add_lane(&mut self) {
        let mut etcd = Etcd::default();
        (etcd.lane, etcd.forgets) = ("b", self.etcd.forgets);
        self.second = Some(Box::new(Neighbor {
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
        self.claims[b] = OwnershipClaims::default();
    }

    /// Another object of ours that has the same external resource, or is creating one of the same name.
    pub fn conflicting_object(&mut self, b: usize, snapshot: &Snapshot) -> Option<String> {
        let lane = self.second.as_ref()?;
        // A process lists before it does anything.
        let beside = lane.bridges[b].store.clone().or_else(|| lane.etcd.object.clone());
        let (memory, uid) = (&self.bridges[b].memory, &snapshot.managed.uid);
        self.claims[b].conflicting_object(snapshot, &snapshot.config, memory, uid, &Beside(beside))
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

/// The other object.
struct Beside(Option<Object>);

impl Beside {
    fn neighbour(&self) -> Option<Neighbour> {
        self.0.as_ref().map(|other| Neighbour {
            title: other.managed.uid.clone(),
            managed: other.managed.clone(),
            parameters: other.parameters.clone(),
            same_config: true,
        })
    }
}

impl Neighbours for Beside {
    /// As the engine's index has it: by the annotation.
    fn with_external_name(&self, name: &str) -> Vec<Neighbour> {
        let named = |other: &Neighbour| other.managed.annotation(names::EXTERNAL_NAME) == name;
        self.neighbour().into_iter().filter(named).collect()
    }

    fn get(&self, _namespace: &str, _name: &str) -> Option<Neighbour> {
        self.neighbour()
    }
}
