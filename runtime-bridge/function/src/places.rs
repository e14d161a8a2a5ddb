//! Places of a function: so many calls are under way at once. Those that wait are let in by turns of kinds and namespaces, so that however many
//! of one kind and namespace wait, another's first one is next but one.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;

/// Who shares places fairly with others: the composite resources of one kind in one namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    group: String,
    kind: String,
    namespace: String,
}

impl Flow {
    /// Of a composite resource. That of a claim is cluster-scoped: the claim's namespace counts.
    pub(crate) fn of(composite: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &composite["metadata"];
        let group = composite["apiVersion"].as_str().unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        let namespace = match &metadata["namespace"] {
            Value::String(namespace) => namespace.clone(),
            _ => text(&metadata["labels"]["crossplane.io/claim-namespace"]),
        };
        Self {
            group: group.to_owned(),
            kind: text(&composite["kind"]),
            namespace,
        }
    }
}

/// The places of one function at one endpoint.
pub(crate) struct Places(Arc<Mutex<Queue>>);

struct Queue {
    /// Above zero only while nobody waits.
    free: usize,
    waiting: BTreeMap<Flow, VecDeque<oneshot::Sender<Place>>>,
    /// Each flow that waits, the next one first.
    turns: VecDeque<Flow>,
}

impl Queue {
    fn wait(&mut self, flow: &Flow) -> oneshot::Receiver<Place> {
        let (sender, receiver) = oneshot::channel();
        let of_flow = self.waiting.entry(flow.clone()).or_default();
        if of_flow.is_empty() {
            self.turns.push_back(flow.clone());
        }
        of_flow.push_back(sender);
        receiver
    }

    /// Who is let in next. Its flow is the last one then.
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        let flow = self.turns.pop_front()?;
        let of_flow = self.waiting.get_mut(&flow)?;
        let next = of_flow.pop_front();
        if of_flow.is_empty() {
            self.waiting.remove(&flow);
        } else {
            self.turns.push_back(flow);
        }
        next
    }
}

/// A place, which is given to the next one when this is dropped.
pub(crate) struct Place(Option<Arc<Mutex<Queue>>>);

impl Places {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            free: places,
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
        })))
    }

    /// Of so many: how many are taken, and how many wait.
    pub(crate) fn counts(&self, places: usize) -> (usize, usize) {
        let queue = self.0.lock();
        let waiting = queue.waiting.values().flatten();
        let waiting = waiting.filter(|sender| !sender.is_closed()).count();
        (places - queue.free, waiting)
    }

    /// A place, if one is free.
    pub(crate) fn try_acquire(&self) -> Option<Place> {
        let mut queue = self.0.lock();
        queue.free = queue.free.checked_sub(1)?;
        Some(Place(Some(Arc::clone(&self.0))))
    }

    /// A place, in turn. Whoever drops this future no longer waits.
    pub(crate) async fn acquire(&self, flow: &Flow) -> Option<Place> {
        let receiver = {
            let mut queue = self.0.lock();
            if let Some(left) = queue.free.checked_sub(1) {
                queue.free = left;
                return Some(Place(Some(Arc::clone(&self.0))));
            }
            queue.wait(flow)
        };
        receiver.await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(queue) = self.0.take() else { return };
        loop {
            let next = {
                let mut queue = queue.lock();
                let next = queue.next();
                if next.is_none() {
                    queue.free += 1;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Self(Some(Arc::clone(&queue)))) {
                Ok(()) => return,
                // It no longer waits: the one after it is asked.
                Err(mut place) => drop(place.0.take()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll, Waker},
    };

    use serde_json::json;

    use super::*;

    fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn flow(namespace: &str) -> Flow {
        Flow::of(
            &json!({"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": namespace}}),
        )
    }

    #[test]
    fn those_that_wait_are_let_in_by_turns_of_their_flows() {
        let places = Places::new(1);
        let first = places.try_acquire().unwrap();
        let of = ["a", "a", "a", "b", "c", "b"].map(flow);
        let mut waiting: Vec<_> = of.iter().map(|flow| Box::pin(places.acquire(flow))).collect();
        for one in &mut waiting {
            assert!(poll(one).is_none());
        }
        drop(first);
        let mut order = Vec::new();
        let mut left: Vec<usize> = (0..of.len()).collect();
        while !left.is_empty() {
            let next = left.iter().position(|nth| {
                let place = poll(&mut waiting[*nth]);
                place.is_some()
            });
            order.push(left.remove(next.expect("one of them has the place")));
        }
        assert_eq!(order, [0, 3, 4, 1, 5, 2]);
    }

    #[test]
    fn who_no_longer_waits_is_passed_over_and_keeps_no_place() {
        let places = Places::new(1);
        let first = places.try_acquire().unwrap();
        let of = flow("a");
        let (mut cancelled, mut next) = (Box::pin(places.acquire(&of)), Box::pin(places.acquire(&of)));
        assert!(poll(&mut cancelled).is_none() && poll(&mut next).is_none());
        drop(cancelled);
        drop(first);
        let place = poll(&mut next).flatten().expect("it has the place");
        assert!(places.try_acquire().is_none());
        drop(place);
        assert!(places.try_acquire().is_some());
    }

    #[test]
    fn a_place_that_was_given_to_who_went_meanwhile_is_free_again() {
        let places = Places::new(1);
        let first = places.try_acquire().unwrap();
        let of = flow("a");
        let mut waiting = Box::pin(places.acquire(&of));
        assert!(poll(&mut waiting).is_none());
        drop(first);
        drop(waiting);
        assert!(places.try_acquire().is_some());
    }

    #[test]
    fn kinds_and_namespaces_are_flows_of_their_own() {
        let claimed = |namespace: &str| {
            Flow::of(&json!({
                "apiVersion": "example.org/v1", "kind": "XApp",
                "metadata": {"labels": {"crossplane.io/claim-namespace": namespace}},
            }))
        };
        assert_ne!(claimed("a"), claimed("b"));
        assert_ne!(claimed("a"), flow("a"));
        assert_ne!(flow("a"), flow("b"));
        // Versions of a kind are none.
        let other = json!({"apiVersion": "example.org/v2", "kind": "App", "metadata": {"namespace": "a"}});
        assert_eq!(Flow::of(&other), flow("a"));
    }
}
