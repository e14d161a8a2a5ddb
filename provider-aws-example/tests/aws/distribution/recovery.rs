//! Creations whose outcome is unknown, and tokens that are reused.

use std::time::Duration;

use crossbridge_proto::v1alpha1 as wire;

use super::*;

/// How long a plugin on a busy machine may take to report that AWS is silent.
const LONG_ENOUGH: Duration = Duration::from_secs(4);

async fn ids(fixture: &Fixture) -> Vec<String> {
    let all = fixture.aws.distributions().await.expect("a list");
    all.into_iter().map(|distribution| distribution.id).collect()
}

/// From now on the tagging service rejects requests.
fn forbid_tagging(fixture: &Fixture) {
    let forbidden = Fault::new(Harm::AccessDenied)
        .on_service(Service::Tagging)
        .times(u32::MAX);
    fixture.aws.inject(forbidden);
}

fn assert_reused(outcome: &wire::Outcome) {
    let failure = failure(outcome);
    assert_eq!(
        (failure.code(), failure.effect()),
        (FailureCode::TokenReused, Effect::None),
        "{failure:?}"
    );
    assert_eq!(outcome.external_name, "", "it was not created by this request");
}

#[tokio::test]
async fn a_token_creates_one_distribution_however_often_it_is_sent() {
    let fixture = Fixture::new().await;
    let mut site = distribution(&fixture);
    let first = site.create().await;
    let again = [site.create().await, site.create_again().await];
    for outcome in &again {
        assert_eq!(outcome.external_name, first.external_name);
        assert_eq!(
            operation(outcome).handle,
            operation(&first).handle,
            "still under way"
        );
    }
    let created = again.into_iter().next().expect("one");
    let name = first.external_name.clone();
    completed(&site.follow(created).await.0);

    // Edited since: still what this token created. Another spec is another request, though; and the tagging service may be forbidden.
    edit(&fixture, &name, |config| config.comment = "edited".to_owned()).await;
    while !site.observation().await.ready {}
    let replica = fixture.replica().await;
    let mut elsewhere = replica.object("cloudfront", "Distribution", "", desired());
    for deny in [false, true] {
        if deny {
            forbid_tagging(&fixture);
        }
        elsewhere.desired = desired();
        let again = elsewhere.create_again().await;
        assert!(completed(&again).already_done);
        assert_eq!(again.external_name, name);
        elsewhere.desired = json!({ "comment": "no origins" });
        if deny {
            // Created by a former version, whose checks were others.
            let arn = site.observation().await.canonical_id;
            untag(&fixture, &arn, "crossbridge.dev/request").await;
            let again = elsewhere.create_again().await;
            assert!(completed(&again).already_done);
            assert_eq!(again.external_name, name);
        } else {
            assert_reused(&elsewhere.create_again().await);
        }
    }

    // The marker was removed by hand: by its token it is ours all the same.
    let arn = site.observation().await.canonical_id;
    unmark(&fixture, &arn).await;
    elsewhere.desired = desired();
    let again = elsewhere.create_again().await;
    assert!(completed(&again).already_done);
    assert_eq!(ids(&fixture).await, [name]);
}

#[tokio::test]
async fn a_repeat_resumes_a_creation_whose_response_was_lost() {
    let fixture = Fixture::new().await;
    let site = distribution(&fixture);
    fixture
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::CloudFront, CREATE));
    let lost = site.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let found = site.observation().await;
    assert_eq!(found.found_marker, site.marker);
    assert!(!found.ready && found.observe_after.is_some());
    let again = site.create_again().await;
    assert_eq!(again.external_name, found.external_name);
    operation(&again);
    assert_eq!(ids(&fixture).await, [found.external_name]);
}

#[tokio::test]
async fn a_repeat_creates_what_never_reached_aws() {
    let fixture = settled().await;
    let mut site = distribution(&fixture);
    site.timeout = LONG_ENOUGH;
    fixture
        .aws
        .inject(Fault::new(Harm::Hang).on(Service::CloudFront, CREATE));
    let silent = site.create().await;
    let silent = failure(&silent);
    assert_eq!(
        (silent.code(), silent.effect()),
        (FailureCode::Timeout, Effect::Unknown)
    );
    site.timeout = CALL_TIMEOUT;
    assert_eq!(site.absent().await, "");
    let created = site.create_again().await;
    assert_eq!(ids(&fixture).await, [created.external_name.as_str()]);
    assert!(!completed(&created).already_done);
}

#[tokio::test]
async fn a_reused_token_neither_creates_nor_recreates_a_distribution() {
    let fixture = settled().await;
    let ours = existing(&fixture).await;
    let mut theirs = distribution(&fixture);
    theirs.marker = "another-object".to_owned();
    for outcome in [theirs.create().await, theirs.create_again().await] {
        assert_reused(&outcome);
    }
    let mut other = ours.clone();
    other.external_name = String::new();
    other.desired["comment"] = json!("another comment");
    for outcome in [other.create().await, other.create_again().await] {
        assert_reused(&outcome);
    }
    other.desired = ours.desired.clone();
    assert!(completed(&other.create().await).already_done);
    let mut deleted = distribution(&fixture);
    deleted.token = "6f1c1b8e-7c1a-4a53-9d0c-2a4a5a0a9c11".to_owned();
    deleted.marker = "a-third".to_owned();
    // The first may just not be visible yet.
    for (again, effect) in [(false, Effect::Unknown), (true, Effect::None)] {
        fixture.aws.inject(
            Fault::new(Harm::Error {
                status: 409,
                code: "DistributionAlreadyExists".to_owned(),
                message:
                    "The caller reference is associated with another distribution. Already exists: E2GONEGONEGONE"
                        .to_owned(),
            })
            .on(Service::CloudFront, CREATE),
        );
        let outcome = if again {
            deleted.create_again().await
        } else {
            deleted.create().await
        };
        assert_eq!(outcome.external_name, "E2GONEGONEGONE");
        assert_eq!(
            (failure(&outcome).code(), failure(&outcome).effect()),
            (FailureCode::NotFound, effect)
        );
    }
    assert_eq!(ids(&fixture).await, [ours.external_name.as_str()]);
}

#[tokio::test]
async fn the_effect_is_unknown_while_the_distribution_cannot_be_read() {
    let fixture = settled().await;
    let site = distribution(&fixture);
    let first = site.create().await;
    fixture
        .aws
        .inject(Fault::new(Harm::Throttle).on(Service::CloudFront, "GetDistribution"));
    let again = site.create().await;
    assert_eq!(failure(&again).effect(), Effect::Unknown, "{again:?}");
    assert_eq!(site.create().await.external_name, first.external_name);
}

#[tokio::test]
async fn a_distribution_is_found_with_and_without_the_tagging_service() {
    let fixture = settled().await;
    let mut site = distribution(&fixture);
    assert_eq!(site.absent().await, "", "nothing is there yet");
    for (token, marker) in [
        ("4f7c2c6e-0000-4000-8000-000000000001", "other-1"),
        ("4f7c2c6e-0000-4000-8000-000000000002", "other-2"),
    ] {
        let mut other = distribution(&fixture);
        (other.token, other.marker) = (token.to_owned(), marker.to_owned());
        completed(&other.create().await);
    }
    let reads = || fixture.aws.calls(Service::CloudFront, "ListTagsForResource");
    let before = reads();
    assert_eq!(site.absent().await, "");
    assert_eq!(reads(), before, "the tagging service knows their owners");

    let created = site.create().await.external_name;
    assert_eq!(site.observation().await.external_name, created);
    forbid_tagging(&fixture);
    assert_eq!(site.observation().await.external_name, created);
    let mut restored = site.clone();
    (restored.marker, restored.former_marker) = ("restored".to_owned(), site.marker.clone());
    assert_eq!(restored.observation().await.external_name, created);

    fixture.aws.clear_faults();
    fixture
        .aws
        .inject(Fault::new(Harm::Hang).on_service(Service::Tagging));
    assert_eq!(site.observation().await.external_name, created);
    forbid_tagging(&fixture);

    for (action, harm) in [
        ("ListDistributions", Harm::AccessDenied),
        ("ListTagsForResource", Harm::Throttle),
        ("ListDistributions", Harm::ServerError),
    ] {
        fixture
            .aws
            .inject(Fault::new(harm).on(Service::CloudFront, action));
        site.observe_failure().await;
    }
    site.timeout = LONG_ENOUGH;
    fixture
        .aws
        .inject(Fault::new(Harm::Hang).on(Service::CloudFront, "ListTagsForResource"));
    assert_eq!(site.observe_failure().await.code(), FailureCode::Timeout);
}

#[tokio::test]
async fn the_oldest_of_several_distributions_is_found_among_many() {
    let fixture = settled().await;
    let client = aws_client(&fixture.aws);
    let site = existing(&fixture).await;
    let (config, _) = config_of(&fixture, &site.external_name).await;
    for number in 0..100 {
        let mut config = config.clone();
        config.caller_reference = format!("by-hand-{number}");
        client
            .create_distribution()
            .distribution_config(config)
            .send()
            .await
            .expect("created by hand");
    }
    let mut last = site.clone();
    last.token = "9b1c1b8e-7c1a-4a53-9d0c-2a4a5a0a9c12".to_owned();
    last.marker = "the-last".to_owned();
    last.external_name = String::new();
    // A hundred tag lists are read, on a machine that may be busy.
    last.timeout = Duration::from_secs(50);
    let created = last.create().await.external_name;
    forbid_tagging(&fixture);
    assert_eq!(
        last.observation().await.external_name,
        created,
        "on the second page"
    );

    last.former_marker.clone_from(&site.marker);
    let found = last.observation().await;
    let warning = found.warnings.first().expect("two have a marker of this object");
    assert_eq!(warning.reason, "SeveralFound");
    assert!(
        warning.message.contains(&created) && warning.message.contains(&site.external_name),
        "{warning:?}"
    );
    last.token = site.token.clone();
    let again = last.create_again().await;
    assert_eq!(
        again.external_name, site.external_name,
        "the one that this token created"
    );
}

#[tokio::test]
async fn rejected_credentials_are_never_absence() {
    let fixture = Fixture::with(Options {
        auth: true,
        ..Options::default()
    })
    .await;
    let mut site = distribution(&fixture);
    let narrow = fixture.aws.create_user(&["s3:*"]).await.expect("a user");
    site.config = fixture.config_with(&json!({}), &narrow);
    let denied = site.observe_failure().await;
    assert_eq!(denied.code(), FailureCode::PermissionDenied, "{denied:?}");
    let refused = site.create().await;
    let refused = failure(&refused);
    assert_eq!(
        (refused.code(), refused.effect()),
        (FailureCode::PermissionDenied, Effect::None)
    );
    let mut wrong = fixture.aws.credentials();
    wrong.secret_access_key = "wrong".to_owned();
    site.config = fixture.config_with(&json!({}), &wrong);
    for name in ["", "E00000000000"] {
        site.external_name = name.to_owned();
        let refused = site.observe_failure().await;
        assert_eq!(refused.code(), FailureCode::Unauthenticated, "{refused:?}");
    }
    assert!(fixture.aws.distributions().await.unwrap().is_empty());
}
