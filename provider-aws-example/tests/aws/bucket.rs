use aws_emulator::{Fault, Harm, Service};
use crossbridge_proto::v1alpha1::{Effect, FailureCode};
use serde_json::{Value, json};

use crate::world::{Object, World, completed, failure, parameters};

fn wish() -> Value {
    json!({
        "tags": { "team": "storage" },
        "versioning": "Enabled",
        "encryption": { "algorithm": "AES256", "bucketKeyEnabled": false },
        "publicAccessBlock": { "blockPublicAcls": true, "restrictPublicBuckets": true },
        "objectOwnership": "BucketOwnerPreferred",
        "policy": "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": []\n}",
    })
}

fn bucket(world: &World, wish: Value) -> Object<'_> {
    world.object("s3", "Bucket", "a-bucket", wish)
}

#[tokio::test]
async fn a_bucket_lives_and_dies() {
    let world = World::new().await;
    let mut bucket = bucket(&world, wish());
    assert_eq!(bucket.absent().await, "");

    let created = bucket.create().await;
    assert_eq!(created.external_name, "a-bucket");
    assert_eq!(created.canonical_id, "arn:aws:s3:::a-bucket");
    assert!(!completed(&created).already_done);
    assert_eq!(
        created.connection_details["endpoint"],
        b"a-bucket.s3.eu-west-1.amazonaws.com"
    );

    let found = bucket.found().await;
    assert!(found.ready);
    assert_eq!(found.found_marker, bucket.marker);
    assert_eq!(parameters(&found)["tags"], json!({ "team": "storage" }));
    assert_eq!(parameters(&found)["region"], "eu-west-1");
    assert_eq!(bucket.drift().await, [""; 0]);

    bucket.wish["tags"] = json!({ "team": "storage", "tier": "gold" });
    bucket.wish["versioning"] = json!("Suspended");
    bucket.wish["encryption"] = json!({ "algorithm": "aws:kms", "bucketKeyEnabled": true });
    bucket.wish["publicAccessBlock"] = json!({ "blockPublicAcls": false });
    bucket.wish["policy"] = json!("");
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
    let now = parameters(&bucket.found().await);
    assert_eq!(
        now["publicAccessBlock"]["restrictPublicBuckets"], true,
        "what was not wished for stays"
    );

    assert!(!completed(&bucket.delete().await).already_done);
    bucket.absent().await;
    assert!(completed(&bucket.delete().await).already_done);
}

#[tokio::test]
async fn an_update_without_a_difference_writes_nothing() {
    let world = World::new().await;
    let bucket = bucket(&world, wish());
    completed(&bucket.create().await);
    let writes = || {
        [
            "PutBucketTagging",
            "PutBucketVersioning",
            "PutBucketEncryption",
            "PutPublicAccessBlock",
            "PutBucketPolicy",
        ]
        .map(|action| world.aws.calls(Service::S3, action))
    };
    let before = writes();
    completed(&bucket.update().await);
    assert_eq!(writes(), before);
}

#[tokio::test]
async fn what_exists_is_not_taken_over() {
    let world = World::new().await;
    for region in ["us-east-1", "eu-west-1"] {
        let name = format!("in-{region}");
        let first = world.object("s3", "Bucket", &name, json!({ "region": region }));
        completed(&first.create().await);
        let mut second = first.clone();
        second.marker = "somebody-else".to_owned();
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
        assert_eq!(first.found().await.found_marker, first.marker);
    }
}

#[tokio::test]
async fn another_accounts_bucket_is_taken_and_never_absent() {
    let world = World::new().await;
    world.aws.give_bucket_away("a-bucket");
    let bucket = bucket(&world, wish());
    assert_eq!(bucket.look_failure().await.code(), FailureCode::PermissionDenied);
    let created = bucket.create().await;
    assert_eq!(failure(&created).code(), FailureCode::AlreadyExists);
    assert_eq!(failure(&created).effect(), Effect::None);
    assert_eq!(world.aws.calls(Service::S3, "CreateBucket"), 0);
}

#[tokio::test]
async fn a_lost_answer_is_made_good_by_a_repeat() {
    let world = World::new().await;
    let bucket = bucket(&world, wish());
    world
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::S3, "CreateBucket"));
    let lost = bucket.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let found = bucket.found().await;
    assert_eq!(found.found_marker, "", "the marker comes second");
    completed(&bucket.create_again().await);
    assert_eq!(bucket.found().await.found_marker, bucket.marker);
    assert_eq!(bucket.drift().await, [""; 0]);
    assert_eq!(world.aws.buckets().await.unwrap(), ["a-bucket"]);
}

#[tokio::test]
async fn a_creation_that_stops_half_way_says_so() {
    let world = World::new().await;
    let bucket = bucket(&world, wish());
    world
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
async fn anothers_bucket_is_not_there_for_changes() {
    let world = World::new().await;
    let ours = bucket(&world, wish());
    completed(&ours.create().await);
    let mut theirs = ours.clone();
    theirs.marker = "somebody-else".to_owned();
    for outcome in [theirs.update().await, theirs.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
        assert_eq!(failure(&outcome).effect(), Effect::None);
    }
    theirs.former_marker.clone_from(&ours.marker);
    completed(&theirs.update().await);
    assert_eq!(
        theirs.found().await.found_marker,
        "somebody-else",
        "the former marker is replaced"
    );
}

#[tokio::test]
async fn an_absent_bucket_is_not_made_by_an_update() {
    let world = World::new().await;
    let outcome = bucket(&world, wish()).update().await;
    assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
    assert_eq!(world.aws.buckets().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_bucket_is_found_in_its_own_region() {
    let world = World::new().await;
    let mut bucket = bucket(&world, json!({ "region": "eu-west-1" }));
    completed(&bucket.create().await);
    bucket.wish["region"] = json!("us-west-2");
    assert_eq!(parameters(&bucket.found().await)["region"], "eu-west-1");
    let moved = bucket.update().await;
    assert_eq!(failure(&moved).code(), FailureCode::ImmutableField);
    completed(&bucket.delete().await);
}

#[tokio::test]
async fn a_wrong_wish_is_refused_field_by_field() {
    let world = World::new().await;
    let wrong = json!({
        "tags": { "aws:mine": "no" },
        "encryption": { "algorithm": "AES256", "kmsKeyId": "alias/mine" },
        "policy": "not json",
    });
    let outcome = bucket(&world, wrong).create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::InvalidSpec);
    let paths: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(paths, ["/tags/aws:mine", "/policy", "/encryption/kmsKeyId"]);
    assert_eq!(world.aws.all_calls(), 0, "nobody was asked");
}

#[tokio::test]
async fn a_bucket_with_objects_waits_to_be_emptied() {
    let world = World::new().await;
    let bucket = bucket(&world, wish());
    completed(&bucket.create().await);
    let hands = hands(&world);
    hands
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
async fn what_somebody_else_changed_is_seen_and_put_right() {
    let world = World::new().await;
    let bucket = bucket(&world, wish());
    completed(&bucket.create().await);
    let hands = hands(&world);
    hands
        .delete_public_access_block()
        .bucket("a-bucket")
        .send()
        .await
        .expect("removed by hand");
    hands
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
    assert_eq!(bucket.found().await.found_marker, "");
    completed(&bucket.update().await);
    assert_eq!(bucket.drift().await, [""; 0]);
    assert_eq!(
        bucket.found().await.found_marker,
        bucket.marker,
        "the marker is put back"
    );
}

/// S3 says, once for each of these, that there is no such bucket.
fn deny_once(world: &World, actions: &[&str]) {
    for action in actions {
        let harm = Harm::Error {
            status: 404,
            code: "NoSuchBucket".to_owned(),
            message: "The specified bucket does not exist".to_owned(),
        };
        world.aws.inject(Fault::new(harm).on(Service::S3, action));
    }
}

#[tokio::test]
async fn who_was_faster_keeps_the_bucket() {
    let world = World::new().await;
    let ours = world.object("s3", "Bucket", "a-bucket", json!({ "region": "us-east-1" }));
    completed(&ours.create().await);
    let mut theirs = ours.clone();
    theirs.marker = "somebody-else".to_owned();
    theirs.wish["versioning"] = json!("Enabled");
    // Made by us between their look and their request, which us-east-1 answers as if nothing were amiss.
    deny_once(&world, &["HeadBucket", "GetBucketTagging"]);
    let late = theirs.create().await;
    assert_eq!(world.aws.calls(Service::S3, "CreateBucket"), 2);
    assert_eq!(
        (failure(&late).code(), failure(&late).effect()),
        (FailureCode::AlreadyExists, Effect::None)
    );
    assert_eq!(world.aws.calls(Service::S3, "PutBucketVersioning"), 0);
    assert_eq!(ours.found().await.found_marker, ours.marker);
}

#[tokio::test]
async fn a_new_bucket_that_is_not_seen_yet_is_not_absent() {
    let world = World::new().await;
    for late in ["GetBucketVersioning", "PutBucketVersioning"] {
        let bucket = bucket(&world, wish());
        deny_once(&world, &[late]);
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
async fn an_unmarked_bucket_in_another_region_is_no_earlier_work_of_ours() {
    let world = World::new().await;
    let there = aws_sdk_s3::types::CreateBucketConfiguration::builder()
        .location_constraint(aws_sdk_s3::types::BucketLocationConstraint::EuWest1);
    let request = hands(&world).create_bucket().bucket("a-bucket");
    let made = request.create_bucket_configuration(there.build()).send().await;
    made.expect("made by hand");
    let bucket = bucket(&world, json!({ "region": "us-west-2" }));
    let outcome = bucket.create_again().await;
    assert_eq!(
        (failure(&outcome).code(), failure(&outcome).effect()),
        (FailureCode::AlreadyExists, Effect::None)
    );
    assert_eq!(bucket.found().await.found_marker, "", "it is left alone");
}

#[tokio::test]
async fn the_key_in_use_is_not_given_up_for_a_wish_that_names_none() {
    let world = World::new().await;
    let key = json!({ "encryption": { "algorithm": "aws:kms", "kmsKeyId": "alias/mine" } });
    let mut bucket = bucket(&world, key);
    completed(&bucket.create().await);
    bucket.wish["encryption"] = json!({ "algorithm": "aws:kms", "bucketKeyEnabled": true });
    completed(&bucket.update().await);
    let now = parameters(&bucket.found().await);
    assert_eq!(now["encryption"]["kmsKeyId"], "alias/mine");
    assert_eq!(now["encryption"]["bucketKeyEnabled"], true);
    bucket.wish["encryption"] = json!({ "algorithm": "AES256" });
    completed(&bucket.update().await);
    assert_eq!(
        parameters(&bucket.found().await)["encryption"]["algorithm"],
        "AES256"
    );
}

/// Somebody else at work in the same account.
fn hands(world: &World) -> aws_sdk_s3::Client {
    let keys = &world.keys;
    let credentials = aws_sdk_s3::config::Credentials::new(
        &keys.access_key_id,
        &keys.secret_access_key,
        None,
        None,
        "hands",
    );
    let config = aws_sdk_s3::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_s3::config::Region::new("eu-west-1"))
        .endpoint_url(world.aws.endpoint())
        .credentials_provider(credentials)
        .force_path_style(true);
    aws_sdk_s3::Client::from_conf(config.build())
}
