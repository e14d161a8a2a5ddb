//! The standard services beside the contract's own, and the transport.

use tokio_stream::StreamExt;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::{
    assertion::assertions,
    client::describe,
    run_context::RunContext,
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

/// Services that every plugin serves.
const SERVICES: [&str; 2] = [
    "crossbridge.provider.v1alpha1.PluginService",
    "crossbridge.provider.v1alpha1.ResourceService",
];

/// Served where the plugin lists what exists.
const DISCOVERY: &str = "crossbridge.provider.v1alpha1.DiscoveryService";

/// Longest wait for one of these answers.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

assertions! {
    HEALTH = "health/serving", Core, "plugin_service.proto",
        "grpc.health.v1 reports SERVING of the server as a whole.",
        "Serve grpc.health.v1.Health and set the status of the empty service name.";
    EACH_HEALTH = "health/each-service", Core, "plugin_service.proto",
        "grpc.health.v1 reports SERVING of each of the contract's services that is served.",
        "Set the status under the services' full names too.";
    REFLECTION = "reflection/lists-services", Core, "plugin_service.proto",
        "Reflection (v1 or v1alpha) lists the contract's services.",
        "Register the reflection service with the contract's descriptors.";
    DESCRIBES = "reflection/describes-the-contract", Core, "plugin_service.proto",
        "Reflection finds the file that holds ResourceService.",
        "Give the reflection service the whole descriptor set, imports included.";
    AUTHORITY = "transport/any-authority", Core, "plugin_service.proto",
        "A request is served whatever its :authority is.",
        "Do not check :authority: through a Unix socket the caller chooses it.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    run_ctx.judge(HEALTH, serving(run_ctx, "").await);
    let lists_external = run_ctx.info.as_ref().is_some_and(|info| info.lists_external);
    let served: Vec<&str> = SERVICES
        .into_iter()
        .chain(lists_external.then_some(DISCOVERY))
        .collect();
    for service in &served {
        run_ctx.judge(EACH_HEALTH, serving(run_ctx, service).await);
    }
    let services = ask_reflection(run_ctx, Question::List).await;
    run_ctx.judge(
        REFLECTION,
        services.and_then(|services| lists(&served, &services)),
    );
    let file = ask_reflection(run_ctx, Question::File(SERVICES[1])).await;
    run_ctx.judge(
        DESCRIBES,
        file.and_then(|files| holds(!files.is_empty(), || "it sent no file".to_owned())),
    );
    run_ctx.judge(AUTHORITY, any_authority(run_ctx).await);
    Ok(())
}

async fn serving(run_ctx: &RunContext, service: &str) -> Judgement {
    let asked = HealthCheckRequest {
        service: service.to_owned(),
    };
    let mut health = HealthClient::new(run_ctx.client.channel());
    let response = tokio::time::timeout(PATIENCE, health.check(asked))
        .await
        .map_err(|_| "no answer came".to_owned())?;
    let status = response
        .map_err(|status| describe(&status))?
        .into_inner()
        .status();
    holds(status == ServingStatus::Serving, || {
        format!("of {service:?} it reports {}", status.as_str_name())
    })
}

fn lists(served: &[&str], services: &[String]) -> Judgement {
    let missing: Vec<_> = served
        .iter()
        .filter(|service| !services.iter().any(|listed| listed == *service))
        .collect();
    holds(missing.is_empty(), || format!("it does not list {missing:?}"))
}

async fn any_authority(run_ctx: &RunContext) -> Judgement {
    for authority in ["localhost", "conformance.example.org:1", "127.0.0.1:1"] {
        let channel = run_ctx
            .endpoint
            .channel(Some(authority))
            .map_err(|error| error.to_string())?;
        let mut client =
            crossbridge_proto::v1alpha1::plugin_service_client::PluginServiceClient::new(channel);
        let asked = client.get_plugin_info(crossbridge_proto::v1alpha1::GetPluginInfoRequest::default());
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => {}
            Ok(Err(status)) => return Err(format!("with authority {authority:?}: {}", describe(&status))),
            Err(_) => return Err(format!("with authority {authority:?} no answer came")),
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Question {
    List,
    File(&'static str),
}

/// Names of services, or of one entry for each file. v1 first, then v1alpha, which reports the same in other types.
async fn ask_reflection(run_ctx: &RunContext, question: Question) -> Result<Vec<String>, String> {
    match tokio::time::timeout(PATIENCE, ask_v1(run_ctx, question)).await {
        Ok(Ok(found)) => return Ok(found),
        Ok(Err(status)) if status.code() != tonic::Code::Unimplemented => return Err(describe(&status)),
        Ok(Err(_)) => {}
        Err(_) => return Err("no answer came".to_owned()),
    }
    match tokio::time::timeout(PATIENCE, ask_v1alpha(run_ctx, question)).await {
        Ok(found) => found.map_err(|status| describe(&status)),
        Err(_) => Err("no answer came".to_owned()),
    }
}

macro_rules! asking {
    ($ask:ident, $version:ident) => {
        async fn $ask(run_ctx: &RunContext, question: Question) -> Result<Vec<String>, tonic::Status> {
            use $version::{
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };
            let message_request = Some(match question {
                Question::List => MessageRequest::ListServices(String::new()),
                Question::File(symbol) => MessageRequest::FileContainingSymbol(symbol.to_owned()),
            });
            let request = $version::ServerReflectionRequest {
                host: String::new(),
                message_request,
            };
            let mut client =
                $version::server_reflection_client::ServerReflectionClient::new(run_ctx.client.channel());
            let mut responses = client
                .server_reflection_info(tokio_stream::once(request))
                .await?
                .into_inner();
            let response = responses
                .next()
                .await
                .ok_or_else(|| tonic::Status::unavailable("the stream ended without an answer"))??;
            match response.message_response {
                Some(MessageResponse::ListServicesResponse(list)) => Ok(list
                    .service
                    .into_iter()
                    .map(|service| service.name)
                    .collect()),
                Some(MessageResponse::FileDescriptorResponse(files)) => Ok(files
                    .file_descriptor_proto
                    .iter()
                    .map(|file| format!("{} bytes", file.len()))
                    .collect()),
                Some(MessageResponse::ErrorResponse(error)) => {
                    Err(tonic::Status::not_found(error.error_message))
                }
                _ => Err(tonic::Status::internal("it answered another question")),
            }
        }
    };
}

asking!(ask_v1, v1);
asking!(ask_v1alpha, v1alpha);
