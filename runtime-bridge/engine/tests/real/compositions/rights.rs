//! A user of certain rights, as whom the bridge runs.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};

use super::stage::Stage;
use crate::harness::within;

const USER: &str = "bridge";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// What is to be known of the rights of the bridge: attributes of a resource, and whether that is allowed.
pub(super) struct Known {
    pub(super) attributes: Value,
    pub(super) is_allowed: bool,
}

/// Credentials of the user, who has no rights yet.
pub(super) fn credentials(stage: &mut Stage) -> PathBuf {
    stage.plane.user_kubeconfig(USER, None).unwrap()
}

/// Gives the user these rights alone, which are rules of a role, and waits until the API server knows.
pub(super) async fn grant(stage: &Stage, rules: &Value, known: &Known) {
    let role = json!({"metadata": {"name": USER}, "rules": rules});
    let path = format!("{RBAC}/clusterroles/{USER}");
    if stage.admin.get(&path).await.is_ok() {
        stage.admin.patch(&path, &role).await.unwrap();
    } else {
        stage.create(&format!("{RBAC}/clusterroles"), &role).await;
        let binding = json!({
            "metadata": {"name": USER},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
        });
        stage
            .create(&format!("{RBAC}/clusterrolebindings"), &binding)
            .await;
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": USER, "resourceAttributes": known.attributes},
    });
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    within(async {
        while stage.admin.create(reviews, &review).await.unwrap()["status"]["allowed"] != known.is_allowed {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}
