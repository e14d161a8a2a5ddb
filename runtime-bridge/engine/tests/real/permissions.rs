use bridge_engine::{
    api_error::ApiError,
    client::{Clients, ConnectError, ConnectOptions},
    crd,
    metrics::Metrics,
    watch::WatchState,
};
use serde_json::json;
use std::{path::PathBuf, sync::Arc};

use crate::{
    admin::{Admin, plane},
    harness::{LIMIT, RealHarness, until},
};

async fn grant(admin: &Admin, user: &str, rules: serde_json::Value) {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
    let role = json!({"metadata": {"name": user}, "rules": rules});
    let binding = json!({
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    if admin.get(&format!("{path}s/{user}")).await.is_ok() {
        admin.patch(&format!("{path}s/{user}"), &role).await.unwrap();
    } else {
        admin.create(&format!("{path}s"), &role).await.unwrap();
        admin.create(&format!("{path}bindings"), &binding).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_forbidden_says_so_and_works_once_it_is_granted() {
    let admin = Admin::new().await;
    let kubeconfig = plane().await.user_kubeconfig("bridge", None).unwrap();
    let mut stage = RealHarness::new(kubeconfig, admin.clone()).await;
    let kind = stage.kind.api.kind.clone();
    let forbidden = |state: WatchState| matches!(state, WatchState::Forbidden(why) if why.contains("bridge"));
    until("definitions are forbidden", || {
        forbidden(stage.engine.watches.definitions_state())
    })
    .await;
    let waits =
        |state| matches!(state, WatchState::Gone(why) if why.contains("the definitions are not known"));
    until("it says why it waits", || {
        waits(stage.engine.watches.state(&kind))
    })
    .await;
    until("Secrets are forbidden", || {
        forbidden(stage.engine.secrets.state())
    })
    .await;

    let definitions = json!({
        "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list", "watch"],
    });
    grant(&admin, "bridge", json!([definitions])).await;
    let installer = RealHarness::live().await;
    crd::install(&installer.engine.clients.write, &[stage.kind.definition()], LIMIT)
        .await
        .unwrap();
    // Forbidden watches are tried again at most every thirty seconds.
    until("its objects are forbidden", || {
        forbidden(stage.engine.watches.state(&kind))
    })
    .await;
    let refused = stage
        .engine
        .writer
        .get_live(&stage.kind.api, &stage.key("a"))
        .await
        .unwrap_err();
    assert!(matches!(refused, ApiError::Forbidden(_)), "{refused}");

    let buckets = json!({"apiGroups": [kind.group()], "resources": ["*"], "verbs": ["*"]});
    let one_secret = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
    grant(&admin, "bridge", json!([definitions, buckets, one_secret])).await;
    stage.create("a").await;
    assert_eq!(stage.pass("a").await.key, stage.key("a"));

    // Secrets can be read without permission to watch them all, at the price of a few seconds.
    let path = format!("/api/v1/namespaces/{}/secrets", stage.namespace);
    admin
        .create(
            &path,
            &json!({"metadata": {"name": "s"}, "stringData": {"key": "1"}}),
        )
        .await
        .unwrap();
    assert!(forbidden(stage.engine.secrets.state()));
    assert_eq!(
        stage
            .engine
            .secrets
            .read(&stage.namespace, "s")
            .await
            .unwrap()
            .data
            .0["key"],
        b"1"
    );
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_says_why() {
    let connect = async |kubeconfig: PathBuf, context: Option<&str>| {
        let options = ConnectOptions {
            kubeconfig: Some(kubeconfig),
            context: context.map(ToOwned::to_owned),
        };
        Clients::connect(&options, &Arc::new(Metrics::new()))
            .await
            .err()
            .expect("it cannot work")
    };
    let missing = connect(PathBuf::from("/nonexistent/kubeconfig"), None).await;
    assert!(matches!(&missing, ConnectError::Kubeconfig { .. }), "{missing}");
    let good = plane().await.kubeconfig();
    let context = connect(good.clone(), Some("no-such-context")).await;
    assert!(context.to_string().contains("no-such-context"), "{context}");

    let mut config: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&good).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
    let elsewhere = good.with_file_name("elsewhere.kubeconfig");
    std::fs::write(&elsewhere, config.to_string()).unwrap();
    let unreachable = connect(elsewhere, None).await;
    assert!(
        matches!(
            &unreachable,
            ConnectError::Unreachable {
                source: ApiError::Unavailable(_),
                ..
            }
        ),
        "{unreachable:?}"
    );
    assert!(
        unreachable.to_string().contains("https://127.0.0.1:1"),
        "{unreachable}"
    );
}

#[tokio::test]
async fn a_cluster_has_an_identity() {
    let (engine, _gate) = crate::harness::engine(plane().await.kubeconfig()).await;
    let namespace = Admin::new()
        .await
        .get("/api/v1/namespaces/kube-system")
        .await
        .unwrap();
    assert_eq!(
        engine.clients.cluster_id().await.unwrap(),
        namespace["metadata"]["uid"]
    );
    assert!(
        engine.clients.version.starts_with("v1."),
        "{}",
        engine.clients.version
    );
}
