use aws_emulator::{Fault, Harm, Service};
use crossbridge_proto::v1alpha1::{Effect, FailureCode};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Object, completed, failure, parameters};

fn desired() -> Value {
    json!({
        "tags": { "team": "storage" },
        "versioning": "Enabled",
        "encryption": { "algorithm": "AES256", "bucketKeyEnabled": false },
        "publicAccessBlock": { "blockPublicAcls": true, "restrictPublicBuckets": true },
        "objectOwnership": "BucketOwnerPreferred",
        "policy": "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": []\n}",
    })
}

fn bucket(fixture: &Fixture, desired: Value) -> Object<'_> {
    fixture.object("s3", "Bucket", "a-bucket", desired)
}

#[tokio::test]
async fn a_bucket_is_created_updated_and_deleted() {
    let fixture = Fixture::new().await;
    let mut bucket = bucket(&fixture, desired());
    assert_eq!(bucket.absent().await, "");

    let created = bucket.create().await;
    assert_eq!(created.external_name, "a-bucket");
    assert_eq!(created.canonical_id, "arn:aws:s3:::a-bucket");
    assert!(!completed(&created).already_done);
    assert_eq!(
        created.connection_details["endpoint"],
        b"a-bucket.s3.eu-west-1.amazonaws.com"
    );

    let found = bucket.observation().await;
    assert!(found.ready);
    assert_eq!(found.found_marker, bucket.marker);
    assert_eq!(parameters(&found)["tags"], json!({ "team": "storage" }));
    assert_eq!(parameters(&found)["region"], "eu-west-1");
    assert_eq!(bucket.drift().await, [""; 0]);

    bucket.desired["tags"] = json!({ "team": "storage", "tier": "gold" });
    bucket.desired["versioning"] = json!("Suspended");
    bucket.desired["encryption"] = json!({ "algorithm": "aws:kms", "bucketKeyEnabled": true });
    bucket.desired["publicAccessBlock"] = json!({ "blockPublicAcls": false });
    bucket.desired["policy"] = json!("");
    let drift = bucket.drift().await;
    let paths = [
        "/encryption/algorithm",
        "/encryption/bucketKeyEnabled",
        "/policy",
        "/publicAccessBlock/blockPublicAcls",
        "/tags",
        "/versioning",
    ];
    assert_eq!(drift, paths);
    completed(&bucket.update().await);
    assert_eq!(bucket.drift().await, [""; 0]);
    let now = parameters(&bucket.observation().await);
    assert_eq!(
        now["publicAccessBlock"]["restrictPublicBuckets"], true,
        "what is not desired stays"
    );

    assert!(!completed(&bucket.delete().await).already_done);
    bucket.absent().await;
    assert!(completed(&bucket.delete().await).already_done);
}

#[tokio::test]
async fn an_update_without_a_difference_writes_nothing() {
    let fixture = Fixture::new().await;
    let bucket = bucket(&fixture, desired());
    completed(&bucket.create().await);
    let writes = || {
        [
            "PutBucketTagging",
            "PutBucketVersioning",
            "PutBucketEncryption",
            "PutPublicAccessBlock",
            "PutBucketPolicy",
        ]
        .map(|action| fixture.aws.calls(Service::S3, action))
    };
    let before = writes();
    completed(&bucket.update().await);
    assert_eq!(writes(), before);
}

#[tokio::test]
async fn an_existing_resource_is_not_adopted_by_a_creation() {
    let fixture = Fixture::new().await;
    for region in ["us-east-1", "eu-west-1"] {
        let name = format!("in-{region}");
        let first = fixture.object("s3", "Bucket", &name, json!({ "region": region }));
        completed(&first.create().await);
        let mut second = first.clone();
        second.marker = "another-object".to_owned();
        for outcome in [
            first.create().await,
            second.create().await,
            second.create_again().await,
        ] {
            let failure = failure(&outcome);
            assert_eq!(failure.code(), FailureCode::AlreadyExists, "{failure:?}");
            assert_eq!(failure.effect(), Effect::None);
            assert_eq!(failure.existing_external_name, name);
        }
        assert_eq!(first.observation().await.found_marker, first.marker);
    }
}

#[tokio::test]
async fn a_bucket_of_another_account_takes_the_name() {
    let fixture = Fixture::new().await;
    fixture.aws.give_bucket_away("a-bucket");
    let bucket = bucket(&fixture, desired());
    assert_eq!(
        bucket.observe_failure().await.code(),
        FailureCode::PermissionDenied
    );
    let created = bucket.create().await;
    assert_eq!(failure(&created).code(), FailureCode::AlreadyExists);
    assert_eq!(failure(&created).effect(), Effect::None);
    assert_eq!(fixture.aws.calls(Service::S3, "CreateBucket"), 0);
}

#[tokio::test]
async fn a_repeat_resumes_a_creation_whose_response_was_lost() {
    let fixture = Fixture::new().await;
    let bucket = bucket(&fixture, desired());
    fixture
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::S3, "CreateBucket"));
    let lost = bucket.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let found = bucket.observation().await;
    assert_eq!(found.found_marker, "", "the marker comes second");
    completed(&bucket.create_again().await);
    assert_eq!(bucket.observation().await.found_marker, bucket.marker);
    assert_eq!(bucket.drift().await, [""; 0]);
    assert_eq!(fixture.aws.buckets().await.unwrap(), ["a-bucket"]);
}

#[tokio::test]
async fn a_half_finished_creation_reports_a_partial_effect() {
    let fixture = Fixture::new().await;
    let bucket = bucket(&fixture, desired());
    fixture
        .aws
        .inject(Fault::new(Harm::Throttle).on(Service::S3, "PutBucketVersioning"));
    let stopped = bucket.create().await;
    assert_eq!(stopped.external_name, "a-bucket");
    assert_eq!(failure(&stopped).code(), FailureCode::Throttled);
    assert_eq!(failure(&stopped).effect(), Effect::Partial);
    assert!(failure(&stopped).retry_after.is_some());
    let missing = [
        "/encryption",
        "/policy",
        "/publicAccessBlock/blockPublicAcls",
        "/publicAccessBlock/restrictPublicBuckets",
        "/versioning",
    ];
    assert_eq!(
        bucket.drift().await,
        missing,
        "what comes after the step that failed"
    );
    completed(&bucket.update().await);
    assert_eq!(bucket.drift().await, [""; 0]);
}

#[tokio::test]
async fn a_foreign_bucket_is_neither_updated_nor_deleted() {
    let fixture = Fixture::new().await;
    let ours = bucket(&fixture, desired());
    completed(&ours.create().await);
    let mut theirs = ours.clone();
    theirs.marker = "another-object".to_owned();
    for outcome in [theirs.update().await, theirs.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
        assert_eq!(failure(&outcome).effect(), Effect::None);
    }
    theirs.former_marker.clone_from(&ours.marker);
    completed(&theirs.update().await);
    assert_eq!(
        theirs.observation().await.found_marker,
        "another-object",
        "the former marker is replaced"
    );
}

#[tokio::test]
async fn an_update_does_not_create_an_absent_bucket() {
    let fixture = Fixture::new().await;
    let outcome = bucket(&fixture, desired()).update().await;
    assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
    assert_eq!(fixture.aws.buckets().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_bucket_is_observed_in_its_own_region() {
    let fixture = Fixture::new().await;
    let mut bucket = bucket(&fixture, json!({ "region": "eu-west-1" }));
    completed(&bucket.create().await);
    bucket.desired["region"] = json!("us-west-2");
    assert_eq!(parameters(&bucket.observation().await)["region"], "eu-west-1");
    let moved = bucket.update().await;
    assert_eq!(failure(&moved).code(), FailureCode::ImmutableField);
    completed(&bucket.delete().await);
}

/// The region of the config is where buckets are made, not where they are.
#[tokio::test]
async fn a_bucket_without_a_region_in_its_spec_is_updated_where_it_is() {
    let fixture = Fixture::new().await;
    let mut bucket = bucket(&fixture, json!({ "region": "eu-west-1" }));
    completed(&bucket.create().await);
    bucket.desired = json!({ "tags": { "team": "shop" } });
    completed(&bucket.update().await);
    let now = parameters(&bucket.observation().await);
    assert_eq!(
        (&now["region"], &now["tags"]["team"]),
        (&json!("eu-west-1"), &json!("shop"))
    );
    completed(&bucket.delete().await);
}

#[tokio::test]
async fn an_invalid_spec_is_rejected_field_by_field() {
    let fixture = Fixture::new().await;
    let wrong = json!({
        "tags": { "aws:mine": "no" },
        "encryption": { "algorithm": "AES256", "kmsKeyId": "alias/mine" },
        "policy": "not json",
    });
    let outcome = bucket(&fixture, wrong).create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::InvalidSpec);
    let paths: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(paths, ["/tags/aws:mine", "/policy", "/encryption/kmsKeyId"]);
    assert_eq!(fixture.aws.all_calls(), 0, "no request was sent");
}

#[tokio::test]
async fn a_bucket_with_objects_is_not_deleted() {
    let fixture = Fixture::new().await;
    let bucket = bucket(&fixture, desired());
    completed(&bucket.create().await);
    let client = s3_client(&fixture);
    client
        .put_object()
        .bucket("a-bucket")
        .key("file")
        .send()
        .await
        .expect("an object");
    let refused = bucket.delete().await;
    assert_eq!(failure(&refused).code(), FailureCode::DependencyNotReady);
    assert_eq!(failure(&refused).effect(), Effect::None);
    assert_eq!(failure(&refused).reason, "BucketNotEmpty");
}

#[tokio::test]
async fn drift_is_observed_and_corrected() {
    let fixture = Fixture::new().await;
    let bucket = bucket(&fixture, desired());
    completed(&bucket.create().await);
    let client = s3_client(&fixture);
    client
        .delete_public_access_block()
        .bucket("a-bucket")
        .send()
        .await
        .expect("removed by hand");
    client
        .delete_bucket_tagging()
        .bucket("a-bucket")
        .send()
        .await
        .expect("removed by hand");
    let drift = [
        "/publicAccessBlock/blockPublicAcls",
        "/publicAccessBlock/restrictPublicBuckets",
        "/tags",
    ];
    assert_eq!(bucket.drift().await, drift);
    assert_eq!(bucket.observation().await.found_marker, "");
    completed(&bucket.update().await);
    assert_eq!(bucket.drift().await, [""; 0]);
    assert_eq!(
        bucket.observation().await.found_marker,
        bucket.marker,
        "the marker is put back"
    );
}

/// S3 answers, once for each of these, that there is no such bucket.
fn deny_once(fixture: &Fixture, actions: &[&str]) {
    for action in actions {
        let harm = Harm::Error {
            status: 404,
            code: "NoSuchBucket".to_owned(),
            message: "The specified bucket does not exist".to_owned(),
        };
        fixture.aws.inject(Fault::new(harm).on(Service::S3, action));
    }
}

#[tokio::test]
async fn the_object_that_created_the_bucket_first_keeps_it() {
    let fixture = Fixture::new().await;
    let ours = fixture.object("s3", "Bucket", "a-bucket", json!({ "region": "us-east-1" }));
    completed(&ours.create().await);
    let mut theirs = ours.clone();
    theirs.marker = "another-object".to_owned();
    theirs.desired["versioning"] = json!("Enabled");
    // Created by the first object between the read and the request of the second, which us-east-1 answers with success.
    deny_once(&fixture, &["HeadBucket", "GetBucketTagging"]);
    let late = theirs.create().await;
    assert_eq!(fixture.aws.calls(Service::S3, "CreateBucket"), 2);
    assert_eq!(
        (failure(&late).code(), failure(&late).effect()),
        (FailureCode::AlreadyExists, Effect::None)
    );
    assert_eq!(fixture.aws.calls(Service::S3, "PutBucketVersioning"), 0);
    assert_eq!(ours.observation().await.found_marker, ours.marker);
}

#[tokio::test]
async fn a_new_bucket_not_yet_visible_is_not_absent() {
    let fixture = Fixture::new().await;
    for late in ["GetBucketVersioning", "PutBucketVersioning"] {
        let bucket = bucket(&fixture, desired());
        deny_once(&fixture, &[late]);
        let created = bucket.create().await;
        assert_eq!(created.external_name, "a-bucket");
        assert_eq!(
            (failure(&created).code(), failure(&created).effect()),
            (FailureCode::Conflict, Effect::Partial),
            "{late}"
        );
        completed(&bucket.create_again().await);
        assert_eq!(bucket.drift().await, [""; 0]);
        completed(&bucket.delete().await);
    }
}

#[tokio::test]
async fn an_unmarked_bucket_in_another_region_is_not_adopted() {
    let fixture = Fixture::new().await;
    let there = aws_sdk_s3::types::CreateBucketConfiguration::builder()
        .location_constraint(aws_sdk_s3::types::BucketLocationConstraint::EuWest1);
    let request = s3_client(&fixture).create_bucket().bucket("a-bucket");
    let created = request.create_bucket_configuration(there.build()).send().await;
    created.expect("created by hand");
    let bucket = bucket(&fixture, json!({ "region": "us-west-2" }));
    let outcome = bucket.create_again().await;
    assert_eq!(
        (failure(&outcome).code(), failure(&outcome).effect()),
        (FailureCode::AlreadyExists, Effect::None)
    );
    assert_eq!(bucket.observation().await.found_marker, "", "it is left alone");
}

#[tokio::test]
async fn a_spec_without_a_key_keeps_the_key_in_use() {
    let fixture = Fixture::new().await;
    let key = json!({ "encryption": { "algorithm": "aws:kms", "kmsKeyId": "alias/mine" } });
    let mut bucket = bucket(&fixture, key);
    completed(&bucket.create().await);
    bucket.desired["encryption"] = json!({ "algorithm": "aws:kms", "bucketKeyEnabled": true });
    completed(&bucket.update().await);
    let now = parameters(&bucket.observation().await);
    assert_eq!(now["encryption"]["kmsKeyId"], "alias/mine");
    assert_eq!(now["encryption"]["bucketKeyEnabled"], true);
    bucket.desired["encryption"] = json!({ "algorithm": "AES256" });
    completed(&bucket.update().await);
    assert_eq!(
        parameters(&bucket.observation().await)["encryption"]["algorithm"],
        "AES256"
    );
}

/// An SDK client for changes by hand, past the plugin.
fn s3_client(fixture: &Fixture) -> aws_sdk_s3::Client {
    let keys = &fixture.keys;
    let credentials = aws_sdk_s3::config::Credentials::new(
        &keys.access_key_id,
        &keys.secret_access_key,
        None,
        None,
        "client",
    );
    let config = aws_sdk_s3::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_s3::config::Region::new("eu-west-1"))
        .endpoint_url(fixture.aws.endpoint())
        .credentials_provider(credentials)
        .force_path_style(true);
    aws_sdk_s3::Client::from_conf(config.build())
}
