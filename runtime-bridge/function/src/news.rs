//! Who waits for a function hears that it may be called again.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;

/// Function -> how often there was news of it.
type Counts = BTreeMap<String, u64>;

/// Where news is published.
#[derive(Debug, Default)]
pub(crate) struct News(watch::Sender<Counts>);

impl News {
    pub(crate) fn publish<'a>(&self, functions: impl IntoIterator<Item = &'a str>) {
        self.0.send_if_modified(|counts| {
            let mut is_any = false;
            for function in functions {
                *counts.entry(function.to_owned()).or_default() += 1;
                is_any = true;
            }
            is_any
        });
    }

    pub(crate) fn subscribe(&self) -> Changes {
        let mut counts = self.0.subscribe();
        let seen = counts.borrow_and_update().clone();
        Changes { counts, seen }
    }
}

/// Hears which functions answer again after they were held, or listen elsewhere. Misses none, however late it looks.
#[derive(Debug, Clone)]
pub struct Changes {
    counts: watch::Receiver<Counts>,
    seen: Counts,
}

impl Changes {
    /// The functions of which there was news since the last call; waits until there is any. `None`: the client and its table are gone.
    ///
    /// Cancel-safe: what is not returned is returned by the next call.
    pub async fn next(&mut self) -> Option<BTreeSet<String>> {
        loop {
            let now = self.counts.borrow_and_update().clone();
            let news = now
                .iter()
                .filter(|(name, count)| self.seen.get(*name) != Some(count));
            let names: BTreeSet<String> = news.map(|(name, _)| name.clone()).collect();
            self.seen = now;
            if !names.is_empty() {
                return Some(names);
            }
            self.counts.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(ToOwned::to_owned).into()
    }

    #[tokio::test]
    async fn news_is_heard_once_however_late() {
        let news = News::default();
        news.publish(["before"]);
        let mut changes = news.subscribe();
        news.publish(["a", "b"]);
        news.publish(["b"]);
        assert_eq!(changes.next().await, Some(names(["a", "b"])));
        let mut waiting = Box::pin(changes.next());
        let cancelled = tokio::time::timeout(std::time::Duration::ZERO, &mut waiting).await;
        assert!(cancelled.is_err());
        drop(waiting);
        news.publish(["b"]);
        assert_eq!(changes.next().await, Some(names(["b"])));
        drop(news);
        assert_eq!(changes.next().await, None);
    }
}
