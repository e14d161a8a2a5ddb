//! Two candidates for one lease, kept as kubectl and client-go know it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bridge_core::lease::Timing;
use bridge_engine::{
    client::{ApiClient, Clients, ConnectOptions},
    clock::SystemClock,
    lease::{ElectionOptions, Elector, Leadership},
    metrics::Metrics,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    admin::{Admin, plane},
    harness::{LIMIT, until},
};

/// Short, so that nobody waits long; the order of them is what counts.
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry_period: Duration::from_millis(200),
};

pub(crate) struct Candidate {
    pub(crate) leadership: Leadership,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Candidate {
    pub(crate) fn start(client: &ApiClient, namespace: &str, identity: &str) -> Self {
        let options = ElectionOptions {
            namespace: namespace.to_owned(),
            name: "bridge".to_owned(),
            identity: identity.to_owned(),
            timing: TIMING,
        };
        let (elector, leadership) = Elector::new(client, Arc::new(SystemClock), &options);
        let stop = CancellationToken::new();
        let task = tokio::spawn(elector.run(stop.clone()));
        Self {
            leadership,
            stop,
            task,
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(LIMIT, self.task).await.unwrap().unwrap();
    }
}

async fn client() -> ApiClient {
    client_of(plane().await.kubeconfig()).await
}

pub(crate) async fn client_of(kubeconfig: PathBuf) -> ApiClient {
    let options = ConnectOptions {
        kubeconfig: Some(kubeconfig),
        context: None,
    };
    Clients::connect(&options, &Arc::new(Metrics::new()))
        .await
        .unwrap()
        .write
}

/// Of the lease in a namespace.
pub(crate) fn path(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/bridge")
}

#[tokio::test]
async fn one_leads_and_the_next_begins_when_it_lets_go() {
    let (client, admin) = (client().await, Admin::new().await);
    let namespace = admin.namespace("lease-handover").await;
    let a = Candidate::start(&client, &namespace, "a");
    until("a leads", || a.leadership.leads()).await;
    admin
        .patch(
            &path(&namespace),
            &json!({"metadata": {"labels": {"kept": "yes"}}}),
        )
        .await
        .unwrap();
    let b = Candidate::start(&client, &namespace, "b");
    until("b knows who leads", || {
        b.leadership.state().holder.as_deref() == Some("a")
    })
    .await;
    assert!(!b.leadership.leads() && a.leadership.leads());

    a.stop().await;
    until("b leads", || b.leadership.leads()).await;
    let lease = admin.get(&path(&namespace)).await.unwrap();
    assert_eq!(lease["metadata"]["labels"]["kept"], "yes");
    let spec = &lease["spec"];
    assert_eq!(
        (
            &spec["holderIdentity"],
            &spec["leaseDurationSeconds"],
            &spec["leaseTransitions"]
        ),
        (&json!("b"), &json!(3), &json!(1))
    );
    for time in ["acquireTime", "renewTime"] {
        let text = spec[time].as_str().unwrap_or_default();
        assert_eq!(text.len(), "2026-01-01T00:00:00.000000Z".len(), "{time}: {text}");
    }

    b.stop().await;
    let lease = admin.get(&path(&namespace)).await.unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[tokio::test]
async fn a_standby_leads_when_the_lease_expires() {
    let (client, admin) = (client().await, Admin::new().await);
    let namespace = admin.namespace("lease-takeover").await;
    let a = Candidate::start(&client, &namespace, "a");
    until("a leads", || a.leadership.leads()).await;
    // Like kill -9: nothing of it runs any more, and nothing is let go.
    a.task.abort();
    let b = Candidate::start(&client, &namespace, "b");
    until("b leads", || {
        let (before, after) = (b.leadership.leads(), a.leadership.leads());
        assert!(!(before && after), "two lead");
        before
    })
    .await;
    b.stop().await;
}

#[tokio::test]
async fn a_lease_that_is_taken_by_hand_ends_the_leadership() {
    let (client, admin) = (client().await, Admin::new().await);
    let namespace = admin.namespace("lease-by-hand").await;
    let a = Candidate::start(&client, &namespace, "a");
    until("a leads", || a.leadership.leads()).await;
    let mut watch = a.leadership.watch();
    watch.borrow_and_update();
    let taken: Value = json!({"spec": {"holderIdentity": "operator"}});
    admin.patch(&path(&namespace), &taken).await.unwrap();
    tokio::time::timeout(LIMIT, watch.wait_for(|leads| !leads))
        .await
        .unwrap()
        .unwrap();
    assert!(!a.leadership.leads());
    a.stop().await;
    let lease = admin.get(&path(&namespace)).await.unwrap();
    assert_eq!(
        lease["spec"]["holderIdentity"], "operator",
        "what is not ours is not let go"
    );
}
