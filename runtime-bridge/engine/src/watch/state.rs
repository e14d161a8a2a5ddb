use serde::Serialize;

/// How a kind's watch fares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "kebab-case")]
pub enum WatchState {
    /// On its way: why it is not live.
    Syncing(String),
    /// The store is up to date but for what is on the wire.
    Live,
    /// RBAC does not let us; tried again from time to time.
    Forbidden(String),
    /// Nothing to watch: why.
    Gone(String),
}

impl WatchState {
    /// Stable word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Syncing(_) => "syncing",
            Self::Live => "live",
            Self::Forbidden(_) => "forbidden",
            Self::Gone(_) => "gone",
        }
    }

    /// All words.
    pub(crate) const NAMES: [&str; 4] = ["syncing", "live", "forbidden", "gone"];
}
