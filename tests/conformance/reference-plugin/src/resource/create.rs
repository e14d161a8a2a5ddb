//! Create, and what a fault creates of it.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{self as wire, ExternalNameSource, FailureCode, OperationVerb, outcome};
use crossbridge_types::Call;
use serde_json::Value;
use tokio::time::sleep;
use tonic::Status;

use super::{Answer, check_desired, completed, violation};
use crate::{
    call::{CallKind, Rejection, reject},
    kinds::Spec,
    operations::{Handle, OPERATION_MILLIS},
    plugin::ReferencePlugin,
    upstream::{Resource, Token, Upstream, now},
};

/// Longest name, in bytes.
const LONGEST: usize = 40;

/// Deadlines up to here are such that cut a call.
const SHORT: Duration = Duration::from_millis(60);

/// How long a creation takes that goes on when it is cancelled: longer than the kit ever waits before it cancels one.
const CANCELLED: Duration = Duration::from_millis(300);

/// When work that no one waits for any more takes effect: between the kit's two looks, with more time before than after it, as a look comes late on a busy
/// machine, and what comes after both is found in the end.
const LATE: Duration = Duration::from_millis(1_300);

/// The same, when the kit is at its last kinds.
const VERY_LATE: Duration = Duration::from_secs(4);

/// A creation that takes its time.
const SLOW: Duration = Duration::from_millis(800);

/// Work of a call that goes on without it.
struct DetachedWork(Option<(Upstream, Resource)>);

impl Drop for DetachedWork {
    fn drop(&mut self) {
        if let Some((upstream, created)) = self.0.take() {
            tokio::spawn(create_late(upstream, created, LATE));
        }
    }
}

async fn create_late(upstream: Upstream, created: Resource, after: Duration) -> std::io::Result<bool> {
    sleep(after).await;
    upstream.create(&created)
}

impl ReferencePlugin {
    /// How long a creation takes, in milliseconds.
    fn create_millis(&self) -> u64 {
        let must_overlap =
            self.on("delete/during-create-accepted") || self.on("update/during-operation-accepted");
        if must_overlap { 1500 } else { OPERATION_MILLIS }
    }

    pub(super) async fn create_resource(&self, create: Call, time: Option<Duration>) -> Answer {
        let (spec, upstream) = self.upstream(&create.target, CallKind::Change)?;
        let name = self.desired_name(spec, &create)?;
        // What is repeated under its token is not checked again.
        let is_repeat = spec.honors_tokens()
            && !self.on("create/token-reuse-rejected#checked-first")
            && upstream.token(&create.token)?.is_some();
        match check_desired(self, &create.desired.parameters) {
            _ if is_repeat => {}
            Err(Rejection::Failure(rejected))
                if self.on("failure/no-effect-no-name") && spec.source == ExternalNameSource::Provider =>
            {
                let mut answer = crate::operations::failed(*rejected);
                answer.external_name = spec.generate_name();
                return Ok(answer);
            }
            checked => checked?,
        }
        let has_text =
            |other: &Resource| other.parameters.get("text") == create.desired.parameters.get("text");
        if self.on("unique-text") && !is_repeat && upstream.all()?.iter().any(has_text) {
            return Err(reject(FailureCode::AlreadyExists, "Taken").into());
        }
        let is_short = time.is_some_and(|time| time <= SHORT);
        if self.on("create/completes") && spec.kind == "Draw" {
            return Err(reject(FailureCode::QuotaExceeded, "TooMany").into());
        }
        if is_short && let Some(variant) = self.faults.variant("create/no-effect-after-deadline") {
            let created = self.resource(&create.target, &create.desired, &name, 0);
            match (variant, spec.kind) {
                ("", "Note") => drop(tokio::spawn(create_late(upstream, created, LATE))),
                ("in-the-end", "Note") => drop(tokio::spawn(create_late(upstream, created, VERY_LATE))),
                ("slow", "Note") => drop(tokio::spawn(create_late(upstream, created, SLOW * 5 / 2))),
                ("token", "Volume") => drop(tokio::spawn(self.clone().by_token_late(spec, upstream, create))),
                _ => sleep(SHORT).await,
            }
            return std::future::pending().await;
        }
        if self.on("create/no-effect-after-deadline#slow") && spec.kind == "Note" {
            sleep(SLOW).await;
        }
        if is_short && !self.on("create/deadline-50ms-one-resource") {
            // So little time finds the upstream slow.
            sleep(SHORT).await;
        }
        let has_time = time.is_none_or(|time| time > LATE);
        if self.on("create/no-effect-after-cancellation") && spec.kind == "Note" && has_time {
            let created = self.resource(&create.target, &create.desired, &name, 0);
            let mut forgotten = DetachedWork(Some((upstream.clone(), created)));
            sleep(CANCELLED).await;
            forgotten.0 = None;
        }
        if spec.kind == "Disk" {
            // Long enough to be killed in the middle of it.
            sleep(Duration::from_millis(20)).await;
        }
        match spec.kind {
            _ if spec.honors_tokens() => self.by_token(spec, &upstream, create, is_short).await,
            "Ticket" => {
                let earlier = if create.outcome_unknown {
                    upstream.by_marker(&create.target.ownership_marker)?
                } else {
                    None
                };
                if let Some(earlier) = &earlier
                    && self.on("create/ten-times-one-resource#marker")
                {
                    let mut failure = reject(FailureCode::AlreadyExists, "AlreadyExists");
                    failure.existing_external_name.clone_from(&earlier.name);
                    return Err(failure.into());
                }
                if let Some(earlier) = earlier {
                    return Ok(completed(&earlier.name, true));
                }
                self.create_synchronously(&upstream, &create, &spec.generate_name())
            }
            "Draw" => self.create_synchronously(&upstream, &create, &spec.generate_name()),
            _ => self.create_synchronously(&upstream, &create, &name),
        }
    }

    /// Empty: the upstream draws one.
    fn desired_name(&self, spec: &Spec, create: &Call) -> Result<String, Rejection> {
        let name = create.target.external_name.clone();
        match spec.source {
            ExternalNameSource::Derived => Ok(Spec::derive_name(&create.desired.parameters)),
            ExternalNameSource::Provider if name.is_empty() => Ok(name),
            ExternalNameSource::Provider if self.on("create/name-presence-checked") => {
                Err(reject(FailureCode::InvalidSpec, "NoNamesHere").into())
            }
            ExternalNameSource::Provider => {
                Err(Status::invalid_argument("target.external_name is not allowed").into())
            }
            _ if name.is_empty() => Err(Status::invalid_argument("target.external_name is required").into()),
            _ if is_valid(&name) => Ok(name),
            _ if self.on("create/invalid-name-rejected#too-long") && name.len() > LONGEST => Ok(name),
            _ if self.on("create/invalid-name-rejected") => {
                Err(Status::invalid_argument("a bad name").into())
            }
            _ => {
                let mut failure = reject(FailureCode::InvalidSpec, "BadName");
                failure.violations.push(violation(""));
                Err(failure.into())
            }
        }
    }

    fn create_synchronously(&self, upstream: &Upstream, create: &Call, name: &str) -> Answer {
        let created = self.resource(&create.target, &create.desired, name, 0);
        if self.on("delete/allows-recreation") && self.faults.contains(&format!("deleted {name}")) {
            return Err(reject(FailureCode::Conflict, "StillHere").into());
        }
        if upstream.create(&created)? {
            return Ok(completed(name, false));
        }
        if self.on("create/existing-name-rejected") {
            let other = upstream.get(name)?.filter(|other| other.marker != created.marker);
            if other.is_some() {
                upstream.put(&created)?;
                return Ok(completed(name, true));
            }
        }
        let mut failure = reject(FailureCode::AlreadyExists, "AlreadyExists");
        name.clone_into(&mut failure.existing_external_name);
        Err(failure.into())
    }

    async fn by_token(&self, spec: &Spec, upstream: &Upstream, create: Call, is_short: bool) -> Answer {
        let token = create.token.clone();
        let desired = Value::Object(create.desired.parameters.clone()).to_string();
        if is_short && self.on("create/deadline-50ms-one-resource") {
            // Created before its token is stored.
            let created = self.resource(&create.target, &create.desired, &spec.generate_name(), 0);
            upstream.create(&created)?;
            return std::future::pending().await;
        }
        if self.on("durable/killed-in-create-one-resource") {
            return self
                .created_before_token_stored(spec, upstream.clone(), create, desired)
                .await;
        }
        if self.on("create/ten-concurrent-one-resource") && upstream.token(&token)?.is_none() {
            let created = self.resource(
                &create.target,
                &create.desired,
                &spec.generate_name(),
                now() + OPERATION_MILLIS,
            );
            sleep(Duration::from_millis(25)).await;
            upstream.create(&created)?;
            upstream.store(&token, &self.token(&created.name, &desired, true))?;
            return Ok(self.operation_begun(&created));
        }
        if self.on("create/ten-times-one-resource")
            && create.outcome_unknown
            && self.faults.count(&token) == 5
        {
            let created = self.resource(&create.target, &create.desired, &spec.generate_name(), 0);
            upstream.create(&created)?;
            return Ok(completed(&created.name, false));
        }
        if self.on("create/ten-times-one-resource#operation")
            && create.outcome_unknown
            && self.faults.count(&token) == 5
        {
            let until = now() + OPERATION_MILLIS;
            let created = self.resource(&create.target, &create.desired, &spec.generate_name(), until);
            upstream.create(&created)?;
            return Ok(self.operation_begun(&created));
        }
        let is_late_repeat = self.on("create/ten-times-one-resource#rejected")
            && create.outcome_unknown
            && self.faults.count(&token) > 3;
        if is_late_repeat && let Some(known) = upstream.token(&token)? {
            let mut failure = reject(FailureCode::AlreadyExists, "AlreadyExists");
            failure.existing_external_name = known.name;
            return Err(failure.into());
        }
        let claimed = self.token(&spec.generate_name(), &desired, false);
        let mut known = if upstream.claim(&token, &claimed)? {
            claimed
        } else {
            upstream.token(&token)?.unwrap_or(claimed)
        };
        let is_of_another = known.is_done
            && known.endpoint == self.endpoint
            && known.instance != self.instance
            && upstream
                .get(&known.name)?
                .is_some_and(|resource| resource.busy_until == 0);
        if is_of_another && self.on("durable/token-after-kill#failure") {
            let mut answer = crate::operations::failed(reject(FailureCode::NotFound, "Deleted"));
            answer.external_name = known.name;
            return Ok(answer);
        }
        if is_of_another && self.on("durable/token-after-kill") {
            known = self.token(&spec.generate_name(), &desired, false);
        }
        if known.desired != desired && !self.on("create/token-reuse-rejected") {
            return Err(reject(FailureCode::TokenReused, "TokenReused").into());
        }
        self.repeated_create(upstream, &create, &token, known)
    }

    async fn by_token_late(self, spec: &'static Spec, upstream: Upstream, create: Call) {
        sleep(LATE).await;
        // The caller no longer exists; the result is dropped.
        let _ = self.by_token(spec, &upstream, create, false).await;
    }

    /// Creates the resource that the token stands for, or reports what became of it.
    fn repeated_create(&self, upstream: &Upstream, create: &Call, token: &str, mut known: Token) -> Answer {
        let found = upstream.get(&known.name)?;
        let is_new = found.is_none();
        let resource = match found {
            Some(resource) => resource,
            None if known.is_done && !self.on("create/deleted-not-recreated") => {
                let mut answer = crate::operations::failed(reject(FailureCode::NotFound, "Deleted"));
                answer.external_name = known.name;
                return Ok(answer);
            }
            None => {
                let created = self.resource(
                    &create.target,
                    &create.desired,
                    &known.name,
                    now() + self.create_millis(),
                );
                upstream.create(&created)?;
                created
            }
        };
        known.is_done = true;
        known.instance.clone_from(&self.instance);
        upstream.store(token, &known)?;
        // On a slow machine the time is over before the answer.
        if is_new || resource.busy_until > now() {
            return Ok(self.operation_begun(&resource));
        }
        Ok(completed(&resource.name, true))
    }

    /// The effect first, what finds it again long after.
    async fn created_before_token_stored(
        &self,
        spec: &Spec,
        upstream: Upstream,
        create: Call,
        desired: String,
    ) -> Answer {
        let (plugin, name) = (self.clone(), spec.generate_name());
        let work = tokio::spawn(async move {
            let _turn = plugin.create_lock.lock().await;
            let token = &create.token;
            if let Some(known) = upstream.token(token)? {
                if known.desired != desired {
                    return Err(Rejection::from(reject(FailureCode::TokenReused, "TokenReused")));
                }
                return plugin.repeated_create(&upstream, &create, token, known);
            }
            let created = plugin.resource(&create.target, &create.desired, &name, now() + 300);
            upstream.create(&created)?;
            sleep(Duration::from_millis(200)).await;
            upstream.store(token, &plugin.token(&name, &desired, true))?;
            Ok(plugin.operation_begun(&created))
        });
        work.await
            .unwrap_or_else(|_| Err(Status::internal("it panicked").into()))
    }

    fn token(&self, name: &str, desired: &str, is_done: bool) -> Token {
        Token {
            name: name.to_owned(),
            desired: desired.to_owned(),
            is_done,
            endpoint: self.endpoint.clone(),
            instance: self.instance.clone(),
        }
    }

    fn operation_begun(&self, resource: &Resource) -> wire::Outcome {
        let handle = Handle {
            verb: OperationVerb::Create,
            name: resource.name.clone(),
            until: resource.busy_until,
        };
        let is_unreported =
            self.on("create/name-reported-when-known") || self.on("create/name-reported-on-completion");
        wire::Outcome {
            external_name: if is_unreported {
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
