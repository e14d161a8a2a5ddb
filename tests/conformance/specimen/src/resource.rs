//! The life of one resource.

mod create;
mod cross;
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
    call::{Refusal, Word, check_deadline, failure, hides, invalid, open, refuse, spec, timeout},
    cloud::{Cloud, Resource, now},
    kinds::Spec,
    operations::{Handle, TAKES, failed},
    plugin::Specimen,
};

/// So many drained calls are done at once, where the others take their time.
const SOON: usize = 8;

type Answer = Result<wire::Outcome, Refusal>;

#[async_trait]
impl ResourceService for Specimen {
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
        if self.on("calls/malformed-refused")
            && let Some(target) = &mut request.target
            && target.ownership_marker.contains(' ')
        {
            "malformed".clone_into(&mut target.ownership_marker);
        }
        let mut observe =
            Observe::try_from(request).map_err(|violation| invalid(&self.faults, &violation))?;
        self.cross(&mut observe.target, "Observe").await;
        self.slow_when_drained(&observe.target).await;
        Ok(Response::new(self.look(&observe)?))
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        check_deadline(&self.faults, request.metadata())?;
        let time = timeout(request.metadata());
        let create =
            Call::try_from(request.into_inner()).map_err(|violation| invalid(&self.faults, &violation))?;
        if self.falls_late(&create.target) {
            return self.unavailable_after_all(&create).await;
        }
        let outcome = outcome(self.make(create, time).await)?;
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
        let outcome = outcome(self.change(&update))?;
        Ok(Response::new(wire::UpdateResponse { outcome }))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        check_deadline(&self.faults, request.metadata())?;
        let delete =
            Call::try_from(request.into_inner()).map_err(|violation| invalid(&self.faults, &violation))?;
        let is_first_of_changed = self.on("answers/before-the-deadline")
            && self.is_changed(&delete.target)
            && self.faults.once("slow delete");
        if is_first_of_changed {
            sleep(Duration::from_secs(5)).await;
        }
        let outcome = outcome(self.remove(&delete))?;
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
        let outcome = outcome(self.follow(&poll))?;
        Ok(Response::new(wire::PollOperationResponse { outcome }))
    }
}

fn outcome(answer: Answer) -> Result<Option<wire::Outcome>, Status> {
    match answer {
        Ok(outcome) => Ok(Some(outcome)),
        Err(Refusal::Failure(failure)) => Ok(Some(failed(*failure))),
        Err(Refusal::Status(status)) => Err(status),
    }
}

pub fn completed(name: &str, already_done: bool) -> wire::Outcome {
    wire::Outcome {
        external_name: name.to_owned(),
        result: Some(outcome::Result::Completed(wire::Completed {
            observation: None,
            already_done,
        })),
        ..Default::default()
    }
}

impl Specimen {
    fn cloud(&self, target: &Target, word: Word) -> Result<(&'static Spec, Cloud), Refusal> {
        let spec = spec(&self.faults, target)?;
        Ok((spec, self.open(&target.config, spec, word)?))
    }

    fn open(&self, config: &Config, spec: &Spec, word: Word) -> Result<Cloud, Refusal> {
        open(&self.faults, config, spec.kind, word)
    }

    fn is_changed(&self, target: &Target) -> bool {
        self.cloud(target, Word::Look)
            .ok()
            .and_then(|(_, cloud)| cloud.get(&target.external_name).ok().flatten())
            .is_some_and(|resource| resource.version > 1)
    }

    async fn slow_when_drained(&self, target: &Target) {
        let Some(way) = self.faults.way("process/sigterm-lets-calls-end") else {
            return;
        };
        if target.owner.name != "drained" {
            return;
        }
        match way {
            "" => {
                // The last to come is the first to go.
                let turn = self.faults.count("drained") as u64;
                sleep(Duration::from_millis(600_u64.saturating_sub(15 * turn))).await;
            }
            "in-order" => {
                let _turn = self.turn.lock().await;
                sleep(Duration::from_millis(25)).await;
            }
            _ if self.faults.count("drained") > SOON => sleep(Duration::from_millis(200)).await,
            _ => {}
        }
    }

    /// A creation that is under way when the process is told to end.
    fn falls_late(&self, target: &Target) -> bool {
        self.on("process/sigterm-lets-calls-end#effect")
            && target.owner.name == "drained"
            && self.faults.count("drained") > SOON
    }

    /// Says that it was not begun, and makes it.
    async fn unavailable_after_all(&self, create: &Call) -> Result<Response<wire::CreateResponse>, Status> {
        sleep(Duration::from_millis(200)).await;
        if let Ok((spec, cloud)) = self.cloud(&create.target, Word::Change) {
            let name = match create.target.external_name.as_str() {
                "" => spec.draw_name(),
                name => name.to_owned(),
            };
            cloud.make(&self.resource(&create.target, &create.desired, &name, 0))?;
        }
        Err(Status::unavailable("the process ends"))
    }

    /// What is there under the name and is ours.
    fn ours(&self, spec: &Spec, cloud: &Cloud, target: &Target, fault: &str) -> Result<Resource, Refusal> {
        let gone = || refuse(FailureCode::NotFound, "NotFound");
        let resource = cloud.get(&target.external_name)?.ok_or_else(gone)?;
        let former = match fault {
            "delete/others-not-found" => "marker/former-deleted",
            _ => "marker/former-accepted",
        };
        let is_former = resource.marker == target.former_marker && !self.on(former);
        let is_ours = resource.marker == target.ownership_marker || is_former;
        if spec.holds_marker && !is_ours && !self.on(fault) {
            return Err(gone().into());
        }
        Ok(resource)
    }

    /// By another process at the same place.
    fn made_before(&self, resource: &Resource) -> bool {
        resource.endpoint == self.endpoint && resource.instance != self.instance
    }

    fn change(&self, update: &Call) -> Answer {
        let target = &update.target;
        let (spec, cloud) = self.cloud(target, Word::Change)?;
        if !spec.can_update && !self.on("calls/impossible-unimplemented") {
            let status = Status::unimplemented(format!("{} does not serve Update", spec.kind));
            return Err(Refusal::Status(status));
        }
        let resource = match self.ours(spec, &cloud, target, "update/others-not-found") {
            Err(Refusal::Failure(_))
                if self.on("update/absent-not-created")
                    && spec.kind == "Ticket"
                    && cloud.get(&target.external_name)?.is_none() =>
            {
                let made = self.resource(target, &update.desired, &target.external_name, 0);
                cloud.make(&made)?;
                return Ok(completed(&made.name, false));
            }
            found => found?,
        };
        if spec.has_etag
            && !update.etag.is_empty()
            && update.etag != resource.version.to_string()
            && !self.on("update/stale-etag-conflict")
        {
            return Err(refuse(FailureCode::Conflict, "StaleEtag").into());
        }
        let mut wish = update.desired.parameters.clone();
        let is_same = wish == resource.parameters;
        if self.on("update/same-again-harmless") && is_same {
            wish.insert("text".to_owned(), Value::from("changed for no reason"));
        }
        if let Some(way) = self.faults.way("answers/no-bare-errors")
            && is_same
        {
            return Err(Status::new(bare_code(way), "an exception was raised").into());
        }
        if self.on("update/during-operation-accepted") && resource.busy_until > now() {
            return Err(refuse(FailureCode::Conflict, "Busy").into());
        }
        if self.on("durable/found-after-kill#not-updated") && self.made_before(&resource) {
            return Err(refuse(FailureCode::Internal, "Unknown").into());
        }
        check_wish(self, &wish)?;
        self.check_immutable(&resource.parameters, &wish)?;
        if self.on("update/completes") && !is_same {
            return Err(refuse(FailureCode::QuotaExceeded, "TooMany").into());
        }
        if self.on("update/wish-comes-back") && spec.kind == "Note" {
            wish.clone_from(&resource.parameters);
        }
        let version = resource.version + u64::from(wish != resource.parameters);
        if self.on("update/wish-comes-back#plugin-compares") && spec.plugin_compares && !is_same {
            wish.clone_from(&resource.parameters);
            cloud.put(&Resource {
                version,
                ..resource.clone()
            })?;
        }
        let is_adopted = resource.marker == target.former_marker;
        if wish != resource.parameters || is_adopted {
            cloud.put(&Resource {
                version,
                parameters: wish,
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
        if self.on("answers/name-never-changes") {
            answer.external_name.push_str("-renamed");
        }
        if self.on("answers/state-size") && is_same {
            answer.provider_state = "x".repeat(5000);
        }
        if spec.is_asynchronous {
            answer.result = Some(outcome::Result::Operation(self.operation(
                &Handle {
                    verb: OperationVerb::Update,
                    name: resource.name.clone(),
                    until: now() + TAKES,
                },
                None,
            )));
        }
        Ok(answer)
    }

    fn check_immutable(&self, before: &Map<String, Value>, wish: &Map<String, Value>) -> Result<(), Refusal> {
        let way = self.faults.way("update/immutable-refused");
        let kept: &[&str] = match way {
            None | Some("invalid-spec") => &["color", "flat"],
            Some("second") => &["color"],
            Some(_) => &[],
        };
        let Some(changed) = kept.iter().find(|field| wish.get(**field) != before.get(**field)) else {
            return Ok(());
        };
        let code = if way == Some("invalid-spec") {
            FailureCode::InvalidSpec
        } else {
            FailureCode::ImmutableField
        };
        let mut failure = refuse(code, "Immutable");
        failure.violations.push(violation(&format!("/{changed}")));
        Err(failure.into())
    }

    fn remove(&self, delete: &Call) -> Answer {
        let target = &delete.target;
        let (spec, cloud) = match self.cloud(target, Word::Change) {
            Err(Refusal::Failure(failure)) if hides(&self.faults, &failure, "delete") => {
                return Ok(completed(&target.external_name, true));
            }
            opened => opened?,
        };
        let resource = match cloud.get(&target.external_name)? {
            Some(_) => self.ours(spec, &cloud, target, "delete/others-not-found")?,
            None if self.on("delete/nothing-ten-times") => {
                return Err(refuse(FailureCode::NotFound, "NotFound").into());
            }
            None => return Ok(completed(&target.external_name, true)),
        };
        if spec.has_etag
            && !delete.etag.is_empty()
            && delete.etag != resource.version.to_string()
            && !self.on("delete/stale-etag-conflict")
        {
            return Err(refuse(FailureCode::Conflict, "StaleEtag").into());
        }
        if self.on("delete/during-create-accepted") && resource.busy_until > now() {
            return Err(refuse(FailureCode::Conflict, "Busy").into());
        }
        // Once, so that it can be removed in the end.
        let is_strange = (self.on("durable/found-after-kill#not-removed") && self.made_before(&resource))
            || (self.on("durable/seen-by-replica#not-removed") && resource.endpoint != self.endpoint);
        if is_strange && self.faults.once(&format!("kept {}", resource.name)) {
            return Err(refuse(FailureCode::Internal, "Unknown").into());
        }
        let is_changed = resource.version > 1;
        if self.on("delete/completes") && is_changed && self.faults.once("refused delete") {
            return Err(refuse(FailureCode::Conflict, "Locked").into());
        }
        let mut answer = completed(&resource.name, false);
        if self.on("delete/no-observation")
            && let Some(outcome::Result::Completed(completed)) = &mut answer.result
        {
            completed.observation = Some(self.observation(spec, &resource, target, &DesiredState::default()));
        }
        if self.on("delete/absent-afterwards") && is_changed && self.faults.once("left there") {
            return Ok(answer);
        }
        if self.on("delete/then-create") {
            self.faults.first(&format!("deleted {}", resource.name), "");
        }
        if spec.is_asynchronous {
            let until = if resource.gone_at > 0 {
                resource.gone_at
            } else {
                now() + self.removal_takes()
            };
            cloud.put(&Resource {
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
            cloud.delete(&resource.name)?;
        }
        Ok(answer)
    }

    /// In milliseconds. A poll that lies has to come before the end.
    fn removal_takes(&self) -> u64 {
        let lies = self.on("config/bad-credentials-never-absent#poll")
            || self.on("config/dead-upstream-never-absent#poll");
        if lies { 1000 } else { TAKES }
    }

    fn follow(&self, poll: &Call) -> Answer {
        let (spec, cloud) = match self.cloud(&poll.target, Word::Change) {
            Err(Refusal::Failure(failure)) if hides(&self.faults, &failure, "poll") => {
                return Ok(completed(&poll.target.external_name, true));
            }
            opened => opened?,
        };
        self.poll(spec, &cloud, &poll.target, &poll.handle)
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

fn bare_code(way: &str) -> Code {
    match way {
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
        message: "The specimen does not take it.".to_owned(),
    }
}

/// A size below nothing passes the schema, and is refused all the same.
fn check_wish(specimen: &Specimen, wish: &Map<String, Value>) -> Result<(), Refusal> {
    let size = wish.get("size").unwrap_or(&Value::Null);
    let is_bad = size.as_i64().is_some_and(|size| size < 0) || size.is_string();
    if !is_bad || specimen.on("create/invalid-example-refused") {
        return Ok(());
    }
    let mut refused = failure(
        FailureCode::InvalidSpec,
        Effect::None,
        "BadSize",
        "Give a size that is not negative.",
    );
    match specimen.faults.way("create/invalid-field-named") {
        None => refused.violations.push(violation("/size")),
        Some("another-field") => refused.violations.push(violation("/text")),
        Some("no-field") => refused.violations.push(violation("/siz")),
        Some(_) => {}
    }
    Err(refused.into())
}
