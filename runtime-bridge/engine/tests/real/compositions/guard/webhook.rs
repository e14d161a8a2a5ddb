use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_control_plane::Options;
use bridge_core::protection::guard::{Certificates, Reach};
use bridge_engine::{
    api_error::ApiError,
    client::{ApiClient, DEADLINE},
    metrics::Metrics,
    protection::WebhookOptions,
};
use http::Request;
use kube::{Client, Config};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use super::{GuardStage, MAPS, Replica, SYSTEM};
use crate::{
    admin::DEFINITIONS,
    harness::{LIMIT, until, within},
};

const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/crossplane-no-usages";
pub(super) const USAGES: &str = "/apis/protection.crossplane.io/v1beta1/namespaces/shop/usages";
pub(super) const ATTEMPT: &str = "usage.crossplane.io/deletion-attempt-with-policy";

pub(super) fn options(port: u16) -> WebhookOptions {
    WebhookOptions {
        address: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        reach: Reach::Host {
            host: "127.0.0.1".to_owned(),
            port,
        },
        certificate_life: Duration::from_hours(1),
    }
}

/// The kind, without its schema.
pub(super) async fn install_usages(stage: &GuardStage) {
    install(stage, ["Usage", "usages", "Namespaced"]).await;
}

async fn install(stage: &GuardStage, [kind, plural, scope]: [&str; 3]) {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.protection.crossplane.io")},
        "spec": {
            "group": "protection.crossplane.io",
            "scope": scope,
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    stage.admin.create(DEFINITIONS, &crd).await.unwrap();
}

async fn protect(stage: &GuardStage, name: &str, of: &str, uid: Option<&Value>) {
    let spec = json!({
        "of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": of}},
        "by": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "app"}},
    });
    let usage = make(stage, USAGES, "Usage", name, &spec).await;
    if let Some(uid) = uid {
        let record = json!({"usage": usage["metadata"]["uid"], "of": {"uid": uid}}).to_string();
        let recorded = json!({"metadata": {"annotations": {"crossbridge.dev/usage": record}}});
        stage
            .admin
            .patch(&format!("{USAGES}/{name}"), &recorded)
            .await
            .unwrap();
    }
}

/// As soon as the kind is served.
async fn make(stage: &GuardStage, path: &str, kind: &str, name: &str, spec: &Value) -> Value {
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    });
    within(async {
        loop {
            if let Ok(usage) = stage.admin.create(path, &usage).await {
                return usage;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// It can be deleted at first, and is refused once the webhook knows the usage.
async fn refuses(stage: &GuardStage, path: &str) {
    let refused = within(async {
        loop {
            if let Err(refused) = stage.admin.try_delete(path).await {
                return refused;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(
        refused
            .to_string()
            .contains("This resource is in-use by 1 usage(s)"),
        "{refused}"
    );
}

pub(super) async fn certificates(stage: &GuardStage) -> Certificates {
    let path = format!("/api/v1/namespaces/{SYSTEM}/secrets/crossbridge-usage-webhook");
    let secret = stage.admin.get(&path).await.unwrap();
    let text = secret["data"]["certificates.json"].as_str().unwrap();
    serde_json::from_slice(&STANDARD.decode(text).unwrap()).unwrap()
}

/// Whom API servers trust, PEM.
pub(super) async fn trusted(stage: &GuardStage) -> String {
    let configuration = stage.admin.get(CONFIGURATION).await.unwrap();
    let text = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str();
    String::from_utf8(STANDARD.decode(text.unwrap_or_default()).unwrap()).unwrap()
}

/// One that trusts the pair in use asks the webhook itself, as an API server does.
async fn asks(stage: &GuardStage, bridge: &Replica, request: Value) -> Value {
    let authority = certificates(stage).await.current.authority;
    ask(bridge, &authority, request).await.unwrap()
}

/// Likewise one that trusts this authority.
pub(super) async fn ask(bridge: &Replica, authority: &str, request: Value) -> Result<Value, ApiError> {
    let authority = CertificateDer::from_pem_slice(authority.as_bytes()).unwrap();
    let port = bridge.guard.webhook_port().unwrap();
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.root_cert = Some(vec![authority.to_vec()]);
    let client = Client::try_from(config).unwrap();
    let client = ApiClient::new(client, Arc::new(Metrics::new()), DEADLINE);
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let request = Request::post("/validate-no-usages").body(review.to_string().into_bytes());
    client.call("test", "test", request.unwrap()).await
}

#[tokio::test]
async fn the_webhook_answers_as_that_of_crossplane() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    let bridge = stage.webhook(options(0)).await;
    bridge.proved().await;
    let db = stage.map("db", true).await;
    protect(&stage, "u", "db", Some(&db["metadata"]["uid"])).await;
    let path = format!("{MAPS}/db");
    refuses(&stage, &path).await;
    // A dry run writes nothing.
    assert!(stage.admin.try_delete(&path).await.is_err());
    assert!(stage.admin.get(&path).await.unwrap()["metadata"]["annotations"][ATTEMPT].is_null());
    let expected = "admission webhook \"nousages.protection.crossplane.io\" denied the request: This resource is in-use by 1 usage(s), \
        including the *v1beta1.Usage \"u\" (in namespace \"shop\") by resource ConfigMap/app.";
    let refused = stage.delete("db").await;
    assert!(
        matches!(&refused, Err(ApiError::Denied(why)) if why == expected),
        "{refused:?}"
    );
    let noted = stage.admin.get(&path).await.unwrap();
    assert_eq!(noted["metadata"]["annotations"][ATTEMPT], "Background");
    // As kubectl shows it: with the code 409 of the webhook.
    let words = ["delete", "configmap", "db", "-n", "shop", "-v=8"];
    let said = String::from_utf8(stage.kubectl(&words).await.stderr).unwrap();
    assert!(
        said.contains("\"code\":409") || said.contains("409 Conflict"),
        "{said}"
    );

    // What bears the label and is not in use, is deleted, and so is a successor.
    stage.map("stale", true).await;
    stage.delete("stale").await.unwrap();
    stage.map("next", true).await;
    protect(&stage, "of-former", "next", Some(&"former".into())).await;
    within(async {
        // The usage protected whatever has the name before it recorded which it is about.
        while stage.delete("next").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;

    let update = json!({"uid": "q", "operation": "UPDATE", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}});
    assert_eq!(
        asks(&stage, &bridge, update).await["response"],
        json!({"uid": "q", "allowed": false, "status": {
            "code": 400, "message": "unexpected operation \"UPDATE\", expected \"DELETE\"",
        }})
    );

    // While nobody answers, what is in use stays, and all else can be deleted.
    drop(bridge);
    assert!(stage.refusal("db").await.contains("failed calling webhook"));
    stage.map("free", false).await;
    stage.delete("free").await.unwrap();
}

#[tokio::test]
async fn the_webhook_protects_namespaces_and_what_is_in_none() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    install(&stage, ["ClusterUsage", "clusterusages", "Cluster"]).await;
    let bridge = stage.webhook(options(0)).await;
    bridge.proved().await;
    let marked = |name: &str| json!({"name": name, "labels": {"crossplane.io/in-use": "true"}});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": marked("reader"), "rules": [],
    });
    stage.admin.create(roles, &role).await.unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": marked("kept")});
    stage
        .admin
        .create("/api/v1/namespaces", &namespace)
        .await
        .unwrap();
    let used = |api_version: &str, kind: &str, name: &str| {
        let of = json!({"apiVersion": api_version, "kind": kind, "resourceRef": {"name": name}});
        json!({"of": of, "reason": "the test needs it"})
    };
    let of = used("rbac.authorization.k8s.io/v1", "ClusterRole", "reader");
    make(&stage, USAGES, "Usage", "reader", &of).await;
    let cluster_usages = "/apis/protection.crossplane.io/v1beta1/clusterusages";
    make(
        &stage,
        cluster_usages,
        "ClusterUsage",
        "kept",
        &used("v1", "Namespace", "kept"),
    )
    .await;
    refuses(&stage, &format!("{roles}/reader")).await;
    refuses(&stage, "/api/v1/namespaces/kept").await;
}

#[tokio::test]
async fn a_configuration_that_is_edited_or_deleted_is_put_right() {
    let stage = GuardStage::new(Options::default()).await;
    let bridge = stage.webhook(options(0)).await;
    bridge.proved().await;
    let bundle = certificates(&stage).await.bundle();
    let mut foreign = stage.admin.get(CONFIGURATION).await.unwrap();
    assert_eq!(trusted(&stage).await, bundle);
    let authority = certificates(&stage).await.current.certificate;
    foreign["webhooks"][0]["clientConfig"]["caBundle"] = STANDARD.encode(authority).into();
    stage.admin.put(CONFIGURATION, &foreign).await.unwrap();
    within(async {
        while trusted(&stage).await != bundle {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // Nor does it stay away that somebody deletes.
    stage.admin.delete(CONFIGURATION).await.unwrap();
    within(async {
        while stage.admin.get(CONFIGURATION).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(trusted(&stage).await, bundle);
    stage.map("db", true).await;
    within(async {
        // Nobody protects it: as soon as the webhook is asked again, it may go.
        while stage.delete("db").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    bridge.proved().await;

    // The other guard takes its place.
    drop(bridge);
    let bridge = stage.policy().await;
    bridge.proved().await;
    assert!(matches!(
        stage.admin.get(CONFIGURATION).await,
        Err(ApiError::NotFound(_))
    ));
    drop(bridge);
    let bridge = stage.webhook(options(0)).await;
    bridge.proved().await;
    let policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/crossbridge-no-usages";
    assert!(matches!(
        stage.admin.get(policy).await,
        Err(ApiError::NotFound(_))
    ));
}

#[tokio::test]
async fn a_standby_answers_with_the_certificates_that_all_share() {
    let stage = GuardStage::new(Options::default()).await;
    let standby = stage.standby(options(0)).await;
    standby
        .says("the bridge that leads keeps the guard, and knows whether it is in force")
        .await;
    until("the standby listens", || standby.guard.webhook_port().is_some()).await;
    let port = standby.guard.webhook_port().unwrap();
    // Whoever leads: API servers are led to the other one.
    let leader = stage.webhook(options(port)).await;
    leader.proved().await;
    let path = format!("/api/v1/namespaces/{SYSTEM}/secrets");
    let secrets = stage.admin.get(&path).await.unwrap();
    let names: Vec<&Value> = secrets["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| &secret["metadata"]["name"])
        .collect();
    assert_eq!(names, ["crossbridge-usage-webhook"]);
    let configuration = stage.admin.get(CONFIGURATION).await.unwrap();
    let url = &configuration["webhooks"][0]["clientConfig"]["url"];
    assert_eq!(*url, format!("https://127.0.0.1:{port}/validate-no-usages"));
    assert_ne!(leader.guard.webhook_port(), Some(port));
}

#[tokio::test]
async fn certificates_are_renewed_while_every_request_is_answered() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    let bridge = stage
        .webhook(WebhookOptions {
            certificate_life: Duration::from_secs(30),
            ..options(0)
        })
        .await;
    bridge.proved().await;
    stage.map("db", true).await;
    protect(&stage, "u", "db", None).await;
    let path = format!("{MAPS}/db");
    within(async {
        while stage.admin.try_delete(&path).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let first = certificates(&stage).await;
    let renewed = async {
        loop {
            let refused = stage.admin.try_delete(&path).await;
            assert!(
                matches!(&refused, Err(ApiError::Denied(why)) if why.contains("in-use by 1 usage(s)")),
                "{refused:?}"
            );
            let now = certificates(&stage).await;
            if now.current != first.current {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let renewed = tokio::time::timeout(LIMIT * 2, renewed).await.unwrap();
    assert_eq!(renewed.previous_authority, Some(first.current.authority));
    assert_ne!(
        &renewed.current.authority,
        renewed.previous_authority.as_ref().unwrap()
    );
    bridge.proved().await;
    // API servers keep connections: what they trust shows by a new one alone.
    assert_eq!(trusted(&stage).await, renewed.bundle());
}

/// Tries to delete an object all the time; the answer is how often it could have been deleted, and how often it was refused.
async fn tries(stage: &GuardStage, name: &str, until: impl Future<Output = ()>) -> (u32, u32) {
    let path = format!("{MAPS}/{name}");
    let (mut passed, mut refused) = (0, 0);
    let mut until = std::pin::pin!(until);
    loop {
        tokio::select! {
            biased;
            () = &mut until => return (passed, refused),
            tried = stage.admin.try_delete(&path) => match tried {
                Ok(_) => passed += 1,
                Err(_) => refused += 1,
            },
        }
    }
}

#[tokio::test]
async fn a_switch_of_the_guard_leaves_no_gap() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    let db = stage.map("db", true).await;
    protect(&stage, "protect-db", "db", Some(&db["metadata"]["uid"])).await;
    let policy = stage.policy().await;
    policy.proved().await;
    drop(policy);
    let webhook = stage.webhook(options(0)).await;
    let (passed, refused) = tries(&stage, "db", webhook.proved()).await;
    assert!(
        passed == 0 && refused > 0,
        "{passed} passed, {refused} were refused"
    );
    // Whoever serves a webhook goes on until its successor is in force.
    let policy = stage.policy().await;
    let (passed, refused) = tries(&stage, "db", policy.proved()).await;
    assert!(
        passed == 0 && refused > 0,
        "{passed} passed, {refused} were refused"
    );
    drop(webhook);
    let refusal = stage.refusal("db").await;
    assert!(refusal.contains("crossbridge-no-usages"), "{refusal}");
}
