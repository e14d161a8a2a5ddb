//! A clock that stands still until a test moves it.

use std::sync::Arc;

use bridge_core::function::{FunctionFailure, Functions, RunRequest, RunResponse};
use bridge_function::{Client, Options};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

#[derive(Clone)]
pub struct Clock(Arc<Mutex<Timestamp>>);

impl Clock {
    /// At the beginning of a second.
    pub fn new() -> Self {
        let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
        Self(Arc::new(Mutex::new(now)))
    }

    pub fn now(&self) -> Timestamp {
        *self.0.lock()
    }

    pub fn pass(&self, seconds: i64) {
        *self.0.lock() += SignedDuration::from_secs(seconds);
    }

    /// A client by this clock.
    pub fn client(&self, options: Options) -> Arc<Client> {
        let clock = self.clone();
        Arc::new(Client::new(Options {
            now: Arc::new(move || clock.now()),
            ..options
        }))
    }

    /// One call of the function `f`.
    pub async fn run(&self, client: &Client, request: &RunRequest) -> Result<RunResponse, FunctionFailure> {
        let deadline = self.now() + SignedDuration::from_mins(2);
        client.run("f", request, deadline).await
    }
}
