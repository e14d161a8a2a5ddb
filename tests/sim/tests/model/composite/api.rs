//! What the API server does, as far as composite resources can see it.

use std::collections::BTreeMap;

use bridge_core::composite::{Composite, ObjectId, names};
use bridge_core::definition::Scope;
use serde_json::{Value, json};

/// Everything that is stored.
#[derive(Debug, Clone, Default)]
pub struct Api {
    version: u64,
    uids: u64,
    pub xr: Option<Value>,
    pub objects: BTreeMap<ObjectId, Value>,
    /// Writes that were carried out.
    pub writes: Vec<String>,
    pub violations: Vec<String>,
    /// A webhook makes this of the data of what is written.
    pub alters: Option<(&'static str, &'static str)>,
    /// A webhook leaves out the annotation by which the bridge knows what it applied.
    pub strips_mark: bool,
}

/// Why a write was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Conflict,
    AlreadyExists,
    NotFound,
}

pub const NAMESPACE: &str = "team";

pub fn parsed(xr: &Value) -> Composite {
    Composite::parse(xr.clone(), Scope::Namespaced)
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

    /// A person creates the composite resource.
    pub fn create_xr(&mut self, spec: &Value, now: &str) {
        let uid = self.new_uid();
        let version = self.next_version();
        self.xr = Some(json!({
            "apiVersion": "example.org/v1", "kind": "App",
            "metadata": {
                "name": "app", "namespace": NAMESPACE, "uid": uid, "resourceVersion": version, "generation": 1,
                "creationTimestamp": now,
            },
            "spec": spec,
        }));
    }

    /// A person changes the composite resource.
    pub fn edit_xr(&mut self, edit: impl FnOnce(&mut Value)) {
        let Some(mut xr) = self.xr.take() else { return };
        let spec = xr["spec"].clone();
        edit(&mut xr);
        if xr["spec"] != spec {
            let generation = xr["metadata"]["generation"].as_i64().unwrap_or_default();
            xr["metadata"]["generation"] = (generation + 1).into();
        }
        xr["metadata"]["resourceVersion"] = self.next_version();
        self.xr = Some(xr);
        self.finish_xr();
    }

    /// A person deletes it.
    pub fn delete_xr(&mut self, now: &str) {
        self.edit_xr(|xr| {
            if xr["metadata"]["deletionTimestamp"].is_null() {
                xr["metadata"]["deletionTimestamp"] = now.into();
            }
        });
    }

    fn finish_xr(&mut self) {
        let is_gone = self.xr.as_ref().is_some_and(|xr| {
            let metadata = &xr["metadata"];
            !metadata["deletionTimestamp"].is_null()
                && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
        });
        if is_gone {
            self.xr = None;
        }
    }

    fn xr_of_version(&self, uid: &str, version: &str) -> Result<Value, Refusal> {
        let xr = self.xr.as_ref().ok_or(Refusal::NotFound)?;
        if xr["metadata"]["uid"] != uid {
            return Err(Refusal::NotFound);
        }
        if xr["metadata"]["resourceVersion"] != version {
            return Err(Refusal::Conflict);
        }
        Ok(xr.clone())
    }

    /// Replaces what `change` changes, if the composite resource is of this version.
    pub fn put_xr(
        &mut self,
        what: &str,
        (uid, version): (&str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, Refusal> {
        self.xr_of_version(uid, version)?;
        self.writes.push(what.to_owned());
        self.edit_xr(change);
        self.check();
        Ok(self.xr.clone())
    }

    /// Creates an object; an existing one is not touched.
    pub fn create(&mut self, id: &ObjectId, body: &Value, now: &str) -> Result<Value, Refusal> {
        if self.objects.contains_key(id) {
            return Err(Refusal::AlreadyExists);
        }
        let mut object = self.admitted(body);
        object["metadata"]["uid"] = self.new_uid().into();
        object["metadata"]["resourceVersion"] = self.next_version();
        object["metadata"]["creationTimestamp"] = now.into();
        self.objects.insert(id.clone(), object.clone());
        self.writes.push(format!("create {id}"));
        self.check();
        Ok(object)
    }

    fn admitted(&self, body: &Value) -> Value {
        let mut object = body.clone();
        if let Some((from, to)) = self.alters
            && object["data"]["value"] == from
        {
            object["data"]["value"] = to.into();
        }
        if self.strips_mark
            && let Some(annotations) = object["metadata"]["annotations"].as_object_mut()
        {
            annotations.remove(names::APPLIED);
        }
        object
    }

    fn of_version(&self, id: &ObjectId, uid: &str, version: &str) -> Result<Value, Refusal> {
        let object = self.objects.get(id).ok_or(Refusal::NotFound)?;
        let metadata = &object["metadata"];
        // As the real one takes a request that names none.
        let is_of_version = version.is_empty() || metadata["resourceVersion"] == version;
        if metadata["uid"] != uid || !is_of_version {
            return Err(Refusal::Conflict);
        }
        Ok(object.clone())
    }

    /// Brings an object to what is applied: what was applied before and is no more goes.
    pub fn apply(&mut self, id: &ObjectId, uid: &str, version: &str, body: &Value) -> Result<Value, Refusal> {
        let former = self.of_version(id, uid, version)?;
        let mut object = self.admitted(body);
        for field in ["uid", "creationTimestamp", "deletionTimestamp", "finalizers"] {
            if !former["metadata"][field].is_null() {
                object["metadata"][field] = former["metadata"][field].clone();
            }
        }
        object["status"] = former["status"].clone();
        object["metadata"]["resourceVersion"] = self.next_version();
        self.objects.insert(id.clone(), object.clone());
        self.writes.push(format!("apply {id}"));
        self.check();
        Ok(object)
    }

    /// Deletes an object; true: it is gone.
    pub fn delete(&mut self, id: &ObjectId, uid: &str, version: &str, now: &str) -> Result<bool, Refusal> {
        let mut object = self.of_version(id, uid, version)?;
        self.writes.push(format!("delete {id}"));
        if let Some(xr) = &self.xr
            && !xr["metadata"]["deletionTimestamp"].is_null()
        {
            let ready = parsed(xr);
            let ready = ready.condition("Ready").cloned().unwrap_or_default();
            if ready["reason"] != "Deleting" {
                self.violations
                    .push(format!("{id} was deleted before anybody could see why"));
            }
        }
        let held = object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if held {
            object["metadata"]["deletionTimestamp"] = now.into();
            object["metadata"]["resourceVersion"] = self.next_version();
            self.objects.insert(id.clone(), object);
        } else {
            self.objects.remove(id);
        }
        self.check();
        Ok(!held)
    }

    /// Takes the owner of this uid and its label off an object.
    pub fn release(&mut self, id: &ObjectId, uid: &str, version: &str, owner: &str) -> Result<(), Refusal> {
        let mut object = self.of_version(id, uid, version)?;
        self.writes.push(format!("release {id}"));
        if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|one| one["uid"] != owner);
        }
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.remove(names::COMPOSITE);
        }
        object["metadata"]["resourceVersion"] = self.next_version();
        self.objects.insert(id.clone(), object);
        self.check();
        Ok(())
    }

    /// Somebody else changes or removes an object.
    pub fn edit(&mut self, id: &ObjectId, edit: impl FnOnce(Value) -> Option<Value>) {
        let Some(object) = self.objects.remove(id) else {
            return;
        };
        if let Some(mut object) = edit(object) {
            object["metadata"]["resourceVersion"] = self.next_version();
            self.objects.insert(id.clone(), object);
        }
    }

    /// Somebody else creates an object.
    pub fn put_foreign(&mut self, id: &ObjectId, mut object: Value) {
        object["metadata"]["uid"] = self.new_uid().into();
        object["metadata"]["resourceVersion"] = self.next_version();
        self.objects.insert(id.clone(), object);
    }

    /// What must hold after each write.
    fn check(&mut self) {
        let mut names: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
        let xr = self.xr.as_ref().map(parsed);
        let mut violations = Vec::new();
        for (id, object) in &self.objects {
            let owner = object["metadata"]["ownerReferences"]
                .as_array()
                .and_then(|owners| owners.iter().find(|owner| owner["controller"] == true))
                .and_then(|owner| owner["uid"].as_str());
            let Some(owner) = owner.filter(|owner| owner.starts_with("uid-")) else {
                continue;
            };
            match &xr {
                Some(xr) if xr.uid() == owner => {
                    if !xr.refs.iter().any(|one| one.id(xr.namespace()) == *id) {
                        violations.push(format!("{id} exists, and nothing refers to it"));
                    }
                    let name = object["metadata"]["annotations"][names::RESOURCE_NAME].as_str();
                    let kind = (
                        id.group.clone(),
                        id.kind.clone(),
                        name.unwrap_or_default().to_owned(),
                    );
                    names.entry(kind).or_default().push(id.name.clone());
                }
                _ => violations.push(format!("{id} is left of a composite resource that is gone")),
            }
        }
        for ((_, kind, name), all) in names {
            if all.len() > 1 {
                violations.push(format!("{kind} {name:?} exists as {}", all.join(" and ")));
            }
        }
        self.violations.extend(violations);
    }
}
