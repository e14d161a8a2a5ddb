//! Who answers, what it serves, and how a change of that is published.

use std::time::Duration;

use crate::fake::{self, Fake, Script};
use bridge_plugin::{ConnectionStatus, HandshakeError, Options, Plugin};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixListener,
    sync::watch,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

fn names(plugin: &Plugin) -> Vec<String> {
    let state = plugin.state();
    let served = state.borrow().served.clone();
    served
        .kinds
        .iter()
        .map(|kind| kind.resource_type.kind.clone())
        .collect()
}

#[tokio::test]
async fn all_pages_of_kinds_are_fetched() {
    let fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    assert_eq!(names(&plugin), ["Bucket", "Queue", "Table"]);
    let state = plugin.state();
    assert_eq!(state.borrow().served.info.name, "test.example.org");
    assert_eq!(state.borrow().link, ConnectionStatus::Up);
}

#[tokio::test]
async fn a_kind_that_breaks_the_contract_is_left_out() {
    let mut script = Script::default();
    script.kinds.get_mut("Queue").unwrap().1.plural = "Queues!".into();
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    assert_eq!(names(&plugin), ["Bucket", "Table"]);
    let served = plugin.state().borrow().served.clone();
    let refused = served.refused.first().unwrap();
    assert_eq!(refused.resource_type.kind, "Queue");
    assert!(refused.why.contains("plural"), "{}", refused.why);
}

#[tokio::test]
async fn another_kind_than_was_asked_for_is_left_out() {
    let mut script = Script::default();
    script.kinds.get_mut("Queue").unwrap().1 = fake::kind("Table");
    let fake = Fake::start(script);
    assert_eq!(names(&fake.connect().await), ["Bucket", "Table"]);
}

async fn refused(options: Options) -> HandshakeError {
    let connected = timeout(Duration::from_secs(30), Plugin::connect(options)).await;
    let Err(error) = connected.expect("the handshake ends") else {
        panic!("the handshake succeeded");
    };
    error
}

#[tokio::test]
async fn another_version_of_the_contract_is_rejected_with_both_names() {
    let mut script = Script::default();
    script.info.contract_versions = vec!["v1".into(), "v1beta1".into()];
    let fake = Fake::start(script);
    let error = refused(fake.options()).await;
    assert!(!error.is_temporary());
    let text = error.to_string();
    assert!(
        text.ends_with("speaks contract version v1, v1beta1, this bridge speaks v1alpha1"),
        "{text}"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_names_the_field() {
    let mut script = Script::default();
    script.info.instance_id = String::new();
    let fake = Fake::start(script);
    let error = refused(fake.options()).await;
    assert!(
        matches!(
            &error,
            HandshakeError::Invalid {
                method: "GetPluginInfo",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("instance_id"), "{error}");
}

#[tokio::test]
async fn an_unreachable_server_may_be_retried() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = format!("unix://{}/none.sock", folder.path().display());
    let error = refused(Options::new(endpoint.parse().unwrap())).await;
    assert!(matches!(error, HandshakeError::Unreachable { .. }), "{error}");
    assert!(error.is_temporary());
}

#[tokio::test]
async fn a_grpc_server_of_another_kind_is_not_a_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("other.sock");
    let incoming = tokio_stream::wrappers::UnixListenerStream::new(UnixListener::bind(&socket).unwrap());
    let (_, health) = tonic_health::server::health_reporter();
    let server = tonic::transport::Server::builder()
        .add_service(health)
        .serve_with_incoming(incoming);
    let server = tokio::spawn(server);
    let error = refused(Options::new(
        format!("unix://{}", socket.display()).parse().unwrap(),
    ))
    .await;
    server.abort();
    assert!(matches!(error, HandshakeError::NotAPlugin { .. }), "{error}");
    assert!(!error.is_temporary());
}

#[tokio::test]
async fn a_listener_without_grpc_is_an_error_without_a_hang() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("web.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                .await;
        }
    });
    let error = refused(Options::new(
        format!("unix://{}", socket.display()).parse().unwrap(),
    ))
    .await;
    server.abort();
    assert!(matches!(error, HandshakeError::Broken { .. }), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_may_be_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("dying.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // It dies when it has been asked.
            let _ = stream.read(&mut [0; 64]).await;
        }
    });
    let endpoint = format!("unix://{}", socket.display());
    let error = refused(Options::new(endpoint.parse().unwrap())).await;
    server.abort();
    assert!(matches!(error, HandshakeError::Broken { .. }), "{error}");
    assert!(error.is_temporary());
}

#[tokio::test]
async fn each_handshake_call_has_an_id_and_a_trace() {
    let fake = Fake::start(Script::default());
    fake.connect().await;
    let asked = fake.script().asked.clone();
    for method in ["GetPluginInfo", "ListResourceKinds", "GetResourceKind"] {
        let (_, metadata) = asked.iter().find(|(asked, _)| *asked == method).unwrap();
        for (key, length) in [("crossbridge-call-id", 36), ("traceparent", 55)] {
            let text = metadata.get(key).map(|value| value.to_str().unwrap());
            assert_eq!(text.map(str::len), Some(length), "{key} of {method}");
        }
        assert!(metadata.get("crossbridge-deadline-ms").is_none(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_listener_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("silent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = refused(Options::new(
        format!("unix://{}", socket.display()).parse().unwrap(),
    ))
    .await;
    assert!(matches!(error, HandshakeError::Silent { .. }), "{error}");
    assert!(error.is_temporary());
}

/// Waits until the state is as wanted.
async fn until(
    state: &mut watch::Receiver<bridge_plugin::PluginState>,
    wanted: impl FnMut(&bridge_plugin::PluginState) -> bool,
) -> bridge_plugin::PluginState {
    let seen = timeout(Duration::from_secs(30), state.wait_for(wanted)).await;
    seen.expect("the state changes in time").unwrap().clone()
}

#[tokio::test]
async fn after_a_restart_changed_kinds_are_fetched_again() {
    let fake = Fake::start(Script::default());
    let (plugin, supervision) = Plugin::connect(fake.options()).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    {
        let mut script = fake.script();
        script.fetched.clear();
        script.info.instance_id = "second".into();
        script.kinds.remove("Table");
        let queue = script.kinds.get_mut("Queue").unwrap();
        queue.0 = "2".into();
        queue.1.description = "Better.".into();
    }
    let state = until(&mut plugin.state(), |state| {
        state.served.info.instance_id == "second"
    })
    .await;
    let kinds: Vec<_> = state
        .served
        .kinds
        .iter()
        .map(|kind| {
            (
                kind.resource_type.kind.as_str(),
                kind.digest.as_str(),
                kind.description.as_str(),
            )
        })
        .collect();
    assert_eq!(kinds, [("Bucket", "1", ""), ("Queue", "2", "Better.")]);
    assert_eq!(fake.script().fetched, ["Queue"]);
    stop.cancel();
    supervised.await.unwrap();
}

#[tokio::test]
async fn a_plugin_restart_is_reported() {
    let mut fake = Fake::start(Script::default());
    let (plugin, supervision) = Plugin::connect(fake.options()).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    fake.stop().await;
    until(&mut plugin.state(), |state| {
        matches!(state.link, ConnectionStatus::Down { .. })
    })
    .await;
    fake.listen();
    until(&mut plugin.state(), |state| state.link == ConnectionStatus::Up).await;
    stop.cancel();
    supervised.await.unwrap();
}

#[tokio::test]
async fn another_plugin_at_the_same_endpoint_is_not_accepted() {
    let fake = Fake::start(Script::default());
    let (plugin, supervision) = Plugin::connect(fake.options()).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    fake.script().info.name = "other.example.org".into();
    let state = until(&mut plugin.state(), |state| {
        matches!(state.link, ConnectionStatus::Down { .. })
    })
    .await;
    let ConnectionStatus::Down { why, .. } = state.link else {
        panic!("it is down");
    };
    assert!(
        why.contains("it was called test.example.org, and now calls itself other.example.org"),
        "{why}"
    );
    assert_eq!(state.served.info.name, "test.example.org");
    stop.cancel();
    supervised.await.unwrap();
}
