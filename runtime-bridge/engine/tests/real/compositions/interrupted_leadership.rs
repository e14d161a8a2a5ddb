//! A lease that is lost and won again while the queue goes on: nothing is resumed then.

use bridge_core::composite::Settings;
use serde_json::json;

use super::stage::{Bridge, Stage, order, orders};
use crate::{
    harness::until,
    leases::{Candidate, client_of, path},
};

#[tokio::test]
async fn orders_are_composed_in_a_second_time_of_leading() {
    let stage = Stage::installed().await;
    let namespace = stage.admin.namespace("one").await;
    let kubeconfig = stage.plane.kubeconfig();
    let candidate = Candidate::start(&client_of(kubeconfig.clone()).await, &namespace, "a");
    let leadership = candidate.leadership.clone();
    until("it leads", || leadership.leads()).await;
    let bridge = Bridge::start_electing(kubeconfig, Settings::default(), leadership.clone()).await;
    stage.define().await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    let term = leadership.term();

    let other = json!({"spec": {"holderIdentity": "b"}});
    stage.admin.patch(&path(&namespace), &other).await.unwrap();
    until("another leads", || !leadership.leads()).await;
    until("it leads again", || leadership.leads()).await;
    assert_eq!(leadership.term(), term + 1);
    let edit = json!({"spec": {"values": {"first": "2"}}});
    let order = format!("{}/a", orders(&namespace));
    stage.admin.patch(&order, &edit).await.unwrap();
    stage.values_become(&namespace, &["2"]).await;
    bridge.end().await;
    candidate.stop().await;
}
