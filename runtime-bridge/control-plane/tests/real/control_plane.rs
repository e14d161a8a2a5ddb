//! The real control plane, as its users see it.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use bridge_control_plane::{ControlPlane, Options};

const LIMIT: Duration = Duration::from_mins(1);

fn kubectl(plane: &ControlPlane, kubeconfig: &Path, arguments: &str) -> Output {
    Command::new(plane.kubectl())
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

/// Runs kubectl as the administrator; it must succeed.
fn admin(plane: &ControlPlane, arguments: &str) -> String {
    let output = kubectl(plane, &plane.kubeconfig(), arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn controllers_work_and_users_may_do_what_rbac_grants() {
    let mut plane = ControlPlane::start(Options {
        controller_manager: true,
        ..Options::default()
    })
    .await
    .unwrap();

    admin(&plane, "create namespace doomed");
    admin(&plane, "create configmap inside -n doomed");
    admin(&plane, "delete namespace doomed --timeout=60s");
    assert_eq!(admin(&plane, "get namespace doomed --ignore-not-found"), "");

    admin(&plane, "create configmap owner");
    let uid = admin(&plane, "get configmap owner -o jsonpath={.metadata.uid}");
    admin(&plane, "create configmap owned");
    let owners = format!(
        r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{uid}"}}]}}}}"#
    );
    admin(&plane, &format!("patch configmap owned --type=merge -p {owners}"));
    admin(&plane, "delete configmap owner");
    until("the owned object is collected", || {
        admin(&plane, "get configmap owned --ignore-not-found").is_empty()
    })
    .await;

    let jane = plane.user_kubeconfig("jane", Some("readers")).unwrap();
    let refused = kubectl(&plane, &jane, "get configmaps");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains(r#"User "jane" cannot list resource "configmaps""#),
        "{said}"
    );
    admin(
        &plane,
        "create clusterrolebinding readers --clusterrole=view --group=readers",
    );
    until("the group may read", || {
        kubectl(&plane, &jane, "get configmaps").status.success()
    })
    .await;
    assert!(!kubectl(&plane, &jane, "create configmap hers").status.success());
}

#[tokio::test]
async fn two_control_planes_are_isolated() {
    let (one, other) = tokio::try_join!(
        ControlPlane::start(Options::default()),
        ControlPlane::start(Options::default())
    )
    .unwrap();
    assert_ne!(one.url(), other.url());
    admin(&one, "create namespace here");
    assert_eq!(admin(&other, "get namespace here --ignore-not-found"), "");
    let crossed = Command::new(one.kubectl())
        .arg("--kubeconfig")
        .arg(one.kubeconfig())
        .args(["--server", &other.url(), "get", "namespaces"])
        .output()
        .unwrap();
    assert!(
        !crossed.status.success(),
        "the authority of one is not trusted by the other"
    );
}

#[tokio::test]
async fn the_api_server_can_be_stopped_and_restarted() {
    let mut plane = ControlPlane::start(Options::default()).await.unwrap();
    admin(&plane, "create namespace kept");
    let ask = "--request-timeout=1s get namespace kept -o name";

    plane.stop_api_server();
    assert!(plane.api_server().is_none());
    let refused = kubectl(&plane, &plane.kubeconfig(), ask);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("refused"),
        "{refused:?}"
    );
    plane.start_api_server().await.unwrap();
    assert_eq!(admin(&plane, ask), "namespace/kept\n");

    plane.pause_api_server();
    let silent = kubectl(&plane, &plane.kubeconfig(), ask);
    assert!(!silent.status.success(), "{silent:?}");
    plane.resume_api_server();
    assert_eq!(admin(&plane, "get namespace kept -o name"), "namespace/kept\n");
}
