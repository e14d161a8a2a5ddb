//! Making.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{self as wire, ExternalNameSource, FailureCode, OperationVerb, outcome};
use crossbridge_types::Call;
use serde_json::Value;
use tokio::time::sleep;
use tonic::Status;

use super::{Answer, check_wish, completed, violation};
use crate::{
    call::{Refusal, Word, refuse},
    cloud::{Cloud, Resource, Token, now},
    kinds::Spec,
    operations::{Handle, TAKES},
    plugin::Specimen,
};

/// Longest name, in bytes.
const LONGEST: usize = 40;

/// Deadlines up to here are such that cut a call.
const SHORT: Duration = Duration::from_millis(60);

/// When work that nobody waits for any more takes effect.
const LATE: Duration = Duration::from_secs(1);

/// The same, when the kit is at its last kinds.
const IN_THE_END: Duration = Duration::from_secs(4);

/// A creation that takes its time.
const SLOW: Duration = Duration::from_millis(800);

/// Work of a call that goes on without it.
struct Forgotten(Option<(Cloud, Resource)>);

impl Drop for Forgotten {
    fn drop(&mut self) {
        if let Some((cloud, made)) = self.0.take() {
            tokio::spawn(make_late(cloud, made, LATE));
        }
    }
}

async fn make_late(cloud: Cloud, made: Resource, after: Duration) -> std::io::Result<bool> {
    sleep(after).await;
    cloud.make(&made)
}

impl Specimen {
    /// How long a creation takes, in milliseconds.
    fn takes(&self) -> u64 {
        let must_overlap =
            self.on("delete/during-create-accepted") || self.on("update/during-operation-accepted");
        if must_overlap { 1500 } else { TAKES }
    }

    pub(super) async fn make(&self, create: Call, time: Option<Duration>) -> Answer {
        let (spec, cloud) = self.cloud(&create.target, Word::Change)?;
        let name = self.wanted_name(spec, &create)?;
        match check_wish(self, &create.desired.parameters) {
            Err(Refusal::Failure(refused))
                if self.on("failure/no-effect-no-name") && spec.source == ExternalNameSource::Provider =>
            {
                let mut answer = crate::operations::failed(*refused);
                answer.external_name = spec.draw_name();
                return Ok(answer);
            }
            checked => checked?,
        }
        let is_short = time.is_some_and(|time| time <= SHORT);
        if self.on("create/completes") && spec.kind == "Draw" {
            return Err(refuse(FailureCode::QuotaExceeded, "TooMany").into());
        }
        if is_short && let Some(way) = self.faults.way("create/nothing-after-the-deadline") {
            let made = self.resource(&create.target, &create.desired, &name, 0);
            match (way, spec.kind) {
                ("", "Note") => drop(tokio::spawn(make_late(cloud, made, LATE))),
                ("in-the-end", "Note") => drop(tokio::spawn(make_late(cloud, made, IN_THE_END))),
                ("slow", "Note") => drop(tokio::spawn(make_late(cloud, made, SLOW * 5 / 2))),
                ("token", "Volume") => drop(tokio::spawn(self.clone().by_token_late(spec, cloud, create))),
                _ => sleep(SHORT).await,
            }
            return std::future::pending().await;
        }
        if self.on("create/nothing-after-the-deadline#slow") && spec.kind == "Note" {
            sleep(SLOW).await;
        }
        if is_short && !self.on("create/cut-at-50ms-one-resource") {
            // So little time finds the upstream slow.
            sleep(SHORT).await;
        }
        if self.on("create/nothing-after-cancelled") && spec.kind == "Note" && !is_short {
            let made = self.resource(&create.target, &create.desired, &name, 0);
            let mut forgotten = Forgotten(Some((cloud.clone(), made)));
            sleep(SHORT).await;
            forgotten.0 = None;
        }
        if spec.kind == "Disk" {
            // Long enough to be killed in the middle of it.
            sleep(Duration::from_millis(20)).await;
        }
        match spec.kind {
            _ if spec.takes_tokens() => self.by_token(spec, &cloud, create, is_short).await,
            "Ticket" => {
                let earlier = if create.outcome_unknown {
                    cloud.by_marker(&create.target.ownership_marker)?
                } else {
                    None
                };
                if let Some(earlier) = earlier {
                    return Ok(completed(&earlier.name, true));
                }
                self.at_once(&cloud, &create, &spec.draw_name())
            }
            "Draw" => self.at_once(&cloud, &create, &spec.draw_name()),
            _ => self.at_once(&cloud, &create, &name),
        }
    }

    /// Empty: the upstream draws one.
    fn wanted_name(&self, spec: &Spec, create: &Call) -> Result<String, Refusal> {
        let name = create.target.external_name.clone();
        match spec.source {
            ExternalNameSource::Derived => Ok(Spec::derive_name(&create.desired.parameters)),
            ExternalNameSource::Provider if name.is_empty() => Ok(name),
            ExternalNameSource::Provider if self.on("create/name-where-it-belongs") => {
                Err(refuse(FailureCode::InvalidSpec, "NoNamesHere").into())
            }
            ExternalNameSource::Provider => {
                Err(Status::invalid_argument("target.external_name is not allowed").into())
            }
            _ if name.is_empty() => Err(Status::invalid_argument("target.external_name is required").into()),
            _ if is_valid(&name) => Ok(name),
            _ if self.on("create/bad-name-refused#too-long") && name.len() > LONGEST => Ok(name),
            _ if self.on("create/bad-name-refused") => Err(Status::invalid_argument("a bad name").into()),
            _ => {
                let mut failure = refuse(FailureCode::InvalidSpec, "BadName");
                failure.violations.push(violation(""));
                Err(failure.into())
            }
        }
    }

    fn at_once(&self, cloud: &Cloud, create: &Call, name: &str) -> Answer {
        let made = self.resource(&create.target, &create.desired, name, 0);
        if self.on("delete/then-create") && self.faults.knows(&format!("deleted {name}")) {
            return Err(refuse(FailureCode::Conflict, "StillHere").into());
        }
        if cloud.make(&made)? {
            return Ok(completed(name, false));
        }
        if self.on("create/taken-name-refused") {
            let other = cloud.get(name)?.filter(|other| other.marker != made.marker);
            if other.is_some() {
                cloud.put(&made)?;
                return Ok(completed(name, true));
            }
        }
        let mut failure = refuse(FailureCode::AlreadyExists, "AlreadyExists");
        name.clone_into(&mut failure.existing_external_name);
        Err(failure.into())
    }

    async fn by_token(&self, spec: &Spec, cloud: &Cloud, create: Call, is_short: bool) -> Answer {
        let token = create.token.clone();
        let wish = Value::Object(create.desired.parameters.clone()).to_string();
        if is_short && self.on("create/cut-at-50ms-one-resource") {
            // Made before anybody could know of it.
            let made = self.resource(&create.target, &create.desired, &spec.draw_name(), 0);
            cloud.make(&made)?;
            return std::future::pending().await;
        }
        if self.on("durable/killed-in-create-one-resource") {
            return self.made_then_remembered(spec, cloud.clone(), create, wish).await;
        }
        if self.on("create/ten-at-once-one-resource") && cloud.token(&token)?.is_none() {
            let made = self.resource(&create.target, &create.desired, &spec.draw_name(), now() + TAKES);
            sleep(Duration::from_millis(25)).await;
            cloud.make(&made)?;
            cloud.keep(&token, &self.token(&made.name, &wish, true))?;
            return Ok(self.begun(&made));
        }
        if self.on("create/ten-times-one-resource")
            && create.outcome_unknown
            && self.faults.count(&token) == 5
        {
            let made = self.resource(&create.target, &create.desired, &spec.draw_name(), 0);
            cloud.make(&made)?;
            return Ok(completed(&made.name, false));
        }
        let is_late_repeat = self.on("create/ten-times-one-resource#refused")
            && create.outcome_unknown
            && self.faults.count(&token) > 3;
        if is_late_repeat && let Some(known) = cloud.token(&token)? {
            let mut failure = refuse(FailureCode::AlreadyExists, "AlreadyExists");
            failure.existing_external_name = known.name;
            return Err(failure.into());
        }
        let claimed = self.token(&spec.draw_name(), &wish, false);
        let mut known = if cloud.claim(&token, &claimed)? {
            claimed
        } else {
            cloud.token(&token)?.unwrap_or(claimed)
        };
        let is_of_another = known.is_done
            && known.endpoint == self.endpoint
            && known.instance != self.instance
            && cloud
                .get(&known.name)?
                .is_some_and(|resource| resource.busy_until == 0);
        if is_of_another && self.on("durable/token-after-kill#failure") {
            let mut answer = crate::operations::failed(refuse(FailureCode::NotFound, "Gone"));
            answer.external_name = known.name;
            return Ok(answer);
        }
        if is_of_another && self.on("durable/token-after-kill") {
            known = self.token(&spec.draw_name(), &wish, false);
        }
        if known.wish != wish && !self.on("create/token-of-another-wish-refused") {
            return Err(refuse(FailureCode::TokenReused, "TokenReused").into());
        }
        self.continued(cloud, &create, &token, known)
    }

    async fn by_token_late(self, spec: &'static Spec, cloud: Cloud, create: Call) {
        sleep(LATE).await;
        // Nobody is there to be told.
        let _ = self.by_token(spec, &cloud, create, false).await;
    }

    /// Makes what the token stands for, or says what became of it.
    fn continued(&self, cloud: &Cloud, create: &Call, token: &str, mut known: Token) -> Answer {
        let found = cloud.get(&known.name)?;
        let is_new = found.is_none();
        let resource = match found {
            Some(resource) => resource,
            None if known.is_done && !self.on("create/gone-is-not-remade") => {
                let mut answer = crate::operations::failed(refuse(FailureCode::NotFound, "Gone"));
                answer.external_name = known.name;
                return Ok(answer);
            }
            None => {
                let made = self.resource(&create.target, &create.desired, &known.name, now() + self.takes());
                cloud.make(&made)?;
                made
            }
        };
        known.is_done = true;
        known.instance.clone_from(&self.instance);
        cloud.keep(token, &known)?;
        // On a slow machine the time is over before the answer.
        if is_new || resource.busy_until > now() {
            return Ok(self.begun(&resource));
        }
        Ok(completed(&resource.name, true))
    }

    /// The effect first, what finds it again long after.
    async fn made_then_remembered(&self, spec: &Spec, cloud: Cloud, create: Call, wish: String) -> Answer {
        let (specimen, name) = (self.clone(), spec.draw_name());
        let work = tokio::spawn(async move {
            let _turn = specimen.turn.lock().await;
            let token = &create.token;
            if let Some(known) = cloud.token(token)? {
                if known.wish != wish {
                    return Err(Refusal::from(refuse(FailureCode::TokenReused, "TokenReused")));
                }
                return specimen.continued(&cloud, &create, token, known);
            }
            let made = specimen.resource(&create.target, &create.desired, &name, now() + 300);
            cloud.make(&made)?;
            sleep(Duration::from_millis(200)).await;
            cloud.keep(token, &specimen.token(&name, &wish, true))?;
            Ok(specimen.begun(&made))
        });
        work.await
            .unwrap_or_else(|_| Err(Status::internal("it panicked").into()))
    }

    fn token(&self, name: &str, wish: &str, is_done: bool) -> Token {
        Token {
            name: name.to_owned(),
            wish: wish.to_owned(),
            is_done,
            endpoint: self.endpoint.clone(),
            instance: self.instance.clone(),
        }
    }

    fn begun(&self, resource: &Resource) -> wire::Outcome {
        let handle = Handle {
            verb: OperationVerb::Create,
            name: resource.name.clone(),
            until: resource.busy_until,
        };
        let is_untold = self.on("create/name-told-when-known") || self.on("create/name-known-at-the-end");
        wire::Outcome {
            external_name: if is_untold {
                String::new()
            } else {
                resource.name.clone()
            },
            result: Some(outcome::Result::Operation(self.operation(&handle, None))),
            ..Default::default()
        }
    }
}

fn is_valid(name: &str) -> bool {
    name.len() <= LONGEST
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
