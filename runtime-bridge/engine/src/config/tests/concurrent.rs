//! Many who ask for one config at once.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{
    fixture::{Shared, cluster_wide},
    with_secret,
};

#[tokio::test]
async fn many_who_ask_at_once_cause_one_read_and_one_check() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let object = cluster_wide();
    let asked = (0..100).map(|_| resolver.config_of(&object));
    for answer in futures::future::join_all(asked).await {
        answer.unwrap();
    }
    assert_eq!(shared.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_comes_while_its_absence_is_reported_is_reported_too() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let object = cluster_wide();
    resolver.config_of(&object).await.unwrap();
    shared.fixture().secrets.clear();
    shared.fixture().slow = Duration::from_secs(1);
    let half = Duration::from_millis(500);
    let finds_nothing = resolver.config_of(&object);
    // It knows the config as it was before the absence was reported.
    let finds_it = async {
        tokio::time::sleep(half).await;
        resolver.config_of(&object).await
    };
    let comes = async {
        tokio::time::sleep(3 * half).await;
        shared.secret(2, &[("token", "canary")]);
    };
    let (absent, found, ()) = tokio::join!(finds_nothing, finds_it, comes);
    assert_eq!(absent.unwrap_err().reason().as_str(), "SecretNotFound");
    found.unwrap();
    let reported: Vec<_> = shared
        .fixture()
        .reported
        .iter()
        .map(|one| one["status"].clone())
        .collect();
    assert_eq!(reported, ["True", "False", "True"]);
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_for_what_cannot_be_read_do_not_wait_for_each_other() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.fixture().slow = Duration::from_secs(10);
    let resolver = shared.resolver(false);
    let (object, begun) = (cluster_wide(), Instant::now());
    let asked = (0..100).map(|_| resolver.config_of(&object));
    for answer in futures::future::join_all(asked).await {
        assert_eq!(answer.unwrap_err().reason().as_str(), "SecretNotFound");
    }
    assert_eq!((shared.counts().0, begun.elapsed().as_secs()), (2, 20));
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_another_generation_is_not_shared() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.fixture().slow = Duration::from_secs(10);
    let resolver = shared.resolver(false);
    let object = cluster_wide();
    let (former, next) = (resolver.config_of(&object), resolver.config_of(&object));
    let mended = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shared.config(None, 2, &json!({}));
        resolver.config_of(&object).await
    };
    let (former, next, mended) = tokio::join!(former, next, mended);
    assert_eq!(former.unwrap_err().reason().as_str(), "SecretNotFound");
    assert_eq!(next.unwrap_err().reason().as_str(), "SecretNotFound");
    assert_eq!(mended.unwrap().identity, "account");
}
