//! Connection details on their way to their Secret.

use jiff::Timestamp;

use crate::external::Secrets;
use crate::kind::Kind;
use crate::limits;

/// What this process knows of connection details that are given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::managed) enum PublishState {
    /// They stand in the Secret.
    Published,
    /// They came, and are to be published.
    Unpublished,
    /// They never came here.
    Not,
}

/// Connection details, and whether they are where they belong.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct ConnectionMemory {
    /// As last known.
    details: Secrets,
    /// As last observed, until it is known that what was observed is this object's.
    unjudged: Secrets,
    /// Some of them came with an answer, may never come again, and are not in the connection Secret yet.
    unpublished: bool,
    /// This pass has brought them all into the connection Secret.
    offered: bool,
    /// Why they could not be published, and when to try again.
    problem: Option<(String, Timestamp)>,
}

impl ConnectionMemory {
    pub(super) fn begin_pass(&mut self) {
        self.offered = false;
    }

    /// Takes in what an observation can show again: a key that is missing stays as it was. True: something is new.
    pub(in crate::managed) fn keep(&mut self, details: &Secrets) -> bool {
        let mut new = false;
        for (key, value) in &details.0 {
            if self.details.0.get(key) != Some(value) && self.has_room(key, value) {
                self.details.0.insert(key.clone(), value.clone());
                new = true;
            }
        }
        self.offered &= !new;
        new
    }

    /// Another resource is about to be created: those of the former one say nothing of it.
    pub(in crate::managed) fn begin_resource(&mut self) {
        self.details = Secrets::default();
        self.unjudged = Secrets::default();
        self.unpublished = false;
    }

    /// Observed, of what may be somebody else's: it is published once that is known.
    pub(in crate::managed) fn hold(&mut self, details: Secrets) {
        self.unjudged = details;
    }

    /// What was observed is this object's.
    pub(in crate::managed) fn keep_held(&mut self) {
        let details = std::mem::take(&mut self.unjudged);
        self.keep(&details);
    }

    pub(in crate::managed) fn holds_any(&self) -> bool {
        !self.unjudged.0.is_empty()
    }

    /// Whether one Secret can hold it beside the others: more cannot be published, and is not kept.
    fn has_room(&self, key: &str, value: &[u8]) -> bool {
        let others = self.details.0.iter().filter(|(other, _)| *other != key);
        let others: usize = others.map(|(key, value)| key.len() + value.len()).sum();
        others + key.len() + value.len() <= limits::CONNECTION_DETAILS
    }

    /// Takes in what may never come again.
    pub(in crate::managed) fn keep_of_answer(&mut self, details: &Secrets) {
        self.unpublished |= self.keep(details);
    }

    pub(super) fn details(&self) -> &Secrets {
        &self.details
    }

    /// They may never come again, and are not in the Secret.
    pub(in crate::managed) fn is_unpublished(&self) -> bool {
        self.unpublished
    }

    /// There are some that this pass has not brought to the Secret. `paused`: only what may never come again counts.
    pub(in crate::managed) fn is_due(&self, paused: bool) -> bool {
        !self.details.0.is_empty() && (self.unpublished || !self.offered && !paused)
    }

    /// Those of the keys that are given once.
    pub(in crate::managed) fn given_once(&self, kind: &Kind) -> PublishState {
        let mut keys = kind.connection_keys.iter().filter(|key| key.one_time);
        match keys.all(|key| self.details.0.contains_key(&key.name)) {
            true if self.unpublished => PublishState::Unpublished,
            true => PublishState::Published,
            false => PublishState::Not,
        }
    }

    pub(in crate::managed) fn record_published(&mut self) {
        self.unpublished = false;
        self.offered = true;
        self.problem = None;
    }

    pub(in crate::managed) fn record_problem(&mut self, message: String, retry: Timestamp) {
        self.problem = Some((message, retry));
    }

    /// Why they could not be published, and when to try again.
    pub(in crate::managed) fn problem(&self) -> Option<(&str, Timestamp)> {
        self.problem
            .as_ref()
            .map(|(message, retry)| (message.as_str(), *retry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_one_secret_holds() {
        let mut memory = ConnectionMemory::default();
        let details = |key: &str, size: usize| Secrets([(key.to_owned(), vec![0; size])].into());
        for key in 0..10 {
            memory.keep(&details(&key.to_string(), 200 << 10));
        }
        assert_eq!(memory.details().0.len(), 5);
        assert!(memory.keep(&details("0", 10)), "what is known may change");
        assert_eq!(memory.details().0["0"].len(), 10);
    }
}
