use aws_emulator::{Credentials, Fault, Harm, Options, Service};
use crossbridge_proto::v1alpha1::{
    CheckConfigRequest, CheckConfigResponse, ConfigContext, Effect, FailureCode,
};
use serde_json::{Value, json};

use crate::world::{CALL_TIMEOUT, Object, World, completed, failure};

/// One object of each kind.
fn objects(world: &World) -> Vec<Object<'_>> {
    let key = json!({
        "attributeDefinitions": [{ "attributeName": "id", "attributeType": "S" }],
        "keySchema": [{ "attributeName": "id", "keyType": "HASH" }],
    });
    let site = json!({
        "origins": [{ "id": "content", "domainName": "site.s3.eu-west-1.amazonaws.com", "s3Origin": {} }],
        "defaultCacheBehavior": { "targetOriginId": "content", "viewerProtocolPolicy": "https-only" },
    });
    vec![
        world.object("s3", "Bucket", "a-bucket", json!({})),
        world.object("sqs", "Queue", "", json!({ "name": "jobs" })),
        world.object("dynamodb", "Table", "orders", key),
        world.object("cloudfront", "Distribution", "", site),
    ]
}

async fn checking() -> World {
    World::with(Options {
        auth: true,
        ..Options::default()
    })
    .await
}

async fn check(world: &World, config: ConfigContext) -> CheckConfigResponse {
    let request = CheckConfigRequest { config: Some(config) };
    world
        .plugin()
        .check_config(request)
        .await
        .expect("the config is tried")
        .into_inner()
}

async fn check_failure(world: &World, more: &Value, keys: &Credentials) -> FailureCode {
    check(world, world.config_with(more, keys))
        .await
        .failure
        .expect("it is refused")
        .code()
}

#[tokio::test]
async fn a_good_config_says_which_account_it_is() {
    let world = checking().await;
    let checked = check(&world, world.config()).await;
    assert_eq!(checked.failure, None);
    assert_eq!(checked.identity, "123456789012");
    for object in objects(&world) {
        object.absent().await;
    }
}

#[tokio::test]
async fn a_credentials_file_in_one_key_will_do() {
    let world = checking().await;
    let mut config = world.config();
    let keys = &world.keys;
    let file = format!(
        "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
        keys.access_key_id, keys.secret_access_key
    );
    config.credentials = [("credentials".to_owned(), file.into_bytes())].into();
    assert_eq!(check(&world, config.clone()).await.identity, "123456789012");
    config.credentials = [("credentials".to_owned(), b"[other]\nregion = x".to_vec())].into();
    config.revision.push_str("changed");
    let refused = check(&world, config)
        .await
        .failure
        .expect("the file lacks the keys");
    assert_eq!(refused.code(), FailureCode::Unauthenticated, "{refused:?}");
}

#[tokio::test]
async fn wrong_credentials_are_unauthenticated_and_never_absence() {
    let world = checking().await;
    let unknown = Credentials {
        access_key_id: "AKIA0000000000000000".to_owned(),
        ..world.keys.clone()
    };
    let wrong = Credentials {
        secret_access_key: "wrong".to_owned(),
        ..world.keys.clone()
    };
    for keys in [unknown, wrong] {
        assert_eq!(
            check_failure(&world, &json!({}), &keys).await,
            FailureCode::Unauthenticated
        );
        for mut object in objects(&world) {
            object.config = world.config_with(&json!({}), &keys);
            let kind = &object.resource_type.kind;
            let looked = object.look_failure().await;
            assert_eq!(looked.code(), FailureCode::Unauthenticated, "{kind}: {looked:?}");
            let created = object.create().await;
            assert_eq!(
                failure(&created).code(),
                FailureCode::Unauthenticated,
                "{kind}: {created:?}"
            );
            assert_eq!(failure(&created).effect(), Effect::None, "{kind}");
        }
    }
    assert_eq!(world.aws.buckets().await.unwrap(), [""; 0]);
    assert_eq!(world.aws.queues("eu-west-1").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_missing_permission_is_denied_and_never_absence() {
    let world = checking().await;
    let narrow = world.aws.create_user(&["sts:GetCallerIdentity"]).await.unwrap();
    for mut object in objects(&world) {
        object.config = world.config_with(&json!({}), &narrow);
        let looked = object.look_failure().await;
        assert_eq!(looked.code(), FailureCode::PermissionDenied, "{looked:?}");
        let created = object.create().await;
        assert_eq!(failure(&created).effect(), Effect::None, "{created:?}");
    }
}

#[tokio::test]
async fn a_role_is_assumed_or_refused() {
    let world = checking().await;
    let role =
        json!({ "assumeRole": { "roleArn": "arn:aws:iam::123456789012:role/worker", "externalId": "e" } });
    let checked = check(&world, world.config_with(&role, &world.keys)).await;
    assert_eq!(checked.failure, None);
    assert_eq!(checked.identity, "123456789012");
    let narrow = world.aws.create_user(&["s3:*"]).await.unwrap();
    assert_eq!(
        check_failure(&world, &role, &narrow).await,
        FailureCode::Unauthenticated
    );
}

#[tokio::test]
async fn wrong_settings_are_told_as_such() {
    let world = World::new().await;
    let wrong = json!({ "pollInterval": "often" });
    assert_eq!(
        check_failure(&world, &wrong, &world.keys).await,
        FailureCode::InvalidConfig
    );
    let mut incomplete = world.config();
    incomplete.credentials.remove("secretAccessKey");
    incomplete.revision.push_str("incomplete");
    let refused = check(&world, incomplete)
        .await
        .failure
        .expect("half a key is none");
    assert_eq!(refused.code(), FailureCode::Unauthenticated);
}

#[tokio::test]
async fn trouble_on_the_way_is_no_absence_and_tells_its_effect() {
    let world = World::new().await;
    for object in objects(&world) {
        let kind = &object.resource_type.kind;
        for (harm, code) in [
            (Harm::Throttle, FailureCode::Throttled),
            (Harm::ServerError, FailureCode::Unavailable),
            (Harm::AccessDenied, FailureCode::PermissionDenied),
            (Harm::Refuse, FailureCode::Unavailable),
        ] {
            world.aws.inject(Fault::new(harm.clone()).times(u32::MAX));
            let looked = object.look_failure().await;
            assert_eq!(looked.code(), code, "{kind}: {looked:?}");
            world.aws.clear_faults();
        }
    }
}

#[tokio::test]
async fn a_404_of_somebody_else_is_no_absence() {
    let world = World::new().await;
    for object in objects(&world) {
        let harm = Harm::Error {
            status: 404,
            code: String::new(),
            message: "no such page".to_owned(),
        };
        world.aws.inject(Fault::new(harm).times(u32::MAX));
        let kind = &object.resource_type.kind;
        let looked = object.look_failure().await;
        assert_eq!(looked.code(), FailureCode::Unavailable, "{kind}: {looked:?}");
        assert_eq!(failure(&object.create().await).effect(), Effect::None, "{kind}");
        world.aws.clear_faults();
    }
}

#[tokio::test]
async fn a_silent_aws_is_a_timeout_before_the_deadline() {
    let world = World::new().await;
    for mut object in objects(&world) {
        let kind = object.resource_type.kind.clone();
        object.look().await;
        object.timeout = std::time::Duration::from_millis(800);
        world.aws.inject(Fault::new(Harm::Hang).times(u32::MAX));
        let looked = object.look_failure().await;
        assert_eq!(looked.code(), FailureCode::Timeout, "{kind}: {looked:?}");
        world.aws.clear_faults();
    }
    let mut bucket = world.object("s3", "Bucket", "a-bucket", json!({}));
    bucket.timeout = std::time::Duration::from_millis(800);
    world
        .aws
        .inject(Fault::new(Harm::AnswerHangs).on(Service::S3, "CreateBucket"));
    let created = bucket.create().await;
    assert_eq!(failure(&created).code(), FailureCode::Timeout);
    assert_eq!(failure(&created).effect(), Effect::Unknown);
    bucket.timeout = CALL_TIMEOUT;
    completed(&bucket.create_again().await);
    assert_eq!(world.aws.buckets().await.unwrap(), ["a-bucket"]);
}
