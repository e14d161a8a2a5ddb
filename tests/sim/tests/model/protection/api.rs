//! What the API server holds of usages and of what they are about, what becomes of it by others, and what must hold after each write.

use std::collections::{BTreeMap, BTreeSet};

use bridge_core::{
    composite::LiveObject,
    protection::{Mark, Usage},
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "team";

/// Kind and name.
pub type Id = (&'static str, String);

/// Everything that is stored.
#[derive(Debug, Clone, Default)]
pub struct Api {
    version: u64,
    uids: u64,
    pub objects: BTreeMap<Id, Value>,
    /// Writes of the bridge that were carried out.
    pub writes: Vec<String>,
    pub violations: Vec<String>,
    guarded: bool,
}

/// Why a write was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Conflict,
    NotFound,
    /// It is in use.
    Denied,
}

pub fn id(kind: &'static str, name: &str) -> Id {
    (kind, name.to_owned())
}

impl Api {
    /// Deletions of what is in use are refused.
    pub fn guarded() -> Self {
        Self {
            guarded: true,
            ..Self::default()
        }
    }

    fn next_version(&mut self) -> Value {
        self.version += 1;
        json!(self.version.to_string())
    }

    pub fn get(&self, kind: &'static str, name: &str) -> Option<&Value> {
        self.objects.get(&id(kind, name))
    }

    /// Somebody creates an object, unless there is one.
    pub fn create(&mut self, kind: &'static str, name: &str, mut object: Value, now: &str) {
        if self.objects.contains_key(&id(kind, name)) {
            return;
        }
        self.uids += 1;
        object["apiVersion"] = if kind == "Usage" {
            "protection.crossplane.io/v1beta1".into()
        } else {
            "example.org/v1".into()
        };
        object["kind"] = kind.into();
        let metadata = &mut object["metadata"];
        metadata["name"] = name.into();
        metadata["namespace"] = NAMESPACE.into();
        metadata["uid"] = format!("uid-{}", self.uids).into();
        metadata["generation"] = 1.into();
        metadata["creationTimestamp"] = now.into();
        metadata["resourceVersion"] = self.next_version();
        self.objects.insert(id(kind, name), object);
    }

    /// Somebody changes an object. One that is being deleted and that nothing holds is gone.
    pub fn edit(&mut self, of: &Id, edit: impl FnOnce(&mut Value)) {
        let Some(mut object) = self.objects.remove(of) else {
            return;
        };
        edit(&mut object);
        object["metadata"]["resourceVersion"] = self.next_version();
        let metadata = &object["metadata"];
        let is_held = metadata["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if metadata["deletionTimestamp"].is_null() || is_held {
            self.objects.insert(of.clone(), object);
        }
    }

    /// Somebody deletes an object; the guard may refuse it.
    pub fn delete(&mut self, of: &Id, now: &str) -> Result<(), Refusal> {
        let Some(object) = self.objects.get(of) else {
            return Err(Refusal::NotFound);
        };
        if self.guarded && Mark::of(&live(object)).label {
            return Err(Refusal::Denied);
        }
        self.edit(of, |object| {
            if object["metadata"]["deletionTimestamp"].is_null() {
                object["metadata"]["deletionTimestamp"] = now.into();
            }
        });
        Ok(())
    }

    fn of_version(&self, of: &Id, uid: &str, version: &str) -> Result<(), Refusal> {
        let object = self.objects.get(of).ok_or(Refusal::NotFound)?;
        let metadata = &object["metadata"];
        if metadata["uid"] != uid {
            return Err(Refusal::NotFound);
        }
        if metadata["resourceVersion"] != version {
            return Err(Refusal::Conflict);
        }
        Ok(())
    }

    /// The bridge writes an object that is of this version; the answer is what it is then.
    pub fn write(
        &mut self,
        what: &str,
        (of, uid, version): (&Id, &str, &str),
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, Refusal> {
        self.of_version(of, uid, version)?;
        let before = self.clone();
        self.writes.push(format!("{what} {} {}", of.0, of.1));
        self.edit(of, change);
        self.check(&before, now);
        Ok(self.objects.get(of).cloned())
    }

    /// The bridge deletes an object that is of this version.
    pub fn delete_by_bridge(
        &mut self,
        (of, uid, version): (&Id, &str, &str),
        now: &str,
    ) -> Result<(), Refusal> {
        self.of_version(of, uid, version)?;
        if self
            .usages()
            .any(|usage| is_about(&usage, uid) && !usage.is_deleting())
        {
            self.violations
                .push(format!("{of:?} was deleted while it was in use"));
        }
        self.writes.push(format!("delete {} {}", of.0, of.1));
        self.delete(of, now)
    }

    pub fn usages(&self) -> impl Iterator<Item = Usage> {
        let usages = self.objects.iter().filter(|(id, _)| id.0 == "Usage");
        usages.map(|(_, object)| Usage::new(object.clone()))
    }

    fn by_uid(&self, uid: &str) -> Option<&Value> {
        self.objects
            .values()
            .find(|object| object["metadata"]["uid"] == uid)
    }

    /// What a write may not bring about.
    fn check(&mut self, before: &Self, now: Timestamp) {
        let mut violations = Vec::new();
        for (of, was) in &before.objects {
            let uid = was["metadata"]["uid"].as_str().unwrap();
            let is = self.objects.get(of).filter(|is| is["metadata"]["uid"] == uid);
            let held = |object: &Value| Mark::of(&live(object)).held_by;
            let Some(is) = is else {
                if of.0 == "Usage" && self.objects.values().any(|object| held(object).contains(uid)) {
                    violations.push(format!("{of:?} went before it had let its object go"));
                }
                continue;
            };
            for usage in held(was).difference(&held(is)) {
                violations.extend(before.left_early(usage, now));
            }
            for usage in held(is).difference(&held(was)) {
                let recorded = self
                    .by_uid(usage)
                    .and_then(|usage| Usage::new(usage.clone()).record());
                if recorded.is_none_or(|record| record.of.uid != uid) {
                    violations.push(format!("{of:?} was marked for {usage}, which does not name it"));
                }
            }
            let (was, is) = (Mark::of(&live(was)).label, Mark::of(&live(is)));
            if was && !is.label && !is.held_by.is_empty() {
                violations.push(format!("the label went off {of:?} while it was held"));
            }
        }
        self.violations.extend(violations);
    }

    /// Why the usage of this uid may not let its object go now: by what is stored, and not by what anybody knows of it.
    fn left_early(&self, usage: &str, now: Timestamp) -> Option<String> {
        let usage = Usage::new(self.by_uid(usage)?.clone());
        let record = usage.record()?;
        if !usage.is_deleting() {
            let names_it =
                usage.object()["spec"]["of"]["resourceRef"]["name"] == record.of.reference.name.as_str();
            return names_it.then(|| format!("{} let its object go while it protects it", usage.title()));
        }
        let by = self.by_uid(&record.by?.uid)?;
        let time = |object: &Value| {
            object["metadata"]["deletionTimestamp"]
                .as_str()?
                .parse::<Timestamp>()
                .ok()
        };
        let Some(controller) = usage.controller() else {
            // What uses it waits until the used object is gone: none of the three would ever go.
            let owned = self.by_uid(&record.of.uid).and_then(|used| {
                let owners = used["metadata"]["ownerReferences"].as_array()?.iter();
                let mut controllers = owners.filter(|owner| owner["controller"] == true);
                controllers.next()?["uid"].as_str().map(ToOwned::to_owned)
            });
            if owned.as_deref() == by["metadata"]["uid"].as_str() {
                return None;
            }
            let own = time(usage.object())?;
            let together =
                time(by).is_some_and(|by| by.duration_since(own).abs() <= jiff::SignedDuration::from_secs(2));
            // Whoever deletes it may be about to delete the other one.
            let is_early = time(by).is_none() && now < own + jiff::SignedDuration::from_secs(2);
            let is_wrong = together || is_early;
            return is_wrong.then(|| format!("{} went before what is deleted with it", usage.title()));
        };
        let lives = self
            .by_uid(controller["uid"].as_str()?)
            .is_some_and(|xr| time(xr).is_none());
        let is_parent = controller["uid"] == by["metadata"]["uid"];
        (!lives && !is_parent).then(|| format!("{} went before what uses its object", usage.title()))
    }

    /// The controller of the composite resource, and the garbage collector, do one thing; false: there is nothing to do.
    pub fn others_act(&mut self, now: &str) -> bool {
        let xr = self.get("Xr", "xr").cloned();
        if let Some(xr) = xr.filter(|xr| !xr["metadata"]["deletionTimestamp"].is_null()) {
            let uid = xr["metadata"]["uid"].clone();
            let owned: Vec<Id> = self
                .objects
                .iter()
                .filter(|(_, one)| is_controlled(one, &uid))
                .map(|(id, _)| id.clone())
                .collect();
            // Whoever composed them knows what is in use.
            let is_used = |api: &Self, id: &Id| Mark::of(&live(&api.objects[id])).label;
            for id in &owned {
                let is_marked = !self.objects[id]["metadata"]["deletionTimestamp"].is_null();
                if !is_marked && !is_used(self, id) && self.delete(id, now).is_ok() {
                    return true;
                }
            }
            if owned.is_empty() && xr["metadata"]["finalizers"] != json!([]) {
                self.edit(&id("Xr", "xr"), |xr| xr["metadata"]["finalizers"] = json!([]));
                return true;
            }
        }
        // An object is collected once all its owners are gone.
        let uids: BTreeSet<String> = self.objects.values().map(uid_of).collect();
        let lost = self.objects.iter().find(|(_, object)| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            let is_lost = |owner: &Value| !uids.contains(owner["uid"].as_str().unwrap_or_default());
            object["metadata"]["deletionTimestamp"].is_null()
                && owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(is_lost))
        });
        let lost = lost.map(|(id, _)| id.clone());
        lost.is_some_and(|lost| self.delete(&lost, now).is_ok())
    }
}

fn uid_of(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn is_controlled(object: &Value, uid: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten();
    owners
        .clone()
        .any(|owner| owner["controller"] == true && owner["uid"] == *uid)
}

pub fn is_about(usage: &Usage, uid: &str) -> bool {
    usage.record().is_some_and(|record| record.of.uid == uid)
}

pub fn live(object: &Value) -> LiveObject {
    LiveObject::new(object.clone())
}

/// What keeps an object until a step takes it off.
pub fn held() -> Value {
    json!(["test/held"])
}
