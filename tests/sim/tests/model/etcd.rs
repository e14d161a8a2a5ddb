//! One name in an API server: guarded writes, generations, finalizers, and what has been.

use std::sync::Arc;

use bridge_core::{
    external::Document,
    managed::{Annotations, IntentVerb, Managed, MetadataChange, Policies, Status, Stored, names},
    rule::Rule,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The object: what the machine sees of it, and its desired state.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub managed: Managed,
    pub parameters: Document,
}

/// Why a write did not land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Conflict,
    NotFound,
}

/// An object that is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Gone {
    pub uid: String,
    pub at: Timestamp,
    /// Its policy, or a person, let it go without its resource.
    pub orphaned: bool,
}

/// One name.
#[derive(Debug, Clone, Default)]
pub struct Etcd {
    pub object: Option<Object>,
    /// Which of the objects of the model: it tells uids apart.
    pub lane: &'static str,
    /// Every version that there has been, if they are kept.
    pub history: Vec<Arc<Object>>,
    /// A search that has many states to keep does without.
    pub forgets: bool,
    /// The newest intents that were written.
    pub intents: Vec<Intended>,
    pub gone: Vec<Gone>,
    pub revision: u64,
    born: u64,
}

/// An intent that was written: verb, token, attempt, deadline.
pub type Intended = (IntentVerb, String, u32, Timestamp);

/// More than can be waiting to be sent.
const INTENTS: usize = 8;

impl Etcd {
    /// The user makes it.
    pub fn create(&mut self, spec: &Value) -> String {
        assert!(self.object.is_none(), "it exists");
        self.born += 1;
        let uid = format!("uid-{}{}", self.lane, self.born);
        let managed = Managed {
            namespace: "default".to_owned(),
            name: "thing".to_owned(),
            uid: uid.clone(),
            generation: 1,
            resource_version: String::new(),
            deletion: None,
            finalizers: Vec::new(),
            annotations: Annotations::default(),
            policies: Policies::of(&json!({})),
            wants_connection_secret: false,
            status: Status::default(),
        };
        let parameters = spec.as_object().cloned().unwrap_or_default();
        self.put(Object { managed, parameters });
        uid
    }

    /// The user changes the spec, or the policies.
    pub fn edit(&mut self, change: impl FnOnce(&mut Object)) {
        self.touch(|object| {
            change(object);
            object.managed.generation += 1;
        });
    }

    /// The user sets an annotation, or takes it away.
    pub fn annotate(&mut self, key: &str, value: Option<&str>) {
        self.touch(|object| {
            match value {
                Some(value) => object
                    .managed
                    .annotations
                    .insert(key.to_owned(), value.to_owned()),
                None => object.managed.annotations.remove(key),
            };
        });
    }

    /// The user deletes it.
    pub fn delete(&mut self, now: Timestamp) {
        if self
            .object
            .as_ref()
            .is_some_and(|object| object.managed.deletion.is_some())
        {
            return;
        }
        self.edit(|object| object.managed.deletion = Some(now));
        self.collect(now);
    }

    /// Somebody does something to it.
    pub fn touch(&mut self, change: impl FnOnce(&mut Object)) {
        if let Some(mut object) = self.object.clone() {
            change(&mut object);
            self.put(object);
        }
    }

    /// PUT of the metadata.
    pub fn put_metadata(&mut self, base: &Object, change: &MetadataChange) -> Result<Object, Refused> {
        self.guard(base)?;
        let mut object = base.clone();
        for (key, value) in &change.annotations {
            match value {
                Some(value) => object.managed.annotations.insert(key.clone(), value.clone()),
                None => object.managed.annotations.remove(key),
            };
        }
        if change.add_finalizer && !object.managed.has_finalizer() {
            object.managed.finalizers.push(names::FINALIZER.to_owned());
        }
        if change.allows.is_some()
            && let Stored::Owned(record) = &*object.managed.record()
            && let Some(intent) = &record.intent
        {
            let first = (self.intents.len() + 1).saturating_sub(INTENTS);
            self.intents.drain(..first);
            self.intents
                .push((intent.verb, intent.token.clone(), intent.attempt, intent.deadline));
        }
        Ok(self.put(object))
    }

    /// PUT of the status: as JSON and back, as a real one.
    pub fn put_status(&mut self, base: &Object, status: &Status) -> Result<Object, Refused> {
        self.guard(base)?;
        let mut object = base.clone();
        object.managed.status = Status::read(status.write());
        assert_eq!(object.managed.status, *status, "a status survives its JSON");
        Ok(self.put(object))
    }

    /// Takes the finalizer away: needs the uid, and the version that was decided upon.
    pub fn release(&mut self, base: &Managed, now: Timestamp) -> Result<(), Refused> {
        let there = self.object.as_ref().map(|object| &object.managed);
        let Some(there) = there.filter(|there| there.uid == base.uid) else {
            return Err(Refused::NotFound);
        };
        if there.resource_version != base.resource_version && !Rule::FinalizerGuardedByVersion.is_off() {
            return Err(Refused::Conflict);
        }
        self.touch(|object| {
            object
                .managed
                .finalizers
                .retain(|finalizer| finalizer != names::FINALIZER);
        });
        self.collect(now);
        Ok(())
    }

    /// It is there, and of this uid.
    pub fn holds(&self, uid: &str) -> bool {
        self.object
            .as_ref()
            .is_some_and(|object| object.managed.uid == uid)
    }

    fn guard(&self, base: &Object) -> Result<(), Refused> {
        match &self.object {
            None => Err(Refused::NotFound),
            Some(object) if object.managed.uid != base.managed.uid => Err(Refused::Conflict),
            Some(object)
                if object.managed.resource_version != base.managed.resource_version
                    && !Rule::WritesGuardedByVersion.is_off() =>
            {
                Err(Refused::Conflict)
            }
            Some(_) => Ok(()),
        }
    }

    fn put(&mut self, mut object: Object) -> Object {
        self.revision += 1;
        object.managed.resource_version = format!("rv-{}", self.revision);
        if !self.forgets {
            self.history.push(Arc::new(object.clone()));
        }
        self.object = Some(object.clone());
        object
    }

    fn collect(&mut self, now: Timestamp) {
        let gone =
            |object: &Object| object.managed.deletion.is_some() && object.managed.finalizers.is_empty();
        if let Some(last) = self.object.take_if(|object| gone(object)) {
            let orphaned =
                !last.managed.policies.delete || last.managed.annotation(names::ORPHAN) == last.managed.uid;
            self.gone.push(Gone {
                uid: last.managed.uid,
                at: now,
                orphaned,
            });
        }
    }
}
