//! `/debug` for whoever shows a token: judged by a real API server, with the rights that `deploy` gives the bridge.

use bridge_control_plane::Options;
use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
use kube::{
    Api,
    api::{DynamicObject, ObjectMeta, PostParams},
};
use serde_json::json;

use crate::{
    admin::Bridge,
    cluster::{Cluster, until},
    compositions::rights::cluster_roles,
    life::apply_manifests,
};

const MANIFESTS: [&str; 2] = [
    include_str!("../../../deploy/compositions.yaml"),
    include_str!("../../../deploy/debug-remote.yaml"),
];

/// The token of a new `ServiceAccount`.
async fn token_of(cluster: &Cluster, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), "default");
    let account = ServiceAccount {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ServiceAccount::default()
    };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let requested = accounts
        .create_token_request(name, &PostParams::default(), &TokenRequest::default())
        .await
        .unwrap();
    requested.status.unwrap().token
}

#[tokio::test]
async fn a_token_opens_debug_if_its_user_may_get_the_path() {
    let options = Options {
        controller_manager: true,
        ..Options::default()
    };
    let mut cluster = Cluster::start_with(options).await;
    for manifests in MANIFESTS {
        apply_manifests(&cluster, manifests).await;
    }
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crossbridge-debug" },
        "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": "default" }],
    });
    apply_manifests(&cluster, &binding.to_string()).await;
    // The controller manager owns the rules of an aggregated role.
    let is_aggregated = |role: &DynamicObject| role.data["rules"].to_string().contains("secrets");
    until(
        &cluster_roles(&cluster),
        "crossbridge-compositions",
        "aggregated",
        is_aggregated,
    )
    .await;
    let account = "system:serviceaccount:crossbridge-system:bridge-compositions";
    let kubeconfig = cluster.plane.user_kubeconfig(account, None).unwrap();
    let bridge = Bridge::spawn(
        &kubeconfig,
        &[
            "--compositions",
            "--namespace",
            "crossbridge-system",
            "--debug-remote",
        ],
    )
    .await;
    let (reader, other) = (
        token_of(&cluster, "reader").await,
        token_of(&cluster, "other").await,
    );
    bridge
        .until("/debug/state", |_, text| text.contains("server"))
        .await;
    for (token, status) in [(reader.as_str(), 200), (other.as_str(), 403), ("forged", 401)] {
        let answered = bridge.get_as("/debug/state", token).await;
        assert_eq!(answered.0, status, "{}", answered.1);
    }
    assert_eq!(
        bridge.get_as("/livez", "forged").await.0,
        200,
        "what is no secret needs no token"
    );
}
