//! The function as a service, by either version of the contract.

use std::{
    convert::Infallible,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bridge_core::function::RunRequest;
use function_proto::{
    RUN_FUNCTION,
    v1::{
        RequestMeta, RunFunctionRequest, RunFunctionResponse,
        function_runner_service_server::{FunctionRunnerService, FunctionRunnerServiceServer},
    },
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tonic::{
    Request, Response, Status,
    body::Body,
    codegen::{BoxFuture, Service},
    server::NamedService,
    service::Routes,
};

use crate::{Profile, evaluate, profile, wire};

/// Version of the contract that a function serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// `apiextensions.fn.proto.v1`
    #[default]
    V1,
    /// `apiextensions.fn.proto.v1beta1`
    V1beta1,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "v1" => Ok(Self::V1),
            "v1beta1" => Ok(Self::V1beta1),
            _ => Err(format!(
                "\"{text}\" is not a version of the contract: write v1 or v1beta1"
            )),
        }
    }
}

/// One call as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its tag and capabilities.
    pub meta: RequestMeta,
    /// All the rest.
    pub request: RunRequest,
}

/// Which calls are not answered yet.
type IsHeld = Arc<dyn Fn(&RunRequest) -> bool + Send + Sync>;

/// A function. Clones are the same one.
#[derive(Clone, Default)]
pub struct FakeFunction {
    received: Arc<Mutex<Vec<Received>>>,
    /// `None`: always as its program has it.
    profile: Option<ProfileNow>,
    held: Arc<watch::Sender<Option<IsHeld>>>,
    waiting: Arc<AtomicUsize>,
}

/// A call that is held, until it is dropped.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How it answers at the moment.
type ProfileNow = Arc<dyn Fn() -> Profile + Send + Sync>;

impl FakeFunction {
    /// One that answers by the profile that this returns, which is asked once per call.
    pub fn with_profile(profile: impl Fn() -> Profile + Send + Sync + 'static) -> Self {
        Self {
            profile: Some(Arc::new(profile)),
            ..Self::default()
        }
    }

    fn profile(&self) -> Profile {
        self.profile
            .as_ref()
            .map_or(Profile::Nominal, |profile| profile())
    }

    /// All calls so far, also those that are not answered yet.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    /// Calls of which this holds are answered after [`Self::release`].
    pub fn hold(&self, is_held: impl Fn(&RunRequest) -> bool + Send + Sync + 'static) {
        self.held.send_replace(Some(Arc::new(is_held)));
    }

    /// Answers what is held, and whatever comes from now on.
    pub fn release(&self) {
        self.held.send_replace(None);
    }

    /// How many calls are held. One that its caller has given up is not.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    async fn until_released(&self, request: &RunRequest) {
        let mut held = self.held.subscribe();
        let is_free = |held: &Option<IsHeld>| held.as_ref().is_none_or(|is_held| !is_held(request));
        if is_free(&held.borrow()) {
            return;
        }
        let _waits = Waiting::begin(&self.waiting);
        // The sender is this function's own, so it is there.
        let _ = held.wait_for(is_free).await;
    }

    /// What a server or a simulation serves.
    pub fn routes(&self, version: Version) -> Routes {
        // What is too large is the business of the client that is tested.
        let server = FunctionRunnerServiceServer::new(self.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        let server = Profiled {
            function: self.clone(),
            server,
        };
        match version {
            Version::V1 => Routes::new(server),
            Version::V1beta1 => Routes::new(Former(server)),
        }
    }
}

#[tonic::async_trait]
impl FunctionRunnerService for FakeFunction {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        let profile = request.extensions().get().copied().unwrap_or_default();
        let mut request = request.into_inner();
        let meta = request.meta.take().unwrap_or_default();
        let tag = meta.tag.clone();
        let request = wire::request(request).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let received = Received { meta, request };
        let call = {
            let mut all = self.received.lock();
            all.push(received.clone());
            all.len() - 1
        };
        self.until_released(&received.request).await;
        let mut response = evaluate(&received.request);
        Profile::change(profile, &mut response, call);
        wire::response(response, tag)
            .map(Response::new)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

/// The service, whose answers may be no messages.
#[derive(Clone)]
struct Profiled {
    function: FakeFunction,
    server: FunctionRunnerServiceServer<FakeFunction>,
}

impl NamedService for Profiled {
    const NAME: &'static str = FunctionRunnerServiceServer::<FakeFunction>::NAME;
}

impl Service<http::Request<Body>> for Profiled {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let profile = self.function.profile();
        if profile == Profile::Undecodable {
            return Box::pin(async { Ok(profile::undecodable()) });
        }
        request.extensions_mut().insert(profile);
        self.server.call(request)
    }
}

/// The service by the name of the former version: its messages are the same.
#[derive(Clone)]
struct Former(Profiled);

impl NamedService for Former {
    const NAME: &'static str = "apiextensions.fn.proto.v1beta1.FunctionRunnerService";
}

impl Service<http::Request<Body>> for Former {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        *request.uri_mut() = http::Uri::from_static(RUN_FUNCTION);
        self.0.call(request)
    }
}
