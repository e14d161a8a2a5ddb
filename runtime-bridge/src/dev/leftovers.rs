//! What is left in the end: external resources that nothing manages any more.

use std::path::Path;

use bridge_core::managed::names;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
};

use serde_json::Value;

use super::{progress::ProgressPrinter, watch::established};

/// CRDs of managed resources are of this category.
const MANAGED: &str = "managed";

/// Lists the managed resources that there are, with the names of what they stand for. What cannot be listed is said to be unknown.
pub async fn report(client: &Client, kept: Option<&Path>, progress: ProgressPrinter) {
    let Ok(left) = left(client).await else {
        progress.say("left", "not known, as the control plane does not answer");
        return;
    };
    match (left.len(), kept) {
        (0, _) => progress.say("left", "no external resource"),
        (count, Some(kept)) => progress.say(
            "left",
            &format!("{count} external resource(s), managed again by the next start with --keep {}:", kept.display()),
        ),
        (count, None) => progress.say(
            "left",
            &format!(
                "{count} external resource(s) that nothing manages any more; next time delete the objects first, or use --keep:"
            ),
        ),
    }
    for line in left {
        progress.hint(&line);
    }
}

async fn left(client: &Client) -> Result<Vec<String>, kube::Error> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let definitions = definitions.list(&ListParams::default()).await?;
    let mut left = Vec::new();
    for definition in &definitions {
        let categories = definition.spec.names.categories.iter().flatten();
        let is_managed = categories.into_iter().any(|category| category == MANAGED);
        let Some(resource) = established(definition).filter(|_| is_managed) else {
            continue;
        };
        let objects = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let objects = objects.list(&ListParams::default()).await?;
        left.extend(objects.iter().filter_map(|object| line(&resource.kind, object)));
    }
    Ok(left)
}

/// `None`: nothing of it was ever created, or taken over.
fn line(kind: &str, object: &DynamicObject) -> Option<String> {
    let record = object.annotations().get(names::RECORD)?;
    let name = object.annotations().get(names::EXTERNAL_NAME);
    if !may_exist(record, &object.data) || !object.finalizers().iter().any(|one| one == names::FINALIZER) {
        return None;
    }
    let place = object
        .namespace()
        .map(|namespace| format!("{namespace}/"))
        .unwrap_or_default();
    let name = name.map_or("not named yet", String::as_str);
    Some(format!("{kind} {place}{}: {name}", object.name_any()))
}

/// Something was created or taken over, or a call may have. A record that cannot be read speaks against nothing.
fn may_exist(record: &str, object: &Value) -> bool {
    let Ok(record) = serde_json::from_str::<Value>(record) else {
        return true;
    };
    let status = &object["status"];
    record["intent"].is_object()
        || record["confirmed"] == true
        || record["adopted"] == true
        || !status["crossbridge"]["createToken"].is_null()
        || status["atProvider"]
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_never_created_is_not_left() {
        let object = |annotations, finalizers: &[&str]| {
            serde_json::from_value(json!({
                "metadata": {"name": "a", "namespace": "b", "annotations": annotations, "finalizers": finalizers},
            }))
            .unwrap()
        };
        let with =
            |record: &str| json!({"crossbridge.dev/record": record, "crossplane.io/external-name": "a.txt"});
        let created = with(r#"{"uid": "u", "externalName": "a.txt", "confirmed": true}"#);
        let managed = [names::FINALIZER];
        assert_eq!(
            line("File", &object(created.clone(), &managed)).as_deref(),
            Some("File b/a: a.txt")
        );
        assert_eq!(line("File", &object(created, &[])), None, "nothing holds it");
        let rejected = with(r#"{"uid": "u", "externalName": "a.txt"}"#);
        assert_eq!(
            line("File", &object(rejected, &managed)),
            None,
            "its Create was rejected"
        );
        for record in [r#"{"uid": "u", "intent": {"verb": "Create"}}"#, "cannot be read"] {
            let line = line("File", &object(with(record), &managed));
            assert_eq!(line.as_deref(), Some("File b/a: a.txt"), "{record}");
        }
        assert_eq!(line("File", &object(json!({}), &managed)), None);
    }
}
