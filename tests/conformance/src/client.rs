//! One call to the plugin: sent with a deadline, bounded, judged by the rules of every answer.

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crossbridge_proto::v1alpha1::{
    self as wire, discovery_service_client::DiscoveryServiceClient,
    plugin_service_client::PluginServiceClient, resource_service_client::ResourceServiceClient,
};
use tokio::time::timeout;
use tonic::{Request, Response, Status, transport::Channel};

use crate::{response::ResponseMessage, response_rules::ResponseRules, spelling::spell};

/// Longest wait for an answer to a call that carries no deadline.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waited beyond a deadline, as the cut comes from this side.
const SLACK: Duration = Duration::from_secs(2);

/// Largest answer that the kit receives, in bytes.
const MOST_ANSWER_BYTES: usize = 16 << 20;

/// A method of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Method {
    GetPluginInfo,
    ListResourceKinds,
    GetResourceKind,
    CheckConfig,
    Observe,
    Create,
    Update,
    Delete,
    PollOperation,
    ListExternal,
}

impl Method {
    /// Whether it may change something upstream.
    pub(crate) fn changes(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Delete | Self::PollOperation
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Under which terms a call is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallOptions {
    /// gRPC's deadline; `None`: it carries none.
    pub timeout: Option<Duration>,
    /// `crossbridge-deadline-ms` lies in the past.
    pub expired: bool,
    /// Something will interfere with the call, so that neither its status nor its time is judged.
    pub tolerant: bool,
}

impl CallOptions {
    pub(crate) fn within(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            expired: false,
            tolerant: false,
        }
    }

    pub(crate) fn without_deadline() -> Self {
        Self {
            timeout: None,
            expired: false,
            tolerant: false,
        }
    }

    pub(crate) fn expired(self) -> Self {
        Self {
            expired: true,
            ..self
        }
    }

    pub(crate) fn tolerant(self) -> Self {
        Self {
            tolerant: true,
            ..self
        }
    }
}

/// The plugin, as one subject's watch sees it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    channel: Channel,
    watch: Arc<ResponseRules>,
}

macro_rules! methods {
    ($($name:ident, $client:ident, $method:ident, $request:ident => $response:ident;)*) => {
        $(
            pub(crate) async fn $name(&self, request: wire::$request, options: CallOptions) -> Result<wire::$response, Status> {
                let mut client = $client::new(self.channel.clone()).max_decoding_message_size(MOST_ANSWER_BYTES);
                let name = sent_name(&request).to_owned();
                self.send(Method::$method, &name, request, options, |request| async move {
                    client.$name(request).await
                })
                .await
            }
        )*
    };
}

impl Client {
    pub(crate) fn new(channel: Channel, watch: ResponseRules) -> Self {
        Self {
            channel,
            watch: Arc::new(watch),
        }
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// The same watch over another connection.
    pub(crate) fn over(&self, channel: Channel) -> Self {
        Self {
            channel,
            watch: Arc::clone(&self.watch),
        }
    }

    pub(crate) fn watch(&self) -> &ResponseRules {
        &self.watch
    }

    methods! {
        get_plugin_info, PluginServiceClient, GetPluginInfo, GetPluginInfoRequest => GetPluginInfoResponse;
        list_resource_kinds, PluginServiceClient, ListResourceKinds, ListResourceKindsRequest => ListResourceKindsResponse;
        get_resource_kind, PluginServiceClient, GetResourceKind, GetResourceKindRequest => GetResourceKindResponse;
        check_config, PluginServiceClient, CheckConfig, CheckConfigRequest => CheckConfigResponse;
        observe, ResourceServiceClient, Observe, ObserveRequest => ObserveResponse;
        create, ResourceServiceClient, Create, CreateRequest => CreateResponse;
        update, ResourceServiceClient, Update, UpdateRequest => UpdateResponse;
        delete, ResourceServiceClient, Delete, DeleteRequest => DeleteResponse;
        poll_operation, ResourceServiceClient, PollOperation, PollOperationRequest => PollOperationResponse;
        list_external, DiscoveryServiceClient, ListExternal, ListExternalRequest => ListExternalResponse;
    }

    async fn send<Q, A, F>(
        &self,
        method: Method,
        sent_name: &str,
        message: Q,
        options: CallOptions,
        call: impl FnOnce(Request<Q>) -> F,
    ) -> Result<A, Status>
    where
        A: ResponseMessage,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let request = with_metadata(message, method, options);
        let limit = options.timeout.unwrap_or(PATIENCE);
        let sent = Instant::now();
        let response = timeout(limit + SLACK, call(request)).await;
        let response = response.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer came")));
        match response {
            Ok(response) => {
                let body = response.into_inner();
                self.watch.body(method, sent_name, &body);
                if !options.tolerant {
                    self.watch.time(method, true, limit);
                }
                Ok(body)
            }
            Err(status) => {
                self.watch.check_for_secrets(method, &status);
                if !options.tolerant {
                    let in_time = sent.elapsed() < limit;
                    self.watch.time(method, in_time, limit);
                    // After it either side may have cut the call, each with a status of its own.
                    self.watch.status(method, &status, in_time).await;
                }
                Err(status)
            }
        }
    }
}

/// One line for people.
pub(crate) fn describe(status: &Status) -> String {
    format!("gRPC {}: {}", spell(status.code()), status.message())
}

fn with_metadata<Q>(message: Q, method: Method, options: CallOptions) -> Request<Q> {
    let mut request = Request::new(message);
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    if let Some(timeout) = options.timeout {
        request.set_timeout(timeout);
    }
    let absolute = match (options.expired, options.timeout) {
        (true, _) => Some(now.saturating_sub(Duration::from_secs(1))),
        (false, Some(timeout)) if method.changes() => Some(now + timeout),
        _ => None,
    };
    let metadata = request.metadata_mut();
    // Digits are always a valid value.
    if let Some(Ok(value)) = absolute.map(|at| at.as_millis().to_string().parse()) {
        metadata.insert("crossbridge-deadline-ms", value);
    }
    let id = uuid::Uuid::new_v4();
    if let (Ok(call_id), Ok(trace)) = (
        id.to_string().parse(),
        format!("00-{:032x}-{:016x}-01", id.as_u128(), id.as_u64_pair().0).parse(),
    ) {
        metadata.insert("crossbridge-call-id", call_id);
        metadata.insert("traceparent", trace);
    }
    request
}

/// The name that a request is about; empty: none.
trait HasTarget {
    fn target(&self) -> Option<&wire::Target> {
        None
    }
}

fn sent_name(request: &impl HasTarget) -> &str {
    request
        .target()
        .map_or("", |target| target.external_name.as_str())
}

macro_rules! with_target {
    ($($request:ident),*) => { $(impl HasTarget for wire::$request {
        fn target(&self) -> Option<&wire::Target> { self.target.as_ref() }
    })* };
}
macro_rules! without_target {
    ($($request:ident),*) => { $(impl HasTarget for wire::$request {})* };
}
with_target!(
    ObserveRequest,
    CreateRequest,
    UpdateRequest,
    DeleteRequest,
    PollOperationRequest
);
without_target!(
    GetPluginInfoRequest,
    ListResourceKindsRequest,
    GetResourceKindRequest,
    CheckConfigRequest,
    ListExternalRequest
);
