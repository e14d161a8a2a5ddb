//! Letting objects go that stay.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{Writer, patch};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// What is taken off an object.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    /// Uid of the object: of another one nothing is taken off.
    pub uid: &'a str,
    /// The version that this was decided on.
    pub version: Option<u64>,
    /// Uid of the owner.
    pub owner: &'a str,
    /// Labels by which the owner finds it.
    pub labels: &'a [&'a str],
}

impl Writer {
    /// Takes an owner and its labels off an object, so that neither the owner nor the garbage collector deletes it. Nothing else of it is sent: the store
    /// may not have all of it. Not to find it is success.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if it is another object, or has changed.
    pub async fn release(&self, api: &Arc<ApiType>, key: &Key, release: Release<'_>) -> Result<(), ApiError> {
        let object = match self.get_live(api, key).await {
            Ok(object) => object,
            Err(ApiError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let is_it = object.uid() == release.uid
            && release
                .version
                .is_none_or(|version| object.resource_version() == version);
        if !is_it {
            return Err(ApiError::Conflict(
                "it has changed, or it is another object".to_owned(),
            ));
        }
        let change = change(&object, &release);
        let path = api.object_path(key)?;
        let answer = self
            .send("patch", Method::PATCH, api, &path, patch::MERGE, &change)
            .await;
        match answer {
            Ok(answer) => self.take_in(api, &answer).map(drop),
            Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// As a merge patch, which the API server refuses for another uid or version.
fn change(object: &Object, release: &Release<'_>) -> Value {
    let owners = object.meta.owner_references.iter().flatten();
    let others: Vec<_> = owners.filter(|owner| owner.uid != release.owner).collect();
    let labels: serde_json::Map<String, Value> = release
        .labels
        .iter()
        .filter(|label| object.label(label).is_some())
        .map(|label| ((*label).to_owned(), Value::Null))
        .collect();
    json!({"metadata": {
        "uid": object.uid(),
        "resourceVersion": object.resource_version().to_string(),
        "ownerReferences": others,
        "labels": labels,
    }})
}

#[cfg(test)]
mod tests {
    use bridge_core::watch_plan::GroupKind;

    use super::*;

    #[test]
    fn another_owner_and_other_labels_stay() {
        let api = Arc::new(ApiType {
            kind: GroupKind::new("", "ConfigMap"),
            version: "v1".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        });
        let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": uid});
        let object = json!({"metadata": {
            "name": "a", "namespace": "one", "uid": "u", "resourceVersion": "7",
            "labels": {"ours": "1", "theirs": "1"},
            "ownerReferences": [owner("owner"), owner("other")],
        }});
        let object = Object::decode(&api, &object.to_string()).unwrap();
        let release = Release {
            uid: "u",
            version: Some(7),
            owner: "owner",
            labels: &["ours", "absent"],
        };
        assert_eq!(
            change(&object, &release),
            json!({"metadata": {
                "uid": "u", "resourceVersion": "7", "ownerReferences": [owner("other")], "labels": {"ours": null},
            }})
        );
    }
}
