//! Since when each definition that is being deleted waits to know which usages there are: one is not impatient because another one has waited.

use std::collections::BTreeMap;

use jiff::Timestamp;
use parking_lot::Mutex;

/// By the uid of the definition.
#[derive(Default)]
pub(super) struct UnlistedSince(Mutex<BTreeMap<String, Timestamp>>);

impl UnlistedSince {
    /// It waits, since the answer.
    pub fn begin(&self, uid: &str, now: Timestamp) -> Timestamp {
        *self.0.lock().entry(uid.to_owned()).or_insert(now)
    }

    /// It does not wait any more.
    pub fn end(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_waits_for_its_own_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let since = UnlistedSince::default();
        assert_eq!(since.begin("one", at(0)), at(0));
        assert_eq!(since.begin("other", at(60)), at(60));
        assert_eq!(since.begin("one", at(61)), at(0));
        // That one waits no more begins nothing anew for another.
        since.end("one");
        assert_eq!(since.begin("other", at(62)), at(60));
        assert_eq!(since.begin("one", at(63)), at(63));
    }
}
