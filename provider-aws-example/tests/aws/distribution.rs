use aws_emulator::{AwsEmulator, Fault, Harm, Options, Service, Settle};
use aws_sdk_cloudfront::types as aws;
use crossbridge_proto::v1alpha1::{Effect, FailureCode, OperationVerb};
use serde_json::{Value, json};
use tonic::Code;

use crate::fixture::{CALL_TIMEOUT, Fixture, Object, completed, failure, operation, parameters};

mod fields;
mod recovery;

const CREATE: &str = "CreateDistributionWithTags";

fn desired() -> Value {
    json!({
        "comment": "site",
        "origins": [{ "id": "bucket", "domainName": "site.s3.amazonaws.com", "s3Origin": {} }],
        "defaultCacheBehavior": { "targetOriginId": "bucket", "viewerProtocolPolicy": "redirect-to-https" },
        "tags": { "team": "web" },
    })
}

fn distribution(fixture: &Fixture) -> Object<'_> {
    fixture.object("cloudfront", "Distribution", "", desired())
}

/// An AWS in which every change is deployed at once.
async fn settled() -> Fixture {
    Fixture::with(Options {
        distribution_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await
}

async fn existing(fixture: &Fixture) -> Object<'_> {
    let mut object = distribution(fixture);
    let created = object.create().await;
    completed(&object.follow(created).await.0);
    object
}

/// An SDK client for changes by hand, past the plugin.
fn aws_client(emulator: &AwsEmulator) -> aws_sdk_cloudfront::Client {
    let keys = emulator.credentials();
    let keys = aws_credential_types::Credentials::new(
        keys.access_key_id,
        keys.secret_access_key,
        None,
        None,
        "tests",
    );
    let config = aws_sdk_cloudfront::Config::builder()
        .behavior_version(aws_sdk_cloudfront::config::BehaviorVersion::latest())
        .region(aws_sdk_cloudfront::config::Region::new("us-east-1"))
        .endpoint_url(emulator.endpoint())
        .credentials_provider(keys);
    aws_sdk_cloudfront::Client::from_conf(config.build())
}

async fn config_of(fixture: &Fixture, id: &str) -> (aws::DistributionConfig, String) {
    let answer = aws_client(&fixture.aws)
        .get_distribution_config()
        .id(id)
        .send()
        .await
        .expect("it is there");
    (
        answer.distribution_config.expect("a configuration"),
        answer.e_tag.expect("a version"),
    )
}

async fn edit(fixture: &Fixture, id: &str, change: impl FnOnce(&mut aws::DistributionConfig)) {
    let (mut config, etag) = config_of(fixture, id).await;
    change(&mut config);
    let request = aws_client(&fixture.aws)
        .update_distribution()
        .id(id)
        .if_match(etag)
        .distribution_config(config);
    request.send().await.expect("edited by hand");
}

async fn unmark(fixture: &Fixture, arn: &str) {
    untag(fixture, arn, "crossbridge.dev/owner").await;
}

async fn untag(fixture: &Fixture, arn: &str, key: &str) {
    let keys = aws::TagKeys::builder().items(key).build();
    let request = aws_client(&fixture.aws)
        .untag_resource()
        .resource(arn)
        .tag_keys(keys);
    request.send().await.expect("untagged by hand");
}

#[tokio::test]
async fn a_distribution_is_created_updated_and_deleted() {
    let fixture = Fixture::new().await;
    let mut site = distribution(&fixture);
    let created = site.create().await;
    let deploying = operation(&created);
    assert_eq!(deploying.verb(), OperationVerb::Create);
    assert!(
        !deploying.poll_driven && deploying.poll_after.is_some(),
        "{deploying:?}"
    );
    assert!(!created.external_name.is_empty() && created.canonical_id.ends_with(&created.external_name));
    let handle = deploying.handle.clone();
    let (done, polls) = site.follow(created).await;
    assert_eq!(polls, 3, "AWS takes two reads");
    assert!(
        completed(&done)
            .observation
            .as_ref()
            .is_some_and(|found| found.ready),
        "{done:?}"
    );
    assert_eq!(done.connection_details["id"], site.external_name.as_bytes());
    completed(&site.poll(&handle).await);

    let found = site.observation().await;
    assert!(found.ready);
    assert_eq!(found.found_marker, site.marker);
    let status: Value = serde_json::from_str(&found.status.as_ref().expect("a status").json).expect("JSON");
    assert_eq!(status["status"], "Deployed");
    assert_eq!(status["hostedZoneId"], "Z2FDTNDATAQYW2");
    assert_eq!(
        status["domainName"].as_str().map(str::as_bytes),
        Some(&found.connection_details["domainName"][..])
    );
    assert_eq!(site.drift().await, [""; 0]);
    let (config, _) = config_of(&fixture, &site.external_name).await;
    assert_eq!(
        config.caller_reference, site.token,
        "a token is the caller reference"
    );
    assert!(config.enabled);

    site.desired["comment"] = json!("shop");
    site.desired["tags"] = json!({ "tier": "gold" });
    assert_eq!(site.drift().await, ["/comment", "/tags"]);
    let updated = site.update_if(&found.etag).await;
    assert_eq!(operation(&updated).verb(), OperationVerb::Update);
    assert!(!site.observation().await.ready, "until it is deployed");
    completed(&site.follow(updated).await.0);
    assert_eq!(site.drift().await, [""; 0]);

    let deleted = site.delete().await;
    let disabling = operation(&deleted);
    assert_eq!(disabling.verb(), OperationVerb::Delete);
    assert!(disabling.poll_driven, "{disabling:?}");
    assert!(!config_of(&fixture, &site.external_name).await.0.enabled);
    let handle = disabling.handle.clone();
    completed(&site.follow(deleted).await.0);
    assert!(fixture.aws.distributions().await.unwrap().is_empty());
    completed(&site.poll(&handle).await);
    assert_eq!(site.absent().await, "");
    assert!(completed(&site.delete().await).already_done);
}

#[tokio::test]
async fn fields_without_desired_value_stay_and_drift_is_corrected() {
    let fixture = settled().await;
    let site = existing(&fixture).await;
    edit(&fixture, &site.external_name, |config| {
        config.comment = "drifted".to_owned();
        config.default_root_object = Some("index.html".to_owned());
        if let Some(behavior) = &mut config.default_cache_behavior {
            behavior.origin_request_policy_id = Some("216adef6-5c7f-47e4-b989-5492eafa07d3".to_owned());
        }
    })
    .await;
    assert_eq!(site.drift().await, ["/comment"]);
    completed(&site.update().await);
    assert_eq!(site.drift().await, [""; 0]);
    let now = parameters(&site.observation().await);
    assert_eq!(now["defaultRootObject"], "index.html");
    assert_eq!(
        now["defaultCacheBehavior"]["originRequestPolicyId"],
        "216adef6-5c7f-47e4-b989-5492eafa07d3"
    );
}

#[tokio::test]
async fn an_update_writes_only_differences_over_the_observed_version() {
    let fixture = settled().await;
    let mut site = existing(&fixture).await;
    let writes = || {
        ["UpdateDistribution", "TagResource", "UntagResource"]
            .map(|action| fixture.aws.calls(Service::CloudFront, action))
    };
    completed(&site.update().await);
    assert_eq!(writes(), [0, 0, 0], "nothing differs");
    site.desired["tags"] = json!({ "tier": "gold" });
    completed(&site.update().await);
    assert_eq!(writes(), [0, 1, 1], "the tags differ");

    let seen = site.observation().await.etag;
    edit(&fixture, &site.external_name, |config| {
        config.comment = "edited".to_owned();
    })
    .await;
    let before = writes();
    site.desired["tags"] = json!({ "tier": "silver" });
    for outcome in [site.update_if(&seen).await, site.delete_if(&seen).await] {
        let failure = failure(&outcome);
        assert_eq!(
            (failure.code(), failure.effect()),
            (FailureCode::Conflict, Effect::None),
            "{failure:?}"
        );
    }
    assert_eq!(writes(), before);
    completed(&site.update_if(&site.observation().await.etag).await);
    assert_eq!(site.drift().await, [""; 0]);
}

#[tokio::test]
async fn a_foreign_distribution_is_kept_an_unmarked_one_is_adopted() {
    let fixture = settled().await;
    let ours = existing(&fixture).await;
    let poll = operation_of_another_world(&ours).await;
    let mut theirs = ours.clone();
    theirs.marker = "another-object".to_owned();
    let outcomes = [
        theirs.update().await,
        theirs.delete().await,
        theirs.poll(&poll).await,
    ];
    for outcome in &outcomes {
        let failure = failure(outcome);
        assert_eq!(
            (failure.code(), failure.effect()),
            (FailureCode::NotFound, Effect::None),
            "{failure:?}"
        );
    }
    theirs.former_marker.clone_from(&ours.marker);
    completed(&theirs.update().await);
    assert_eq!(
        theirs.observation().await.found_marker,
        "another-object",
        "the former marker is replaced"
    );

    let arn = theirs.observation().await.canonical_id;
    unmark(&fixture, &arn).await;
    for outcome in [ours.delete().await, ours.poll(&poll).await] {
        let failure = failure(&outcome);
        assert_eq!(
            (failure.code(), failure.effect()),
            (FailureCode::NotFound, Effect::None),
            "{failure:?}"
        );
    }
    assert_eq!(fixture.aws.calls(Service::CloudFront, "DeleteDistribution"), 0);
    completed(&ours.update().await);
    assert_eq!(ours.observation().await.found_marker, ours.marker, "adopted");
    completed(&ours.delete().await);
}

/// A handle of an operation that creates `ours`, as its plugin would have given it, had it taken longer.
async fn operation_of_another_world(ours: &Object<'_>) -> String {
    let slow = Fixture::new().await;
    let created = distribution(&slow).create().await;
    operation(&created)
        .handle
        .replace(&created.external_name, &ours.external_name)
}

#[tokio::test]
async fn a_deletion_continues_on_any_replica_despite_edits() {
    let fixture = Fixture::new().await;
    let site = existing(&fixture).await;
    let deleted = site.delete().await;
    let handle = operation(&deleted).handle.clone();
    let replica = fixture.replica().await;
    let mut elsewhere = replica.object("cloudfront", "Distribution", &site.external_name, json!({}));
    edit(&fixture, &site.external_name, |config| config.enabled = true).await;
    let again = elsewhere.poll(&handle).await;
    assert_eq!(operation(&again).handle, handle, "the handle stays");
    assert!(
        !config_of(&fixture, &site.external_name).await.0.enabled,
        "disabled again"
    );
    completed(&elsewhere.follow(again).await.0);
    assert!(fixture.aws.distributions().await.unwrap().is_empty());

    let foreign = handle.replace(&site.external_name, "E00000000000");
    for handle in [foreign.as_str(), "nonsense", "{}"] {
        let refused = site
            .try_poll(handle)
            .await
            .expect_err("it is no handle of this distribution");
        assert_eq!(refused.code(), Code::InvalidArgument, "{handle}");
    }
}

#[tokio::test]
async fn a_disabled_and_deployed_distribution_is_deleted_at_once() {
    let fixture = Fixture::new().await;
    let mut site = distribution(&fixture);
    site.desired["enabled"] = json!(false);
    let created = site.create().await;
    completed(&site.follow(created).await.0);
    assert!(!completed(&site.delete().await).already_done);
    assert!(fixture.aws.distributions().await.unwrap().is_empty());
    assert_eq!(fixture.aws.calls(Service::CloudFront, "UpdateDistribution"), 0);
}

#[tokio::test]
async fn an_update_does_not_create_an_absent_distribution() {
    let fixture = Fixture::new().await;
    let mut site = distribution(&fixture);
    let created = site.create().await;
    let handle = operation(&created).handle.clone();
    let mut stranger = site.clone();
    site.external_name = created.external_name;
    let deleted = site.delete().await;
    completed(&site.follow(deleted).await.0);
    let ended = site.poll(&handle).await;
    let ended = failure(&ended);
    assert_eq!(
        (ended.code(), ended.effect()),
        (FailureCode::OperationFailed, Effect::Unknown)
    );
    stranger.external_name = "E00000000000".to_owned();
    assert_eq!(failure(&stranger.update().await).code(), FailureCode::NotFound);
    assert!(fixture.aws.distributions().await.unwrap().is_empty());
}
