//! The port [`Functions`] over gRPC.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::function::{
    CACHE_BYTES, CacheKey, FunctionEndpoint, FunctionFailure, Functions, RunRequest, RunResponse, Signal,
    Transition,
};
use bridge_transport::{Endpoint, EndpointError, Now, Route, TlsFiles};
use function_proto::v1::RunFunctionResponse;
use jiff::Timestamp;
use parking_lot::Mutex;
use prost::Message;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use crate::{
    Changes, EndpointTable,
    attempt::Admitted,
    connection::{Connection, PLACES},
    decode,
    encode::EncodedRequest,
    metrics::FunctionMetrics,
    observed::EncodedObserved,
    places::{Flow, Place},
    response_cache::{ResponseCache, Unreadable},
    texts,
};

/// Opens the channels to an endpoint. Nothing is sent by it.
pub type Connect = Arc<dyn Fn(&FunctionEndpoint) -> Result<Route, EndpointError> + Send + Sync>;

/// How functions are reached.
#[derive(Clone)]
pub struct Options {
    /// Where they listen.
    pub endpoints: EndpointTable,
    /// Opens channels: a simulation has no sockets.
    pub connect: Connect,
    /// Whether responses with a TTL are kept until it ends.
    pub keeps_responses: bool,
    /// What is counted and timed.
    pub metrics: FunctionMetrics,
    /// The clock that deadlines, probes and TTLs are compared with.
    pub now: Now,
}

impl Options {
    /// Over sockets, by the wall clock. The files are for endpoints with TLS.
    pub fn new(endpoints: EndpointTable, tls: Option<TlsFiles>) -> Self {
        let now: Now = Arc::new(Timestamp::now);
        let clock = Arc::clone(&now);
        Self {
            endpoints,
            connect: Arc::new(move |endpoint| {
                let endpoint: Endpoint = endpoint.to_string().parse()?;
                Route::new(&endpoint, tls.as_ref(), Arc::clone(&clock))
            }),
            keeps_responses: true,
            metrics: FunctionMetrics::default(),
            now,
        }
    }
}

/// How a function fares, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionState {
    /// As compositions refer to it.
    pub name: String,
    /// Where it listens; `Err`: why it cannot be called.
    pub endpoint: Result<FunctionEndpoint, String>,
    /// Since when it is held, and why: it does not answer.
    pub held: Option<(Timestamp, String)>,
    /// It has answered since the bridge began to call it there.
    pub has_answered: bool,
    /// Calls under way.
    pub running: usize,
    /// Calls that wait for a place.
    pub waiting: usize,
}

/// Calls functions where they listen.
pub struct Client {
    options: Options,
    connections: Mutex<BTreeMap<String, Arc<Connection>>>,
    observed: EncodedObserved,
    kept: ResponseCache,
    /// One: so many large responses, of all functions, are turned into objects at once. Nothing a function does can make that last.
    turn: Semaphore,
}

impl Client {
    /// Connects to none of them: that is done with the first call of each.
    pub fn new(options: Options) -> Self {
        let limit = if options.keeps_responses { CACHE_BYTES } else { 0 };
        Self {
            options,
            connections: Mutex::default(),
            observed: EncodedObserved::default(),
            kept: ResponseCache::new(limit),
            turn: Semaphore::new(1),
        }
    }

    /// Hears from now on of functions that answer again after they were held, and of those that listen elsewhere.
    pub fn changes(&self) -> Changes {
        self.options.endpoints.changes()
    }

    /// How each known function fares, by name.
    pub fn functions(&self) -> Vec<FunctionState> {
        let connections = self.connections.lock();
        let all = self.options.endpoints.all().into_iter().map(|(name, endpoint)| {
            let connection = connections
                .get(&name)
                .filter(|one| Ok(&one.endpoint) == endpoint.as_ref());
            let held = connection.and_then(|connection| match connection.watched.held() {
                Some(FunctionFailure::Held { since, why }) => Some((since, why)),
                _ => None,
            });
            let (running, waiting) = connection
                .map(|connection| connection.places.counts(PLACES))
                .unwrap_or_default();
            FunctionState {
                name,
                endpoint,
                held,
                has_answered: connection.is_some_and(|connection| connection.watched.has_answered()),
                running,
                waiting,
            }
        });
        all.collect()
    }

    /// The connection to where the function listens now. One to a former endpoint is given up; calls under way on it go on.
    fn connection(&self, function: &str) -> Result<Arc<Connection>, FunctionFailure> {
        let endpoint = self.options.endpoints.of(function);
        let mut connections = self.connections.lock();
        if let (Some(known), Ok(endpoint)) = (connections.get(function), &endpoint)
            && known.endpoint == *endpoint
        {
            return Ok(Arc::clone(known));
        }
        if connections.remove(function).is_some() {
            self.kept.forget(function);
            self.options.metrics.removed(self.kept.take_removed());
            self.options.metrics.held(function, false);
        }
        connections.retain(|name, _| {
            let is_known = self.options.endpoints.has(name);
            if !is_known {
                self.options.metrics.held(name, false);
            }
            is_known
        });
        let endpoint = endpoint?;
        let route = (self.options.connect)(&endpoint)
            .map_err(|error| FunctionFailure::NoEndpoint(error.to_string()))?;
        let connection = Connection::new(endpoint, route, Arc::clone(&self.options.now));
        connections.insert(function.to_owned(), Arc::clone(&connection));
        Ok(connection)
    }

    fn left(&self, deadline: Timestamp) -> Option<Duration> {
        let left = deadline.duration_since((self.options.now)());
        Duration::try_from(left).ok().filter(|left| !left.is_zero())
    }

    fn encode(&self, request: &RunRequest) -> Result<EncodedRequest, FunctionFailure> {
        EncodedRequest::new(request, self.observed.field(&request.observed)?)
    }

    /// A place at once, or in its turn; `None`: the function listens elsewhere by now.
    async fn place(
        &self,
        function: &str,
        connection: &Connection,
        flow: &Flow,
        left: Duration,
    ) -> Result<Option<Place>, FunctionFailure> {
        tokio::select! {
            biased;
            place = timeout(left, connection.places.acquire(flow)) => match place {
                Ok(place) => Ok(place),
                Err(_) => Err(FunctionFailure::Busy { places: PLACES }),
            },
            () = self.options.endpoints.changed(function, &connection.endpoint) => Ok(None),
        }
    }

    async fn call(
        &self,
        function: &str,
        connection: &Connection,
        request: &RunRequest,
        encoded: EncodedRequest,
        deadline: Timestamp,
    ) -> Result<RunResponse, FunctionFailure> {
        let admitted = connection.watched.admit()?;
        let sent = Sent {
            request,
            key: key(function, connection, &encoded),
            encoded,
        };
        let target = connection.endpoint.to_string();
        self.options.metrics.sent(function, &target);
        let began = Instant::now();
        let response = self.answer(function, connection, admitted, sent, deadline).await;
        self.options
            .metrics
            .ended(function, &target, &response, began.elapsed());
        response
    }

    async fn answer(
        &self,
        function: &str,
        connection: &Connection,
        admitted: Admitted<'_>,
        sent: Sent<'_>,
        deadline: Timestamp,
    ) -> Result<RunResponse, FunctionFailure> {
        // Counts until the response is read: that is when it takes most.
        let large = connection.large.one();
        let answered = connection.call(sent.encoded, deadline, &large).await;
        // Before anything else: while the function is held, other runs are told the failure, too.
        let answered = answered.map_err(|failure| texts::of_failure(sent.request, failure));
        let signal = Signal::of(&answered);
        let is_missed = matches!(signal, Signal::Missed(_));
        self.report(function, connection, admitted.end(signal));
        let answered = answered.map_err(|failure| match connection.watched.held() {
            Some(held) if is_missed => {
                connection.renew();
                held
            }
            _ => failure,
        })?;
        let _turn = if large.is_large() {
            self.turn.acquire().await.ok()
        } else {
            None
        };
        let kept = (self.options.keeps_responses && has_ttl(&answered)).then(|| answered.encode_to_vec());
        let response =
            decode::response(answered).map_err(|failure| texts::of_failure(sent.request, failure))?;
        if let Some(kept) = kept {
            let (bytes, began) = (kept.len(), Instant::now());
            if self
                .kept
                .put(sent.key, kept.into(), &response, (self.options.now)())
            {
                self.options.metrics.kept(function, bytes, began.elapsed());
            }
            self.options.metrics.removed(self.kept.take_removed());
        }
        Ok(texts::of_response(sent.request, response))
    }

    fn report(&self, function: &str, connection: &Connection, transition: Transition) {
        let endpoint = &connection.endpoint;
        match transition {
            Transition::None => {}
            Transition::Held => {
                self.options.metrics.held(function, true);
                tracing::warn!(
                    function,
                    %endpoint,
                    "the function does not answer: it is asked by one probe at a time"
                );
            }
            Transition::Recovered => {
                self.options.metrics.held(function, false);
                tracing::info!(function, %endpoint, "the function answers again");
                self.options.endpoints.publish([function]);
            }
        }
    }
}

/// What one call sends.
struct Sent<'a> {
    request: &'a RunRequest,
    key: CacheKey,
    encoded: EncodedRequest,
}

fn key(function: &str, connection: &Connection, request: &EncodedRequest) -> CacheKey {
    CacheKey {
        function: function.to_owned(),
        endpoint: connection.endpoint.clone(),
        request: request.digest,
    }
}

fn has_ttl(response: &RunFunctionResponse) -> bool {
    let ttl = response.meta.as_ref().and_then(|meta| meta.ttl.as_ref());
    ttl.is_some_and(|ttl| ttl.seconds > 0 || ttl.nanos > 0)
}

#[async_trait]
impl Functions for Client {
    async fn run(
        &self,
        function: &str,
        request: &RunRequest,
        deadline: Timestamp,
    ) -> Result<RunResponse, FunctionFailure> {
        loop {
            let connection = self.connection(function)?;
            let left = self.left(deadline).ok_or(FunctionFailure::OutOfTime)?;
            let mut encoded = None;
            if self.kept.knows(function, &connection.endpoint) {
                let known = self.encode(request)?;
                let began = Instant::now();
                let kept = self
                    .kept
                    .get(&key(function, &connection, &known), (self.options.now)());
                self.options.metrics.read(function, began.elapsed());
                self.options.metrics.removed(self.kept.take_removed());
                match kept {
                    Ok(Some(kept)) => {
                        self.options.metrics.hit(function);
                        return Ok(texts::of_response(request, kept));
                    }
                    Ok(None) => {}
                    Err(Unreadable) => self.options.metrics.unreadable(function),
                }
                encoded = Some(known);
            }
            if let Some(held) = connection.watched.rejection() {
                return Err(held);
            }
            let place = if let Some(place) = connection.places.try_acquire() {
                place
            } else {
                // At most so many requests as there are places are in memory beside what runs observe.
                encoded = None;
                let _waiting = self.options.metrics.waiting(function);
                let flow = Flow::of(&request.observed.composite.object);
                match self.place(function, &connection, &flow, left).await? {
                    Some(place) => place,
                    None => continue,
                }
            };
            let encoded = match encoded {
                Some(encoded) => encoded,
                None => self.encode(request)?,
            };
            let _running = self.options.metrics.running(function);
            if self.options.keeps_responses {
                self.options.metrics.missed(function);
            }
            let response = self.call(function, &connection, request, encoded, deadline).await;
            drop(place);
            return response;
        }
    }
}
