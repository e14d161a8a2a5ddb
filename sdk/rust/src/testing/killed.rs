//! Killed inside Create, started again, asked again: one resource.

use crossbridge_types::{CreateRecovery, FailureCode, ObserveResult, OutcomeResult};
use tokio::time::sleep;

use super::{Cut, Harness, TestResource, cut_at_wait, harness::window};
use crate::Resource;

/// Most points of one creation at which the plugin is killed.
const MOST_WAITS: usize = 1000;

impl Harness {
    /// The kit's `durable/killed-in-create-one-resource`, at every point: the plugin is killed before Create, at each of its waits, and at
    /// its end, each time with another resource; it is created anew and called again as the bridge would; and `count` reports how many the
    /// upstream then has of it. At last it is removed.
    ///
    /// # Panics
    /// At the first point after which there is not exactly one.
    pub async fn killed_in_create<'harness, R: Resource>(
        &'harness self,
        mut thing: impl FnMut(usize) -> TestResource<'harness, R>,
        mut count: impl FnMut(&TestResource<'harness, R>) -> usize,
    ) {
        for wait in 0..MOST_WAITS {
            let mut thing = thing(wait);
            let cut = cut_at_wait(wait, thing.create()).await;
            self.restart();
            thing.recover().await;
            let there = count(&thing);
            assert!(
                there == 1,
                "durable/killed-in-create-one-resource: killed {}, there are {there}",
                place(cut, wait)
            );
            let removed = thing.delete().await;
            thing.follow(removed).await.completed();
            if cut == Cut::Ended {
                return;
            }
        }
        panic!("Create waited more than {MOST_WAITS} times");
    }
}

fn place(cut: Cut, wait: usize) -> String {
    match (cut, wait) {
        (Cut::Inside, 0) => "before Create began".to_owned(),
        (Cut::Inside, wait) => format!("at wait {wait} of Create"),
        (Cut::Ended, _) => "when Create had ended and its answer was lost".to_owned(),
    }
}

impl<R: Resource> TestResource<'_, R> {
    /// Recovers a creation with an unknown outcome, as the bridge would by the recovery that the kind declares: it observes, by name or
    /// marker, or asks again with the same token, and follows the operation if there is one.
    ///
    /// # Panics
    /// If its name is unknown then, a repeat fails otherwise than by `ALREADY_EXISTS` or `CONFLICT`, or the kind declares no recovery.
    pub async fn recover(&mut self) {
        let recovery = self.kind.capabilities.create_recovery.first().copied();
        let Some(recovery) = recovery else {
            panic!(
                "{} declares no recovery: a person is asked",
                self.kind.resource_type
            );
        };
        if recovery != CreateRecovery::ClientToken {
            sleep(window(&self.kind)).await;
            if let ObserveResult::Found(_) = self.observe().await.look() {
                return;
            }
        }
        // Once to resolve it, once more to see that it is resolved.
        for _ in 0..2 {
            let repeated = self.repeat().await;
            let outcome = self.follow(repeated).await.outcome();
            if let OutcomeResult::Failure(failure) = outcome.result {
                let is_harmless = matches!(failure.code, FailureCode::AlreadyExists | FailureCode::Conflict);
                assert!(is_harmless, "a repeat failed: {failure:?}");
            }
            sleep(window(&self.kind)).await;
        }
        assert!(
            !self.external_name().is_empty(),
            "after the repeat its name is unknown"
        );
    }
}
