//! Socket, standard services, and the end.

use std::{
    net::Shutdown,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::ExitCode,
    sync::{Arc, PoisonError},
    time::Duration,
};

use crossbridge_proto::{
    FILE_DESCRIPTOR_SET,
    v1alpha1::{
        discovery_service_server::DiscoveryServiceServer, plugin_service_server::PluginServiceServer,
        resource_service_server::ResourceServiceServer,
    },
};
use tokio::{
    net::{UnixListener, UnixStream},
    signal::unix::{SignalKind, signal},
};
use tokio_stream::{StreamExt, wrappers::UnixListenerStream};
use tonic::{
    codegen::http,
    transport::{Certificate, Identity, Server, ServerTlsConfig, server::Router},
};
use tonic_health::{
    ServingStatus,
    pb::health_server::{Health, HealthServer},
    server::HealthReporter,
};
use tower::util::MapRequestLayer;

use crate::{
    faults::Faults,
    plugin::{LIMIT, ReferencePlugin},
};

const SERVICES: [&str; 3] = [
    "crossbridge.provider.v1alpha1.PluginService",
    "crossbridge.provider.v1alpha1.ResourceService",
    "crossbridge.provider.v1alpha1.DiscoveryService",
];

/// The services that it advertises, in health or reflection, where this rule is judged.
fn advertised<'a>(plugin: &ReferencePlugin, rule: &str) -> &'a [&'a str] {
    match plugin.faults.variant(rule) {
        None => &SERVICES,
        Some("discovery") => &SERVICES[..2],
        Some(_) => &SERVICES[..1],
    }
}

pub async fn run(faults: Faults, build: u32, lists: bool) -> ExitCode {
    match serve(faults, build, lists).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(faults: Faults, build: u32, lists: bool) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let endpoint = std::env::var("PROVIDER_PLUGIN_ENDPOINT")?;
    let plugin = ReferencePlugin {
        faults: Arc::new(faults),
        instance: uuid::Uuid::new_v4().to_string(),
        endpoint,
        build,
        lists,
        create_lock: Arc::default(),
        connections: Arc::default(),
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let hasty = matches!(
        plugin.faults.variant("process/sigterm-drains-calls"),
        Some("" | "in-order")
    );
    let code = if plugin.on("process/sigterm-exits-0") {
        3
    } else {
        0
    };
    let (health, health_service) = tonic_health::server::health_reporter();
    let (told_health, says_so) = (health.clone(), !plugin.on("process/sigterm-not-serving"));
    let stop = async move {
        terminate.recv().await;
        if says_so {
            for service in SERVICES.into_iter().chain([""]) {
                told_health
                    .set_service_status(service, ServingStatus::NotServing)
                    .await;
            }
        }
        if hasty {
            // Long enough to have said so.
            tokio::time::sleep(Duration::from_millis(30)).await;
            std::process::exit(0);
        }
    };
    if let Some(path) = plugin.endpoint.strip_prefix("unix://") {
        let listener = bind(&plugin, Path::new(path)).await?;
        let router = router(&plugin, Server::builder(), &health, health_service).await?;
        let remembering = plugin.clone();
        let incoming = UnixListenerStream::new(listener).map(move |stream| remembering.track(stream?));
        let serving = router.serve_with_incoming_shutdown(incoming, stop);
        serving.await?;
    } else {
        let (server, address) = if let Some(address) = plugin.endpoint.strip_prefix("https://") {
            let server = Server::builder().tls_config(mutual_tls(&plugin)?)?;
            (server, address)
        } else {
            let address = plugin.endpoint.strip_prefix("http://");
            let address = address.filter(|_| !plugin.on("process/loopback-served"));
            (Server::builder(), address.ok_or("it does not serve there")?)
        };
        let address = address.parse()?;
        let router = router(&plugin, server, &health, health_service).await?;
        router.serve_with_shutdown(address, stop).await?;
    }
    Ok(ExitCode::from(code))
}

fn mutual_tls(plugin: &ReferencePlugin) -> Result<ServerTlsConfig, Box<dyn std::error::Error>> {
    if plugin.on("process/https-served") {
        return Err("it has no certificate".into());
    }
    let pem = |name: &str| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        Ok(std::fs::read(std::env::var(name)?)?)
    };
    // A build of the whole workspace includes two providers: one must be named. An error means that it is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let identity = Identity::from_pem(pem("PROVIDER_PLUGIN_TLS_CERT")?, pem("PROVIDER_PLUGIN_TLS_KEY")?);
    let clients = Certificate::from_pem(pem("PROVIDER_PLUGIN_TLS_CA")?);
    Ok(ServerTlsConfig::new()
        .identity(identity)
        .client_ca_root(clients)
        .client_auth_optional(plugin.on("process/untrusted-clients-rejected")))
}

async fn bind(plugin: &ReferencePlugin, path: &Path) -> Result<UnixListener, Box<dyn std::error::Error>> {
    if path.exists() {
        if plugin.on("process/stale-socket-replaced") {
            return Err("there is a socket already".into());
        }
        let is_served = UnixStream::connect(path).await.is_ok();
        if is_served && !plugin.on("process/socket-in-use-kept") {
            return Err("another process serves there".into());
        }
        std::fs::remove_file(path)?;
    }
    let temporary = path.with_extension("new");
    let listener = UnixListener::bind(&temporary)?;
    let mode = if plugin.on("process/socket-private") {
        0o666
    } else {
        0o600
    };
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(mode))?;
    std::fs::rename(temporary, path)?;
    Ok(listener)
}

impl ReferencePlugin {
    /// Keeps hold of a connection that is to be torn.
    fn track(&self, stream: UnixStream) -> std::io::Result<UnixStream> {
        if !self.on("transport/call-after-oversized#connection") {
            return Ok(stream);
        }
        let stream = stream.into_std()?;
        let mut known = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(stream.try_clone()?);
        UnixStream::from_std(stream)
    }

    pub fn abort_connections(&self) {
        let mut known = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in known.drain(..) {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

async fn router(
    plugin: &ReferencePlugin,
    server: Server,
    health: &HealthReporter,
    health_service: HealthServer<impl Health>,
) -> Result<
    Router<tower::layer::util::Stack<MapRequestLayer<AuthorityToHeader>, tower::layer::util::Identity>>,
    Box<dyn std::error::Error>,
> {
    let status = if plugin.on("health/serving") {
        ServingStatus::NotServing
    } else {
        ServingStatus::Serving
    };
    health.set_service_status("", status).await;
    for service in advertised(plugin, "health/each-service") {
        health.set_service_status(*service, ServingStatus::Serving).await;
    }
    let limit = match () {
        () if plugin.on("transport/largest-message-accepted") => LIMIT,
        () if plugin.on("transport/largest-message-accepted#resource-service") => LIMIT * 2,
        () if plugin.on("transport/oversized-rejected") => LIMIT * 2,
        () if plugin.faults.variant("transport/call-after-oversized").is_some() => LIMIT * 2,
        () => LIMIT,
    };
    let limit_of_resources = match () {
        () if plugin.on("transport/oversized-rejected") => LIMIT * 2,
        () if plugin.on("transport/oversized-rejected#resource-service") => LIMIT * 2,
        () if plugin.faults.variant("transport/call-after-oversized").is_some() => LIMIT / 2,
        () => LIMIT,
    };
    let mut reflection = tonic_reflection::server::Builder::configure();
    if !plugin.on("reflection/describes-the-contract") {
        reflection = reflection.register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET);
    }
    for service in advertised(plugin, "reflection/lists-services") {
        reflection = reflection.with_service_name(*service);
    }
    let show: AuthorityToHeader = authority_to_header;
    Ok(server
        .layer(MapRequestLayer::new(show))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .add_service(health_service)
        .add_service(reflection.build_v1()?)
        .add_service(PluginServiceServer::new(plugin.clone()).max_decoding_message_size(limit))
        .add_service(ResourceServiceServer::new(plugin.clone()).max_decoding_message_size(limit_of_resources))
        .add_service(DiscoveryServiceServer::new(plugin.clone())))
}

type AuthorityToHeader = fn(http::Request<tonic::body::Body>) -> http::Request<tonic::body::Body>;

/// Services do not see the authority; as a header they do.
fn authority_to_header(mut request: http::Request<tonic::body::Body>) -> http::Request<tonic::body::Body> {
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().to_owned());
    if let Some(Ok(value)) = authority.map(|authority| authority.parse()) {
        request.headers_mut().insert("x-authority", value);
    }
    request
}
