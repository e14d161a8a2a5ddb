//! What the plugin says of a config, by its check and by calls.

use bridge_core::external::{CallError, Config, Effect, Failure, FailureCode};
use jiff::SignedDuration;
use serde_json::json;

use super::{
    ConfigCheck, ConfigError,
    fixture::{Shared, cluster_wide},
    reason, with_secret,
};
use crate::managed::ConfigSource;

fn refusal() -> Failure {
    Failure {
        code: FailureCode::Unauthenticated,
        effect: Effect::None,
        reason: "BadKey".to_owned(),
        message: "The key is refused.".to_owned(),
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    }
}

#[tokio::test]
async fn a_rejected_config_backs_off_until_it_changes() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "bad")]);
    shared.fixture().verdict = Some(Ok(Err(refusal())));
    let resolver = shared.resolver(false);
    let error = resolver.config_of(&cluster_wide()).await.unwrap_err();
    assert_eq!(error.reason().as_str(), "BadKey");
    assert!(
        error
            .to_string()
            .ends_with("is invalid: The key is refused; correct its settings or credentials"),
        "{error}"
    );
    // 5 s, 10 s, 20 s, … at most 5 min.
    let steps = [
        (4, 1),
        (1, 2),
        (9, 2),
        (1, 3),
        (19, 3),
        (1, 4),
        (3600, 5),
        (300, 6),
        (300, 7),
        (300, 8),
        (299, 8),
        (1, 9),
    ];
    for (seconds, checks) in steps {
        shared.wait(seconds);
        assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
        assert_eq!(shared.counts().1, checks, "after {seconds} s more");
    }
    let woken = shared.fixture().woken.len();
    shared.fixture().secrets.clear();
    assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretNotFound");
    assert_eq!(shared.fixture().woken.len(), woken, "Secrets are watched");
    shared.secret(2, &[("token", "good")]);
    shared.fixture().verdict = None;
    assert_eq!(
        resolver.config_of(&cluster_wide()).await.unwrap().identity,
        "account"
    );
}

#[tokio::test]
async fn a_plugin_that_cannot_be_asked_is_asked_again_soon() {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    let unknown = CallError::Unknown {
        code: "UNAVAILABLE".to_owned(),
        message: "away".to_owned(),
    };
    shared.fixture().verdict = Some(Err(unknown));
    let resolver = shared.resolver(false);
    let error = resolver.config_of(&cluster_wide()).await.unwrap_err();
    assert!(matches!(error, ConfigError::NotChecked { .. }), "{error}");
    // 1 s, 2 s, 4 s, … at most 15 s.
    for (seconds, checks) in [(1, 2), (1, 2), (1, 3), (4, 4), (8, 5), (15, 6), (14, 6), (1, 7)] {
        shared.wait(seconds);
        assert_eq!(
            reason(&resolver, &cluster_wide()).await,
            "ProviderConfigNotChecked"
        );
        assert_eq!(shared.counts().1, checks, "after {seconds} s more");
    }
    let woken = shared.fixture().woken.clone();
    assert_eq!(woken.last().map(String::as_str), Some("default in 15 s"));
    assert_eq!(woken.len(), 9, "each who asks is told when to ask again");
}

#[tokio::test]
async fn a_plugin_that_checks_no_configs_knows_no_identity() {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    let unimplemented = CallError::Rejected {
        code: "UNIMPLEMENTED".to_owned(),
        message: String::new(),
    };
    shared.fixture().verdict = Some(Err(unimplemented));
    assert_eq!(
        shared
            .resolver(false)
            .config_of(&cluster_wide())
            .await
            .unwrap()
            .identity,
        ""
    );
}

#[tokio::test]
async fn a_rejected_call_suspends_its_config_until_a_check_succeeds() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    let other = Config {
        id: "another".to_owned(),
        ..(*config).clone()
    };
    resolver.rejected(&other, &refusal(), shared.now());
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts(), (1, 1));

    shared.fixture().verdict = Some(Ok(Err(refusal())));
    for _ in 0..32 {
        resolver.rejected(&config, &refusal(), shared.now());
    }
    assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
    assert_eq!(shared.counts(), (2, 2), "read afresh, and asked once");
    shared.fixture().verdict = None;
    let condition = shared.fixture().reported.last().cloned().unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("BadKey"))
    );
    shared.wait(4);
    assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
    shared.wait(1);
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts().1, 3, "a burst of 32 was one failure");
    let condition = shared.fixture().reported.last().cloned().unwrap();
    assert_eq!(condition["status"], "True");
}

#[tokio::test]
async fn a_check_that_an_outage_cuts_short_rejects_nothing() {
    for code in [
        FailureCode::Unavailable,
        FailureCode::Throttled,
        FailureCode::Timeout,
    ] {
        let shared = Shared::default();
        shared.config(None, 1, &json!({}));
        shared.fixture().verdict = Some(Ok(Err(Failure { code, ..refusal() })));
        let resolver = shared.resolver(false);
        assert_eq!(
            reason(&resolver, &cluster_wide()).await,
            "ProviderConfigNotChecked",
            "{code:?}"
        );
        shared.fixture().verdict = None;
        // 1 s, and not 5.
        shared.wait(1);
        resolver.config_of(&cluster_wide()).await.unwrap();
    }
}

#[tokio::test]
async fn a_config_is_checked_though_nothing_refers_to_it() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "bad")]);
    shared.fixture().verdict = Some(Ok(Err(refusal())));
    let resolver = shared.resolver(false);
    let config = || shared.fixture().objects.values().next().cloned().unwrap();
    let again = resolver.check(&config()).await;
    assert_eq!(again, Some(shared.now() + SignedDuration::from_secs(5)));
    assert_eq!(shared.fixture().reported.last().unwrap()["reason"], "BadKey");
    shared.fixture().verdict = None;
    shared.secret(2, &[("token", "good")]);
    assert_eq!(resolver.check(&config()).await, None);
    assert_eq!(
        shared.fixture().reported.last().unwrap()["reason"],
        "Usable",
        "at once"
    );
    assert!(shared.fixture().woken.is_empty());
}

#[tokio::test]
async fn expired_credentials_are_read_afresh_once_before_they_hold_their_config() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let expired = Failure {
        code: FailureCode::CredentialsExpired,
        ..refusal()
    };
    let sent = shared.now();
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    resolver.rejected(&config, &expired, shared.now());
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts(), (2, 2), "read and checked afresh, without a wait");
    // Another call that was under way with the former ones.
    resolver.rejected(&config, &expired, sent);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();

    shared.wait(1);
    shared.fixture().verdict = Some(Ok(Err(refusal())));
    resolver.rejected(&config, &expired, shared.now());
    assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
    shared.fixture().verdict = None;
    shared.wait(5);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    shared.wait(900);
    resolver.rejected(&config, &expired, shared.now());
    resolver
        .config_of(&cluster_wide())
        .await
        .expect("those that expire later are read afresh again");
}

/// What was reported so far, without what was reported before.
fn reported(shared: &Shared) -> Vec<String> {
    let reported = std::mem::take(&mut shared.fixture().reported);
    let said = |condition: &serde_json::Value| {
        let word = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", word("status"), word("reason"))
    };
    reported.iter().map(said).collect()
}

/// A config of a plugin that checks none.
fn unchecked() -> Shared {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    shared.fixture().verdict = Some(Err(CallError::Rejected {
        code: "UNIMPLEMENTED".to_owned(),
        message: String::new(),
    }));
    shared
}

#[tokio::test]
async fn a_plugin_that_checks_no_configs_is_believed_by_its_calls() {
    let shared = unchecked();
    let resolver = shared.resolver(false);
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(reported(&shared), ["True/Usable"]);
    for (wait, told) in [(5, vec!["False/BadKey"]), (10, vec![]), (20, vec![])] {
        let before = shared.now();
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        resolver.rejected(&config, &refusal(), shared.now());
        shared.wait(wait - 1);
        assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey", "{wait}");
        shared.wait(1);
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        resolver.rejected(&config, &refusal(), before - SignedDuration::from_secs(1));
        // Calls that were on their way when it was rejected say nothing of today.
        resolver.accepted(&config, before);
        resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(
            reported(&shared),
            told,
            "{wait}: it is tried, and not known to be good"
        );
    }
    // Calls that were sent before the last failure are no news, and go on being none.
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    let woken = shared.fixture().woken.len();
    resolver.accepted(&config, shared.now());
    assert_eq!(shared.fixture().woken[woken..], ["default in 0 s"]);
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(reported(&shared), ["True/Usable"]);
    resolver.accepted(&config, shared.now());
    assert_eq!(shared.fixture().woken.len(), woken + 1, "it is news once");
}

#[tokio::test]
async fn what_calls_have_rejected_is_not_usable_because_time_passes() {
    let shared = unchecked();
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    resolver.rejected(&config, &refusal(), shared.now());
    assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
    assert_eq!(reported(&shared), ["True/Usable", "False/BadKey"]);
    shared.wait(24 * 3600);
    resolver.forget_unused();
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(
        reported(&shared),
        [""; 0],
        "it is tried, and not known to be good"
    );
    resolver.accepted(&config, shared.now());
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(reported(&shared), ["True/Usable"]);
}

#[tokio::test]
async fn a_config_that_a_call_rejected_is_reported_anew_once_it_changes() {
    let shared = unchecked();
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    resolver.rejected(&config, &refusal(), shared.now());
    assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
    // An outage in between refutes nothing.
    let unimplemented = shared.fixture().verdict.replace(Err(CallError::Unknown {
        code: "UNAVAILABLE".to_owned(),
        message: "away".to_owned(),
    }));
    shared.wait(5);
    assert_eq!(
        reason(&resolver, &cluster_wide()).await,
        "ProviderConfigNotChecked"
    );
    shared.fixture().verdict = unimplemented;
    shared.wait(60);
    resolver.config_of(&cluster_wide()).await.unwrap();
    let told = reported(&shared);
    assert_eq!(told.last().map(String::as_str), Some("False/BadKey"), "{told:?}");
    shared.config(None, 2, &json!({ "settings": { "region": "south" } }));
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(reported(&shared), ["True/Usable"]);
}

#[tokio::test]
async fn rejected_calls_of_one_object_hold_no_other_while_the_config_is_good() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    for times in 1..=5 {
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(shared.counts().1, times);
        resolver.rejected(&config, &refusal(), shared.now());
        // What was sent before the plugin was asked is no news.
        let began = shared.now() - SignedDuration::from_secs(1);
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        resolver.rejected(&config, &refusal(), began);
        resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(shared.counts().1, times + 1, "asked once for each that is");
        shared.wait(5);
    }
}

#[tokio::test]
async fn an_object_that_is_rejected_all_the_time_asks_once_in_a_while() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    for _ in 0..20 {
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        resolver.rejected(&config, &refusal(), shared.now());
        shared.wait(1);
    }
    let checks = shared.counts().1;
    assert_eq!(checks, 5, "at first, and in the seconds 1, 7, 13 and 19");
}

#[tokio::test]
async fn a_rejection_of_former_credentials_does_not_suspend_new_ones() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "former")]);
    let resolver = shared.resolver(false);
    let former = resolver.config_of(&cluster_wide()).await.unwrap();
    shared.secret(2, &[("token", "present")]);
    resolver.config_of(&cluster_wide()).await.unwrap();
    resolver.rejected(&former, &refusal(), shared.now());
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts(), (2, 2));
}
