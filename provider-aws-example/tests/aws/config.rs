use aws_emulator::{Credentials, Fault, Harm, Options, Service};
use crossbridge_proto::v1alpha1::{
    CheckConfigRequest, CheckConfigResponse, ConfigContext, Effect, FailureCode,
};
use serde_json::{Value, json};

use crate::fixture::{CALL_TIMEOUT, Fixture, Object, completed, failure};

/// One object of each kind.
fn objects(fixture: &Fixture) -> Vec<Object<'_>> {
    let key = json!({
        "attributeDefinitions": [{ "attributeName": "id", "attributeType": "S" }],
        "keySchema": [{ "attributeName": "id", "keyType": "HASH" }],
    });
    let site = json!({
        "origins": [{ "id": "content", "domainName": "site.s3.eu-west-1.amazonaws.com", "s3Origin": {} }],
        "defaultCacheBehavior": { "targetOriginId": "content", "viewerProtocolPolicy": "https-only" },
    });
    vec![
        fixture.object("s3", "Bucket", "a-bucket", json!({})),
        fixture.object("sqs", "Queue", "", json!({ "name": "jobs" })),
        fixture.object("dynamodb", "Table", "orders", key),
        fixture.object("cloudfront", "Distribution", "", site),
    ]
}

async fn checking() -> Fixture {
    Fixture::with(Options {
        auth: true,
        ..Options::default()
    })
    .await
}

async fn check(fixture: &Fixture, config: ConfigContext) -> CheckConfigResponse {
    let request = CheckConfigRequest { config: Some(config) };
    fixture
        .plugin()
        .check_config(request)
        .await
        .expect("the config is tried")
        .into_inner()
}

async fn check_failure(fixture: &Fixture, more: &Value, keys: &Credentials) -> FailureCode {
    check(fixture, fixture.config_with(more, keys))
        .await
        .failure
        .expect("it is rejected")
        .code()
}

#[tokio::test]
async fn a_valid_config_reports_its_account() {
    let fixture = checking().await;
    let checked = check(&fixture, fixture.config()).await;
    assert_eq!(checked.failure, None);
    assert_eq!(checked.identity, "123456789012");
    for object in objects(&fixture) {
        object.absent().await;
    }
}

#[tokio::test]
async fn a_credentials_file_in_one_key_is_accepted() {
    let fixture = checking().await;
    let mut config = fixture.config();
    let keys = &fixture.keys;
    let file = format!(
        "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
        keys.access_key_id, keys.secret_access_key
    );
    config.credentials = [("credentials".to_owned(), file.into_bytes())].into();
    assert_eq!(check(&fixture, config.clone()).await.identity, "123456789012");
    config.credentials = [("credentials".to_owned(), b"[other]\nregion = x".to_vec())].into();
    config.revision.push_str("changed");
    let refused = check(&fixture, config)
        .await
        .failure
        .expect("the file lacks the keys");
    assert_eq!(refused.code(), FailureCode::Unauthenticated, "{refused:?}");
}

#[tokio::test]
async fn wrong_credentials_are_unauthenticated_and_never_absence() {
    let fixture = checking().await;
    let unknown = Credentials {
        access_key_id: "AKIA0000000000000000".to_owned(),
        ..fixture.keys.clone()
    };
    let wrong = Credentials {
        secret_access_key: "wrong".to_owned(),
        ..fixture.keys.clone()
    };
    for keys in [unknown, wrong] {
        assert_eq!(
            check_failure(&fixture, &json!({}), &keys).await,
            FailureCode::Unauthenticated
        );
        for mut object in objects(&fixture) {
            object.config = fixture.config_with(&json!({}), &keys);
            let kind = &object.resource_type.kind;
            let observed = object.observe_failure().await;
            assert_eq!(
                observed.code(),
                FailureCode::Unauthenticated,
                "{kind}: {observed:?}"
            );
            let created = object.create().await;
            assert_eq!(
                failure(&created).code(),
                FailureCode::Unauthenticated,
                "{kind}: {created:?}"
            );
            assert_eq!(failure(&created).effect(), Effect::None, "{kind}");
        }
    }
    assert_eq!(fixture.aws.buckets().await.unwrap(), [""; 0]);
    assert_eq!(fixture.aws.queues("eu-west-1").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_missing_permission_is_denied_and_never_absence() {
    let fixture = checking().await;
    let narrow = fixture.aws.create_user(&["sts:GetCallerIdentity"]).await.unwrap();
    for mut object in objects(&fixture) {
        object.config = fixture.config_with(&json!({}), &narrow);
        let observed = object.observe_failure().await;
        assert_eq!(observed.code(), FailureCode::PermissionDenied, "{observed:?}");
        let created = object.create().await;
        assert_eq!(failure(&created).effect(), Effect::None, "{created:?}");
    }
}

#[tokio::test]
async fn a_role_is_assumed_or_rejected() {
    let fixture = checking().await;
    let role =
        json!({ "assumeRole": { "roleArn": "arn:aws:iam::123456789012:role/worker", "externalId": "e" } });
    let checked = check(&fixture, fixture.config_with(&role, &fixture.keys)).await;
    assert_eq!(checked.failure, None);
    assert_eq!(checked.identity, "123456789012");
    let narrow = fixture.aws.create_user(&["s3:*"]).await.unwrap();
    assert_eq!(
        check_failure(&fixture, &role, &narrow).await,
        FailureCode::Unauthenticated
    );
}

#[tokio::test]
async fn wrong_settings_are_an_invalid_config() {
    let fixture = Fixture::new().await;
    let wrong = json!({ "pollInterval": "often" });
    assert_eq!(
        check_failure(&fixture, &wrong, &fixture.keys).await,
        FailureCode::InvalidConfig
    );
    let mut incomplete = fixture.config();
    incomplete.credentials.remove("secretAccessKey");
    incomplete.revision.push_str("incomplete");
    let refused = check(&fixture, incomplete)
        .await
        .failure
        .expect("half a key is none");
    assert_eq!(refused.code(), FailureCode::Unauthenticated);
}

#[tokio::test]
async fn errors_on_the_way_are_failures_and_never_absence() {
    let fixture = Fixture::new().await;
    for object in objects(&fixture) {
        let kind = &object.resource_type.kind;
        for (harm, code) in [
            (Harm::Throttle, FailureCode::Throttled),
            (Harm::ServerError, FailureCode::Unavailable),
            (Harm::AccessDenied, FailureCode::PermissionDenied),
            (Harm::Refuse, FailureCode::Unavailable),
        ] {
            fixture.aws.inject(Fault::new(harm.clone()).times(u32::MAX));
            let observed = object.observe_failure().await;
            assert_eq!(observed.code(), code, "{kind}: {observed:?}");
            fixture.aws.clear_faults();
        }
    }
}

#[tokio::test]
async fn a_404_of_a_proxy_is_no_absence() {
    let fixture = Fixture::new().await;
    for object in objects(&fixture) {
        let harm = Harm::Error {
            status: 404,
            code: String::new(),
            message: "no such page".to_owned(),
        };
        fixture.aws.inject(Fault::new(harm).times(u32::MAX));
        let kind = &object.resource_type.kind;
        let observed = object.observe_failure().await;
        assert_eq!(observed.code(), FailureCode::Unavailable, "{kind}: {observed:?}");
        assert_eq!(failure(&object.create().await).effect(), Effect::None, "{kind}");
        fixture.aws.clear_faults();
    }
}

#[tokio::test]
async fn an_aws_without_response_is_a_timeout_before_the_deadline() {
    let fixture = Fixture::new().await;
    for mut object in objects(&fixture) {
        let kind = object.resource_type.kind.clone();
        object.observe().await;
        object.timeout = std::time::Duration::from_millis(800);
        fixture.aws.inject(Fault::new(Harm::Hang).times(u32::MAX));
        let observed = object.observe_failure().await;
        assert_eq!(observed.code(), FailureCode::Timeout, "{kind}: {observed:?}");
        fixture.aws.clear_faults();
    }
    let mut bucket = fixture.object("s3", "Bucket", "a-bucket", json!({}));
    bucket.timeout = std::time::Duration::from_millis(800);
    fixture
        .aws
        .inject(Fault::new(Harm::AnswerHangs).on(Service::S3, "CreateBucket"));
    let created = bucket.create().await;
    assert_eq!(failure(&created).code(), FailureCode::Timeout);
    assert_eq!(failure(&created).effect(), Effect::Unknown);
    bucket.timeout = CALL_TIMEOUT;
    completed(&bucket.create_again().await);
    assert_eq!(fixture.aws.buckets().await.unwrap(), ["a-bucket"]);
}
