//! The persistence rule: what an answer brought is in etcd before anything else is done. Never given up while it is ours to write.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    external::{Answer, Verb},
    managed::{Call, Settled, World, back_off, settle},
};

use super::{
    fault_point::{Side, reach},
    reconciler::ManagedReconciler,
    view,
};
use crate::{api_error::ApiError, object::Object};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl ManagedReconciler {
    /// Writes what must not be lost of `answer`, on the newest version of `object`, until it lands or is nobody's business any more.
    pub(super) async fn persist(&self, world: &World, object: Arc<Object>, call: &Call, answer: &Answer) {
        let key = object.key();
        let mut newest = self
            .shared
            .store
            .get(&key)
            .filter(|known| known.uid() == object.uid())
            .unwrap_or(object);
        let mut failures = 0;
        let mut told = false;
        loop {
            let change = match settle(world, &view::managed(&newest), call, answer) {
                Settled::Nothing => return,
                Settled::NotOurs => {
                    tracing::warn!(object = %key, ?call.verb, "the answer belongs to a record that is gone; a later look settles it");
                    return;
                }
                Settled::Write(change) => change,
            };
            reach(Side::Before, "persist", &newest).await;
            let written = self.shared.writer.put(&view::changed(&newest, &change)).await;
            reach(Side::After, "persist", &newest).await;
            let Err(error) = written else { return };
            if !matches!(error, ApiError::Conflict(_)) {
                // The name goes into the log, so that a person can find the resource whatever becomes of this process.
                let name = answer
                    .as_ref()
                    .map(|outcome| outcome.external_name.as_str())
                    .unwrap_or_default();
                tracing::warn!(object = %key, external_name = name, %error, "the answer is not persisted yet; trying again");
                if error.is_refusal() && !std::mem::replace(&mut told, true) {
                    let what = format!(
                        "store the answer to {} (external name {name:?}), and nothing else is done before it is stored",
                        word(call.verb)
                    );
                    self.tell_refused(&newest, &what, &error);
                }
                failures += 1;
                tokio::time::sleep(pause(&error, failures)).await;
            }
            match self.shared.writer.get_live(&self.api, &key).await {
                Ok(live) => newest = live,
                Err(ApiError::NotServed(_)) if self.shared.store.is_tombstoned(newest.uid()) => {
                    tracing::warn!(object = %key, "its kind is gone, and the object with it; its answer has nowhere to go");
                    return;
                }
                Err(ApiError::NotFound(_)) => {
                    tracing::warn!(object = %key, "the object is gone; its answer has nowhere to go");
                    return;
                }
                Err(error) => {
                    tracing::warn!(object = %key, %error, "cannot read the object to persist an answer; trying again");
                    failures += 1;
                    tokio::time::sleep(pause(&error, failures)).await;
                }
            }
        }
    }
}

/// For people.
fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "a look",
        Verb::Create => "the creation",
        Verb::Update => "the update",
        Verb::Delete => "the deletion",
        Verb::Poll => "a poll of the operation",
    }
}

/// What the API server asks for, or more.
fn pause(error: &ApiError, failures: u32) -> Duration {
    let advised = super::write_again::advised(error);
    advised + back_off(FIRST_PAUSE, LONGEST_PAUSE, failures, fastrand::f64())
}
