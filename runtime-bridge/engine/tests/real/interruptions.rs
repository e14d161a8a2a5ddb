use bridge_control_plane::{ControlPlane, Options};
use bridge_engine::{crd, watch::WatchState};
use serde_json::json;

use crate::{
    admin::{Admin, plane},
    harness::{LIMIT, RealHarness, until},
    wire::Wire,
};

/// Live, over a wire.
async fn wired(wire: &Wire, plane: &ControlPlane) -> RealHarness {
    let stage = RealHarness::new(wire.kubeconfig(&plane.kubeconfig()), Admin::of(plane).await).await;
    crd::install(&stage.engine.clients.write, &[stage.kind.definition()], LIMIT)
        .await
        .unwrap();
    stage.until_live().await;
    stage
}

fn lists(stage: &RealHarness) -> u64 {
    let kinds = stage.engine.watches.kinds();
    kinds
        .iter()
        .find(|watch| watch.kind == stage.kind.api.kind)
        .unwrap()
        .lists
}

async fn until_cut(stage: &RealHarness) {
    let kind = &stage.kind.api.kind;
    until("the cut is noticed", || {
        matches!(stage.engine.watches.state(kind), WatchState::Syncing(_))
    })
    .await;
}

#[tokio::test]
async fn what_happened_while_the_wire_was_cut_is_heard_afterwards() {
    let plane = plane().await;
    let wire = Wire::to(&plane.url()).await;
    let mut stage = wired(&wire, &plane).await;
    drop(plane);
    stage.create("changes").await;
    stage.create("goes").await;
    stage.pass("changes").await;
    stage.pass("goes").await;

    wire.cut();
    until_cut(&stage).await;
    assert_eq!(
        stage.engine.store.count(&stage.kind.api.kind),
        2,
        "what is known stays known"
    );
    stage
        .admin
        .patch(&stage.path("changes"), &json!({"spec": {"size": 9}}))
        .await
        .unwrap();
    stage.admin.delete(&stage.path("goes")).await.unwrap();
    stage.create("comes").await;
    wire.mend();

    assert_eq!(
        stage.pass("changes").await.object.unwrap().spec_value()["size"],
        9
    );
    assert!(stage.pass("goes").await.object.is_none());
    assert!(stage.pass("comes").await.object.is_some());
    stage.until_live().await;
    assert_eq!(lists(&stage), 1, "it went on where it stood");
}

#[tokio::test]
async fn a_restarted_api_server_is_listed_anew() {
    let mut plane = ControlPlane::start(Options::default()).await.unwrap();
    let wire = Wire::to(&plane.url()).await;
    let mut stage = wired(&wire, &plane).await;
    for name in ["stays", "changes", "goes"] {
        stage.create(name).await;
        stage.pass(name).await;
    }
    let stays = stage.stored("stays").await;

    wire.cut();
    until_cut(&stage).await;
    plane.stop_api_server();
    plane.start_api_server().await.unwrap();
    // More than the new server's cache of the kind reaches back to.
    stage
        .admin
        .patch(&stage.path("changes"), &json!({"spec": {"size": 9}}))
        .await
        .unwrap();
    stage.admin.delete(&stage.path("goes")).await.unwrap();
    stage.create("comes").await;
    wire.mend();

    assert_eq!(
        stage.pass("changes").await.object.unwrap().spec_value()["size"],
        9
    );
    assert!(stage.pass("goes").await.object.is_none());
    assert!(stage.pass("comes").await.object.is_some());
    stage.until_live().await;
    assert_eq!(lists(&stage), 2, "its place in the watch was no longer known");
    assert_eq!(
        stage
            .engine
            .store
            .get(&stage.key("stays"))
            .unwrap()
            .resource_version(),
        stays.resource_version()
    );
    let again = stage
        .passes
        .try_recv()
        .ok()
        .filter(|found| found.key.name() == "stays");
    assert!(again.is_none(), "what did not change is nobody's turn: {again:?}");

    // And it is live in earnest.
    stage.create("later").await;
    assert!(stage.pass("later").await.object.is_some());
}
