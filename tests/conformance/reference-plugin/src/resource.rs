//! The life of one resource.

mod create;
mod isolation;
mod observe;

use std::time::Duration;

use crossbridge_proto::v1alpha1::{
    self as wire, Effect, FailureCode, OperationVerb, outcome, resource_service_server::ResourceService,
};
use crossbridge_types::{Call, Config, DesiredState, Observe, Target};
use serde_json::{Map, Value};
use tokio::time::sleep;
use tonic::{Code, Request, Response, Status, async_trait};

use crate::{
    call::{CallKind, Rejection, check_deadline, failure, hides, invalid, open, reject, spec, timeout},
    kinds::Spec,
    operations::{Handle, OPERATION_MILLIS, failed},
    plugin::ReferencePlugin,
    upstream::{Resource, Upstream, now},
};

/// So many drained calls are done at once, where the others take their time.
const FAST_CALLS: usize = 8;

type Answer = Result<wire::Outcome, Rejection>;

#[async_trait]
impl ResourceService for ReferencePlugin {
    async fn observe(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> Result<Response<wire::ObserveResponse>, Status> {
        let mut request = request.into_inner();
        if self.on("calls/required-fields-checked") {
            request
                .desired
                .get_or_insert_default()
                .parameters
                .get_or_insert_with(|| wire::Document {
                    json: "{}".to_owned(),
                });
        }
        if self.on("calls/malformed-rejected")
            && let Some(target) = &mut request.target
            && target.ownership_marker.contains(' ')
        {
            "malformed".clone_into(&mut target.ownership_marker);
        }
        let mut observe =
            Observe::try_from(request).map_err(|violation| invalid(&self.faults, &violation))?;
        self.cross(&mut observe.target, "Observe").await;
        self.slow_when_drained(&observe.target).await;
        Ok(Response::new(self.observe_resource(&observe)?))
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        check_deadline(&self.faults, request.metadata())?;
        let time = timeout(request.metadata());
        let create =
            Call::try_from(request.into_inner()).map_err(|violation| invalid(&self.faults, &violation))?;
        if self.is_late_create(&create.target) {
            return self.unavailable_after_effect(&create).await;
        }
        let outcome = outcome(self.create_resource(create, time).await)?;
        Ok(Response::new(wire::CreateResponse { outcome }))
    }

    async fn update(
        &self,
        request: Request<wire::UpdateRequest>,
    ) -> Result<Response<wire::UpdateResponse>, Status> {
        check_deadline(&self.faults, request.metadata())?;
        let mut update =
            Call::try_from(request.into_inner()).map_err(|violation| invalid(&self.faults, &violation))?;
        self.cross(&mut update.target, "Update").await;
        let outcome = outcome(self.update_resource(&update))?;
        Ok(Response::new(wire::UpdateResponse { outcome }))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        check_deadline(&self.faults, request.metadata())?;
        let delete =
            Call::try_from(request.into_inner()).map_err(|violation| invalid(&self.faults, &violation))?;
        let is_first_of_changed = self.on("responses/before-the-deadline")
            && self.is_changed(&delete.target)
            && self.faults.once("slow delete");
        if is_first_of_changed {
            sleep(Duration::from_secs(25)).await;
        }
        let outcome = outcome(self.delete_resource(&delete))?;
        Ok(Response::new(wire::DeleteResponse { outcome }))
    }

    async fn poll_operation(
        &self,
        request: Request<wire::PollOperationRequest>,
    ) -> Result<Response<wire::PollOperationResponse>, Status> {
        let mut request = request.into_inner();
        if let (true, Some(target)) = (self.on("calls/required-fields-checked#poll"), &mut request.target) {
            target.owner.get_or_insert_default().uid.push('0');
            target.owner.get_or_insert_default().name.push('0');
        }
        let poll = Call::try_from(request).map_err(|violation| invalid(&self.faults, &violation))?;
        let outcome = outcome(self.poll_resource(&poll))?;
        Ok(Response::new(wire::PollOperationResponse { outcome }))
    }
}

fn outcome(answer: Answer) -> Result<Option<wire::Outcome>, Status> {
    match answer {
        Ok(outcome) => Ok(Some(outcome)),
        Err(Rejection::Failure(failure)) => Ok(Some(failed(*failure))),
        Err(Rejection::Status(status)) => Err(status),
    }
}

pub fn completed(name: &str, already_done: bool) -> wire::Outcome {
    wire::Outcome {
        // One that the contract does not allow is not repeated.
        external_name: if name.contains(char::is_control) {
            String::new()
        } else {
            name.to_owned()
        },
        result: Some(outcome::Result::Completed(wire::Completed {
            observation: None,
            already_done,
        })),
        ..Default::default()
    }
}

impl ReferencePlugin {
    fn upstream(&self, target: &Target, call_kind: CallKind) -> Result<(&'static Spec, Upstream), Rejection> {
        let spec = spec(&self.faults, target)?;
        Ok((spec, self.open(&target.config, spec, call_kind)?))
    }

    fn open(&self, config: &Config, spec: &Spec, call_kind: CallKind) -> Result<Upstream, Rejection> {
        open(&self.faults, config, spec.kind, call_kind)
    }

    fn is_changed(&self, target: &Target) -> bool {
        self.upstream(target, CallKind::Observe)
            .ok()
            .and_then(|(_, upstream)| upstream.get(&target.external_name).ok().flatten())
            .is_some_and(|resource| resource.version > 1)
    }

    async fn slow_when_drained(&self, target: &Target) {
        let Some(variant) = self.faults.variant("process/sigterm-drains-calls") else {
            return;
        };
        if target.owner.name != "drained" {
            return;
        }
        match variant {
            "" => {
                // The last to come is the first to go.
                let create_lock = self.faults.count("drained") as u64;
                sleep(Duration::from_millis(600_u64.saturating_sub(15 * create_lock))).await;
            }
            "in-order" => {
                let _turn = self.create_lock.lock().await;
                sleep(Duration::from_millis(25)).await;
            }
            _ if self.faults.count("drained") > FAST_CALLS => sleep(Duration::from_millis(200)).await,
            _ => {}
        }
    }

    /// A creation that is under way when the process is instructed to end.
    fn is_late_create(&self, target: &Target) -> bool {
        self.on("process/sigterm-drains-calls#effect")
            && target.owner.name == "drained"
            && self.faults.count("drained") > FAST_CALLS
    }

    /// Answers UNAVAILABLE, and creates the resource all the same.
    async fn unavailable_after_effect(
        &self,
        create: &Call,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        sleep(Duration::from_millis(200)).await;
        if let Ok((spec, upstream)) = self.upstream(&create.target, CallKind::Change) {
            let name = match create.target.external_name.as_str() {
                "" => spec.generate_name(),
                name => name.to_owned(),
            };
            upstream.create(&self.resource(&create.target, &create.desired, &name, 0))?;
        }
        Err(Status::unavailable("the process ends"))
    }

    /// What exists under the name and is ours.
    fn owned(
        &self,
        spec: &Spec,
        upstream: &Upstream,
        target: &Target,
        fault: &str,
    ) -> Result<Resource, Rejection> {
        let not_found = || reject(FailureCode::NotFound, "NotFound");
        let resource = upstream.get(&target.external_name)?.ok_or_else(not_found)?;
        let former = match fault {
            "delete/foreign-marker-not-found" => "marker/former-deleted",
            _ => "marker/former-accepted",
        };
        let is_former = resource.marker == target.former_marker && !self.on(former);
        let is_ours = resource.marker == target.ownership_marker || is_former;
        if spec.holds_marker && !is_ours && !self.on(fault) {
            return Err(not_found().into());
        }
        Ok(resource)
    }

    /// Whether a former process at the same endpoint created it.
    fn created_by_former_process(&self, resource: &Resource) -> bool {
        resource.endpoint == self.endpoint && resource.instance != self.instance
    }

    fn update_resource(&self, update: &Call) -> Answer {
        let target = &update.target;
        let (spec, upstream) = self.upstream(target, CallKind::Change)?;
        if !spec.can_update && !self.on("calls/unsupported-unimplemented") {
            let status = Status::unimplemented(format!("{} does not serve Update", spec.kind));
            return Err(Rejection::Status(status));
        }
        let resource = match self.owned(spec, &upstream, target, "update/foreign-marker-not-found") {
            Err(Rejection::Failure(_))
                if self.on("update/absent-not-created")
                    && spec.kind == "Ticket"
                    && upstream.get(&target.external_name)?.is_none() =>
            {
                let created = self.resource(target, &update.desired, &target.external_name, 0);
                upstream.create(&created)?;
                return Ok(completed(&created.name, false));
            }
            found => found?,
        };
        if spec.has_etag
            && !update.etag.is_empty()
            && update.etag != resource.version.to_string()
            && !self.on("update/stale-etag-conflict")
        {
            return Err(reject(FailureCode::Conflict, "StaleEtag").into());
        }
        let mut desired = update.desired.parameters.clone();
        let is_same = desired == resource.parameters;
        if self.on("update/no-op-harmless") && is_same {
            desired.insert("text".to_owned(), Value::from("changed for no reason"));
        }
        if self.on("dies") && is_same {
            std::process::exit(134);
        }
        if let Some(variant) = self.faults.variant("responses/no-bare-errors")
            && is_same
        {
            return Err(Status::new(bare_code(variant), "an exception was raised").into());
        }
        if self.on("update/during-operation-accepted") && resource.busy_until > now() {
            return Err(reject(FailureCode::Conflict, "Busy").into());
        }
        if self.on("durable/found-after-kill#not-updated") && self.created_by_former_process(&resource) {
            return Err(reject(FailureCode::Internal, "Unknown").into());
        }
        check_desired(self, &desired)?;
        self.check_immutable(&resource.parameters, &desired)?;
        if self.on("update/completes") && !is_same {
            return Err(reject(FailureCode::QuotaExceeded, "TooMany").into());
        }
        if self.on("update/matches-desired-state") && spec.kind == "Note" {
            desired.clone_from(&resource.parameters);
        }
        let version = resource.version + u64::from(desired != resource.parameters);
        if self.on("update/matches-desired-state#plugin-compares") && spec.plugin_compares && !is_same {
            desired.clone_from(&resource.parameters);
            upstream.put(&Resource {
                version,
                ..resource.clone()
            })?;
        }
        let is_adopted = resource.marker == target.former_marker;
        if desired != resource.parameters || is_adopted {
            upstream.put(&Resource {
                version,
                parameters: desired,
                marker: if is_adopted {
                    target.ownership_marker.clone()
                } else {
                    resource.marker.clone()
                },
                ..resource.clone()
            })?;
        }
        let mut answer = completed(&resource.name, false);
        "updated".clone_into(&mut answer.provider_state);
        if self.on("responses/name-never-changes") {
            answer.external_name.push_str("-renamed");
        }
        if self.on("responses/state-size") && is_same {
            answer.provider_state = "x".repeat(5000);
        }
        if spec.is_asynchronous {
            answer.result = Some(outcome::Result::Operation(self.operation(
                &Handle {
                    verb: OperationVerb::Update,
                    name: resource.name.clone(),
                    until: now() + OPERATION_MILLIS,
                },
                None,
            )));
        }
        Ok(answer)
    }

    fn check_immutable(
        &self,
        before: &Map<String, Value>,
        desired: &Map<String, Value>,
    ) -> Result<(), Rejection> {
        let variant = self.faults.variant("update/immutable-rejected");
        let kept: &[&str] = match variant {
            None | Some("invalid-spec") => &["color", "flat"],
            Some("second") => &["color"],
            Some(_) => &[],
        };
        let Some(changed) = kept
            .iter()
            .find(|field| desired.get(**field) != before.get(**field))
        else {
            return Ok(());
        };
        let code = if variant == Some("invalid-spec") {
            FailureCode::InvalidSpec
        } else {
            FailureCode::ImmutableField
        };
        let mut failure = reject(code, "Immutable");
        failure.violations.push(violation(&format!("/{changed}")));
        Err(failure.into())
    }

    fn delete_resource(&self, delete: &Call) -> Answer {
        let target = &delete.target;
        let (spec, upstream) = match self.upstream(target, CallKind::Change) {
            Err(Rejection::Failure(failure)) if hides(&self.faults, &failure, "delete") => {
                return Ok(completed(&target.external_name, true));
            }
            opened => opened?,
        };
        let resource = match upstream.get(&target.external_name)? {
            Some(_) => self.owned(spec, &upstream, target, "delete/foreign-marker-not-found")?,
            None if self.on("delete/absent-idempotent") => {
                return Err(reject(FailureCode::NotFound, "NotFound").into());
            }
            None => return Ok(completed(&target.external_name, true)),
        };
        if spec.has_etag
            && !delete.etag.is_empty()
            && delete.etag != resource.version.to_string()
            && !self.on("delete/stale-etag-conflict")
        {
            return Err(reject(FailureCode::Conflict, "StaleEtag").into());
        }
        if self.on("delete/during-create-accepted") && resource.busy_until > now() {
            return Err(reject(FailureCode::Conflict, "Busy").into());
        }
        // Once, so that it can be removed in the end.
        let is_strange = (self.on("durable/found-after-kill#not-removed")
            && self.created_by_former_process(&resource))
            || (self.on("durable/visible-to-replica#not-removed") && resource.endpoint != self.endpoint);
        if is_strange && self.faults.once(&format!("kept {}", resource.name)) {
            return Err(reject(FailureCode::Internal, "Unknown").into());
        }
        let is_changed = resource.version > 1;
        if self.on("delete/completes") && is_changed && self.faults.once("rejected delete") {
            return Err(reject(FailureCode::Conflict, "Locked").into());
        }
        let mut answer = completed(&resource.name, false);
        if self.on("delete/no-observation")
            && let Some(outcome::Result::Completed(completed)) = &mut answer.result
        {
            completed.observation = Some(self.observation(spec, &resource, target, &DesiredState::default()));
        }
        if self.on("delete/absent-after-completion") && is_changed && self.faults.once("left there") {
            return Ok(answer);
        }
        if self.on("delete/allows-recreation") {
            self.faults.first(&format!("deleted {}", resource.name), "");
        }
        if spec.is_asynchronous {
            let until = if resource.gone_at > 0 {
                resource.gone_at
            } else {
                now() + self.delete_millis()
            };
            upstream.put(&Resource {
                gone_at: until,
                ..resource.clone()
            })?;
            answer.result = Some(outcome::Result::Operation(self.operation(
                &Handle {
                    verb: OperationVerb::Delete,
                    name: resource.name,
                    until,
                },
                None,
            )));
        } else {
            upstream.delete(&resource.name)?;
        }
        Ok(answer)
    }

    /// In milliseconds. A poll that lies has to come before the end.
    fn delete_millis(&self) -> u64 {
        let lies = self.on("config/bad-credentials-never-absent#poll")
            || self.on("config/dead-upstream-never-absent#poll");
        if lies { 1000 } else { OPERATION_MILLIS }
    }

    fn poll_resource(&self, poll: &Call) -> Answer {
        let (spec, upstream) = match self.upstream(&poll.target, CallKind::Change) {
            Err(Rejection::Failure(failure)) if hides(&self.faults, &failure, "poll") => {
                return Ok(completed(&poll.target.external_name, true));
            }
            opened => opened?,
        };
        self.poll(spec, &upstream, &poll.target, &poll.handle)
    }

    fn resource(&self, target: &Target, desired: &DesiredState, name: &str, busy_until: u64) -> Resource {
        Resource {
            name: name.to_owned(),
            marker: target.ownership_marker.clone(),
            parameters: desired.parameters.clone(),
            secret: desired
                .sensitive
                .0
                .get("/secret")
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .unwrap_or_default(),
            version: 1,
            made_at: now(),
            busy_until,
            gone_at: 0,
            endpoint: self.endpoint.clone(),
            instance: self.instance.clone(),
        }
    }
}

fn bare_code(variant: &str) -> Code {
    match variant {
        "unavailable" => Code::Unavailable,
        "resource-exhausted" => Code::ResourceExhausted,
        "deadline-exceeded" => Code::DeadlineExceeded,
        "cancelled" => Code::Cancelled,
        "out-of-range" => Code::OutOfRange,
        _ => Code::Unknown,
    }
}

fn violation(path: &str) -> wire::FieldViolation {
    wire::FieldViolation {
        path: path.to_owned(),
        message: "The reference plugin does not accept it.".to_owned(),
    }
}

/// A size below nothing passes the schema, and is rejected all the same.
fn check_desired(plugin: &ReferencePlugin, desired: &Map<String, Value>) -> Result<(), Rejection> {
    let size = desired.get("size").unwrap_or(&Value::Null);
    let is_bad = size.as_i64().is_some_and(|size| size < 0) || size.is_string();
    if !is_bad || plugin.on("create/invalid-example-rejected") {
        return Ok(());
    }
    let mut rejected = failure(
        FailureCode::InvalidSpec,
        Effect::None,
        "BadSize",
        "Give a size that is not negative.",
    );
    match plugin.faults.variant("create/invalid-field-named") {
        None => rejected.violations.push(violation("/size")),
        Some("another-field") => rejected.violations.push(violation("/text")),
        Some("no-field") => rejected.violations.push(violation("/siz")),
        Some(_) => {}
    }
    Err(rejected.into())
}
