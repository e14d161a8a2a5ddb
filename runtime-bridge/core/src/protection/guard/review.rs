//! What the webhook is asked, and what it answers.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::names::{ATTEMPT, ATTEMPTED_AT},
    names::TRIAL,
    protected::{UsageNote, UsedName},
};

/// An attempt like the last one is noted again after this time: the garbage collector repeats its own for long.
const NOTED_AGAIN: Duration = Duration::from_mins(1);

/// Where a request says nothing of what becomes of dependants.
const DEFAULT_PROPAGATION: &str = "Background";

/// One request that the API server asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Of the question: the answer bears it.
    pub uid: String,
    /// `DELETE`, or what nobody should have asked about.
    pub operation: String,
    /// Nothing is to be written.
    pub dry_run: bool,
    /// What is to become of the object's dependants.
    pub propagation: String,
    /// Version in which the object is addressed.
    pub version: String,
    /// Plural of its kind.
    pub plural: String,
    /// The object that is to be deleted.
    pub used: UsedName,
    /// Its uid.
    pub used_uid: String,
    /// The attempt that it notes.
    noted_attempt: Option<String>,
    /// When that was.
    noted_at: Option<Timestamp>,
}

/// A body that asks nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// It is no JSON.
    #[error("cannot read the AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    /// It is no question of this version.
    #[error("the body is no AdmissionReview of admission.k8s.io/v1 with a request")]
    NoRequest,
}

impl Review {
    /// From the body of the API server's request.
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        let body: Value = serde_json::from_slice(body)?;
        let request = &body["request"];
        let uid = request["uid"].as_str().filter(|uid| !uid.is_empty());
        let is_review = body["apiVersion"] == "admission.k8s.io/v1" && body["kind"] == "AdmissionReview";
        let (true, Some(uid)) = (is_review, uid) else {
            return Err(ReviewError::NoRequest);
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &request["oldObject"]["metadata"];
        // The API server says of a Namespace that it is in itself; and the request that deletes a collection has no name.
        let place = if metadata.is_object() { metadata } else { request };
        let annotation = |name: &str| metadata["annotations"][name].as_str();
        let propagation = request["options"]["propagationPolicy"].as_str();
        Ok(Self {
            uid: uid.to_owned(),
            operation: text(&request["operation"]),
            dry_run: request["dryRun"] == true,
            propagation: propagation.unwrap_or(DEFAULT_PROPAGATION).to_owned(),
            version: text(&request["resource"]["version"]),
            plural: text(&request["resource"]["resource"]),
            used: UsedName {
                group: text(&request["kind"]["group"]),
                kind: text(&request["kind"]["kind"]),
                namespace: text(&place["namespace"]),
                name: text(&place["name"]),
            },
            used_uid: text(&metadata["uid"]),
            noted_attempt: annotation(ATTEMPT).map(str::to_owned),
            noted_at: annotation(ATTEMPTED_AT).and_then(|at| at.parse().ok()),
        })
    }

    /// It is the deletion by which the bridge finds out whether it is asked.
    fn is_trial(&self, namespace: &str) -> bool {
        let used = &self.used;
        self.dry_run
            && (used.group.as_str(), used.kind.as_str()) == ("", "ConfigMap")
            && (used.namespace.as_str(), used.name.as_str()) == (namespace, TRIAL)
    }
}

/// What is answered, and noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub verdict: Verdict,
    /// The attempt, as a merge patch of the object.
    pub note_attempt: Option<Value>,
}

/// May it be deleted?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing uses it.
    Allowed,
    /// It is in use: this is why.
    InUse(String),
    /// It was not asked about a deletion.
    Unexpected(String),
}

/// Decides one request. `usages`: all of the object's name. `namespace`: the bridge's own.
pub fn judge(review: &Review, usages: &[UsageNote], namespace: &str, now: Timestamp) -> Answer {
    let verdict = if review.operation != "DELETE" {
        let operation = &review.operation;
        Verdict::Unexpected(format!("unexpected operation {operation:?}, expected \"DELETE\""))
    } else if review.is_trial(namespace) {
        Verdict::InUse("it is the trial by which the bridge knows that it is asked".to_owned())
    } else {
        let mut usages: Vec<&UsageNote> = usages
            .iter()
            .filter(|usage| usage.protects(&review.used_uid))
            .collect();
        usages.sort();
        match usages.first() {
            Some(first) => Verdict::InUse(refusal(first, usages.len())),
            None => Verdict::Allowed,
        }
    };
    let is_recent = |at: Timestamp| now.duration_since(at).unsigned_abs() < NOTED_AGAIN;
    let is_noted =
        review.noted_attempt.as_ref() == Some(&review.propagation) && review.noted_at.is_some_and(is_recent);
    let notes = matches!(verdict, Verdict::InUse(_)) && !review.dry_run && !is_noted;
    let note = || {
        json!({"metadata": {"annotations": {
            ATTEMPT: review.propagation,
            ATTEMPTED_AT: format!("{now:.0}"),
        }}})
    };
    Answer {
        verdict,
        note_attempt: notes.then(note),
    }
}

/// Crossplane's words.
fn refusal(usage: &UsageNote, count: usize) -> String {
    let UsageNote {
        namespace,
        name,
        kind,
        by,
        reason,
        ..
    } = usage;
    let place = if namespace.is_empty() {
        String::new()
    } else {
        format!(" (in namespace {namespace:?})")
    };
    let why = match (by, reason) {
        (Some(by), _) => format!(" by resource {by}"),
        (None, Some(reason)) => format!(" with reason: {reason:?}"),
        (None, None) => String::new(),
    };
    format!("This resource is in-use by {count} usage(s), including the *{kind} {name:?}{place}{why}.")
}

impl Verdict {
    /// The body of the answer. `uid`: of the question.
    pub fn to_review(&self, uid: &str) -> Value {
        let mut response = json!({"uid": uid, "allowed": *self == Self::Allowed});
        match self {
            Self::Allowed => response["status"] = json!({"code": 200}),
            Self::InUse(why) => response["status"] = json!({"code": 409, "reason": why}),
            Self::Unexpected(why) => response["status"] = json!({"code": 400, "message": why}),
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "q",
                "operation": "DELETE",
                "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                "resource": {"group": "", "version": "v1", "resource": "configmaps"},
                "namespace": "shop",
                "oldObject": {"metadata": {"name": "db", "namespace": "shop", "uid": "u1"}},
                "options": {"kind": "DeleteOptions"},
            },
        })
    }

    fn review(change: impl FnOnce(&mut Value)) -> Review {
        let mut body = body();
        change(&mut body["request"]);
        Review::parse(body.to_string().as_bytes()).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn judge(review: &Review, usages: &[UsageNote], namespace: &str) -> Answer {
        super::judge(review, usages, namespace, at(60))
    }

    fn note(propagation: &str) -> Value {
        json!({"metadata": {"annotations": {
            "usage.crossplane.io/deletion-attempt-with-policy": propagation,
            "crossbridge.dev/deletion-attempted-at": "1970-01-01T00:01:00Z",
        }}})
    }

    fn usage(name: &str) -> UsageNote {
        UsageNote {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            kind: "v1beta1.Usage".to_owned(),
            by: Some("Order/app".to_owned()),
            reason: Some("for a reason".to_owned()),
            used_uid: Some("u1".to_owned()),
        }
    }

    #[test]
    fn what_is_in_use_is_refused_in_the_words_of_crossplane() {
        let answer = judge(&review(|_| {}), &[usage("b"), usage("a")], "system");
        let why = "This resource is in-use by 2 usage(s), including the *v1beta1.Usage \"a\" (in namespace \"shop\") by resource Order/app.";
        assert_eq!(
            answer,
            Answer {
                verdict: Verdict::InUse(why.to_owned()),
                note_attempt: Some(note("Background")),
            }
        );
        let status = &answer.verdict.to_review("q")["response"];
        assert_eq!(
            *status,
            json!({"uid": "q", "allowed": false, "status": {"code": 409, "reason": why}})
        );
        let cluster = UsageNote {
            namespace: String::new(),
            kind: "v1beta1.ClusterUsage".to_owned(),
            by: None,
            ..usage("c")
        };
        assert_eq!(
            refusal(&cluster, 1),
            "This resource is in-use by 1 usage(s), including the *v1beta1.ClusterUsage \"c\" with reason: \"for a reason\"."
        );
    }

    #[test]
    fn what_nothing_uses_is_deleted_and_so_is_a_successor() {
        let allowed = Answer {
            verdict: Verdict::Allowed,
            note_attempt: None,
        };
        assert_eq!(judge(&review(|_| {}), &[], "system"), allowed);
        let successor = review(|request| request["oldObject"]["metadata"]["uid"] = "u2".into());
        assert_eq!(judge(&successor, &[usage("a")], "system"), allowed);
        assert_eq!(
            allowed.verdict.to_review("q")["response"],
            json!({"uid": "q", "allowed": true, "status": {"code": 200}})
        );
    }

    #[test]
    fn an_attempt_is_noted_once_and_never_on_a_dry_run() {
        let noted = |change: &dyn Fn(&mut Value)| judge(&review(change), &[usage("a")], "").note_attempt;
        let foreground = |request: &mut Value| request["options"]["propagationPolicy"] = "Foreground".into();
        assert_eq!(noted(&foreground), Some(note("Foreground")));
        assert_eq!(noted(&|request| request["dryRun"] = true.into()), None);
        let noted_before = |at: &'static str| {
            move |request: &mut Value| {
                request["oldObject"]["metadata"]["annotations"] =
                    json!({ATTEMPT: "Background", ATTEMPTED_AT: at});
            }
        };
        assert_eq!(noted(&noted_before("1970-01-01T00:00:30Z")), None);
        let long_ago = noted_before("1970-01-01T00:00:00Z");
        assert_eq!(noted(&long_ago), Some(note("Background")));
    }

    #[test]
    fn what_is_no_deletion_is_a_bad_request() {
        let update = review(|request| request["operation"] = "UPDATE".into());
        let answer = judge(&update, &[usage("a")], "");
        assert_eq!(
            answer.verdict.to_review("q")["response"]["status"],
            json!({"code": 400, "message": "unexpected operation \"UPDATE\", expected \"DELETE\""})
        );
        assert_eq!(answer.note_attempt, None);
    }

    #[test]
    fn the_trial_is_refused_and_its_removal_is_not() {
        let trial = |dry_run: bool| {
            let review = review(|request| {
                request["oldObject"]["metadata"]["name"] = TRIAL.into();
                request["dryRun"] = dry_run.into();
            });
            judge(&review, &[], "shop").verdict
        };
        assert!(matches!(trial(true), Verdict::InUse(_)));
        assert_eq!(trial(false), Verdict::Allowed);
    }

    /// The namespace of the request is then the object's own name.
    #[test]
    fn a_namespace_is_in_no_namespace() {
        let asked = review(|request| {
            request["kind"]["kind"] = "Namespace".into();
            request["oldObject"]["metadata"] = json!({"name": "shop", "uid": "u1"});
            request["name"] = "shop".into();
        });
        assert_eq!(
            (asked.used.namespace.as_str(), asked.used.name.as_str()),
            ("", "shop")
        );
        let unknown = review(|request| {
            request["oldObject"] = Value::Null;
            request["name"] = "db".into();
        });
        assert_eq!(
            (unknown.used.namespace.as_str(), unknown.used.name.as_str()),
            ("shop", "db")
        );
    }

    #[test]
    fn another_body_asks_nothing() {
        let parsed = |body: &Value| Review::parse(body.to_string().as_bytes());
        assert!(matches!(parsed(&json!({})), Err(ReviewError::NoRequest)));
        let mut older = body();
        older["apiVersion"] = "admission.k8s.io/v1beta1".into();
        assert!(matches!(parsed(&older), Err(ReviewError::NoRequest)));
        assert!(matches!(Review::parse(b"no"), Err(ReviewError::Json(_))));
    }
}
