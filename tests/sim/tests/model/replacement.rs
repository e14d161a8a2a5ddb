//! Replacements: what users do that leads to them, and what must hold of them.

use std::{collections::BTreeSet, fmt::Write as _};

use bridge_core::{
    external::{OperationVerb, Verb},
    managed::{Call, names, status},
};
use serde_json::json;

use crate::{
    cloud::External,
    invariants::record_of,
    reference_model::{Model, marker, verb},
};

/// What was approved, and what it was used for, by uid.
#[derive(Debug, Clone, Default)]
pub struct Replacements {
    /// Approvals that were given, each counted once, by their words; no stale ones.
    approved: BTreeSet<(String, String)>,
    /// Resources that were to be deleted though their object was not, by their number.
    replaced: BTreeSet<(String, u64)>,
    /// Resources that a Delete was ever sent for.
    deleted: BTreeSet<u64>,
    /// Resources whose marker was removed by hand.
    unmarked: BTreeSet<u64>,
}

impl Replacements {
    /// Its marker was removed by hand, and not put back since.
    pub fn lost_its_marker(&self, one: &External) -> bool {
        one.marker.is_empty() && self.unmarked.contains(&one.id.0)
    }

    /// A deletion may leave it: its marker was removed by hand, and at most another object's took its place since.
    pub fn may_be_left(&self, one: &External) -> bool {
        one.marker != marker(&one.made_for) && self.unmarked.contains(&one.id.0)
    }

    /// What distinguishes states: how many approvals are left, and what is known of what there is.
    pub fn describe(&self, text: &mut String, objects: &[External]) {
        let left = self.approved.len() - self.replaced.len().min(self.approved.len());
        let _ = write!(text, "{left} approved ");
        for one in objects {
            let deleted = self.deleted.contains(&one.id.0);
            let replaced = self.replaced.iter().any(|(_, id)| *id == one.id.0);
            let _ = write!(text, "{deleted} {replaced} ");
        }
    }
}

impl Model {
    /// The user asks for what only a replacement brings about.
    pub fn edit_fixed(&mut self) {
        let object = self.etcd.object.as_ref();
        let is_b = object.is_some_and(|object| object.parameters.get("fixed") == Some(&json!("b")));
        self.edit("fixed", json!(if is_b { "a" } else { "b" }));
    }

    /// A field drifts that cannot be changed in place.
    pub fn fixed_drifts(&mut self) {
        for one in self
            .cloud
            .objects
            .iter_mut()
            .filter(|one| !one.made_for.is_empty())
        {
            one.parameters.insert("fixed".to_owned(), json!("drifted"));
        }
    }

    /// The marker of a confirmed resource is removed by hand. In the middle of a creation nothing could be promised.
    pub fn marker_is_lost(&mut self) {
        let Some(object) = &self.etcd.object else { return };
        let confirmed = record_of(object).is_some_and(|record| object.managed.confirms(&record));
        if !confirmed || object.managed.deletion.is_some() {
            return;
        }
        let uid = object.managed.uid.clone();
        let marked = |one: &&mut External| one.made_for == uid && !one.marker.is_empty();
        for one in self.cloud.objects.iter_mut().filter(marked) {
            one.marker.clear();
            self.watcher.replacements.unmarked.insert(one.id.0);
        }
    }

    /// A person annotates this approval.
    pub fn approve(&mut self, approval: &str) {
        let Some(object) = &self.etcd.object else { return };
        let generation = approval
            .split('-')
            .next()
            .and_then(|number| number.parse::<i64>().ok());
        if generation.is_some_and(|generation| generation >= object.managed.generation) {
            let given = (object.managed.uid.clone(), approval.to_owned());
            self.watcher.replacements.approved.insert(given);
        }
        self.etcd.annotate(names::APPROVE_REPLACEMENT, Some(approval));
    }

    /// The approval that the stop asks for, as its message has it ready to paste.
    pub fn awaited_approval(&self) -> Option<String> {
        let object = self.etcd.object.as_ref()?;
        let synced = object.managed.condition(status::SYNCED)?;
        let asked = format!("{}=", names::APPROVE_REPLACEMENT);
        let (_, rest) = synced.message.split_once(&asked)?;
        let approval = rest.split_whitespace().next()?;
        (synced.reason == "ReplacementRequired").then(|| approval.to_owned())
    }

    /// A person follows the message of the stop.
    pub fn approve_what_is_asked(&mut self) -> bool {
        let Some(approval) = self.awaited_approval() else {
            return false;
        };
        let given =
            |object: &crate::etcd::Object| object.managed.annotation(names::APPROVE_REPLACEMENT) == approval;
        if self.etcd.object.as_ref().is_some_and(given) {
            return false;
        }
        self.approve(&approval);
        true
    }

    /// A Delete for an object that is not being deleted takes a resource whose replacement was approved, and no other.
    pub fn one_approval_replaces_one_resource(&mut self, call: &Call) -> Option<String> {
        if call.verb != Verb::Delete {
            return None;
        }
        let target = &call.target;
        let here =
            |one: &&External| one.name == target.external_name && one.account == target.config.identity;
        let id = self.cloud.objects.iter().find(here)?.id.0;
        let known = &mut self.watcher.replacements;
        known.deleted.insert(id);
        let uid = &target.owner.uid;
        let object = self.etcd.object.as_ref();
        let alive =
            |object: &crate::etcd::Object| object.managed.uid == *uid && object.managed.deletion.is_none();
        if !object.is_some_and(alive) {
            return None;
        }
        known.replaced.insert((uid.clone(), id));
        let replaced = known.replaced.iter().filter(|(of, _)| of == uid).count();
        let approved = known.approved.iter().filter(|(of, _)| of == uid).count();
        (replaced > approved).then(|| {
            format!(
                "{} takes the {replaced}. resource upon {approved} approvals",
                verb(call)
            )
        })
    }

    /// A removal is polled of what it removes: not without a name, and not of what no Delete was ever sent for.
    pub fn no_poll_of_a_removal_speaks_of_the_successor(&self, call: &Call) -> Option<String> {
        if call.verb != Verb::Poll || call.operation != Some(OperationVerb::Delete) {
            return None;
        }
        let target = &call.target;
        if target.external_name.is_empty() {
            return Some(format!("{} does not name its resource", verb(call)));
        }
        let object = self.etcd.object.as_ref()?;
        if object.managed.deletion.is_some() || object.managed.uid != target.owner.uid {
            return None;
        }
        let one = self.cloud.objects.iter().find(|one| {
            one.name == target.external_name
                && one.account == target.config.identity
                && one.made_for == target.owner.uid
        })?;
        let asked = self.watcher.replacements.deleted.contains(&one.id.0);
        (!asked).then(|| format!("{} speaks of the successor", verb(call)))
    }

    /// All that bears the object's marker.
    pub fn marked(&self) -> usize {
        let uid = &self.object().managed.uid;
        let ours = |one: &&External| one.marker == marker(uid);
        self.cloud.objects.iter().filter(ours).count()
    }
}
