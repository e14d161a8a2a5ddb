use std::sync::Arc;

use tokio::sync::{Notify, watch};

/// Whom to tell that the cluster may serve something else.
#[derive(Debug)]
pub(crate) struct ServedChanges {
    /// Who plans the watches.
    plan: Arc<Notify>,
    /// Counts the changes.
    count: watch::Sender<u64>,
}

impl ServedChanges {
    pub(crate) fn new(plan: Arc<Notify>) -> Arc<Self> {
        let count = watch::channel(0).0;
        Arc::new(Self { plan, count })
    }

    pub(crate) fn tell(&self) {
        self.plan.notify_one();
        self.count.send_modify(|changes| *changes += 1);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
}
