//! Passes that nothing cuts off: not a shutdown, not the end of the engine that began them.

use std::{collections::HashSet, future::Future, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// All passes of a process that have not ended, whichever engine began them. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Detached {
    tasks: TaskTracker,
    uids: Arc<Mutex<HashSet<String>>>,
}

impl Detached {
    /// Runs a pass over the object with this uid to its end. `None`: another one, perhaps begun by a former engine, has not ended yet.
    pub(crate) fn spawn<F>(&self, uid: &str, pass: F) -> Option<JoinHandle<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let turn = ReconcileGuard::begin(&self.uids, uid)?;
        Some(self.tasks.spawn(async move {
            let _turn = turn;
            pass.await
        }))
    }

    /// Waits until all have ended, but not longer than `limit`. Returns how many have not.
    pub async fn wait(&self, limit: Duration) -> usize {
        self.tasks.close();
        let ended = tokio::time::timeout(limit, self.tasks.wait()).await.is_ok();
        self.tasks.reopen();
        // One that began since then is not waited for, and begins nothing.
        if ended { 0 } else { self.tasks.len() }
    }
}

/// No other pass over this object begins while it lives.
struct ReconcileGuard {
    uids: Arc<Mutex<HashSet<String>>>,
    uid: String,
}

impl ReconcileGuard {
    fn begin(uids: &Arc<Mutex<HashSet<String>>>, uid: &str) -> Option<Self> {
        uids.lock().insert(uid.to_owned()).then(|| Self {
            uids: Arc::clone(uids),
            uid: uid.to_owned(),
        })
    }
}

impl Drop for ReconcileGuard {
    fn drop(&mut self) {
        self.uids.lock().remove(&self.uid);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_outlives_a_wait_is_counted_and_waited_for_again() {
        let all = Detached::default();
        let (end, ended) = oneshot::channel::<()>();
        let pass = all.spawn("a", async move { drop(ended.await) });
        assert_eq!(all.wait(LIMIT).await, 1);
        assert!(all.clone().spawn("a", async {}).is_none(), "its object is taken");
        let other = all.spawn("b", async {}).expect("another object is free");
        other.await.unwrap();
        assert_eq!(all.wait(LIMIT).await, 1);
        end.send(()).unwrap();
        pass.expect("nobody else had it").await.unwrap();
        assert_eq!(all.wait(LIMIT).await, 0);
        assert!(all.spawn("a", async {}).is_some());
    }

    #[tokio::test]
    async fn a_pass_that_panics_leaves_its_object_free() {
        let all = Detached::default();
        let panicked = all
            .spawn("a", async { panic!("as the test wants") })
            .unwrap()
            .await;
        assert!(panicked.is_err());
        assert!(all.spawn("a", async {}).is_some());
    }
}
