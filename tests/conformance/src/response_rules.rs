//! Rules of every answer, judged on each one that the kit gets.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crossbridge_proto::v1alpha1::{self as wire, FailureCode};
use crossbridge_types::{Violation, limits};
use tonic::{Code, Status};

use crate::{
    assertion::{Assertion, assertions},
    client::Method,
    process_control::{END_FOLLOWS, ProcessControl},
    response::{Parts, ResponseMessage},
    secrets::Canaries,
    spelling::spell,
    verdict::{Judgement, holds},
    verdict_log::VerdictLog,
};

/// Handles and states, in bytes.
const STATE_LIMIT: usize = 4096;

/// How far ahead a handle's end must lie, with room for the answer's way.
const SHORTEST_EXPIRY: Duration = Duration::from_mins(24 * 60 - 1);

assertions! {
    WELL_FORMED = "responses/well-formed", Core, "plugin_service.proto",
        "Every field that is REQUIRED is set, and every field has its form.",
        "Set the field that is named; the contract states at each field what it accepts.";
    SIZE = "responses/size", Core, "plugin_service.proto",
        "A response has at most 4 MiB.",
        "Leave out of parameters and status what nobody compares or reads; a bridge rejects what is larger.";
    TEXTS = "responses/texts", Core, "plugin_service.proto",
        "A text for people has at most 4 KiB, and no control characters but tabs and ends of lines.",
        "Shorten what the upstream said: a bridge cuts the text, and replaces such characters.";
    NO_BARE_ERRORS = "responses/no-bare-errors", Core, "plugin_service.proto",
        "The outcome of the external system stands in the body, never in the gRPC status.",
        "Catch what your code raises and return a Failure. A status other than INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND and UNIMPLEMENTED reads as an unknown outcome.";
    IN_TIME = "responses/before-the-deadline", Core, "plugin_service.proto",
        "A call is answered before its deadline.",
        "Bound your upstream client by the call's deadline; what takes longer is an Operation.";
    NAME_NEVER_CHANGES = "responses/name-never-changes", Core, "Outcome.external_name",
        "The external name in a response is the one that was sent.",
        "Return the name that the call came with; a resource keeps its name for life.";
    KEYS_DECLARED = "responses/connection-keys-declared", Core, "ResourceKind.connection_keys",
        "Every key of the connection details is declared by the kind.",
        "List the key in connection_keys, or leave it out of the response.";
    STATE_SIZE = "responses/state-size", Core, "Target.provider_state",
        "The provider state has at most 4 KiB.",
        "Keep only what the next call needs.";
    CODE = "failure/code", Core, "Failure.code",
        "A failure has one of the contract's codes.",
        "Choose the code whose documented reaction fits; INTERNAL for a bug of the plugin.";
    EFFECT = "failure/effect", Core, "Failure.effect",
        "A failed mutating call reports the effect that it left behind.",
        "Set effect: NONE only if nothing was and nothing will be changed, PARTIAL, else UNKNOWN.";
    NO_EFFECT_NO_NAME = "failure/no-effect-no-name", Core, "Effect.EFFECT_NONE",
        "A creation that failed with EFFECT_NONE names nothing that the upstream gave, save with NOT_FOUND.",
        "Once the upstream has given a name something exists: report PARTIAL, or leave out the name of what never existed.";
    REASON = "failure/reason", Core, "Failure.reason",
        "A failure's reason is PascalCase of at most 63 bytes.",
        "Give each cause a short stable word, such as BucketNotEmpty.";
    MESSAGE = "failure/message", Core, "Failure.message",
        "A failure has a message.",
        "State in one or two sentences what the user can do.";
    VIOLATIONS = "failure/violations", Core, "FieldViolation.path",
        "An invalid field is named by a JSON Pointer, with the reason.",
        "Write /spec/size as a JSON Pointer into parameters; leave it empty for the external name.";
    THROTTLED = "failure/throttled-has-retry-after", Core, "FailureCode.FAILURE_CODE_THROTTLED",
        "THROTTLED comes with retry_after.",
        "Set retry_after from the upstream's advice, or to a guess: every object of the config waits for it.";
    HANDLE_SIZE = "operation/handle-size", Core, "Operation.handle",
        "An operation's handle is set, and has at most 4 KiB.",
        "Put ids into the handle, not documents.";
    VERB = "operation/verb", Core, "Operation.verb",
        "The verb of an operation is that of the call that began it.",
        "Set verb to CREATE, UPDATE or DELETE.";
    PROGRESS = "operation/progress-in-range", Core, "Operation.progress_percent",
        "Progress lies between 0 and 100.",
        "Leave it out where the upstream does not report it.";
    PHASE = "operation/phase", Core, "Operation.phase",
        "A phase is PascalCase of at most 63 bytes.",
        "Give each step a stable word, such as CopyingData.";
    EXPIRY = "operation/expires-late", Core, "Operation.expire_time",
        "A handle is valid for at least 24 hours.",
        "Leave expire_time out, or choose a handle that lasts.";
    NO_SECRETS = "secrets/not-in-responses", Core, "plugin_service.proto",
        "No credential and no sensitive value stands in a response outside connection details.",
        "Take it out of parameters, status, provider_state, diffs and warnings.";
    NO_SECRETS_IN_HANDLES = "secrets/not-in-handles", Core, "Operation.handle",
        "No credential and no sensitive value stands in a handle.",
        "A handle holds ids only: each poll brings today's credentials.";
    NO_SECRETS_IN_ERRORS = "secrets/not-in-errors", Core, "Failure",
        "No credential and no sensitive value stands in a failure or a status.",
        "Do not put requests or settings into messages; take out what an upstream's error quotes.";
}

/// What has to be known to judge an answer.
#[derive(Debug, Clone)]
pub(crate) struct ResponseRules {
    pub verdict_log: Arc<VerdictLog>,
    /// Whom the verdicts are about.
    pub subject: String,
    /// What no answer may hold.
    pub canaries: Canaries,
    /// Keys that the kind declares; `None`: no kind is known.
    pub connection_keys: Option<BTreeSet<String>>,
    /// A plugin whose process has ended gives no status: its end is what is wrong.
    pub process_control: Arc<ProcessControl>,
}

impl ResponseRules {
    /// Judges an answer's body.
    pub(crate) fn body<A: ResponseMessage>(&self, method: Method, sent_name: &str, response: &A) {
        let parts = response.parts();
        // What the plugin and its kinds say of themselves has assertions of its own.
        if !matches!(method, Method::GetPluginInfo | Method::GetResourceKind) {
            self.judge(WELL_FORMED, well_formed(method, response.violation()));
        }
        let bytes = response.encoded_len();
        let size = holds(bytes <= limits::ANSWER, || {
            format!("the answer to {method} has {bytes} bytes")
        });
        self.judge(SIZE, size);
        for text in &parts.texts {
            self.judge(TEXTS, text_for_people(method, text));
        }
        for name in &parts.external_names {
            self.judge(NAME_NEVER_CHANGES, same_name(method, sent_name, name));
        }
        if let Some(declared) = &self.connection_keys {
            for key in &parts.connection_keys {
                let known = holds(declared.contains(*key), || {
                    format!("{method} gave the key {key:?}, which the kind does not declare")
                });
                self.judge(KEYS_DECLARED, known);
            }
        }
        for state in parts.provider_states.iter().filter(|state| !state.is_empty()) {
            let size = holds(state.len() <= STATE_LIMIT, || {
                format!("{method} gave a provider_state of {} bytes", state.len())
            });
            self.judge(STATE_SIZE, size);
        }
        for failure in &parts.failures {
            self.failure(method, failure);
            if sent_name.is_empty() && ends_a_creation(method, failure) {
                self.judge(
                    NO_EFFECT_NO_NAME,
                    names_nothing(method, failure, &parts.external_names),
                );
            }
        }
        for operation in &parts.operations {
            self.operation(method, operation);
        }
        for operation in &parts.found_operations {
            self.operation(Method::Observe, operation);
        }
        if !self.canaries.is_empty() {
            self.secrets(method, response, &parts);
        }
    }

    /// Judges a status that came instead of a body. Only of a call that nothing interfered with.
    pub(crate) async fn status(&self, method: Method, status: &Status, is_the_plugins: bool) {
        let judgement = no_bare_error(method, status);
        let is_end = judgement.is_err() && self.process_control.unexpected_end(END_FOLLOWS).await.is_some();
        if is_the_plugins && !is_end {
            self.judge(NO_BARE_ERRORS, judgement);
        }
    }

    /// Judges whether a status, of any call, holds a secret.
    pub(crate) fn check_for_secrets(&self, method: Method, status: &Status) {
        let said = [status.message().as_bytes(), status.details()];
        if let Some(what) = said.iter().find_map(|part| self.canaries.found_in(part)) {
            self.judge(
                NO_SECRETS_IN_ERRORS,
                Err(format!("the status of {method} holds the {what}")),
            );
        }
    }

    /// Judges whether an answer came before the deadline.
    pub(crate) fn time(&self, method: Method, in_time: bool, limit: Duration) {
        let judgement = holds(in_time, || {
            format!("{method} was not answered within {} ms", limit.as_millis())
        });
        self.judge(IN_TIME, judgement);
    }

    fn failure(&self, method: Method, failure: &wire::Failure) {
        let said = |problem: &str| format!("the failure of {method} {problem}");
        let code = FailureCode::try_from(failure.code).unwrap_or_default();
        self.judge(
            CODE,
            holds(code != FailureCode::Unspecified, || {
                said(&format!("has the code {}", failure.code))
            }),
        );
        if method.changes() {
            let effect = wire::Effect::try_from(failure.effect).unwrap_or_default();
            self.judge(
                EFFECT,
                holds(effect != wire::Effect::Unspecified, || {
                    said(&format!("({}) has no effect", failure.reason))
                }),
            );
        }
        self.judge(
            REASON,
            holds(is_pascal_case(&failure.reason), || {
                said(&format!("has the reason {:?}", failure.reason))
            }),
        );
        self.judge(
            MESSAGE,
            holds(!failure.message.trim().is_empty(), || said("has no message")),
        );
        for violation in &failure.violations {
            let good = (violation.path.is_empty() || violation.path.starts_with('/'))
                && !violation.message.is_empty();
            self.judge(
                VIOLATIONS,
                holds(good, || {
                    said(&format!(
                        "names the field {:?} and reports {:?}",
                        violation.path, violation.message
                    ))
                }),
            );
        }
        if code == FailureCode::Throttled {
            let wait = failure
                .retry_after
                .is_some_and(|after| after.seconds > 0 || after.nanos > 0);
            self.judge(
                THROTTLED,
                holds(wait, || said("is THROTTLED without retry_after")),
            );
        }
    }

    fn operation(&self, method: Method, operation: &wire::Operation) {
        let size = operation.handle.len();
        let handle = holds((1..=STATE_LIMIT).contains(&size), || {
            format!("the handle from {method} has {size} bytes")
        });
        self.judge(HANDLE_SIZE, handle);
        self.judge(VERB, verb(method, operation.verb()));
        if let Some(percent) = operation.progress_percent {
            let range = holds((0..=100).contains(&percent), || {
                format!("{method} reports {percent} percent")
            });
            self.judge(PROGRESS, range);
        }
        if !operation.phase.is_empty() {
            let phase = holds(is_pascal_case(&operation.phase), || {
                format!("{method} reports phase {:?}", operation.phase)
            });
            self.judge(PHASE, phase);
        }
        if let Some(expires) = operation.expire_time {
            let ahead = SystemTime::try_from(expires)
                .ok()
                .and_then(|time| time.duration_since(SystemTime::now()).ok())
                .unwrap_or_default();
            let late = holds(ahead >= SHORTEST_EXPIRY, || {
                format!("the handle from {method} holds for {} s", ahead.as_secs())
            });
            self.judge(EXPIRY, late);
        }
    }

    /// One finding for one leak: where it stands decides which.
    fn secrets<A: ResponseMessage>(&self, method: Method, response: &A, parts: &Parts<'_>) {
        let in_handle = parts
            .operations
            .iter()
            .chain(&parts.found_operations)
            .find_map(|operation| self.canaries.found_in(operation.handle.as_bytes()));
        let in_failure = parts.failures.iter().find_map(|failure| {
            self.canaries
                .found_in(prost::Message::encode_to_vec(*failure).as_slice())
        });
        let mut visible = response.clone();
        visible.hide_secrets();
        let anywhere = self.canaries.found_in(&visible.encode_to_vec());
        let check_for_secrets = |found: Option<&str>| match found {
            Some(what) => Err(format!("the answer to {method} holds the {what}")),
            None => Ok(()),
        };
        if !parts.operations.is_empty() || !parts.found_operations.is_empty() {
            self.judge(NO_SECRETS_IN_HANDLES, check_for_secrets(in_handle));
        }
        if !parts.failures.is_empty() {
            self.judge(NO_SECRETS_IN_ERRORS, check_for_secrets(in_failure));
        }
        if in_handle.is_none() && in_failure.is_none() {
            self.judge(NO_SECRETS, check_for_secrets(anywhere));
        }
    }

    fn judge(&self, assertion: &'static Assertion, judgement: Judgement) {
        self.verdict_log.judge(assertion, &self.subject, judgement);
    }
}

fn text_for_people(method: Method, text: &str) -> Judgement {
    let shown: String = text.chars().take(40).collect();
    holds(text.len() <= limits::TEXT, || {
        format!("{method} gave a text of {} bytes: {shown:?}…", text.len())
    })?;
    holds(limits::printable(text) == text, || {
        format!("{method} gave a text with control characters: {shown:?}")
    })
}

fn well_formed(method: Method, violation: Option<Violation>) -> Judgement {
    match violation {
        Some(violation) if !is_judged_elsewhere(&violation.field) => {
            Err(format!("the answer to {method}: {violation}"))
        }
        _ => Ok(()),
    }
}

/// Fields whose form has an assertion of its own.
fn is_judged_elsewhere(field: &str) -> bool {
    let parts: Vec<&str> = field
        .split('.')
        .map(|part| part.split('[').next().unwrap_or(part))
        .collect();
    let within =
        |outer: &str, inner: &[&str]| parts.contains(&outer) && parts.iter().any(|part| inner.contains(part));
    within("failure", &["reason", "message", "violations"])
        || within("operation", &["handle", "verb", "progress_percent", "phase"])
        || parts.contains(&"provider_state")
}

fn same_name(method: Method, sent: &str, got: &str) -> Judgement {
    holds(sent.is_empty() || got.is_empty() || sent == got, || {
        format!("{method} was asked about {sent:?} and answered about {got:?}")
    })
}

/// Whether a failure reports that a creation was without any effect, by a code that then has no name to report.
fn ends_a_creation(method: Method, failure: &wire::Failure) -> bool {
    let speaks_of_it = match method {
        Method::Create => failure.code() != FailureCode::NotFound,
        Method::PollOperation => failure.code() == FailureCode::OperationFailed,
        _ => false,
    };
    speaks_of_it && failure.effect() == wire::Effect::None
}

fn names_nothing(method: Method, failure: &wire::Failure, names: &[&str]) -> Judgement {
    match names.iter().find(|name| !name.is_empty()) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{method} failed ({}) with EFFECT_NONE and named {name:?}",
            failure.reason
        )),
    }
}

fn verb(method: Method, verb: wire::OperationVerb) -> Judgement {
    let fits = match method {
        Method::Create => verb == wire::OperationVerb::Create,
        Method::Update => verb == wire::OperationVerb::Update,
        Method::Delete => verb == wire::OperationVerb::Delete,
        _ => verb != wire::OperationVerb::Unspecified,
    };
    holds(fits, || {
        format!("the operation from {method} reports {}", verb.as_str_name())
    })
}

fn no_bare_error(method: Method, status: &Status) -> Judgement {
    let is_about_the_call = matches!(
        status.code(),
        Code::InvalidArgument | Code::FailedPrecondition | Code::NotFound | Code::Unimplemented
    );
    holds(is_about_the_call, || {
        format!(
            "{method} ended in the status {}: {}",
            spell(status.code()),
            status.message()
        )
    })
}

fn is_pascal_case(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
