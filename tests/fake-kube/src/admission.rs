//! Policies that refuse deletions by a label: of all that a `ValidatingAdmissionPolicy` may say, this alone.

use serde_json::Value;

use crate::{
    reply::{ErrorReply, forbidden},
    resource::Resource,
    state::ClusterState,
};

const GROUP: &str = "admissionregistration.k8s.io";

/// # Errors
/// A policy that a binding puts in force refuses to delete what has the object's labels. Its message is the fixed one, as no expression is
/// evaluated.
pub(crate) fn may_delete(
    state: &ClusterState,
    resource: &Resource,
    object: &Value,
) -> Result<(), ErrorReply> {
    if resource.group == GROUP {
        return Ok(());
    }
    match refusal(state, object) {
        Some(why) => {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            Err(forbidden(resource, name, &why))
        }
        None => Ok(()),
    }
}

/// Why the object may not be deleted now.
pub(crate) fn refusal(state: &ClusterState, object: &Value) -> Option<String> {
    // What has no labels is selected by none of them.
    object["metadata"]["labels"].as_object()?;
    state
        .all("validatingadmissionpolicybindings", GROUP)
        .find_map(|binding| {
            let name = binding["spec"]["policyName"].as_str()?;
            let policy = state.object("validatingadmissionpolicies", GROUP, "", name)?;
            refuses(&policy["spec"], object).then(|| {
                let message = policy["spec"]["validations"][0]["message"].as_str();
                format!(
                    "ValidatingAdmissionPolicy '{name}' with binding '{}' denied request: {}",
                    binding["metadata"]["name"].as_str().unwrap_or_default(),
                    message.unwrap_or_default()
                )
            })
        })
}

fn refuses(spec: &Value, object: &Value) -> bool {
    let constraints = &spec["matchConstraints"];
    let rules = constraints["resourceRules"].as_array();
    let deletes = rules.into_iter().flatten().any(|rule| {
        let operations = rule["operations"].as_array();
        operations.is_some_and(|operations| operations.iter().any(|operation| operation == "DELETE"))
    });
    let labels = constraints["objectSelector"]["matchLabels"].as_object();
    let selects = labels.is_some_and(|labels| {
        let own = &object["metadata"]["labels"];
        labels.iter().all(|(name, value)| own[name] == *value)
    });
    deletes && selects && spec["validations"][0]["expression"] == "false"
}
