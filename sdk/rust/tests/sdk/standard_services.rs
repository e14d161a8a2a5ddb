//! Health and reflection, for every client that knows gRPC and nothing of us.

use std::collections::BTreeSet;

use crate::support::{Plugin, within};
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

type TestResult = Result<(), Box<dyn std::error::Error>>;

const OURS: [&str; 3] = [
    "crossbridge.provider.v1alpha1.DiscoveryService",
    "crossbridge.provider.v1alpha1.PluginService",
    "crossbridge.provider.v1alpha1.ResourceService",
];

#[tokio::test]
async fn health_knows_every_service_and_ends_with_the_plugin() -> TestResult {
    let plugin = Plugin::start().await;
    let mut client = HealthClient::new(plugin.channel.clone());
    for service in ["", OURS[0], OURS[1], OURS[2]] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let status = client.check(request).await?.into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service}");
    }
    let unknown = client
        .check(HealthCheckRequest {
            service: "elsewhere".to_owned(),
        })
        .await
        .expect_err("it serves no such service");
    assert_eq!(unknown.code(), Code::NotFound);

    let mut watch = client.watch(HealthCheckRequest::default()).await?.into_inner();
    assert_eq!(
        watch.message().await?.map(|message| message.status()),
        Some(ServingStatus::Serving)
    );
    let stopping = tokio::spawn(plugin.stop());
    let mut last = ServingStatus::Serving;
    while let Ok(Some(message)) = within("the watch to end", watch.message()).await {
        last = message.status();
    }
    assert_eq!(last, ServingStatus::NotServing, "a watcher sees the change");
    drop((client, watch));
    stopping.await?;
    Ok(())
}

macro_rules! reflects {
    ($version:ident, $plugin:expr) => {{
        use tonic_reflection::pb::$version::{
            ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
            server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
        };
        let ask = |question| {
            tokio_stream::once(ServerReflectionRequest {
                host: String::new(),
                message_request: Some(question),
            })
        };
        let mut client = ServerReflectionClient::new($plugin.channel.clone());
        let mut answers = client
            .server_reflection_info(ask(MessageRequest::ListServices(String::new())))
            .await?
            .into_inner();
        let Some(MessageResponse::ListServicesResponse(list)) = answers
            .message()
            .await?
            .and_then(|answer| answer.message_response)
        else {
            panic!("no list of services");
        };
        let services: BTreeSet<_> = list.service.into_iter().map(|service| service.name).collect();
        for service in OURS.into_iter().chain(["grpc.health.v1.Health"]) {
            assert!(services.contains(service), "{service} in {services:?}");
        }

        let symbol = MessageRequest::FileContainingSymbol("crossbridge.provider.v1alpha1.Outcome".to_owned());
        let mut answers = client.server_reflection_info(ask(symbol)).await?.into_inner();
        let answer = answers
            .message()
            .await?
            .and_then(|answer| answer.message_response);
        assert!(matches!(answer, Some(MessageResponse::FileDescriptorResponse(_))));
    }};
}

#[tokio::test]
async fn reflection_answers_in_both_versions() -> TestResult {
    let plugin = Plugin::start().await;
    reflects!(v1, plugin);
    reflects!(v1alpha, plugin);
    plugin.stop().await;
    Ok(())
}
