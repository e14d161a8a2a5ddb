//! Work that outlasts a call: handles, and what a poll finds.

use base64::{Engine, engine::general_purpose::STANDARD};
use crossbridge_proto::v1alpha1::{self as wire, Effect, FailureCode, OperationVerb, outcome};
use crossbridge_types::Target;
use tonic::Status;

use crate::{
    call::{KEY, Rejection, failure, reject},
    kinds::Spec,
    plugin::ReferencePlugin,
    upstream::{Upstream, now},
};

/// How long an operation takes, in milliseconds.
pub const OPERATION_MILLIS: u64 = 60;

/// An operation, as its handle reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    pub verb: OperationVerb,
    pub name: String,
    pub until: u64,
}

impl ReferencePlugin {
    /// The handle's text. Everything behind the first three parts is a fault's.
    fn handle_text(&self, handle: &Handle, stage: &str) -> String {
        let is_named = !self.on("create/name-reported-on-completion");
        let name = if is_named { handle.name.as_str() } else { "-" };
        let mut text = format!("{}/{}/{name}", handle.verb.as_str_name(), handle.until);
        match () {
            () if self.on("operation/handle-stable") => text.push_str(&format!("/{}", uuid::Uuid::new_v4())),
            () if self.on("operation/handle-size") => text.push_str(&"x".repeat(5000)),
            () if self.on("secrets/not-in-handles") => text.push_str(&format!("/{KEY}")),
            () if self.on("secrets/not-in-handles#base64") => {
                let document = serde_json::json!({"of": name, "with": KEY}).to_string();
                text.push_str(&format!("/{}", STANDARD.encode(document)));
            }
            () if self.forgets_handles(handle) => text.push_str(stage),
            () if self.is_lost(handle, "durable/handle-after-kill") => {
                text.push_str(&format!("/{}@{}", self.instance, self.endpoint.replace('/', "_")));
            }
            () if self.is_lost(handle, "durable/handle-on-replica") => {
                text.push_str(&format!("/{}", self.endpoint.replace('/', "_")));
            }
            () if self.is_lost(handle, "durable/handle-on-next-build") => {
                text.push_str(&format!("/{}", self.build));
            }
            () => {}
        }
        text
    }

    /// Whether a fault puts the process, the endpoint or the build into this handle.
    fn is_lost(&self, handle: &Handle, id: &str) -> bool {
        match self.faults.variant(id) {
            Some("update") => handle.verb == OperationVerb::Update,
            Some("delete") => handle.verb == OperationVerb::Delete,
            variant => variant.is_some(),
        }
    }

    /// Whether a handle is no longer known once another was given.
    fn forgets_handles(&self, handle: &Handle) -> bool {
        match self.faults.variant("operation/old-handles-valid") {
            Some("update") => handle.verb == OperationVerb::Update,
            variant => variant.is_some(),
        }
    }

    /// Whether a former process at the same endpoint gave this handle.
    fn is_of_former_process(&self, extra: &str) -> bool {
        let endpoint = self.endpoint.replace('/', "_");
        extra
            .split_once('@')
            .is_some_and(|(instance, place)| place == endpoint && instance != self.instance)
    }

    pub fn parse_handle(&self, text: &str) -> Result<Handle, Status> {
        let reject = || Status::invalid_argument("handle is none of this plugin's");
        let mut parts = text.splitn(4, '/');
        let (verb, until, name) = (parts.next(), parts.next(), parts.next());
        let extra = parts.next().unwrap_or_default();
        let (Some(verb), Some(until), Some(name)) = (verb, until, name) else {
            return Err(reject());
        };
        let handle = Handle {
            verb: OperationVerb::from_str_name(verb).ok_or_else(reject)?,
            until: until.parse().map_err(|_| reject())?,
            name: name.to_owned(),
        };
        let endpoint = self.endpoint.replace('/', "_");
        let is_foreign = match () {
            () if self.forgets_handles(&handle) => self.faults.contains(&format!("old {text}")),
            () if self.on("durable/handle-after-kill#never-ends") => false,
            () if self.on("durable/handle-on-next-build#internal") => false,
            () if self.is_lost(&handle, "durable/handle-after-kill") => self.is_of_former_process(extra),
            () if self.is_lost(&handle, "durable/handle-on-replica") => extra != endpoint,
            () if self.is_lost(&handle, "durable/handle-on-next-build") => extra != self.build.to_string(),
            () => false,
        };
        if is_foreign { Err(reject()) } else { Ok(handle) }
    }

    /// An operation under way.
    pub fn operation(&self, handle: &Handle, before: Option<&str>) -> wire::Operation {
        let remaining_resources = handle.until.saturating_sub(now()).clamp(1, OPERATION_MILLIS);
        let done = i32::try_from(100 - remaining_resources * 100 / OPERATION_MILLIS).unwrap_or(100);
        let text = self.handle_text(handle, if before.is_some() { "/stage-1" } else { "/stage-0" });
        if let Some(before) = before
            && before != text
        {
            self.faults.first(&format!("old {before}"), "");
        }
        let day = 24 * 3600;
        let expires = if self.on("operation/expires-late") {
            3600
        } else {
            2 * day
        };
        let is_create = handle.verb == OperationVerb::Create;
        let verb = if self.on("operation/verb") && is_create {
            OperationVerb::Update
        } else {
            handle.verb
        };
        wire::Operation {
            handle: text,
            verb: verb.into(),
            expire_time: Some(prost_types::Timestamp {
                seconds: i64::try_from(now() / 1000).unwrap_or_default() + expires,
                nanos: 0,
            }),
            poll_after: Some(prost_types::Duration {
                seconds: 0,
                nanos: 15_000_000,
            }),
            // Stable, so that a handle that changes alone is distinguished from one that moved.
            progress_percent: match () {
                () if self.on("operation/handle-stable") => None,
                () if self.progress_falls(handle) => Some(if before.is_some() { 10 } else { 90 }),
                () if self.on("operation/progress-in-range") => Some(done + 101),
                () => Some(done),
            },
            phase: if self.on("operation/phase") {
                "still working".to_owned()
            } else {
                "Working".to_owned()
            },
            ..Default::default()
        }
    }

    fn progress_falls(&self, handle: &Handle) -> bool {
        match self.faults.variant("operation/progress-monotonic") {
            Some("update") => handle.verb == OperationVerb::Update,
            variant => variant.is_some(),
        }
    }

    /// Rejects a poll whose caller may not see the operation.
    fn check_visible(
        &self,
        spec: &Spec,
        upstream: &Upstream,
        target: &Target,
        handle: &Handle,
    ) -> Result<(), Rejection> {
        let asked = target.external_name.as_str();
        if !matches!(handle.name.as_str(), "-")
            && !asked.is_empty()
            && asked != handle.name
            && !self.on("operation/foreign-handle-rejected")
        {
            return Err(Status::invalid_argument("handle is of another resource").into());
        }
        let Some(resource) = upstream.get(&handle.name)? else {
            return Ok(());
        };
        let is_former = resource.marker == target.former_marker && !self.on("marker/former-polled");
        let is_ours = resource.marker == target.ownership_marker || is_former;
        if spec.holds_marker && !is_ours && !self.on("operation/foreign-marker-not-found") {
            return Err(reject(FailureCode::NotFound, "NotFound").into());
        }
        Ok(())
    }

    /// What has ended is known to the process that was asked for it then.
    fn has_forgotten_result(&self, upstream: &Upstream, handle: &Handle) -> std::io::Result<bool> {
        if !self.on("operation/terminal-response-stable#restart") || handle.verb != OperationVerb::Create {
            return Ok(false);
        }
        let resource = upstream.get(&handle.name)?;
        let has_ended = resource.is_some_and(|resource| resource.busy_until == 0);
        let saw_it = !self.faults.once(&format!("ended {}", handle.name));
        Ok(has_ended && !saw_it)
    }

    /// Where an operation has got to.
    pub fn poll(
        &self,
        spec: &Spec,
        upstream: &Upstream,
        target: &Target,
        text: &str,
    ) -> Result<wire::Outcome, Rejection> {
        let handle = match self.parse_handle(text) {
            Err(_) if self.on("operation/unknown-handle-rejected") && !text.contains('/') => {
                return Ok(failed(failure(
                    FailureCode::OperationExpired,
                    Effect::None,
                    "Unknown",
                    "It is not known.",
                )));
            }
            parsed => parsed?,
        };
        self.check_visible(spec, upstream, target, &handle)?;
        let extra = text.splitn(4, '/').nth(3).unwrap_or_default();
        if self.on("durable/handle-on-next-build#internal") && extra != self.build.to_string() {
            return Err(reject(FailureCode::Internal, "Unreadable").into());
        }
        let is_lost = self.on("durable/handle-after-kill#never-ends") && self.is_of_former_process(extra);
        let is_unnamed = self.on("create/name-reported-on-completion");
        let external_name = if is_unnamed {
            String::new()
        } else if self.on("operation/foreign-handle-rejected") && !target.external_name.is_empty() {
            target.external_name.clone()
        } else {
            handle.name.clone()
        };
        // On a slow machine the time is over before the first poll.
        let is_first = upstream.is_first_poll(&format!(
            "{}-{}-{}",
            handle.verb.as_str_name(),
            handle.until,
            handle.name
        ))?;
        if now() < handle.until || is_first || is_lost {
            let operation = self.operation(&handle, Some(text));
            let is_late = self.on("create/name-reported-when-known") && handle.verb == OperationVerb::Create;
            return Ok(wire::Outcome {
                external_name: if is_late { String::new() } else { external_name },
                result: Some(outcome::Result::Operation(wire::Operation {
                    handle: if is_lost {
                        text.to_owned()
                    } else {
                        operation.handle.clone()
                    },
                    ..operation
                })),
                ..Default::default()
            });
        }
        if handle.verb == OperationVerb::Delete
            && self.on("operation/terminal-response-stable")
            && !self.faults.once(&format!("ended {text}"))
        {
            return Ok(failed(failure(
                FailureCode::NotFound,
                Effect::None,
                "Deleted",
                "It no longer exists.",
            )));
        }
        if self.has_forgotten_result(upstream, &handle)? {
            return Ok(failed(failure(
                FailureCode::OperationFailed,
                Effect::None,
                "Unknown",
                "The process does not remember it.",
            )));
        }
        if handle.verb == OperationVerb::Create
            && let Some(resource) = upstream.get(&handle.name)?
            && resource.busy_until > 0
        {
            upstream.put(&crate::upstream::Resource {
                busy_until: 0,
                ..resource
            })?;
        }
        Ok(wire::Outcome {
            external_name,
            result: Some(outcome::Result::Completed(wire::Completed::default())),
            ..Default::default()
        })
    }
}

pub fn failed(failure: wire::Failure) -> wire::Outcome {
    wire::Outcome {
        result: Some(outcome::Result::Failure(failure)),
        ..Default::default()
    }
}
