//! What the API server does, as far as claims can see it, and what becomes of their composite resources.

use std::collections::BTreeMap;

use bridge_core::{
    claim::{Claim, names},
    composite::LiveObject,
};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "team";

/// Everything that is stored.
#[derive(Debug, Clone, Default)]
pub struct Api {
    version: u64,
    uids: u64,
    /// By name.
    pub claims: BTreeMap<String, Value>,
    /// By name.
    pub xrs: BTreeMap<String, Value>,
    /// What each composite resource was created with, until that is handed over.
    created: BTreeMap<String, Value>,
    /// What was applied to it last.
    applied: BTreeMap<String, Value>,
    /// Writes that were carried out.
    pub writes: Vec<String>,
    pub violations: Vec<String>,
    /// What composite resources say is wrong with them.
    pub error: Option<&'static str>,
    /// Composite resources that are being deleted stay.
    pub held: bool,
}

/// Why a write was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Conflict,
    AlreadyExists,
    NotFound,
}

impl Api {
    fn next_version(&mut self) -> Value {
        self.version += 1;
        json!(self.version.to_string())
    }

    fn new_uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{}", self.uids)
    }

    /// A person creates a claim.
    pub fn create_claim(&mut self, name: &str, spec: &Value, now: &str) {
        if self.claims.contains_key(name) {
            return;
        }
        let uid = self.new_uid();
        let version = self.next_version();
        let claim = json!({
            "apiVersion": "example.org/v1", "kind": "Shop",
            "metadata": {
                "name": name, "namespace": NAMESPACE, "uid": uid, "resourceVersion": version, "generation": 1,
                "creationTimestamp": now,
            },
            "spec": spec,
        });
        self.claims.insert(name.to_owned(), claim);
    }

    /// A person changes a claim.
    pub fn edit_claim(&mut self, name: &str, edit: impl FnOnce(&mut Value)) {
        let Some(mut claim) = self.claims.remove(name) else {
            return;
        };
        let spec = claim["spec"].clone();
        edit(&mut claim);
        if claim["spec"] != spec {
            let generation = claim["metadata"]["generation"].as_i64().unwrap_or_default();
            claim["metadata"]["generation"] = (generation + 1).into();
        }
        claim["metadata"]["resourceVersion"] = self.next_version();
        if !is_over(&claim) {
            self.claims.insert(name.to_owned(), claim);
        }
    }

    /// A person deletes a claim.
    pub fn delete_claim(&mut self, name: &str, now: &str) {
        self.edit_claim(name, |claim| mark_deleted(claim, now));
    }

    /// A person creates a composite resource.
    pub fn create_xr(&mut self, name: &str, spec: &Value, now: &str) {
        let body = json!({"apiVersion": "example.org/v1", "kind": "XShop", "spec": spec});
        self.insert(name, body, now);
    }

    /// Somebody changes a composite resource.
    pub fn edit_xr(&mut self, name: &str, edit: impl FnOnce(&mut Value)) {
        let Some(mut xr) = self.xrs.remove(name) else {
            return;
        };
        edit(&mut xr);
        xr["metadata"]["resourceVersion"] = self.next_version();
        if is_over(&xr) {
            self.created.remove(name);
            self.applied.remove(name);
        } else {
            self.xrs.insert(name.to_owned(), xr);
        }
    }

    /// A person deletes a composite resource.
    pub fn delete_xr_by_hand(&mut self, name: &str, now: &str) {
        self.edit_xr(name, |xr| mark_deleted(xr, now));
    }

    /// Replaces what `change` changes, if the claim is of this version.
    pub fn put_claim(
        &mut self,
        what: &str,
        (name, uid, version): (&str, &str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, Refusal> {
        let claim = self.claims.get(name).ok_or(Refusal::NotFound)?;
        check_version(claim, uid, version)?;
        self.writes.push(format!("{what} {name}"));
        self.edit_claim(name, change);
        self.check();
        Ok(self.claims.get(name).cloned())
    }

    /// Creates a composite resource; an existing one is not touched.
    pub fn create(&mut self, name: &str, body: &Value, now: &str) -> Result<Value, Refusal> {
        if self.xrs.contains_key(name) {
            return Err(Refusal::AlreadyExists);
        }
        self.created.insert(name.to_owned(), body.clone());
        self.insert(name, body.clone(), now);
        self.writes.push(format!("create {name}"));
        self.check();
        Ok(self.xrs[name].clone())
    }

    fn insert(&mut self, name: &str, mut xr: Value, now: &str) {
        xr["metadata"]["name"] = name.into();
        xr["metadata"]["uid"] = self.new_uid().into();
        xr["metadata"]["resourceVersion"] = self.next_version();
        xr["metadata"]["creationTimestamp"] = now.into();
        self.xrs.insert(name.to_owned(), xr);
    }

    /// Brings a composite resource to what is applied: what was applied before and is no more goes.
    pub fn apply(
        &mut self,
        (name, uid, version): (&str, &str, &str),
        convert: bool,
        body: &Value,
        by: &str,
    ) -> Result<Value, Refusal> {
        let mut xr = self.xrs.get(name).cloned().ok_or(Refusal::NotFound)?;
        check_version(&xr, uid, version)?;
        self.check_bond(&xr, by, "applied to");
        let mut former = self.applied.remove(name).unwrap_or_default();
        if convert && let Some(created) = self.created.remove(name) {
            former = created;
        }
        let mut body = body.clone();
        body["metadata"]["name"] = name.into();
        take_off(&mut xr, &former, &body);
        merge(&mut xr, &body);
        self.applied.insert(name.to_owned(), body);
        xr["metadata"]["resourceVersion"] = self.next_version();
        self.xrs.insert(name.to_owned(), xr.clone());
        self.writes.push(format!("apply {name}"));
        self.check();
        Ok(xr)
    }

    /// Deletes a composite resource for the claim of this uid; true: it is gone.
    pub fn delete(
        &mut self,
        (name, uid, version): (&str, &str, &str),
        by: &str,
        now: &str,
    ) -> Result<bool, Refusal> {
        let xr = self.xrs.get(name).cloned().ok_or(Refusal::NotFound)?;
        check_version(&xr, uid, version)?;
        self.check_bond(&xr, by, "deleted");
        self.writes.push(format!("delete {name}"));
        let of_claim = self.claims.values().find(|claim| claim["metadata"]["uid"] == by);
        let says_so = of_claim.is_some_and(|claim| {
            let claim = Claim::new(claim.clone());
            claim.is_deleting()
                && claim
                    .condition("Ready")
                    .is_some_and(|ready| ready["reason"] == "Deleting")
        });
        if !says_so {
            self.violations
                .push(format!("{name} was deleted before anybody could see why"));
        }
        self.edit_xr(name, |xr| mark_deleted(xr, now));
        self.check();
        Ok(!self.xrs.contains_key(name))
    }

    fn check_bond(&mut self, xr: &Value, by: &str, done: &str) {
        let bound = &xr["spec"]["claimRef"]["name"];
        let uid = &xr["metadata"]["annotations"][names::CLAIM_UID];
        let owner = self
            .claims
            .values()
            .find(|claim| claim["metadata"]["name"] == *bound);
        let owner = owner.map(|claim| claim["metadata"]["uid"].clone());
        let is_others = bound.is_string() && (owner.as_ref().is_some_and(|owner| owner != by));
        if is_others || (done == "deleted" && *uid != by) {
            self.violations.push(format!(
                "{} was {done} for {by}, which it is not bound to",
                xr["metadata"]["name"]
            ));
        }
    }

    /// The controller of composite resources does one thing; false: there is nothing to do.
    pub fn compose(&mut self) -> bool {
        let error = self.error;
        for (name, xr) in self.xrs.clone() {
            let is_deleting = !xr["metadata"]["deletionTimestamp"].is_null();
            let condition = |type_: &str| {
                let conditions = xr["status"]["conditions"].as_array().into_iter().flatten();
                conditions
                    .clone()
                    .find(|one| one["type"] == type_)
                    .cloned()
                    .unwrap_or_default()
            };
            let wanted = if is_deleting {
                status(
                    ("True", "ReconcileSuccess", ""),
                    ("False", "Deleting", "1 of 1 composed resources remain"),
                    &xr,
                )
            } else if let Some(error) = error {
                status(("False", "ReconcileError", error), ("False", "Creating", ""), &xr)
            } else {
                status(("True", "ReconcileSuccess", ""), ("True", "Available", ""), &xr)
            };
            let finalizers = json!(["composite.apiextensions.crossplane.io"]);
            if !is_deleting && xr["metadata"]["finalizers"] != finalizers {
                self.edit_xr(&name, |xr| {
                    xr["metadata"]["finalizers"] = finalizers;
                    xr["metadata"]["labels"]["crossplane.io/composite"] = xr["metadata"]["name"].clone();
                    xr["spec"]["compositionRevisionRef"] = json!({"name": "shops-1"});
                    xr["spec"]["resourceRefs"] = json!([]);
                });
                return true;
            }
            if xr["status"] != wanted {
                self.edit_xr(&name, |xr| xr["status"] = wanted);
                return true;
            }
            if is_deleting && !self.held && condition("Ready")["reason"] == "Deleting" {
                self.edit_xr(&name, |xr| xr["metadata"]["finalizers"] = json!([]));
                return true;
            }
        }
        false
    }

    /// What must hold after each write.
    fn check(&mut self) {
        let mut by_claim: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, xr) in &self.xrs {
            if let Some(uid) = xr["metadata"]["annotations"][names::CLAIM_UID].as_str() {
                by_claim.entry(uid.to_owned()).or_default().push(name.clone());
            }
            if xr["spec"]["resourceRefs"]
                .as_array()
                .is_some_and(|refs| !refs.is_empty())
            {
                self.violations
                    .push(format!("a claim brought machinery into {name}"));
            }
        }
        for (uid, all) in by_claim {
            if all.len() > 1 {
                self.violations.push(format!("{uid} has {}", all.join(" and ")));
            }
        }
    }

    /// Names of composite resources whose claim is gone.
    pub fn left_over(&self) -> Vec<&String> {
        let is_left = |xr: &Value| {
            let uid = &xr["metadata"]["annotations"][names::CLAIM_UID];
            let mut claims = self.claims.values();
            uid.is_string() && !claims.any(|claim| claim["metadata"]["uid"] == *uid)
        };
        let left = self.xrs.iter().filter(|(_, xr)| is_left(xr));
        left.map(|(name, _)| name).collect()
    }
}

pub fn live(xr: &Value) -> LiveObject {
    LiveObject::new(xr.clone())
}

fn status(synced: (&str, &str, &str), ready: (&str, &str, &str), xr: &Value) -> Value {
    let condition = |type_: &str, (status, reason, message): (&str, &str, &str)| json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({"conditions": [condition("Synced", synced), condition("Ready", ready)], "size": xr["spec"]["size"]})
}

fn mark_deleted(object: &mut Value, now: &str) {
    if object["metadata"]["deletionTimestamp"].is_null() {
        object["metadata"]["deletionTimestamp"] = now.into();
    }
}

fn is_over(object: &Value) -> bool {
    let metadata = &object["metadata"];
    !metadata["deletionTimestamp"].is_null() && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
}

fn check_version(object: &Value, uid: &str, version: &str) -> Result<(), Refusal> {
    let metadata = &object["metadata"];
    if metadata["uid"] != uid {
        return Err(Refusal::NotFound);
    }
    if metadata["resourceVersion"] != version {
        return Err(Refusal::Conflict);
    }
    Ok(())
}

/// Takes off what is in `former` and not in `new`.
fn take_off(object: &mut Value, former: &Value, new: &Value) {
    let (Value::Object(object), Value::Object(former)) = (object, former) else {
        return;
    };
    for (name, was) in former {
        match (object.get_mut(name), new.get(name)) {
            (Some(below), Some(is)) => take_off(below, was, is),
            (Some(_), None) => drop(object.remove(name)),
            (None, _) => {}
        }
    }
}

fn merge(object: &mut Value, new: &Value) {
    match (object, new) {
        (Value::Object(object), Value::Object(new)) => {
            for (name, value) in new {
                merge(object.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (object, new) => *object = new.clone(),
    }
}
