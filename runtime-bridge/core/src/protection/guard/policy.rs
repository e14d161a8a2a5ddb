//! The policy, and its binding. It is in force without a running bridge.

use serde_json::{Value, json};

use super::{super::names::IN_USE_BY, names::POLICY};
use crate::{
    composite::names::IN_USE,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
};

/// Where the message does not say by what the object is used.
const NO_DETAILS: &str = "a usage that it does not name";

/// Refuses to delete what bears the label. Every field that the API server would fill in is given, as what is stored is compared with it.
pub fn policy() -> Value {
    let used_by = format!(
        "has(oldObject.metadata.annotations) && '{IN_USE_BY}' in oldObject.metadata.annotations \
         ? oldObject.metadata.annotations['{IN_USE_BY}'] : '{NO_DETAILS}'"
    );
    // The API server takes neither line breaks nor more than 5 KiB.
    let one_line = "variables.usedBy.size() > 2000 \
        ? variables.usedBy.substring(0, 2000).replace('\\n', ' ') : variables.usedBy.replace('\\n', ' ')";
    let resource = "request.resource.group == '' \
        ? request.resource.resource : request.resource.resource + '.' + request.resource.group";
    let namespace = "has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : ''";
    let message = format!(
        "'This resource is in-use by ' + variables.oneLine + '. Delete what uses it, or its usage, first. If there is no such usage, \
         take the label off: kubectl label ' + variables.resource + ' ' + oldObject.metadata.name + variables.inNamespace + ' {IN_USE}-'"
    );
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": POLICY, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {"matchLabels": {IN_USE: "true"}},
                "resourceRules": [{
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["DELETE"],
                    "resources": ["*"],
                    "scope": "*",
                }],
            },
            "variables": [
                {"name": "usedBy", "expression": used_by},
                {"name": "oneLine", "expression": one_line},
                {"name": "resource", "expression": resource},
                {"name": "inNamespace", "expression": namespace},
            ],
            "validations": [{
                "expression": "false",
                "message": format!("This resource is in-use: it has the label {IN_USE}=true"),
                "messageExpression": message,
                "reason": "Forbidden",
            }],
        },
    })
}

/// Puts the policy in force.
pub fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": POLICY, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {"policyName": POLICY, "validationActions": ["Deny"]},
    })
}
