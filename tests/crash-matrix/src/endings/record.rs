//! What the API server held, and when, by watches: revisions of one etcd order everything.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::{manifests::HOLD, story_in};
use crate::TestError;

/// How long an object with the finalizer of a test takes to go.
const HELD_FOR: Duration = Duration::from_millis(400);
/// A watch that ended begins again after this.
const AGAIN: Duration = Duration::from_millis(200);
const WATCH_SECONDS: u32 = 250;

/// One object, from its creation to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Life {
    /// The case that it belongs to.
    pub story: String,
    /// Its kind, such as `ConfigMap`.
    pub kind: String,
    /// `namespace/name`.
    pub name: String,
    /// Uid of what controls it; empty: nothing does.
    pub controller: String,
    /// Revision in which it was first seen.
    pub created: u64,
    /// Of a composite resource: what it has referred to (`ConfigMap first`), each with the first revision that did.
    pub referred: BTreeMap<String, u64>,
    /// Revision since which its status says that it is being deleted.
    pub said: Option<u64>,
    /// Revision in which it was marked deleted, or was gone without a mark.
    pub marked: Option<u64>,
    /// It bore the label of what is in use when it was marked.
    pub marked_in_use: bool,
    /// Revision in which it was gone.
    pub gone: Option<u64>,
    /// As it was last.
    pub last: Value,
}

/// All objects by uid.
pub type Lives = BTreeMap<String, Life>;

/// What is recorded.
#[derive(Clone, Default)]
pub struct Record {
    lives: Arc<Mutex<Lives>>,
    /// A watch that missed something; nothing is proved then.
    holes: Arc<Mutex<Vec<String>>>,
}

impl Record {
    /// Records all objects of a kind from now on, until the kind is gone.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn follow(&self, client: &Client, resource: &ApiResource) -> Result<(), TestError> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
        let list = api.list(&ListParams::default()).await.map_err(TestError::from)?;
        let mut version = list.metadata.resource_version.clone().unwrap_or_default();
        for object in &list.items {
            self.observe(client, resource, object, false);
        }
        let (record, client, resource) = (self.clone(), client.clone(), resource.clone());
        tokio::spawn(async move {
            while record.watch(&client, &resource, &api, &mut version).await {
                sleep(AGAIN).await;
            }
        });
        Ok(())
    }

    /// One watch, to its end. `false`: nothing of the kind is left to watch.
    async fn watch(
        &self,
        client: &Client,
        resource: &ApiResource,
        api: &Api<DynamicObject>,
        version: &mut String,
    ) -> bool {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let events = match api.watch(&params, version).await {
            Ok(events) => events,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                self.kind_gone(resource);
                return false;
            }
            Err(_) => return true,
        };
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    *version = object.metadata.resource_version.clone().unwrap_or_default();
                    self.observe(client, resource, &object, false);
                }
                Ok(WatchEvent::Deleted(object)) => {
                    *version = object.metadata.resource_version.clone().unwrap_or_default();
                    self.observe(client, resource, &object, true);
                }
                Ok(WatchEvent::Bookmark(bookmark)) => *version = bookmark.metadata.resource_version,
                Ok(WatchEvent::Error(error)) if error.code == 410 => {
                    let hole = format!(
                        "the watch of {} missed something: {}",
                        resource.kind, error.message
                    );
                    lock(&self.holes).push(hole);
                    return false;
                }
                Ok(WatchEvent::Error(_)) | Err(_) => return true,
            }
        }
        true
    }

    fn observe(&self, client: &Client, resource: &ApiResource, object: &DynamicObject, is_gone: bool) {
        let value = serde_json::to_value(object).unwrap_or_default();
        let is_held = lock(&self.lives).add(&resource.kind, value, is_gone);
        if is_held && !is_gone {
            let api: Api<DynamicObject> = match &object.metadata.namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
                None => Api::all_with(client.clone(), resource),
            };
            let name = object.metadata.name.clone().unwrap_or_default();
            tokio::spawn(async move {
                sleep(HELD_FOR).await;
                let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
                // Another event of it tries again.
                let _ = api.patch(&name, &PatchParams::default(), &free).await;
            });
        }
    }

    fn kind_gone(&self, resource: &ApiResource) {
        let lives = lock(&self.lives);
        let left = lives
            .values()
            .filter(|life| life.gone.is_none() && life.kind == resource.kind);
        let group = &resource.group;
        for life in left.filter(|life| {
            life.last["apiVersion"]
                .as_str()
                .is_some_and(|version| version.starts_with(group))
        }) {
            let hole = format!("{} {} was there when its kind went", life.kind, life.name);
            lock(&self.holes).push(hole);
        }
    }

    /// All of one story, as it is now.
    pub fn of(&self, story: &str) -> Lives {
        let lives = lock(&self.lives);
        let of_it = lives.iter().filter(|(_, life)| life.story == story);
        of_it.map(|(uid, life)| (uid.clone(), life.clone())).collect()
    }

    /// The newest revision that was seen of any story.
    pub fn latest(&self) -> u64 {
        let lives = lock(&self.lives);
        let versions = lives
            .values()
            .filter_map(|life| life.last["metadata"]["resourceVersion"].as_str());
        versions
            .filter_map(|version| version.parse().ok())
            .max()
            .unwrap_or_default()
    }

    /// What was not seen; empty: everything was.
    pub fn holes(&self) -> Vec<String> {
        lock(&self.holes).clone()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds what an event shows.
trait Add {
    /// The answer: it is marked deleted, and held by the test's own finalizer.
    fn add(&mut self, kind: &str, object: Value, is_gone: bool) -> bool;
}

impl Add for Lives {
    fn add(&mut self, kind: &str, object: Value, is_gone: bool) -> bool {
        let meta = &object["metadata"];
        let text = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
        let name = format!("{}/{}", text("namespace"), text("name"));
        let Some(story) = story_in(&name) else {
            return false;
        };
        let version: u64 = text("resourceVersion").parse().unwrap_or_default();
        let is_marked = !meta["deletionTimestamp"].is_null();
        let mut owners = meta["ownerReferences"].as_array().into_iter().flatten();
        let controller = owners.find(|owner| owner["controller"] == true);
        let controller = controller
            .and_then(|owner| owner["uid"].as_str())
            .unwrap_or_default();
        let life = self.entry(text("uid")).or_insert_with(|| Life {
            story,
            kind: kind.to_owned(),
            name,
            created: version,
            ..Life::default()
        });
        if !controller.is_empty() {
            controller.clone_into(&mut life.controller);
        }
        if says_deleting(&object) {
            life.said.get_or_insert(version);
        }
        if (is_marked || is_gone) && life.marked.is_none() {
            life.marked = Some(version);
            life.marked_in_use = object["metadata"]["labels"]["crossplane.io/in-use"] == "true";
        }
        if is_gone {
            life.gone.get_or_insert(version);
        }
        let mut finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        let is_held = is_marked && finalizers.any(|finalizer| finalizer == HOLD);
        for reference in references(&object) {
            life.referred.entry(reference).or_insert(version);
        }
        life.last = object;
        is_held
    }
}

/// What a composite resource refers to.
fn references(object: &Value) -> impl Iterator<Item = String> {
    let places = ["/spec/crossplane/resourceRefs", "/spec/resourceRefs"];
    let references = places.iter().find_map(|place| object.pointer(place)?.as_array());
    references.into_iter().flatten().map(|reference| {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        format!("{} {}", text("kind"), text("name"))
    })
}

/// A condition says that it ends, and its mark is stored.
fn says_deleting(object: &Value) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    !object["metadata"]["deletionTimestamp"].is_null()
        && conditions.any(|condition| {
            let says =
                |type_: &str, reason: &str| condition["type"] == type_ && condition["reason"] == reason;
            says("Ready", "Deleting") || says("Established", "TerminatingCompositeResource")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(version: u64, extra: &Value) -> Value {
        let mut object = json!({"metadata": {
            "uid": "u", "name": "web", "namespace": "story-0001", "resourceVersion": version.to_string(),
            "ownerReferences": [{"uid": "x", "controller": true}],
        }});
        json_patch(&mut object, extra);
        object
    }

    fn json_patch(object: &mut Value, extra: &Value) {
        if let (Value::Object(object), Value::Object(extra)) = (&mut *object, extra) {
            for (field, value) in extra {
                json_patch(object.entry(field).or_insert(Value::Null), value);
            }
        } else {
            *object = extra.clone();
        }
    }

    #[test]
    fn each_step_of_an_end_is_dated_by_its_first_revision() {
        let mut lives = Lives::default();
        let marked = json!({"metadata": {"deletionTimestamp": "t", "finalizers": [HOLD]}});
        let refers =
            json!({"spec": {"crossplane": {"resourceRefs": [{"kind": "ConfigMap", "name": "first"}]}}});
        let mut said = marked.clone();
        said["spec"] = refers["spec"].clone();
        said["status"] = json!({"conditions": [{"type": "Ready", "reason": "Deleting"}]});
        assert!(!lives.add("Order", event(3, &json!({})), false));
        assert!(!lives.add("Order", event(4, &refers), false));
        assert!(lives.add("Order", event(5, &marked), false));
        assert!(lives.add("Order", event(6, &said), false));
        assert!(lives.add("Order", event(8, &said), false));
        lives.add("Order", event(9, &said), true);
        let life = &lives["u"];
        assert_eq!(
            (life.created, life.marked, life.said, life.gone),
            (3, Some(5), Some(6), Some(9))
        );
        assert_eq!(
            (life.story.as_str(), life.controller.as_str()),
            ("story-0001", "x")
        );
        assert_eq!(life.referred, BTreeMap::from([("ConfigMap first".to_owned(), 4)]));
    }

    #[test]
    fn what_goes_without_a_mark_is_marked_when_it_is_gone() {
        let mut lives = Lives::default();
        lives.add("ConfigMap", event(3, &json!({})), false);
        lives.add("ConfigMap", event(7, &json!({})), true);
        assert_eq!(
            (lives["u"].marked, lives["u"].gone, lives["u"].said),
            (Some(7), Some(7), None)
        );
        // Of no story.
        lives.add(
            "ConfigMap",
            json!({"metadata": {"uid": "v", "name": "x", "namespace": "default"}}),
            false,
        );
        assert_eq!(lives.len(), 1);
    }
}
