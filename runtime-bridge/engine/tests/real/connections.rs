//! Connections to a real API server.

use std::sync::Arc;

use bridge_engine::{
    client::{ApiClient, Clients, ConnectOptions},
    metrics::Metrics,
};
use futures::{
    FutureExt,
    future::{Either, join_all, select},
};
use http::Request;

use crate::admin::plane;

async fn read(client: &ApiClient, path: &str) -> Result<String, String> {
    let request = Request::get(path).body(Vec::new()).unwrap();
    let answered = client.call_text("get", "configmaps", request).await;
    answered.map_err(|error| error.to_string())
}

/// The API server takes a hundred requests at the same time on one connection, and lets the next one wait until one of them has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_does_not_wait_for_watches_to_end() {
    let options = ConnectOptions {
        kubeconfig: Some(plane().await.kubeconfig()),
        context: None,
    };
    let clients = Clients::connect(&options, &Arc::new(Metrics::new()))
        .await
        .unwrap();
    let client = &clients.watch;
    let watch = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=60";
    let watches = join_all((0..150).map(|_| read(client, watch)));
    let reading = async {
        // After all watches: they are polled first.
        tokio::task::yield_now().await;
        read(client, "/version").await
    };
    match select(watches, reading.boxed()).await {
        Either::Left((ended, _)) => panic!("they ended: {:?}", ended[0]),
        Either::Right((answer, _)) => assert!(answer.unwrap().contains("gitVersion")),
    }
}
