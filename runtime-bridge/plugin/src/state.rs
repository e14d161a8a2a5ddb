//! What is known of a plugin.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::kind::{Kind, PluginInfo, ResourceType};
use crossbridge_proto::Weight;
use jiff::Timestamp;
use tokio::sync::Semaphore;

/// What a plugin serves, and whether it answers.
#[derive(Debug, Clone)]
pub struct PluginState {
    /// What the plugin served at the last handshake.
    pub served: Arc<Served>,
    /// Whether it answers now.
    pub link: ConnectionStatus,
    /// One for each call about a resource that the bridge may send at once.
    pub(crate) permits: Arc<Semaphore>,
    /// The one that is kept for the bridge's own questions: a reconcile that holds a permit may have to ask one.
    pub(crate) reserved: Arc<Semaphore>,
    /// One for each call that may be under way: a plugin that takes one at a time has no other to keep.
    pub(crate) in_flight: Arc<Semaphore>,
}

/// What a plugin serves.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// The plugin's name, version, limits and features.
    pub info: PluginInfo,
    /// The kinds that it serves, ordered by type.
    pub kinds: Vec<Arc<Kind>>,
    /// Kinds whose publication breaks the contract: they are left out, the others are served.
    pub refused: Vec<RejectedKind>,
    /// Of each of the kinds.
    pub(crate) weights: BTreeMap<ResourceType, Weight>,
}

/// A kind whose publication breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedKind {
    /// The type of the kind that is left out.
    pub resource_type: ResourceType,
    /// Its digest, by which it is not fetched again.
    pub digest: String,
    /// What is wrong with it.
    pub why: String,
}

/// Whether a plugin answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// It answered the last question of the supervision.
    Up,
    /// It did not. Calls are tried all the same.
    Down {
        /// When the first question remained without an answer.
        since: Timestamp,
        /// Why the last question remained without an answer.
        why: String,
    },
}

impl PluginState {
    pub(crate) fn new(served: Served) -> Self {
        let permits = Semaphore::new(most_at_once(&served.info));
        let in_flight = served.info.max_concurrent_calls.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            served: Arc::new(served),
            link: ConnectionStatus::Up,
            permits: Arc::new(permits),
            reserved: Arc::new(Semaphore::new(1)),
            in_flight: Arc::new(Semaphore::new(in_flight)),
        }
    }

    /// The same plugin after another handshake. Calls under way keep their permits.
    pub(crate) fn renewed(&self, served: Served) -> Self {
        let same = served.info.max_concurrent_calls == self.served.info.max_concurrent_calls;
        let fresh = Self::new(served);
        if same {
            Self {
                permits: Arc::clone(&self.permits),
                in_flight: Arc::clone(&self.in_flight),
                ..fresh
            }
        } else {
            fresh
        }
    }
}

/// One of the calls that the plugin takes at once is kept for the bridge's own questions.
fn most_at_once(info: &PluginInfo) -> usize {
    info.max_concurrent_calls
        .saturating_sub(1)
        .clamp(1, Semaphore::MAX_PERMITS)
}
