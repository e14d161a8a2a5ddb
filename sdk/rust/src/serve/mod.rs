//! Serving a plugin: endpoint, transport, health, reflection, drain.

mod client_name;
mod endpoint;
mod error;
mod tls;
mod unix_socket;

use std::{env, future::Future, net::SocketAddr, time::Duration};

use crossbridge_proto::{
    FILE_DESCRIPTOR_SET,
    v1alpha1::{
        discovery_service_server::{DiscoveryServiceServer, SERVICE_NAME as DISCOVERY_SERVICE},
        plugin_service_server::{PluginServiceServer, SERVICE_NAME as PLUGIN_SERVICE},
        resource_service_server::{ResourceServiceServer, SERVICE_NAME as RESOURCE_SERVICE},
    },
};
use endpoint::Endpoint;
pub use error::{ServeError, TlsProblem};
use tls::Certificates;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{
    service::Routes,
    transport::{
        Server,
        server::{Router, TcpIncoming},
    },
};
use tonic_health::{ServingStatus, server::HealthReporter};
use unix_socket::UnixSocket;

use crate::service::{Declared, Service};

/// The environment variable that names the address to serve.
const ENDPOINT_VARIABLE: &str = "PROVIDER_PLUGIN_ENDPOINT";

/// HTTP/2 streams beside the calls: health, reflection.
const SPARE_STREAMS: u32 = 64;

/// How long connections may take to close once no call runs any more: streams of health and reflection end when their client wants.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// How long the program may take to end once nothing is served any more.
const END_GRACE: Duration = Duration::from_secs(5);

/// The endpoint that the environment names.
pub(crate) fn endpoint_of_environment() -> Result<String, ServeError> {
    env::var(ENDPOINT_VARIABLE).map_err(|_| ServeError::NoEndpoint(ENDPOINT_VARIABLE))
}

/// Resolves at SIGTERM or SIGINT, from now on.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()> + Send, ServeError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Signal)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Serves until `stop` resolves and the calls that ran then have ended.
pub(crate) async fn serve(
    declared: Declared,
    endpoint: &str,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let at = Endpoint::parse(endpoint)?;
    let streams = u32::try_from(declared.info.max_concurrent_calls)
        .unwrap_or(u32::MAX)
        .saturating_add(SPARE_STREAMS);
    let mut builder = Server::builder().max_concurrent_streams(streams);
    let (name, version) = (declared.info.name.clone(), declared.info.version.clone());
    let service = Service::new(declared);
    let health = HealthReporter::new();
    let router = builder.add_routes(routes(&service, &health).await?);

    // Bound before anything is said.
    let listener = Listener::bind(at).await?;
    tracing::info!(plugin = name, version, endpoint, "serving");

    let (stopping, stopped) = watch::channel(false);
    let received = stopped.clone();
    let serving = listener.serve(router, async move { wait_for(received).await });
    let draining = async {
        stop.await;
        tracing::info!("stopping: running calls may end, no new ones begin");
        stopping.send_replace(true);
        stop_serving(health).await;
        loop {
            service.idle().await;
            tokio::time::sleep(CLOSE_GRACE).await;
            // One may have slipped in before its connection knew.
            if service.is_idle() {
                break;
            }
        }
    };
    tokio::select! {
        ended = serving => ended.map_err(ServeError::Transport)?,
        () = draining => tracing::debug!("connections were still open, without calls"),
    }
    tracing::info!("stopped");
    Ok(())
}

/// What is blocked in a call whose answer has left cannot be stopped: it ends with the process, and the process not with it.
pub(crate) fn end_in_time() {
    std::thread::spawn(|| {
        std::thread::sleep(END_GRACE);
        tracing::warn!("something still runs, and ends with the process");
        std::process::exit(0);
    });
}

async fn wait_for(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender was dropped, which is an end as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

const SERVICES: [&str; 4] = ["", PLUGIN_SERVICE, RESOURCE_SERVICE, DISCOVERY_SERVICE];

/// Reports `NOT_SERVING`, then ends the streams of the health watchers.
async fn stop_serving(mut health: HealthReporter) {
    for service in SERVICES {
        health
            .set_service_status(service, ServingStatus::NotServing)
            .await;
        health.clear_service_status(service).await;
    }
}

async fn routes(service: &Service, health: &HealthReporter) -> Result<Routes, ServeError> {
    let limit = service.max_message_bytes();
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let health_service = tonic_health::server::HealthService::from_health_reporter(health.clone());
    let mut routes = Routes::default()
        .add_service(PluginServiceServer::new(service.clone()).max_decoding_message_size(limit))
        .add_service(ResourceServiceServer::new(service.clone()).max_decoding_message_size(limit))
        .add_service(tonic_health::pb::health_server::HealthServer::new(health_service))
        .add_service(reflection().build_v1().map_err(ServeError::Reflection)?)
        .add_service(reflection().build_v1alpha().map_err(ServeError::Reflection)?);
    for name in [PLUGIN_SERVICE, RESOURCE_SERVICE] {
        health.set_service_status(name, ServingStatus::Serving).await;
    }
    if service.lists_external() {
        routes =
            routes.add_service(DiscoveryServiceServer::new(service.clone()).max_decoding_message_size(limit));
        health
            .set_service_status(DISCOVERY_SERVICE, ServingStatus::Serving)
            .await;
    }
    Ok(routes)
}

/// A bound endpoint, ready to accept connections.
enum Listener {
    Unix(UnixSocket),
    Loopback(TcpListener),
    Tls(TcpListener, Certificates),
}

impl Listener {
    async fn bind(endpoint: Endpoint) -> Result<Self, ServeError> {
        match endpoint {
            Endpoint::Unix(path) => UnixSocket::bind(path).await.map(Self::Unix),
            Endpoint::Loopback(addresses) => bind(&addresses).await.map(Self::Loopback),
            Endpoint::Tls(addresses) => {
                let certificates = Certificates::of_environment()?;
                let listener = bind(&addresses).await?;
                Ok(Self::Tls(listener, certificates))
            }
        }
    }

    async fn serve(
        self,
        router: Router,
        stop: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        match self {
            Self::Unix(UnixSocket { listener, file }) => {
                let served = router
                    .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop)
                    .await;
                drop(file);
                served
            }
            Self::Loopback(listener) => {
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                router.serve_with_incoming_shutdown(incoming, stop).await
            }
            Self::Tls(listener, certificates) => {
                let incoming = ReceiverStream::new(tls::incoming(listener, certificates));
                router.serve_with_incoming_shutdown(incoming, stop).await
            }
        }
    }
}

async fn bind(addresses: &[SocketAddr]) -> Result<TcpListener, ServeError> {
    TcpListener::bind(addresses).await.map_err(ServeError::Bind)
}
