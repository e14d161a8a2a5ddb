//! The room that observations take from one reconcile to the next.

use std::collections::BTreeMap;

use bridge_core::port::{External, Permit};
use parking_lot::Mutex;

/// What each object of a kind keeps, by uid.
#[derive(Default)]
pub(super) struct KeptObservations(Mutex<BTreeMap<String, Kept>>);

struct Kept {
    bytes: usize,
    _room: Permit,
}

impl KeptObservations {
    /// Whether an object may keep so many bytes, in place of those that it has kept so far.
    pub(super) fn keep(&self, uid: &str, bytes: usize, external: &dyn External) -> bool {
        let mut kept = self.0.lock();
        if kept.get(uid).is_some_and(|known| known.bytes == bytes) {
            return true;
        }
        drop(kept.remove(uid));
        if bytes == 0 {
            return true;
        }
        let Some(room) = external.try_keep(bytes) else {
            return false;
        };
        kept.insert(uid.to_owned(), Kept { bytes, _room: room });
        true
    }

    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use bridge_core::external::{
        Answer, Call, CallError, Config, DesiredState, Failure, ObserveResult, Target,
    };
    use jiff::Timestamp;
    use tokio::sync::Semaphore;

    use super::*;

    /// Keeps so many bytes, and is never called.
    struct Room(Arc<Semaphore>);

    #[async_trait]
    impl External for Room {
        fn try_keep(&self, bytes: usize) -> Option<Permit> {
            let bytes = u32::try_from(bytes).unwrap();
            let room = Arc::clone(&self.0).try_acquire_many_owned(bytes);
            room.ok().map(Permit::holding)
        }

        async fn observe(
            &self,
            _: &Target,
            _: &DesiredState,
            _: Timestamp,
        ) -> Result<ObserveResult, CallError> {
            unreachable!()
        }

        async fn execute(&self, _: &Call) -> Answer {
            unreachable!()
        }

        async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
            unreachable!()
        }
    }

    #[test]
    fn all_objects_together_keep_no_more_than_there_is_room_for() {
        let (kept, room) = (KeptObservations::default(), Arc::new(Semaphore::new(100)));
        let external = Room(Arc::clone(&room));
        assert!(kept.keep("a", 60, &external));
        assert!(!kept.keep("b", 60, &external));
        assert!(kept.keep("b", 40, &external));
        assert!(kept.keep("a", 60, &external), "it has them");
        assert!(kept.keep("b", 0, &external), "nothing is known of it");
        assert!(kept.keep("a", 100, &external), "in place of its own");
        assert!(!kept.keep("b", 1, &external));
        kept.forget("a");
        assert_eq!(room.available_permits(), 100);
        assert!(kept.keep("b", 1, &external));
        kept.forget_all();
        assert_eq!(room.available_permits(), 100);
    }
}
