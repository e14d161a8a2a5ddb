//! Creations whose end is unknown, and tokens that come again.

use std::time::Duration;

use crossbridge_proto::v1alpha1 as wire;

use super::*;

/// For a plugin on a busy machine to say that AWS is silent.
const LONG_ENOUGH: Duration = Duration::from_secs(4);

async fn ids(world: &World) -> Vec<String> {
    let all = world.aws.distributions().await.expect("a list");
    all.into_iter().map(|distribution| distribution.id).collect()
}

/// From now on the tagging service is closed to us.
fn forbid_tagging(world: &World) {
    let forbidden = Fault::new(Harm::AccessDenied)
        .on_service(Service::Tagging)
        .times(u32::MAX);
    world.aws.inject(forbidden);
}

fn assert_reused(outcome: &wire::Outcome) {
    let failure = failure(outcome);
    assert_eq!(
        (failure.code(), failure.effect()),
        (FailureCode::TokenReused, Effect::None),
        "{failure:?}"
    );
    assert_eq!(outcome.external_name, "", "it is none of this request's");
}

#[tokio::test]
async fn a_token_makes_one_however_often_and_wherever_it_comes() {
    let world = World::new().await;
    let mut site = distribution(&world);
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

    // Edited since: still what this token made. Another wish is another request, though; and the tagging service may be closed to us.
    edit(&world, &name, |config| config.comment = "edited".to_owned()).await;
    while !site.found().await.ready {}
    let replica = world.replica().await;
    let mut elsewhere = replica.object("cloudfront", "Distribution", "", wish());
    for deny in [false, true] {
        if deny {
            forbid_tagging(&world);
        }
        elsewhere.wish = wish();
        let again = elsewhere.create_again().await;
        assert!(completed(&again).already_done);
        assert_eq!(again.external_name, name);
        elsewhere.wish = json!({ "comment": "no origins" });
        if deny {
            // Made by a former version, whose checks were others.
            let arn = site.found().await.canonical_id;
            untag(&world, &arn, "crossbridge.dev/request").await;
            let again = elsewhere.create_again().await;
            assert!(completed(&again).already_done);
            assert_eq!(again.external_name, name);
        } else {
            assert_reused(&elsewhere.create_again().await);
        }
    }

    // Somebody took the marker off: by its token it is ours all the same.
    let arn = site.found().await.canonical_id;
    unmark(&world, &arn).await;
    elsewhere.wish = wish();
    let again = elsewhere.create_again().await;
    assert!(completed(&again).already_done);
    assert_eq!(ids(&world).await, [name]);
}

#[tokio::test]
async fn a_lost_answer_is_an_unknown_end_and_a_repeat_finds_its_work() {
    let world = World::new().await;
    let site = distribution(&world);
    world
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::CloudFront, CREATE));
    let lost = site.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let found = site.found().await;
    assert_eq!(found.found_marker, site.marker);
    assert!(!found.ready && found.observe_after.is_some());
    let again = site.create_again().await;
    assert_eq!(again.external_name, found.external_name);
    operation(&again);
    assert_eq!(ids(&world).await, [found.external_name]);
}

#[tokio::test]
async fn what_never_reached_aws_is_made_by_the_repeat() {
    let world = settled().await;
    let mut site = distribution(&world);
    site.timeout = LONG_ENOUGH;
    world
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
    let made = site.create_again().await;
    assert_eq!(ids(&world).await, [made.external_name.as_str()]);
    assert!(!completed(&made).already_done);
}

#[tokio::test]
async fn another_request_under_the_token_is_refused_and_a_gone_one_is_not_made_again() {
    let world = settled().await;
    let ours = made(&world).await;
    let mut theirs = distribution(&world);
    theirs.marker = "somebody-else".to_owned();
    for outcome in [theirs.create().await, theirs.create_again().await] {
        assert_reused(&outcome);
    }
    let mut other = ours.clone();
    other.external_name = String::new();
    other.wish["comment"] = json!("another wish");
    for outcome in [other.create().await, other.create_again().await] {
        assert_reused(&outcome);
    }
    other.wish = ours.wish.clone();
    assert!(completed(&other.create().await).already_done);
    let mut gone = distribution(&world);
    gone.token = "6f1c1b8e-7c1a-4a53-9d0c-2a4a5a0a9c11".to_owned();
    gone.marker = "a-third".to_owned();
    // The first may only not be seen yet.
    for (again, effect) in [(false, Effect::Unknown), (true, Effect::None)] {
        world.aws.inject(
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
            gone.create_again().await
        } else {
            gone.create().await
        };
        assert_eq!(outcome.external_name, "E2GONEGONEGONE");
        assert_eq!(
            (failure(&outcome).code(), failure(&outcome).effect()),
            (FailureCode::NotFound, effect)
        );
    }
    assert_eq!(ids(&world).await, [ours.external_name.as_str()]);
}

#[tokio::test]
async fn as_long_as_it_cannot_be_looked_at_nothing_is_certain() {
    let world = settled().await;
    let site = distribution(&world);
    let first = site.create().await;
    world
        .aws
        .inject(Fault::new(Harm::Throttle).on(Service::CloudFront, "GetDistribution"));
    let again = site.create().await;
    assert_eq!(failure(&again).effect(), Effect::Unknown, "{again:?}");
    assert_eq!(site.create().await.external_name, first.external_name);
}

#[tokio::test]
async fn it_is_found_by_its_marker_with_and_without_the_tagging_service() {
    let world = settled().await;
    let mut site = distribution(&world);
    assert_eq!(site.absent().await, "", "nothing is there yet");
    for (token, marker) in [
        ("4f7c2c6e-0000-4000-8000-000000000001", "other-1"),
        ("4f7c2c6e-0000-4000-8000-000000000002", "other-2"),
    ] {
        let mut other = distribution(&world);
        (other.token, other.marker) = (token.to_owned(), marker.to_owned());
        completed(&other.create().await);
    }
    let reads = || world.aws.calls(Service::CloudFront, "ListTagsForResource");
    let before = reads();
    assert_eq!(site.absent().await, "");
    assert_eq!(reads(), before, "the tagging service knows whose they are");

    let made = site.create().await.external_name;
    assert_eq!(site.found().await.external_name, made);
    forbid_tagging(&world);
    assert_eq!(site.found().await.external_name, made);
    let mut restored = site.clone();
    (restored.marker, restored.former_marker) = ("restored".to_owned(), site.marker.clone());
    assert_eq!(restored.found().await.external_name, made);

    world.aws.clear_faults();
    world
        .aws
        .inject(Fault::new(Harm::Hang).on_service(Service::Tagging));
    assert_eq!(site.found().await.external_name, made);
    forbid_tagging(&world);

    for (action, harm) in [
        ("ListDistributions", Harm::AccessDenied),
        ("ListTagsForResource", Harm::Throttle),
        ("ListDistributions", Harm::ServerError),
    ] {
        world.aws.inject(Fault::new(harm).on(Service::CloudFront, action));
        site.look_failure().await;
    }
    site.timeout = LONG_ENOUGH;
    world
        .aws
        .inject(Fault::new(Harm::Hang).on(Service::CloudFront, "ListTagsForResource"));
    assert_eq!(site.look_failure().await.code(), FailureCode::Timeout);
}

#[tokio::test]
async fn it_is_found_among_many_and_of_several_the_first_counts() {
    let world = settled().await;
    let hands = by_hand(&world.aws);
    let site = made(&world).await;
    let (config, _) = config_of(&world, &site.external_name).await;
    for number in 0..100 {
        let mut config = config.clone();
        config.caller_reference = format!("by-hand-{number}");
        hands
            .create_distribution()
            .distribution_config(config)
            .send()
            .await
            .expect("made by hand");
    }
    let mut last = site.clone();
    last.token = "9b1c1b8e-7c1a-4a53-9d0c-2a4a5a0a9c12".to_owned();
    last.marker = "the-last".to_owned();
    last.external_name = String::new();
    // A hundred tag lists are read, on a machine that may be busy.
    last.timeout = Duration::from_secs(50);
    let made = last.create().await.external_name;
    forbid_tagging(&world);
    assert_eq!(last.found().await.external_name, made, "on the second page");

    last.former_marker.clone_from(&site.marker);
    let found = last.found().await;
    let warning = found.warnings.first().expect("two have a marker of this object");
    assert_eq!(warning.reason, "SeveralFound");
    assert!(
        warning.message.contains(&made) && warning.message.contains(&site.external_name),
        "{warning:?}"
    );
    last.token = site.token.clone();
    let again = last.create_again().await;
    assert_eq!(
        again.external_name, site.external_name,
        "the one that this token made"
    );
}

#[tokio::test]
async fn refused_credentials_are_never_absence() {
    let world = World::with(Options {
        auth: true,
        ..Options::default()
    })
    .await;
    let mut site = distribution(&world);
    let narrow = world.aws.create_user(&["s3:*"]).await.expect("a user");
    site.config = world.config_with(&json!({}), &narrow);
    let denied = site.look_failure().await;
    assert_eq!(denied.code(), FailureCode::PermissionDenied, "{denied:?}");
    let refused = site.create().await;
    let refused = failure(&refused);
    assert_eq!(
        (refused.code(), refused.effect()),
        (FailureCode::PermissionDenied, Effect::None)
    );
    let mut wrong = world.aws.credentials();
    wrong.secret_access_key = "wrong".to_owned();
    site.config = world.config_with(&json!({}), &wrong);
    for name in ["", "E00000000000"] {
        site.external_name = name.to_owned();
        let refused = site.look_failure().await;
        assert_eq!(refused.code(), FailureCode::Unauthenticated, "{refused:?}");
    }
    assert!(world.aws.distributions().await.unwrap().is_empty());
}
