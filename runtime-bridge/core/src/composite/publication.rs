//! The connection Secret of a composite resource: what is published in it, and what came of that.

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::Timestamp;

use super::digest::ContentDigest;
use crate::{back_off::policies, function::SecretData};

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Secrets that count -> `resourceVersion`; `None`: there is none, or nobody watches them.
pub type SecretVersions = BTreeMap<SecretName, Option<u64>>;

/// What is to be in the connection Secret of a composite resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Which Secret.
    pub secret: SecretName,
    /// The keys that are published. Others in it stay.
    pub data: SecretData,
}

/// A connection Secret as it was published last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Published {
    pub secret: SecretName,
    pub digest: ContentDigest,
    pub version: u64,
    pub at: Timestamp,
    /// How often the same was written again, as somebody had changed it.
    pub repeats: u32,
}

/// A publication that failed: the same is not tried again at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedPublication {
    pub secret: SecretName,
    /// What was known of the Secret: whatever a person did since is worth another try.
    pub version: Option<u64>,
    pub digest: ContentDigest,
    /// For people.
    pub message: String,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    pub retry_at: Timestamp,
}

/// Who changes the Secret back after so long does not fight for it.
const PEACE: Duration = Duration::from_mins(10);

impl Published {
    /// The same was published again at `now`.
    pub fn repeats_at(&self, now: Timestamp) -> u32 {
        if now < self.at + PEACE {
            self.repeats.saturating_add(1)
        } else {
            0
        }
    }

    /// When it is written again though it was written before: who else writes it is not fought without end.
    pub fn again_at(&self) -> Timestamp {
        match self.repeats {
            0 => self.at,
            repeats => self.at + policies::API.wait(repeats, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_else_writes_the_secret_is_not_fought_without_end() {
        let at = |time: &str| -> Timestamp { time.parse().unwrap() };
        let published = |repeats| Published {
            secret: SecretName {
                namespace: "n".to_owned(),
                name: "a".to_owned(),
            },
            digest: ContentDigest::of_secret(&SecretData::default()),
            version: 1,
            at: at("2026-01-01T00:00:00Z"),
            repeats,
        };
        let waits = [0, 1, 2, 5, 100].map(|repeats| {
            let wait = published(repeats)
                .again_at()
                .duration_since(at("2026-01-01T00:00:00Z"));
            wait.as_secs()
        });
        assert_eq!(waits, [0, 1, 2, 16, 60]);
        assert_eq!(published(3).repeats_at(at("2026-01-01T00:09:59Z")), 4);
        assert_eq!(published(3).repeats_at(at("2026-01-01T00:10:00Z")), 0);
    }
}
