//! The steps of a script: what the author's code of the vector plugin does in a call.

use std::{
    fmt::Debug,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use crossbridge_sdk::{
    Call, Effect, Failure, Observation, Observed, Operation, OperationVerb, Outcome, Resource,
    serde_json::{Map, Value},
};
use tokio::sync::watch;

use super::plugin::{Parameters, PortRule, Settings, Status};

/// One step.
pub type Step = Map<String, Value>;

/// What the runner and all calls of a plugin share.
pub struct Shared {
    events: Mutex<Vec<String>>,
    printed: Mutex<String>,
    released: watch::Sender<bool>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            events: Mutex::default(),
            printed: Mutex::default(),
            released: watch::Sender::new(false),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn event(&self, event: impl Into<String>) {
        locked(&self.events).push(event.into());
    }

    pub fn events(&self) -> Vec<String> {
        locked(&self.events).clone()
    }

    pub fn printed(&self) -> String {
        locked(&self.printed).clone()
    }

    pub fn print(&self, value: &impl Debug) {
        locked(&self.printed).push_str(&format!("{value:?}\n{value:#?}\n"));
    }

    pub fn release(&self) {
        self.released.send_replace(true);
    }
}

/// An upstream's error, mapped in one place.
pub struct Busy;

impl From<Busy> for Failure {
    fn from(_: Busy) -> Self {
        Self::conflict("the upstream is busy")
    }
}

/// Adds an event if the SDK stops the call where it waits.
struct Stopped<'a>(&'a Shared, &'static str, bool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        if !self.2 {
            self.0.event(format!("stopped:{}", self.1));
        }
    }
}

/// One call, with what its steps may ask for.
pub struct Run<'a> {
    pub shared: &'a Shared,
    pub verb: &'static str,
    pub call: &'a Call,
    pub parameters: Option<&'a Parameters>,
    pub password: Option<&'a str>,
    /// What only calls of this verb have.
    pub fields: Vec<(&'static str, String)>,
    pub request: &'a (dyn Debug + Sync),
}

impl Run<'_> {
    /// Carries out the steps up to the one that answers; that one.
    pub async fn steps(&self) -> Result<Option<Step>, Failure> {
        self.shared.event(format!("began:{}", self.verb));
        let script = self.parameters.and_then(|parameters| parameters.script.as_ref());
        for step in script.into_iter().flatten() {
            if self.step(step).await? {
                return Ok(Some(step.clone()));
            }
        }
        Ok(None)
    }

    /// Carries out one step; whether it answers.
    async fn step(&self, step: &Step) -> Result<bool, Failure> {
        let text = text_of(step, "text");
        match text_of(step, "step") {
            "note" => {
                let field = text_of(step, "field");
                self.shared.event(format!("{field}={}", self.value(field, text)?));
            }
            "check_deadline" => {
                let left = self.call.deadline.remaining();
                let most = Duration::from_millis(number_of(step, "milliseconds").expect("a limit"));
                if left.is_zero() || left > most {
                    return Err(Failure::internal(format!("{left:?} is left")));
                }
            }
            "hang" => {
                let _stopped = Stopped(self.shared, self.verb, false);
                std::future::pending::<()>().await;
            }
            "hold" => {
                let mut stopped = Stopped(self.shared, self.verb, false);
                let mut released = self.shared.released.subscribe();
                let _ = released.wait_for(|released| *released).await;
                stopped.2 = true;
            }
            "record_name" => self.call.record_name(text),
            "print" => {
                self.shared.print(self.call);
                self.shared.print(&self.call.config);
                self.shared.print(&self.request);
            }
            "fail" if step.get("externalName").is_none() => return Err(failure(step)),
            "reject" => {
                return Err(Failure::invalid_argument(
                    text_of(step, "field"),
                    text_of(step, "message"),
                ));
            }
            "raise" => match text_of(step, "error") {
                "Busy" => return Err(Busy.into()),
                "Timeout" => {
                    tokio::time::timeout(Duration::ZERO, std::future::pending::<()>()).await?;
                }
                "Connection" => return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
                _ => return Err(io::Error::other(format!("an error: {text}")).into()),
            },
            "panic" => panic!("a bug: {text}"),
            _ => return Ok(true),
        }
        Ok(false)
    }

    fn value(&self, field: &str, text: &str) -> Result<String, Failure> {
        let target = &self.call.target;
        let config = &self.call.config;
        let parameters = self.parameters.cloned().unwrap_or_default();
        Ok(match field {
            "call_id" => self.call.id.clone(),
            "external_name" => target.external_name.clone(),
            "provider_state" => target.provider_state.clone(),
            "ownership_marker" => target.ownership_marker.clone(),
            "former_marker" => target.former_marker.clone(),
            "owner" => format!(
                "{}/{}/{}/{}",
                target.owner_namespace, target.owner_name, target.owner_uid, target.owner_generation
            ),
            "size" => parameters.size.map(|size| size.to_string()).unwrap_or_default(),
            "note" => parameters.note.unwrap_or_default(),
            "password_field" => parameters.password.unwrap_or_default(),
            "password" => self.password.unwrap_or_default().to_owned(),
            "region" => config.settings::<Settings>()?.region.unwrap_or_default(),
            "credential" => config.required_credential("key")?.to_owned(),
            "config" => format!("{}/{}", config.id(), config.revision()),
            "is_ambient" => config.is_ambient().to_string(),
            "is_ours" => target.is_ours(text).to_string(),
            other => {
                let known = self.fields.iter().find(|(name, _)| *name == other);
                known.expect("a field of this call").1.clone()
            }
        })
    }

    /// The answer to a call that changes something, or to a poll.
    pub fn outcome<R>(&self, step: &Step, verb: OperationVerb) -> Outcome<R>
    where
        R: Resource<Parameters = Parameters, Status = Status>,
    {
        let outcome = match text_of(step, "step") {
            "observed" => Outcome::observed(self.observation(step)),
            "operation" => Outcome::operation(operation(step, verb)),
            "fail" => Outcome::failure(failure(step)),
            "completed" if step.get("alreadyDone").is_some() => Outcome::already_done(),
            "completed" => Outcome::completed(),
            other => panic!("{} cannot answer {other}", self.verb),
        };
        if text_of(step, "step") == "observed" {
            return outcome;
        }
        let mut outcome = outcome
            .external_name(text_of(step, "externalName"))
            .canonical_id(text_of(step, "canonicalId"));
        if let Some(state) = padded(step, "providerState") {
            outcome = outcome.provider_state(state);
        }
        for (key, value) in connection(step) {
            outcome = outcome.connection(key, value);
        }
        if let Some(field) = step.get("connectionFrom").and_then(Value::as_str) {
            let value = self.value(field, "").unwrap_or_default();
            outcome = outcome.connection("password", value);
        }
        if text_of(step, "step") == "completed" && step.get("reason").is_some() {
            outcome = outcome.warning(text_of(step, "reason"), text_of(step, "message"));
        }
        outcome
    }

    /// The answer to an Observe.
    pub fn observed<R>(&self, step: &Step) -> Observed<R>
    where
        R: Resource<Parameters = Parameters, Status = Status>,
    {
        match text_of(step, "step") {
            "found" => self.observation(step).into(),
            "absent" => Observed::absent_as(text_of(step, "externalName")),
            other => panic!("observe cannot answer {other}"),
        }
    }

    fn observation<R>(&self, step: &Step) -> Observation<R>
    where
        R: Resource<Parameters = Parameters, Status = Status>,
    {
        let sent = self.call.target.external_name.as_str();
        let name = step.get("externalName").and_then(Value::as_str).unwrap_or(sent);
        let parameters = Parameters {
            size: step.get("size").and_then(Value::as_i64),
            password: step.get("password").and_then(Value::as_str).map(str::to_owned),
            rules: (text_of(step, "text") == "wrong parameters").then(|| vec![PortRule::UNWRITABLE]),
            ..Parameters::default()
        };
        let mut found = Observation::new(name, parameters)
            .canonical_id(text_of(step, "canonicalId"))
            .etag(text_of(step, "etag"))
            .found_marker(text_of(step, "marker"));
        if let Some(state) = padded(step, "providerState") {
            found = found.provider_state(state);
        }
        if let Some(state) = step.get("status").and_then(Value::as_str) {
            found = found.status(Status {
                state: Some(state.to_owned()),
            });
        }
        match step.get("ready").and_then(Value::as_bool) {
            Some(true) => found = found.ready(),
            Some(false) => found = found.not_ready(text_of(step, "text")),
            None => {}
        }
        if step.get("deleting").is_some() {
            found = found.deleting();
        }
        for (key, value) in connection(step) {
            found = found.connection(key, value);
        }
        if let Some(seconds) = number_of(step, "seconds") {
            found = found.observe_after(Duration::from_secs(seconds));
        }
        if step.get("reason").is_some() {
            found = found.warning(text_of(step, "reason"), text_of(step, "message"));
        }
        if let Some(handle) = step.get("handle").and_then(Value::as_str) {
            found = found.operation(Operation::new(verb_of(step, OperationVerb::Create), handle));
        }
        if step.get("upToDate").is_some() {
            found = found.up_to_date();
        }
        if let Some(path) = step.get("path").and_then(Value::as_str) {
            found = found.differs(path, step.get("needsReplacement").is_some());
        }
        for index in 0..number_of(step, "differences").unwrap_or_default() {
            found = found.differs(format!("/size/{index}"), false);
        }
        found
    }
}

fn text_of<'a>(step: &'a Step, field: &str) -> &'a str {
    step.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn number_of(step: &Step, field: &str) -> Option<u64> {
    step.get(field).and_then(Value::as_u64)
}

fn padded(step: &Step, field: &str) -> Option<String> {
    let text = step.get(field)?.as_str()?;
    let length = number_of(step, "length").and_then(|length| usize::try_from(length).ok());
    Some(format!(
        "{text}{}",
        "x".repeat(length.unwrap_or_default().saturating_sub(text.len()))
    ))
}

fn connection(step: &Step) -> Vec<(String, String)> {
    let members = step.get("connection").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    members
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

fn verb_of(step: &Step, own: OperationVerb) -> OperationVerb {
    match text_of(step, "verb") {
        "CREATE" => OperationVerb::Create,
        "UPDATE" => OperationVerb::Update,
        "DELETE" => OperationVerb::Delete,
        _ => own,
    }
}

fn operation(step: &Step, own: OperationVerb) -> Operation {
    let handle = padded(step, "handle").unwrap_or_default();
    let mut operation = Operation::new(verb_of(step, own), handle)
        .phase(text_of(step, "phase"))
        .message(text_of(step, "message"))
        .upstream_id(text_of(step, "upstreamId"));
    if let Some(seconds) = number_of(step, "seconds") {
        operation = operation.poll_after(Duration::from_secs(seconds));
    }
    if let Some(percent) = number_of(step, "progress") {
        operation = operation.progress(u8::try_from(percent).expect("a percentage"));
    }
    if step.get("pollDriven").is_some() {
        operation = operation.poll_driven();
    }
    if let Some(hours) = number_of(step, "hours") {
        operation = operation.expires(SystemTime::now() + Duration::from_secs(hours * 3600));
    }
    operation
}

fn failure(step: &Step) -> Failure {
    let message = text_of(step, "message");
    let after = number_of(step, "seconds").map(Duration::from_secs);
    let mut failure = match text_of(step, "code") {
        "INVALID_SPEC" => Failure::invalid_spec(message),
        "IMMUTABLE_FIELD" => Failure::immutable_field(message),
        "UNSUPPORTED" => Failure::unsupported(message),
        "ALREADY_EXISTS" => Failure::already_exists(text_of(step, "name"), message),
        "NOT_FOUND" => Failure::not_found(message),
        "CONFLICT" => Failure::conflict(message),
        "DEPENDENCY_NOT_READY" => Failure::dependency_not_ready(message),
        "INVALID_CONFIG" => Failure::invalid_config(message),
        "UNAUTHENTICATED" => Failure::unauthenticated(message),
        "CREDENTIALS_EXPIRED" => Failure::credentials_expired(message),
        "PERMISSION_DENIED" => Failure::permission_denied(message),
        "THROTTLED" => Failure::throttled(after.unwrap_or_default(), message),
        "QUOTA_EXCEEDED" => Failure::quota_exceeded(message),
        "UNAVAILABLE" => Failure::unavailable(message),
        "TIMEOUT" => Failure::timeout(message),
        "OPERATION_FAILED" => Failure::operation_failed(message),
        "OPERATION_EXPIRED" => Failure::operation_expired(message),
        "TOKEN_REUSED" => Failure::token_reused(message),
        "INTERNAL" => Failure::internal(message),
        other => panic!("there is no code {other}"),
    };
    match text_of(step, "effect") {
        "NONE" => failure = failure.effect(Effect::None),
        "PARTIAL" => failure = failure.effect(Effect::Partial),
        "UNKNOWN" => failure = failure.effect(Effect::Unknown),
        _ => {}
    }
    if step.get("reason").is_some() {
        failure = failure.reason(text_of(step, "reason"));
    }
    if let Some(after) = after {
        failure = failure.retry_after(after);
    }
    if step.get("path").is_some() {
        failure = failure.violation(text_of(step, "path"), text_of(step, "text"));
    }
    if step.get("upstreamCode").is_some() {
        failure = failure.upstream(text_of(step, "upstreamCode"), text_of(step, "upstreamRequestId"));
    }
    failure
}
