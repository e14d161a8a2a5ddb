//! Schemas that functions require: each is read once, and again when the API server publishes another one. Who was shown it gets a turn then.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_core::{
    composite::{ContentDigest, Found},
    function::{SchemaSelector, schema_of_kind},
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::timeout;

use super::schema;
use crate::{
    api_error::ApiError, clock::Clock, dispatch::Dispatcher, engine::Engine, object::Key,
    watch::ServedChange, write::Writer,
};

/// Names all documents, each with a digest of what it says.
const INDEX: &str = "/openapi/v3";

/// The API server publishes a schema some time after its definition was changed: it is asked after each of these.
const PUBLISHED_AFTER: [Duration; 7] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
];

/// All are compared at least so often.
const COMPARED_AGAIN: Duration = Duration::from_mins(10);

/// What could not be read is read again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// More are not kept: functions may ask for kinds that nobody knows.
const MOST: usize = 500;

/// A schema as the API server published it.
#[derive(Clone)]
pub(super) struct Schema {
    /// `None`: the kind is not known.
    pub(super) value: Arc<Option<Value>>,
    pub(super) digest: ContentDigest,
    /// The entry of its document in the index; `None`: it had none.
    published: Option<String>,
}

/// Why a schema is not known, and until when it is not asked for again.
#[derive(Clone)]
struct Unreadable {
    why: String,
    until: Timestamp,
}

/// All schemas that are required, and by whom.
pub(super) struct Schemas {
    writer: Writer,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// One is read at a time: those that a thousand composite resources require are few.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    schemas: BTreeMap<SchemaSelector, Result<Schema, Unreadable>>,
    /// What was known and is not kept: the entry in the index by which it was read. Who was shown it is woken all the same.
    dropped: BTreeMap<SchemaSelector, Result<Option<String>, Unreadable>>,
    users: BTreeMap<Key, BTreeSet<SchemaSelector>>,
}

impl Known {
    fn is_empty(&self) -> bool {
        self.schemas.is_empty() && self.dropped.is_empty()
    }

    /// One more schema. Where there is no place for it, all others are dropped.
    fn insert(&mut self, selector: SchemaSelector, schema: Result<Schema, Unreadable>) {
        if self.schemas.len() >= MOST {
            let required: BTreeSet<&SchemaSelector> = self.users.values().flatten().collect();
            self.dropped.retain(|selector, _| required.contains(selector));
            for (selector, schema) in std::mem::take(&mut self.schemas) {
                if required.contains(&selector) {
                    let entry = schema.map(|schema| schema.published);
                    // Who was shown an older one counts.
                    self.dropped.entry(selector).or_insert(entry);
                }
            }
        }
        self.schemas.insert(selector, schema);
    }

    /// Leaves out what nobody requires, and what the index shows otherwise than it was read: for whom that counts.
    fn compare(&mut self, index: &Value) -> BTreeSet<Key> {
        let mut changed = BTreeSet::new();
        let required: BTreeSet<&SchemaSelector> = self.users.values().flatten().collect();
        self.schemas.retain(|selector, schema| {
            let same = schema
                .as_ref()
                .is_ok_and(|schema| is_published(index, selector, schema.published.as_deref()));
            if !same {
                changed.insert(selector.clone());
            }
            same && required.contains(selector)
        });
        self.dropped.retain(|selector, entry| {
            let same = entry
                .as_ref()
                .is_ok_and(|entry| is_published(index, selector, entry.as_deref()));
            if !same {
                changed.insert(selector.clone());
            }
            same && required.contains(selector)
        });
        let users = self.users.iter();
        users
            .filter(|(_, selectors)| !selectors.is_disjoint(&changed))
            .map(|(user, _)| user.clone())
            .collect()
    }
}

/// The index shows it by the same entry. An API server without an index is asked for everything anew.
fn is_published(index: &Value, selector: &SchemaSelector, entry: Option<&str>) -> bool {
    published(index, selector).as_deref() == entry && (entry.is_some() || is_index(index))
}

fn is_index(index: &Value) -> bool {
    index["paths"].is_object()
}

fn published(index: &Value, selector: &SchemaSelector) -> Option<String> {
    let document = schema::document(&selector.api_version)?;
    let entry = index["paths"].get(&document)?;
    entry["serverRelativeURL"].as_str().map(ToOwned::to_owned)
}

impl Schemas {
    pub(super) fn new(engine: &Engine) -> Arc<Self> {
        Arc::new(Self {
            writer: engine.writer.clone(),
            clock: Arc::clone(&engine.clock),
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        })
    }

    /// A schema; `Err`: the API server does not say, and why.
    pub(super) async fn get(&self, selector: &SchemaSelector) -> Result<Schema, String> {
        if let Some(known) = self.known(selector) {
            return known;
        }
        let _reading = self.reading.lock().await;
        if let Some(known) = self.known(selector) {
            return known;
        }
        let read = self.read(selector).await.map_err(|error| Unreadable {
            why: error.to_string(),
            until: self.clock.now() + AGAIN,
        });
        self.known.lock().insert(selector.clone(), read.clone());
        read.map_err(|unreadable| unreadable.why)
    }

    fn known(&self, selector: &SchemaSelector) -> Option<Result<Schema, String>> {
        match self.known.lock().schemas.get(selector)? {
            Ok(schema) => Some(Ok(schema.clone())),
            Err(unreadable) if self.clock.now() < unreadable.until => Some(Err(unreadable.why.clone())),
            Err(_) => None,
        }
    }

    /// The index comes first: what is published in between is another entry of the next one.
    async fn read(&self, selector: &SchemaSelector) -> Result<Schema, ApiError> {
        let published = published(&self.document(INDEX).await?, selector);
        let value = match schema::document(&selector.api_version) {
            Some(document) => schema_of_kind(&self.document(&format!("{INDEX}/{document}")).await?, selector),
            None => None,
        };
        Ok(Schema {
            digest: Found::Schema(value.clone()).digest(),
            value: Arc::new(value),
            published,
        })
    }

    /// `Null`: there is none.
    async fn document(&self, path: &str) -> Result<Value, ApiError> {
        match self.writer.get_document("openapi", path).await {
            Err(ApiError::NotFound(_) | ApiError::NotServed(_)) => Ok(Value::Null),
            read => read,
        }
    }

    /// A composite resource was shown these, and no others.
    pub(super) fn set_user(&self, user: &Key, selectors: BTreeSet<SchemaSelector>) {
        let mut known = self.known.lock();
        if selectors.is_empty() {
            known.users.remove(user);
        } else {
            known.users.insert(user.clone(), selectors);
        }
    }

    /// No composite resource of this kind is shown any.
    pub(super) fn forget_kind(&self, kind: &GroupKind) {
        self.known.lock().users.retain(|user, _| user.kind() != kind);
    }

    /// Compares what is known with what is published after each change of `served`.
    pub(super) async fn follow(self: Arc<Self>, mut served: ServedChange, dispatcher: Arc<Dispatcher>) {
        // What is published without a change of what is served, as by another version of an aggregated API server, is found in time, too.
        while !matches!(timeout(COMPARED_AGAIN, served.changed()).await, Ok(Err(_))) {
            let mut pauses = PUBLISHED_AFTER.iter();
            while let Some(pause) = pauses.next() {
                tokio::select! {
                    // In a fixed order, so that a simulation repeats itself.
                    biased;
                    changed = served.changed() => match changed {
                        Ok(()) => pauses = PUBLISHED_AFTER.iter(),
                        Err(_) => return,
                    },
                    () = tokio::time::sleep(*pause) => self.compare(&dispatcher).await,
                }
            }
        }
    }

    async fn compare(&self, dispatcher: &Dispatcher) {
        if self.known.lock().is_empty() {
            return;
        }
        // What cannot be read now is compared after the next pause.
        let Ok(index) = self.document(INDEX).await else {
            return;
        };
        let users = self.known.lock().compare(&index);
        dispatcher.wake_dependants(users);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selector(api_version: &str) -> SchemaSelector {
        SchemaSelector {
            api_version: api_version.to_owned(),
            kind: "Thing".to_owned(),
        }
    }

    fn user(name: &str) -> Key {
        Key::new(GroupKind::new("example.org", "App"), None, name)
    }

    fn index(hash: &str) -> Value {
        json!({"paths": {
            "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=A"},
            "apis/example.org/v1": {"serverRelativeURL": format!("/openapi/v3/apis/example.org/v1?hash={hash}")},
        }})
    }

    fn known(read_at: &Value) -> Known {
        let mut known = Known::default();
        for version in ["v1", "example.org/v1", "absent.example.org/v1"] {
            let schema = Schema {
                value: Arc::new(None),
                digest: Found::Schema(None).digest(),
                published: published(read_at, &selector(version)),
            };
            known.schemas.insert(selector(version), Ok(schema));
        }
        known.users.insert(user("core"), [selector("v1")].into());
        known
            .users
            .insert(user("own"), [selector("example.org/v1")].into());
        known
            .users
            .insert(user("none"), [selector("absent.example.org/v1")].into());
        known
    }

    #[test]
    fn who_requires_a_schema_that_is_published_anew_is_woken() {
        let mut known = known(&index("1"));
        assert_eq!(known.compare(&index("1")), [].into());
        assert_eq!(known.compare(&index("2")), [user("own")].into());
        assert_eq!(known.schemas.len(), 2, "it is read anew");
    }

    #[test]
    fn who_requires_a_kind_that_comes_to_be_is_woken() {
        let mut known = known(&index("1"));
        let mut published = index("1");
        published["paths"]["apis/absent.example.org/v1"] = json!({"serverRelativeURL": "/new"});
        assert_eq!(known.compare(&published), [user("none")].into());
    }

    #[test]
    fn what_could_not_be_read_or_has_no_index_is_read_anew() {
        let mut known = known(&index("1"));
        let unreadable = Unreadable {
            why: "unavailable".to_owned(),
            until: Timestamp::MAX,
        };
        known.schemas.insert(selector("v1"), Err(unreadable));
        assert_eq!(known.compare(&index("1")), [user("core")].into());
        let all = [user("own"), user("none")].into();
        assert_eq!(known.compare(&Value::Null), all);
    }

    #[test]
    fn what_nobody_requires_any_more_is_not_kept() {
        let mut known = known(&index("1"));
        known.users.remove(&user("core"));
        assert_eq!(known.compare(&index("1")), [].into());
        assert!(!known.schemas.contains_key(&selector("v1")));
    }

    #[test]
    fn who_was_shown_a_schema_that_is_kept_no_more_is_woken() {
        let mut known = known(&index("1"));
        let schema = known.schemas[&selector("v1")].clone();
        for number in 0..=MOST {
            known.insert(selector(&format!("v{number}beta1")), schema.clone());
        }
        assert!(!known.schemas.contains_key(&selector("example.org/v1")));
        assert_eq!(known.compare(&index("1")), [].into());
        assert_eq!(known.compare(&index("2")), [user("own")].into());
        assert!(known.schemas.is_empty(), "nobody requires the others");
    }

    #[test]
    fn who_was_shown_an_older_schema_than_the_next_is_woken() {
        let mut known = known(&index("1"));
        known.dropped.insert(
            selector("example.org/v1"),
            Ok(published(&index("0"), &selector("example.org/v1"))),
        );
        assert_eq!(known.compare(&index("1")), [user("own")].into());
        assert_eq!(known.compare(&index("1")), [].into());
    }

    #[test]
    fn who_requires_what_could_not_be_read_and_is_kept_no_more_is_woken() {
        let mut known = known(&index("1"));
        let unreadable = Unreadable {
            why: "unavailable".to_owned(),
            until: Timestamp::MAX,
        };
        known.dropped.insert(selector("v1"), Err(unreadable));
        assert_eq!(known.compare(&index("1")), [user("core")].into());
    }
}
