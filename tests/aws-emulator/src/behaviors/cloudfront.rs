//! A distribution is in progress after every change, is changed only by who knows its latest version, and is deleted only when
//! disabled and deployed.

use std::collections::BTreeMap;
use std::time::Instant;

use http::header::{ETAG, IF_MATCH};
use http::{HeaderValue, StatusCode};

use super::Request;
use crate::reply::{AwsError, Reply};
use crate::settle::{Pending, Settle};
use crate::xml::Element;

mod config;

#[derive(Debug)]
pub(super) struct Distributions {
    settles: Settle,
    by_id: BTreeMap<String, Known>,
}

/// What moto does not remember of a distribution.
#[derive(Debug)]
struct Known {
    /// Moto's, which never changes.
    etag: String,
    version: u32,
    /// As it was sent last.
    config: Element,
    pending: Pending,
}

impl Known {
    fn etag(&self) -> String {
        format!("{}V{}", self.etag, self.version)
    }

    fn text_of(&self, name: &str) -> &str {
        self.config.child(name).map_or("", Element::text)
    }
}

impl Distributions {
    pub(super) fn new(settles: Settle) -> Self {
        Self {
            settles,
            by_id: BTreeMap::new(),
        }
    }

    pub(super) fn before(&mut self, request: &Request<'_>) -> Option<AwsError> {
        let deletes = match request.action() {
            "DeleteDistribution" => true,
            "UpdateDistribution" => false,
            _ => return None,
        };
        let known = self.by_id.get(request.call.resource.as_ref()?)?;
        let Some(etag) = request
            .headers
            .get(IF_MATCH)
            .and_then(|value| value.to_str().ok())
        else {
            return Some(AwsError::bad_request(
                "InvalidIfMatchVersion",
                "The If-Match version is missing or not valid for the resource.",
            ));
        };
        if etag != known.etag() {
            return Some(precondition_failed());
        }
        if deletes {
            deletion_error(known, request.now)
        } else {
            illegal_update(known, request)
        }
    }

    pub(super) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        match request.action() {
            "CreateDistribution" | "CreateDistributionWithTags" => self.created(request, reply),
            "UpdateDistribution" => self.updated(request, reply),
            "GetDistribution" => {
                let Some(known) = request
                    .call
                    .resource
                    .as_ref()
                    .and_then(|id| self.by_id.get_mut(id))
                else {
                    return;
                };
                let pending = known.pending.read(request.now);
                complete(reply, known, pending);
            }
            "GetDistributionConfig" => {
                let Some(known) = request.call.resource.as_ref().and_then(|id| self.by_id.get(id)) else {
                    return;
                };
                complete(reply, known, false);
            }
            "ListDistributions" => self.listed(request, reply),
            "DeleteDistribution" => {
                if let Some(id) = &request.call.resource {
                    self.by_id.remove(id);
                }
            }
            _ => {}
        }
    }

    fn created(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let (Some(answer), Some(sent)) = (Element::parse(reply.text()), Element::parse(request.text()))
        else {
            return;
        };
        // Plain, or wrapped together with the tags.
        let config = sent.child("DistributionConfig").unwrap_or(&sent).clone();
        let id = answer.child("Id").map_or("", Element::text).to_owned();
        let etag = reply
            .headers
            .get(ETAG)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let known = Known {
            etag,
            version: 1,
            config,
            pending: Pending::new(self.settles, request.now),
        };
        complete(reply, &known, known.pending.peek(request.now));
        self.by_id.insert(id, known);
    }

    fn updated(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let Some(known) = request
            .call
            .resource
            .as_ref()
            .and_then(|id| self.by_id.get_mut(id))
        else {
            return;
        };
        let Some(config) = Element::parse(request.text()) else {
            return;
        };
        known.config = config;
        known.version += 1;
        known.pending = Pending::new(self.settles, request.now);
        complete(reply, known, known.pending.peek(request.now));
    }

    fn listed(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let Some(mut list) = Element::parse(reply.text()) else {
            return;
        };
        for summary in list
            .child_mut("Items")
            .into_iter()
            .flat_map(Element::children_mut)
        {
            let known = summary.child("Id").and_then(|id| self.by_id.get(id.text()));
            if let Some(known) = known {
                summary.set_text("Status", status(known.pending.peek(request.now)));
            }
        }
        reply.body = list.to_document().into();
    }
}

fn status(pending: bool) -> &'static str {
    if pending { "InProgress" } else { "Deployed" }
}

/// Puts into moto's answer what moto does not know: status, version, and the parts of the configuration that it drops.
fn complete(reply: &mut Reply, known: &Known, pending: bool) {
    let Some(mut root) = Element::parse(reply.text()) else {
        return;
    };
    if root.name() == "DistributionConfig" {
        config::restore(&mut root, &known.config);
    } else {
        root.set_text("Status", status(pending));
        if let Some(config) = root.child_mut("DistributionConfig") {
            config::restore(config, &known.config);
        }
    }
    reply.body = root.to_document().into();
    if let Ok(etag) = HeaderValue::from_str(&known.etag()) {
        reply.headers.insert(ETAG, etag);
    }
}

fn deletion_error(known: &Known, now: Instant) -> Option<AwsError> {
    if known.text_of("Enabled") == "true" {
        return Some(AwsError::new(
            StatusCode::CONFLICT,
            "DistributionNotDisabled",
            "The distribution you are trying to delete has not been disabled.",
        ));
    }
    known.pending.peek(now).then(precondition_failed)
}

fn illegal_update(known: &Known, request: &Request<'_>) -> Option<AwsError> {
    let sent = Element::parse(request.text())?;
    let reference = sent.child("CallerReference").map_or("", Element::text);
    (reference != known.text_of("CallerReference")).then(|| {
        AwsError::bad_request(
            "IllegalUpdate",
            "The update contains modifications that are not allowed: CallerReference.",
        )
    })
}

fn precondition_failed() -> AwsError {
    AwsError::new(
        StatusCode::PRECONDITION_FAILED,
        "PreconditionFailed",
        "The request failed because it didn't meet the preconditions in one or more request-header fields.",
    )
}

#[cfg(test)]
mod tests;
