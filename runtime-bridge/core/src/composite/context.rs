//! What the steps of one decision share: facts that are derived once.

use std::collections::BTreeMap;

use super::{
    ObjectId, ResourceRef,
    live::{LiveObject, ObjectState, Ownership},
    memory::CompositeMemory,
    plan::Plan,
    snapshot::{Basis, Chosen, RunState, Snapshot},
    view,
};
use crate::rule::Rule;

/// What a step looks at.
pub(super) struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub memory: &'a CompositeMemory,
    /// Everything that is referred to or stray, in order.
    pub refs: Vec<ResourceRef>,
    /// What a run would be begun for now; `None`: nothing is chosen.
    pub basis: Option<Basis>,
    /// What the last run desires; `None`: it has not ended, failed, or was for something else.
    pub plan: Option<Plan>,
}

impl<'a> Context<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a CompositeMemory) -> Self {
        let home = snapshot.xr.namespace();
        let mut refs = snapshot.xr.refs.clone();
        let strays = snapshot.strays.iter();
        for stray in strays.filter(|_| !Rule::StraysAreReferred.is_off()) {
            if !refs.iter().any(|one| one.id(home) == stray.id(home)) {
                refs.push(stray.clone());
            }
        }
        let mut of = Self {
            snapshot,
            memory,
            refs,
            basis: None,
            plan: None,
        };
        if let Ok(chosen) = &snapshot.choice {
            of.basis = Some(view::basis(&of, chosen));
            of.plan = of.current_plan(chosen);
        }
        of
    }

    fn current_plan(&self, chosen: &Chosen) -> Option<Plan> {
        let RunState::Ended { outcome, .. } = &self.snapshot.run else {
            return None;
        };
        if !self.run_counts() {
            return None;
        }
        let desired = outcome.result.as_ref().ok()?;
        Some(Plan::of(self, chosen, desired))
    }

    /// The run that ended was for what is desired now.
    pub fn run_counts(&self) -> bool {
        match (&self.snapshot.run, &self.basis) {
            (RunState::Ended { basis, .. } | RunState::Going { basis, .. }, Some(now)) => {
                basis.desired == now.desired || Rule::ResultOfWhatIsDesired.is_off()
            }
            _ => false,
        }
    }

    /// What is known of an object.
    pub fn seen(&self, id: &ObjectId) -> Option<&ObjectState> {
        self.snapshot.seen.get(id)
    }

    /// An object that exists.
    pub fn object(&self, id: &ObjectId) -> Option<&LiveObject> {
        match self.seen(id)? {
            ObjectState::Exists(object) => Some(object),
            ObjectState::Absent | ObjectState::KindGone | ObjectState::Unknown(_) => None,
        }
    }

    /// Each reference with its object's name.
    pub fn ids(&self) -> impl Iterator<Item = (ObjectId, &ResourceRef)> {
        let home = self.snapshot.xr.namespace();
        self.refs.iter().map(move |one| (one.id(home), one))
    }

    /// What is observed: objects that are ours, or nobody's and composed before, by composition resource name. Of two with one name the one that
    /// the machine keeps comes first.
    pub fn observed(&self) -> BTreeMap<&str, Vec<(ObjectId, &LiveObject)>> {
        let uid = self.snapshot.xr.uid();
        let mut observed: BTreeMap<&str, Vec<(ObjectId, &LiveObject)>> = BTreeMap::new();
        for (id, _) in self.ids() {
            let Some(ObjectState::Exists(object)) = self.snapshot.seen.get(&id) else {
                continue;
            };
            if object.ownership(uid) == Ownership::Foreign {
                continue;
            }
            if let Some(name) = object.resource_name() {
                observed.entry(name).or_default().push((id, object));
            }
        }
        for same in observed.values_mut() {
            same.sort_by(|(one, a), (other, b)| {
                (a.is_deleting(), a.created(), one).cmp(&(b.is_deleting(), b.created(), other))
            });
        }
        observed
    }
}
