//! Faults, and the rules by which calls meet them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::reply::AwsError;
use crate::service::{Protocol, Service};

/// The effect of a fault on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Harm {
    /// The service's own throttling error; nothing is done.
    Throttle,
    /// HTTP 500; nothing is done.
    ServerError,
    /// The service's own rejection; nothing is done.
    AccessDenied,
    /// Any error; nothing is done.
    Error {
        /// HTTP status of the answer.
        status: u16,
        /// AWS error code, such as `Throttling`.
        code: String,
        /// The error's message.
        message: String,
    },
    /// The connection is cut; nothing is done.
    Refuse,
    /// The work is done this many milliseconds later, even if the client has gone by then, and answered.
    Delay {
        /// From the call to its work, in milliseconds.
        millis: u64,
    },
    /// Nothing is done and nothing is answered, until the client goes.
    Hang,
    /// The work is done, then the connection is cut without an answer.
    AnswerLost,
    /// The work is done, and nothing is answered, until the client goes.
    AnswerHangs,
}

/// A rule: which calls are harmed, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// The effect on them.
    pub harm: Harm,
    /// Calls of this service; of any, if `None`.
    #[serde(default)]
    pub service: Option<Service>,
    /// Calls of this action (`CreateTable`); of any, if `None`.
    #[serde(default)]
    pub action: Option<String>,
    /// So many matching calls go through before.
    #[serde(default)]
    pub skip: u32,
    /// How many calls it applies to before it is removed.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

impl Fault {
    /// Harms the next call, whatever it is.
    pub fn new(harm: Harm) -> Self {
        Self {
            harm,
            service: None,
            action: None,
            skip: 0,
            times: 1,
        }
    }

    /// Only calls of this service and action (`CreateTable`).
    #[must_use]
    pub fn on(mut self, service: Service, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self.on_service(service)
    }

    /// Only calls of this service.
    #[must_use]
    pub fn on_service(mut self, service: Service) -> Self {
        self.service = Some(service);
        self
    }

    /// Lets so many matching calls through first.
    #[must_use]
    pub fn skip(mut self, calls: u32) -> Self {
        self.skip = calls;
        self
    }

    /// Harms so many calls; [`u32::MAX`] is practically for ever.
    #[must_use]
    pub fn times(mut self, calls: u32) -> Self {
        self.times = calls;
        self
    }

    fn matches(&self, call: &Call) -> bool {
        self.times > 0
            && self.service.is_none_or(|service| service == call.service)
            && self.action.as_ref().is_none_or(|action| *action == call.action)
    }
}

/// The rules in force, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(crate) fn add(&self, fault: Fault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn list(&self) -> Vec<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The fault that applies to this call. Every matching rule counts the call; the oldest one that is due applies.
    pub(crate) fn apply(&self, call: &Call) -> Option<Harm> {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = None;
        for rule in rules.iter_mut().filter(|rule| rule.matches(call)) {
            if rule.skip > 0 {
                rule.skip -= 1;
            } else if met.is_none() {
                rule.times -= 1;
                met = Some(rule.harm.clone());
            }
        }
        rules.retain(|rule| rule.times > 0);
        met
    }
}

/// How a call is handled, by the fault that applies to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Handling {
    /// Handled as without a fault.
    Clear,
    /// An error, before any work.
    Refused(AwsError),
    /// No answer, and no work.
    Cut,
    /// Silence, and no work.
    Silent,
    /// Work and answer, after this time.
    Late(Duration),
    /// Work, but no answer.
    AnswerCut,
    /// Work, and no answer on an open connection.
    AnswerSilent,
}

impl Handling {
    pub(crate) fn of(harm: Option<Harm>, service: Service) -> Self {
        let Some(harm) = harm else { return Self::Clear };
        match harm {
            Harm::Throttle => Self::Refused(throttled(service)),
            Harm::ServerError => Self::Refused(AwsError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                if service.protocol() == Protocol::Json {
                    "InternalServerError"
                } else {
                    "InternalError"
                },
                "We encountered an internal error. Please try again.",
            )),
            Harm::AccessDenied => Self::Refused(denied(service)),
            Harm::Error {
                status,
                code,
                message,
            } => Self::Refused(AwsError::new(
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                &code,
                message,
            )),
            Harm::Refuse => Self::Cut,
            Harm::Delay { millis } => Self::Late(Duration::from_millis(millis)),
            Harm::Hang => Self::Silent,
            Harm::AnswerLost => Self::AnswerCut,
            Harm::AnswerHangs => Self::AnswerSilent,
        }
    }
}

/// As services of each protocol word it.
fn throttled(service: Service) -> AwsError {
    match service.protocol() {
        Protocol::RestXmlUnwrapped => AwsError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "SlowDown",
            "Please reduce your request rate.",
        ),
        Protocol::Json => AwsError::bad_request("ThrottlingException", "Rate exceeded"),
        Protocol::JsonQueryCompatible => {
            AwsError::new(StatusCode::FORBIDDEN, "RequestThrottled", "Request is throttled.")
        }
        Protocol::RestXml | Protocol::Query => AwsError::bad_request("Throttling", "Rate exceeded"),
    }
}

fn denied(service: Service) -> AwsError {
    match service.protocol() {
        Protocol::Json => AwsError::bad_request(
            "AccessDeniedException",
            "User is not authorized to perform this action",
        ),
        _ => AwsError::new(StatusCode::FORBIDDEN, "AccessDenied", "Access Denied"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(service: Service, action: &str) -> Call {
        Call {
            service,
            action: action.to_owned(),
            region: String::new(),
            resource: None,
        }
    }

    #[test]
    fn a_fault_applies_the_given_number_of_times() {
        let faults = Faults::default();
        faults.add(
            Fault::new(Harm::Throttle)
                .on(Service::S3, "CreateBucket")
                .skip(1)
                .times(2),
        );
        let create = call(Service::S3, "CreateBucket");
        assert_eq!(faults.apply(&call(Service::S3, "HeadBucket")), None);
        let met = [(); 4].map(|()| faults.apply(&create));
        assert_eq!(met, [None, Some(Harm::Throttle), Some(Harm::Throttle), None]);
        assert_eq!(faults.list(), []);
    }

    #[test]
    fn the_oldest_matching_fault_applies() {
        let faults = Faults::default();
        faults.add(Fault::new(Harm::Hang).skip(1));
        faults.add(Fault::new(Harm::Refuse));
        let any = call(Service::Sts, "GetCallerIdentity");
        assert_eq!(faults.apply(&any), Some(Harm::Refuse));
        assert_eq!(faults.apply(&any), Some(Harm::Hang));
    }

    #[test]
    fn a_fault_reads_from_json_with_sensible_defaults() {
        let fault: Fault = serde_json::from_str(
            r#"{"harm": {"delay": {"millis": 5}}, "service": "DynamoDB", "action": "CreateTable"}"#,
        )
        .unwrap();
        assert_eq!(
            fault,
            Fault::new(Harm::Delay { millis: 5 }).on(Service::DynamoDB, "CreateTable")
        );
    }
}
