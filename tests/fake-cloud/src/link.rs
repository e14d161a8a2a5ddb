//! How the plugin reaches the cloud.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::cloud::{Ask, Cloud, Verdict};

/// The time: of a simulation, or of the machine.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The system's clock.
pub fn real_time() -> Now {
    Arc::new(Timestamp::now)
}

/// The cloud cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("the cloud cannot be reached: {0}")]
pub struct Unreachable(pub String);

/// The way from the plugin to the cloud.
#[async_trait]
pub trait Link: Send + Sync + 'static {
    /// One call. `deadline`: until when its caller waits.
    async fn ask(&self, ask: Ask, deadline: Option<Timestamp>) -> Result<Verdict, Unreachable>;

    /// A call came after its deadline, and was rejected.
    fn came_late(&self, _deadline: Timestamp) {}
}

/// A cloud in the same process.
#[derive(Clone)]
pub struct InMemory {
    /// The cloud, shared with the test that inspects it.
    pub cloud: Arc<Mutex<Cloud>>,
    /// The clock of the cloud.
    pub now: Now,
}

#[async_trait]
impl Link for InMemory {
    async fn ask(&self, ask: Ask, deadline: Option<Timestamp>) -> Result<Verdict, Unreachable> {
        Ok(self.cloud.lock().serve(&ask, deadline, (self.now)()))
    }
}
