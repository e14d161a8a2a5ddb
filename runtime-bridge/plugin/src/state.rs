//! What is known of a plugin.

use std::sync::Arc;

use bridge_core::kind::{Kind, PluginInfo, ResourceType};
use jiff::Timestamp;
use tokio::sync::Semaphore;

/// What a plugin serves, and whether it answers.
#[derive(Debug, Clone)]
pub struct State {
    /// As the last handshake told.
    pub served: Arc<Served>,
    /// Whether it answers now.
    pub link: Link,
    pub(crate) places: Arc<Semaphore>,
}

/// What a plugin serves.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// Who answers.
    pub info: PluginInfo,
    /// Ordered by type.
    pub kinds: Vec<Arc<Kind>>,
    /// Kinds whose publication breaks the contract: they are left out, the others are served.
    pub refused: Vec<RefusedKind>,
}

/// A kind whose publication breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedKind {
    /// Which.
    pub resource_type: ResourceType,
    /// Its digest, by which it is not fetched again.
    pub digest: String,
    /// What is wrong with it.
    pub why: String,
}

/// Whether a plugin answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// It answered the last question.
    Up,
    /// It did not. Calls are tried all the same.
    Down {
        /// Since when.
        since: Timestamp,
        /// What happened.
        why: String,
    },
}

impl State {
    pub(crate) fn new(served: Served) -> Self {
        let places = Arc::new(Semaphore::new(places(served.info.max_concurrent_calls)));
        Self {
            served: Arc::new(served),
            link: Link::Up,
            places,
        }
    }

    /// How many calls it takes at once.
    pub fn places(&self) -> usize {
        places(self.served.info.max_concurrent_calls)
    }

    /// The same plugin after another handshake. Calls under way keep their places.
    pub(crate) fn renewed(&self, served: Served) -> Self {
        let same = places(served.info.max_concurrent_calls) == places(self.served.info.max_concurrent_calls);
        let fresh = Self::new(served);
        if same {
            Self {
                places: Arc::clone(&self.places),
                ..fresh
            }
        } else {
            fresh
        }
    }
}

/// One place is kept for the bridge's own questions.
fn places(max_concurrent_calls: usize) -> usize {
    max_concurrent_calls
        .saturating_sub(1)
        .clamp(1, Semaphore::MAX_PERMITS)
}
