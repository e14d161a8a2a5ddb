//! The port [`Functions`] over gRPC.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::function::{FunctionEndpoint, FunctionFailure, Functions, RunRequest, RunResponse};
use bridge_transport::{Channels, Endpoint, EndpointError, Now, TlsFiles};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::{
    EndpointTable,
    connection::{Connection, PLACES},
    encode::EncodedRequest,
    observed::EncodedObserved,
};

/// Opens the channel to an endpoint. Nothing is sent by it.
pub type Connect = Arc<dyn Fn(&FunctionEndpoint) -> Result<Channels, EndpointError> + Send + Sync>;

/// How functions are reached.
#[derive(Clone)]
pub struct Options {
    /// Where they listen.
    pub endpoints: EndpointTable,
    /// Opens channels: a simulation has no sockets.
    pub connect: Connect,
    /// The clock that deadlines are compared with.
    pub now: Now,
}

impl Options {
    /// Over sockets, by the wall clock. The files are for endpoints with TLS.
    pub fn new(endpoints: EndpointTable, tls: Option<TlsFiles>) -> Self {
        Self {
            endpoints,
            connect: Arc::new(move |endpoint| {
                let endpoint: Endpoint = endpoint.to_string().parse()?;
                Channels::new(&endpoint, tls.as_ref())
            }),
            now: Arc::new(Timestamp::now),
        }
    }
}

/// Calls functions where they listen.
pub struct Client {
    options: Options,
    connections: Mutex<BTreeMap<String, Arc<Connection>>>,
    observed: EncodedObserved,
}

impl Client {
    /// Connects to none of them: that is done with the first call of each.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            connections: Mutex::default(),
            observed: EncodedObserved::default(),
        }
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
        connections.remove(function);
        let endpoint = endpoint?;
        let channels = (self.options.connect)(&endpoint)
            .map_err(|error| FunctionFailure::NoEndpoint(error.to_string()))?;
        let connection = Connection::new(endpoint, channels, Arc::clone(&self.options.now));
        connections.insert(function.to_owned(), Arc::clone(&connection));
        Ok(connection)
    }

    fn left(&self, deadline: Timestamp) -> Option<Duration> {
        let left = deadline.duration_since((self.options.now)());
        Duration::try_from(left).ok().filter(|left| !left.is_zero())
    }
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
            let place = tokio::select! {
                biased;
                place = timeout(left, connection.places.acquire()) => place,
                () = self.options.endpoints.changed(function, &connection.endpoint) => continue,
            };
            let Ok(_place) = place else {
                return Err(FunctionFailure::Busy { places: PLACES });
            };
            // With a place only, so that at most so many requests are in memory beside what runs observe.
            let encoded = EncodedRequest::new(request, self.observed.field(&request.observed)?)?;
            return connection.call(encoded, deadline).await;
        }
    }
}
