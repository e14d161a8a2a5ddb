//! Which groups and versions there are, and who serves each: the `APIServices`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::watch::feed::{Condition, FeedEvent};

/// Who made an `APIService`, in its labels: `true` is said of those that follow a definition.
const MADE_BY: &str = "kube-aggregator.kubernetes.io/automanaged";

/// One group in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service {
    group: String,
    version: String,
    of_definitions: bool,
    available: bool,
}

impl Service {
    pub(super) fn id(&self) -> (&str, &str) {
        (&self.group, &self.version)
    }

    /// Definitions serve it: their watch knows more.
    pub(super) fn is_of_definitions(&self) -> bool {
        self.of_definitions
    }

    pub(super) fn is_available(&self) -> bool {
        self.available
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Services {
    by_name: BTreeMap<String, Service>,
    listed: BTreeSet<String>,
    /// A list was complete.
    known: bool,
    condition: Condition,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            listed: BTreeSet::new(),
            known: false,
            condition: Condition::Syncing("waiting for the initial list".to_owned()),
        }
    }
}

impl Services {
    pub(super) fn condition(&self) -> &Condition {
        &self.condition
    }

    pub(super) fn known(&self) -> Result<impl Iterator<Item = &Service>, String> {
        if self.known {
            return Ok(self.by_name.values());
        }
        Err(match &self.condition {
            Condition::Live => "waiting for the initial list".to_owned(),
            Condition::Syncing(why) | Condition::Forbidden(why) => why.clone(),
        })
    }

    /// Whether discovery may show something else now.
    pub(super) fn take(&mut self, event: &FeedEvent<'_>) -> bool {
        let counts = |service: &Option<Service>| service.as_ref().is_some_and(|s| !s.of_definitions);
        match event {
            FeedEvent::ListBegins => {
                self.listed.clear();
                false
            }
            FeedEvent::Seen(head, json) => {
                let name = head.key.name().to_owned();
                let new = match serde_json::from_str::<Wire>(json) {
                    Ok(wire) => Some(Service::from(wire)),
                    Err(error) => {
                        tracing::warn!(name, %error, "an APIService cannot be read");
                        None
                    }
                };
                self.listed.insert(name.clone());
                let old = match new.clone() {
                    Some(new) => self.by_name.insert(name, new),
                    None => self.by_name.remove(&name),
                };
                self.known && old != new && (counts(&old) || counts(&new))
            }
            FeedEvent::Deleted(head) => counts(&self.by_name.remove(head.key.name())),
            FeedEvent::ListEnds(_) => {
                let listed = std::mem::take(&mut self.listed);
                self.by_name.retain(|name, _| listed.contains(name));
                self.known = true;
                true
            }
        }
    }

    pub(super) fn fares(&mut self, condition: Condition) {
        self.condition = condition;
    }
}

#[derive(Deserialize)]
struct Wire {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    group: String,
    version: String,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    conditions: Option<Vec<StatusCondition>>,
}

#[derive(Deserialize)]
struct StatusCondition {
    #[serde(rename = "type")]
    condition_type: String,
    status: String,
}

impl From<Wire> for Service {
    fn from(wire: Wire) -> Self {
        let available = |c: &StatusCondition| c.condition_type == "Available" && c.status == "True";
        Self {
            group: wire.spec.group,
            version: wire.spec.version,
            of_definitions: wire.metadata.labels.get(MADE_BY).is_some_and(|by| by == "true"),
            available: wire.status.conditions.iter().flatten().any(available),
        }
    }
}
