//! Whether the guard is in force: by a deletion that deletes nothing, and must be refused.

use serde_json::{Value, json};

use super::names::{POLICY, TRIAL, WEBHOOK, WEBHOOK_SECRET};
use crate::{
    composite::names::IN_USE,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
};

/// In every message of an API server about a certificate.
const X509: &str = "x509: ";

/// Which guard refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// A policy in the API server.
    Policy,
    /// A webhook that the bridge serves.
    Webhook,
}

/// What became of the deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialAnswer {
    /// It was not refused.
    Deleted,
    /// An admission plugin refused it, in these words.
    Denied(String),
    /// The bridge may not do it.
    Forbidden(String),
    /// Anything else.
    Failed(String),
}

/// What the answer proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// The guard refuses.
    Proved,
    /// It does not, or nobody knows: why, and what to do. It holds nothing that changes by itself.
    NotProved(String),
}

/// What is to be deleted for trial.
pub fn trial_object() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": TRIAL,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, IN_USE: "true"},
            "annotations": {super::super::names::IN_USE_BY: "the trial by which the bridge knows that deletions are refused"},
        },
    })
}

impl Trial {
    /// Only the guard's own refusal proves it: another one says nothing of other objects.
    pub fn of(guard: GuardKind, answer: &TrialAnswer) -> Self {
        let (own, remedy) = match guard {
            GuardKind::Policy => (
                format!("ValidatingAdmissionPolicy '{POLICY}'"),
                format!(
                    "The API server needs a moment to take up the policy {POLICY}; if this lasts, see that its admission plugin \
                     ValidatingAdmissionPolicy is on, or run with --usage-guard=webhook"
                ),
            ),
            GuardKind::Webhook => (
                format!("admission webhook \"{WEBHOOK}\" denied the request"),
                "The API server needs a moment to take up its configuration; if this lasts, see that its admission plugin \
                 ValidatingAdmissionWebhook is on"
                    .to_owned(),
            ),
        };
        let failed = format!("failed calling webhook \"{WEBHOOK}\"");
        Self::NotProved(match answer {
            TrialAnswer::Denied(why) if why.contains(&own) => return Self::Proved,
            TrialAnswer::Deleted => format!("a trial deletion of what is in use was not refused. {remedy}"),
            TrialAnswer::Denied(why) => format!(
                "a trial deletion was refused by something else, which says nothing of other objects: {why}. Exempt the ConfigMap {TRIAL} \
                 from it"
            ),
            TrialAnswer::Forbidden(why) => format!(
                "the bridge may not try the deletion of the ConfigMap {TRIAL}: {why}. Give it the rights of its namespace that \
                 deploy/compositions.yaml has"
            ),
            TrialAnswer::Failed(why)
                if guard == GuardKind::Webhook && why.contains(&failed) && why.contains(X509) =>
            {
                format!(
                    "the API server does not trust the certificate of the webhook: {why}. If this lasts, delete the Secret {WEBHOOK_SECRET} in the \
                 namespace of the bridge to have new ones created"
                )
            }
            TrialAnswer::Failed(why) if guard == GuardKind::Webhook && why.contains(&failed) => format!(
                "the API server does not reach the webhook: {why}. See that --webhook-service, or --webhook-host, leads to the bridge"
            ),
            TrialAnswer::Failed(why) => format!("a trial deletion of what is in use failed: {why}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_POLICY: &str = "configmaps \"crossbridge-usage-guard\" is forbidden: ValidatingAdmissionPolicy 'crossbridge-no-usages' \
        with binding 'crossbridge-no-usages' denied request: This resource is in-use by x";
    const BY_WEBHOOK: &str = "admission webhook \"nousages.protection.crossplane.io\" denied the request: x";

    fn why(guard: GuardKind, answer: &TrialAnswer) -> String {
        match Trial::of(guard, answer) {
            Trial::Proved => panic!("{answer:?} proves nothing"),
            Trial::NotProved(why) => why,
        }
    }

    #[test]
    fn the_refusal_of_the_guard_itself_proves_it() {
        let of = |guard, text: &str| Trial::of(guard, &TrialAnswer::Denied(text.to_owned()));
        assert_eq!(of(GuardKind::Policy, BY_POLICY), Trial::Proved);
        assert_eq!(of(GuardKind::Webhook, BY_WEBHOOK), Trial::Proved);
        assert_ne!(of(GuardKind::Policy, BY_WEBHOOK), Trial::Proved);
        assert_ne!(of(GuardKind::Webhook, BY_POLICY), Trial::Proved);
    }

    #[test]
    fn what_proves_nothing_says_what_to_do() {
        let deleted = &TrialAnswer::Deleted;
        assert!(why(GuardKind::Policy, deleted).contains("plugin ValidatingAdmissionPolicy is on"));
        assert!(why(GuardKind::Webhook, deleted).contains("plugin ValidatingAdmissionWebhook is on"));
        let forbidden = TrialAnswer::Forbidden("no".to_owned());
        assert!(why(GuardKind::Policy, &forbidden).contains("deploy/compositions.yaml"));
        let other = TrialAnswer::Denied("policy of the house".to_owned());
        assert!(why(GuardKind::Policy, &other).contains("policy of the house. Exempt the ConfigMap"));
        let unreachable = format!("Internal error occurred: failed calling webhook \"{WEBHOOK}\": refused");
        let untrusted = format!(
            "{unreachable}: tls: failed to verify certificate: x509: certificate signed by unknown authority"
        );
        let untrusted = why(GuardKind::Webhook, &TrialAnswer::Failed(untrusted));
        assert!(
            untrusted.contains("delete the Secret crossbridge-usage-webhook"),
            "{untrusted}"
        );
        let unreachable = TrialAnswer::Failed(unreachable);
        assert!(why(GuardKind::Webhook, &unreachable).contains("does not reach the webhook"));
    }
}
