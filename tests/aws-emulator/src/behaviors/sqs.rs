//! The name of a deleted queue rests for a minute. Policies stay until others are written.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Request;
use crate::reply::{AwsError, Reply};

/// Region and name of a queue.
type Key = (String, String);

#[derive(Debug)]
pub(super) struct Queues {
    rest: Duration,
    /// When it was deleted.
    deleted: BTreeMap<Key, Instant>,
    /// By name of the attribute, what moto forgets with every change of another, or does not know.
    policies: BTreeMap<Key, BTreeMap<&'static str, String>>,
}

const POLICIES: [&str; 2] = ["Policy", "RedriveAllowPolicy"];

impl Queues {
    pub(super) fn new(rest: Duration) -> Self {
        Self {
            rest,
            deleted: BTreeMap::new(),
            policies: BTreeMap::new(),
        }
    }

    pub(super) fn before(&mut self, request: &Request<'_>) -> Option<AwsError> {
        if request.action() != "CreateQueue" {
            return None;
        }
        let name = request.json()["QueueName"].as_str()?.to_owned();
        let deleted = self.deleted.get(&(request.call.region.clone(), name))?;
        (request.now.saturating_duration_since(*deleted) < self.rest).then(|| {
            AwsError::bad_request(
                "QueueDeletedRecently",
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
            )
        })
    }

    pub(super) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let sent = request.json();
        let url = sent["QueueUrl"].as_str().and_then(|url| url.rsplit_once('/'));
        let name = sent["QueueName"].as_str().or(url.map(|(_, name)| name));
        let Some(name) = name else { return };
        let key = (request.call.region.clone(), name.to_owned());
        match request.action() {
            "DeleteQueue" => {
                self.policies.remove(&key);
                self.deleted.insert(key, request.now);
            }
            "CreateQueue" | "SetQueueAttributes" => {
                let kept = self.policies.entry(key).or_default();
                for name in POLICIES {
                    if let Some(policy) = sent["Attributes"][name].as_str() {
                        kept.insert(name, policy.to_owned());
                    }
                }
            }
            "GetQueueAttributes" => self.describe(&key, reply),
            _ => {}
        }
    }

    fn describe(&self, key: &Key, reply: &mut Reply) {
        let mut answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        for (name, policy) in self.policies.get(key).into_iter().flatten() {
            if !policy.is_empty() {
                answer["Attributes"][name] = policy.as_str().into();
            }
        }
        *reply = Reply::json(reply.status, &answer);
    }
}
