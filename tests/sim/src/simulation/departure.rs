//! What a user does at any moment of a scenario, beside what the scenario has.

use std::{sync::Arc, time::Duration};

use bridge_core::protection::guard::names::TRIAL;
use fake_kube::fault::Request;
use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{compositions::Sender, environment::Environment};

/// Kinds that users apply once, and of which a departure is none of what is composed or composes.
const SETTINGS: [&str; 4] = [
    "Namespace",
    "Composition",
    "CustomResourceDefinition",
    "CompositeResourceDefinition",
];

/// What a user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserStep {
    /// The object that was applied last is deleted.
    Deletes,
    /// Likewise, and it is applied again as soon as the API server takes it.
    Recreates,
    /// The object that was applied last is paused until the end of the scenario.
    Pauses,
    /// A `ConfigMap` that is composed is deleted by hand.
    DeletesComposed,
    /// The definition that was applied last is deleted.
    DeletesDefinition,
    /// A reference of a composite resource names another object, which is none of its.
    EditsReferences,
    /// A reference of a composite resource is removed.
    RemovesReference,
    /// The owner references are taken off something that is composed.
    StripsOwner,
    /// A usage that is composed is deleted by hand.
    DeletesUsage,
}

/// Whether a user has departed from a scenario.
#[derive(Debug, Default)]
pub(crate) struct Departure(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Path and body of what was applied, last things last.
    applied: Vec<(String, Value)>,
    is_taken: bool,
    /// Something composed has lost its owner so.
    has_stripped: bool,
    /// What is to be applied again.
    recreation: Option<Value>,
    /// Paths of what is paused.
    paused: Vec<String>,
    /// Writes that were on their way when the user did something, and have not been carried out.
    crossing: Vec<Request>,
    /// It was a moment ago: what is sent now was decided before.
    is_now: bool,
}

/// Who decided on a write sends the others of the same decision before any other task is polled so often.
const TURNS: usize = 2;

/// What was not carried out by then, as it was lost or its sender died, never is: another request that looks like it is judged.
const LONGEST_ON_ITS_WAY: Duration = Duration::from_mins(1);

impl Departure {
    /// A user applies this.
    pub(crate) fn note_applied(&self, path: &str, object: &Value) {
        self.0.lock().applied.push((path.to_owned(), object.clone()));
    }

    /// Whether something happened that the scenario does not have.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.lock().is_taken
    }

    /// Whether something composed has lost its owner by it: nobody but people deletes that.
    pub(crate) fn has_stripped(&self) -> bool {
        self.0.lock().has_stripped
    }

    /// What is to be applied again, once.
    pub(crate) fn take_recreation(&self) -> Option<Value> {
        self.0.lock().recreation.take()
    }

    /// A bridge sends this.
    pub(crate) fn note_sent(&self, request: &Request) {
        let mut state = self.0.lock();
        if state.is_now {
            state.crossing.push(request.clone());
        }
    }

    /// Whether this request was on its way when the user did something: who sent it could not know of that.
    pub(crate) fn is_crossing(&self, request: &Request) -> bool {
        let crossing = &mut self.0.lock().crossing;
        let place = crossing.iter().position(|one| one == request);
        place.map(|place| crossing.remove(place)).is_some()
    }

    /// The last one of this kind that was applied, or of those that are no settings.
    fn last(&self, kind: Option<&str>) -> Option<(String, Value)> {
        let state = self.0.lock();
        let mut applied = state.applied.iter().rev();
        let is_it = |(_, object): &&(String, Value)| {
            let own = object["kind"].as_str().unwrap_or_default();
            // Nobody but a bridge makes what it tries its guard by.
            let is_a_users = object["metadata"]["name"] != TRIAL;
            kind.map_or_else(|| !SETTINGS.contains(&own) && is_a_users, |kind| own == kind)
        };
        applied.find(is_it).cloned()
    }
}

impl Environment {
    /// Takes a step, past all faults, if there is anything for it to do. This write, and all others that were decided with it, are on their way.
    pub(super) fn take_user_step(self: &Arc<Self>, step: UserStep, write: &Request) {
        let taken = match step {
            UserStep::Deletes => self.delete_last(None).is_some(),
            UserStep::Recreates => {
                let object = self.delete_last(None);
                let is_taken = object.is_some();
                self.departure.0.lock().recreation = object;
                is_taken
            }
            UserStep::DeletesDefinition => self.delete_last(Some("CompositeResourceDefinition")).is_some(),
            UserStep::DeletesComposed => self.delete_composed(),
            UserStep::EditsReferences => self.edit_references(),
            UserStep::RemovesReference => self.remove_reference(),
            UserStep::StripsOwner => self.strip_owner(),
            UserStep::DeletesUsage => self.delete_usage(),
            UserStep::Pauses => self.departure.last(None).is_some_and(|(path, _)| {
                let is_paused = self.pause(&path, &"true".into());
                self.departure.0.lock().paused.push(path);
                is_paused
            }),
        };
        if taken {
            let mut departure = self.departure.0.lock();
            departure.is_taken = true;
            departure.has_stripped |= step == UserStep::StripsOwner;
            // Else it was noted when it was sent.
            if !std::mem::replace(&mut departure.is_now, true) {
                departure.crossing.push(write.clone());
            }
            let environment = Arc::clone(self);
            tokio::spawn(async move {
                for _ in 0..TURNS {
                    tokio::task::yield_now().await;
                }
                environment.departure.0.lock().is_now = false;
                tokio::time::sleep(LONGEST_ON_ITS_WAY).await;
                environment.departure.0.lock().crossing.clear();
            });
        }
        self.watch_compositions(None, Sender::default());
    }

    /// Returns what was deleted.
    fn delete_last(&self, kind: Option<&str>) -> Option<Value> {
        let (path, object) = self.departure.last(kind)?;
        let (code, _) = self.kube.request(&Method::DELETE, &path, &Value::Null);
        (code < 300).then_some(object)
    }

    fn delete_composed(&self) -> bool {
        let all = "/api/v1/configmaps";
        let (_, list) = self.kube.request(&Method::GET, all, &Value::Null);
        let mut items = list["items"].as_array().into_iter().flatten();
        let composed = items.find(|item| !item["metadata"]["labels"]["crossplane.io/composite"].is_null());
        composed.is_some_and(|composed| {
            let text = |field: &str| composed["metadata"][field].as_str().unwrap_or_default();
            let path = format!(
                "/api/v1/namespaces/{}/configmaps/{}",
                text("namespace"),
                text("name")
            );
            self.kube.request(&Method::DELETE, &path, &Value::Null).0 < 300
        })
    }

    fn pause(&self, path: &str, value: &Value) -> bool {
        let change = json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
        self.kube.request(&Method::PATCH, path, &change).0 < 300
    }

    /// Nothing is paused any more. Returns whether anything was.
    pub(crate) fn resume_all(&self) -> bool {
        let paused = std::mem::take(&mut self.departure.0.lock().paused);
        for path in &paused {
            self.pause(path, &Value::Null);
        }
        !paused.is_empty()
    }
}
