use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
};

use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;

use super::*;
use crate::client::DEADLINE;

/// Panics once.
#[derive(Default)]
struct Startling(AtomicBool);

impl Clock for Startling {
    fn now(&self) -> Timestamp {
        assert!(self.0.swap(true, Ordering::SeqCst), "as the test wants");
        Timestamp::UNIX_EPOCH
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_one_plan_and_not_all_that_follow() {
    let silent =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let metrics = Arc::new(Metrics::new());
    let client = ApiClient::new(
        kube::Client::new(silent, "default"),
        Arc::clone(&metrics),
        DEADLINE,
    );
    let clock = Arc::new(Startling::default());
    let watches = Watches::start(client, Arc::default(), clock, metrics);
    let secrets = Arc::new(ApiType::secrets());
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let _wanted = watches.subscribe(&secrets, &Selector::Whole, "the test wants it", &nobody);
    tokio::time::sleep(AFTER_A_PANIC * 2).await;
    assert!(matches!(watches.state(&secrets.kind), WatchState::Syncing(_)));
    assert!(watches.is_alive());
}
