//! The name of a deleted queue rests for a minute.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Request;
use crate::reply::AwsError;

#[derive(Debug)]
pub(super) struct Queues {
    rest: Duration,
    /// Region and name, and when it was deleted.
    deleted: BTreeMap<(String, String), Instant>,
}

impl Queues {
    pub(super) fn new(rest: Duration) -> Self {
        Self {
            rest,
            deleted: BTreeMap::new(),
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

    pub(super) fn after(&mut self, request: &Request<'_>) {
        if request.action() != "DeleteQueue" {
            return;
        }
        let body = request.json();
        if let Some((_, name)) = body["QueueUrl"].as_str().and_then(|url| url.rsplit_once('/')) {
            self.deleted
                .insert((request.call.region.clone(), name.to_owned()), request.now);
        }
    }
}
