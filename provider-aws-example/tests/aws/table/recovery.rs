//! Creations whose outcome is unknown, stale reads, and names that are reused.

use super::*;

#[tokio::test]
async fn a_repeat_resumes_a_creation_whose_response_was_lost() {
    let fixture = Fixture::new().await;
    let mut table = table(&fixture, desired());
    fixture
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::DynamoDB, "CreateTable"));
    let lost = table.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let again = table.create_again().await;
    let handle = operation(&again).handle.clone();
    assert_eq!(
        table
            .observation()
            .await
            .operation
            .expect("AWS is at work")
            .handle,
        handle
    );
    completed(&table.follow(again).await.0);
    assert!(completed(&table.create_again().await).already_done);
    assert_eq!(fixture.aws.calls(Service::DynamoDB, "CreateTable"), 1);
    assert_eq!(fixture.aws.tables("eu-west-1").await.unwrap(), ["orders"]);
}

#[tokio::test]
async fn an_operation_lasts_until_late_tags_are_visible() {
    let fixture = Fixture::with(Options {
        table_tags_settle: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let mut table = table(&fixture, desired());
    let created = table.create().await;
    assert_eq!(
        table.observation().await.found_marker,
        "",
        "the tags are not visible yet"
    );
    let again = table.create_again().await;
    assert_eq!(failure(&again).code(), FailureCode::Conflict);
    let (ended, polls) = table.follow(created).await;
    completed(&ended);
    assert!(polls >= 2, "{polls}");
    assert_eq!(table.observation().await.found_marker, table.marker);
}

#[tokio::test]
async fn a_creation_waits_until_a_former_table_is_deleted() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let table = existing(&fixture, desired()).await;
    operation(&table.delete().await);
    let created = table.create().await;
    assert_eq!(
        failure(&created).code(),
        FailureCode::DependencyNotReady,
        "{created:?}"
    );
    assert_eq!(failure(&created).effect(), Effect::None);
}

#[tokio::test]
async fn foreign_handles_are_invalid_arguments() {
    let fixture = Fixture::new().await;
    let table = existing(&fixture, desired()).await;
    for handle in [
        "nonsense",
        r#"{"version":1,"verb":"create","name":"another","region":"eu-west-1"}"#,
    ] {
        let status = table.try_poll(handle).await.expect_err("it is rejected");
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    }
    assert!(matches!(table.observe().await, ObserveResult::Observation(_)));
}

/// AWS answers, once, that there is no such table.
fn deny_once(fixture: &Fixture) {
    let harm = Harm::Error {
        status: 400,
        code: "ResourceNotFoundException".to_owned(),
        message: "Requested resource not found".to_owned(),
    };
    fixture
        .aws
        .inject(Fault::new(harm).on(Service::DynamoDB, "DescribeTable"));
}

/// A handle with other fields.
fn changed(handle: &str, change: &Value) -> String {
    let mut handle: Value = serde_json::from_str(handle).expect("a handle is JSON");
    for (key, value) in change.as_object().expect("fields") {
        handle[key] = value.clone();
    }
    handle.to_string()
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("it is after 1970").as_secs()
}

#[tokio::test]
async fn a_repeat_resumes_despite_a_stale_read() {
    let fixture = Fixture::new().await;
    let mut table = table(&fixture, desired());
    let first = table.create().await;
    deny_once(&fixture);
    let again = table.create_again().await;
    assert_eq!(
        operation(&again).handle,
        operation(&first).handle,
        "its own earlier work"
    );
    completed(&table.follow(again).await.0);
    deny_once(&fixture);
    assert!(completed(&table.create_again().await).already_done);
    let mut theirs = table.clone();
    theirs.marker = "another-object".to_owned();
    deny_once(&fixture);
    let refused = theirs.create_again().await;
    assert_eq!(failure(&refused).code(), FailureCode::AlreadyExists);
    assert_eq!(failure(&refused).effect(), Effect::None);
}

#[tokio::test]
async fn a_response_without_a_table_is_no_absence() {
    let fixture = Fixture::new().await;
    let harm = Harm::Error {
        status: 200,
        code: String::new(),
        message: String::new(),
    };
    fixture
        .aws
        .inject(Fault::new(harm).on(Service::DynamoDB, "DescribeTable"));
    let observed = table(&fixture, desired()).observe_failure().await;
    assert_eq!(observed.code(), FailureCode::Unavailable, "{observed:?}");
}

#[tokio::test]
async fn a_stale_read_ends_no_operation() {
    let fixture = Fixture::new().await;
    let table = existing(&fixture, desired()).await;
    let created = table.create_again().await;
    completed(&created);
    let found = table.observation().await;
    let status: Value = serde_json::from_str(&found.status.expect("a status").json).expect("JSON");
    let handle = |verb: &str, since: u64| {
        json!({
            "version": 1, "verb": verb, "name": "orders", "region": "eu-west-1", "id": status["id"],
            "created": since, "since": since,
        })
        .to_string()
    };
    deny_once(&fixture);
    assert_eq!(
        operation(&table.poll(&handle("create", now())).await).verb(),
        OperationVerb::Create
    );
    deny_once(&fixture);
    let ended = table.poll(&handle("create", 1_000_000_000)).await;
    assert_eq!(failure(&ended).code(), FailureCode::OperationFailed);
    assert_eq!(failure(&ended).effect(), Effect::Unknown);

    let deleting = table.poll(&handle("delete", now())).await;
    assert_eq!(
        operation(&deleting).verb(),
        OperationVerb::Delete,
        "ACTIVE may be old news"
    );
    let stays = table.poll(&handle("delete", 1_000_000_000)).await;
    assert_eq!(failure(&stays).code(), FailureCode::OperationFailed, "{stays:?}");

    let mut changed_spec = table.clone();
    changed_spec.desired["deletionProtectionEnabled"] = json!(true);
    let step = |since: u64| changed(&handle("update", since), &json!({ "step": "DeletionProtection" }));
    let late = changed_spec.poll(&step(now())).await;
    assert_eq!(operation(&late).verb(), OperationVerb::Update, "not seen yet");
    completed(&changed_spec.poll(&step(1_000_000_000)).await);
    completed(&table.poll(&step(now())).await);
}

#[tokio::test]
async fn an_operation_is_bound_to_one_table_not_its_name() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let first = existing(&fixture, desired()).await;
    let found = first.observation().await;
    let status: Value = serde_json::from_str(&found.status.expect("a status").json).expect("JSON");
    let created = json!({ "version": 1, "verb": "create", "name": "orders", "region": "eu-west-1", "id": status["id"] });
    let deleted = operation(&first.delete().await).handle.clone();
    let mut second = first.clone();
    second.marker = "another-object".to_owned();
    let again = second.create().await;
    completed(&second.follow(again).await.0);
    completed(&first.poll(&deleted).await);
    let ended = first.poll(&created.to_string()).await;
    assert_eq!(failure(&ended).code(), FailureCode::OperationFailed, "{ended:?}");
    assert_eq!(
        fixture.aws.tables("eu-west-1").await.unwrap(),
        ["orders"],
        "the second is left alone"
    );
}

#[tokio::test]
async fn the_owner_of_a_table_being_deleted_is_unknown() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::Reads(4),
        ..Options::default()
    })
    .await;
    let mut table = existing(&fixture, desired()).await;
    let deleted = table.delete().await;
    let observed = table.observe_failure().await;
    assert_eq!(
        (observed.code(), observed.reason.as_str()),
        (FailureCode::Conflict, "TagsUnknown")
    );
    let again = table.delete().await;
    assert_eq!(failure(&again).code(), FailureCode::Conflict);
    assert_eq!(failure(&again).effect(), Effect::None);
    completed(&table.follow(deleted).await.0);
    table.absent().await;
}

#[tokio::test]
async fn a_poll_changes_aws_only_for_poll_driven_operations() {
    let fixture = Fixture::new().await;
    let mut table = table(&fixture, desired());
    let created = table.create().await;
    assert!(!operation(&created).poll_driven);
    table.desired["timeToLive"] = json!({ "enabled": true, "attributeName": "expires" });
    table.desired["pointInTimeRecoveryEnabled"] = json!(true);
    completed(&table.follow(created).await.0);
    let changes = || {
        ["UpdateTimeToLive", "UpdateContinuousBackups"]
            .map(|action| fixture.aws.calls(Service::DynamoDB, action))
    };
    assert_eq!(changes(), [0, 0]);
    assert_eq!(
        table.drift().await,
        ["/pointInTimeRecoveryEnabled", "/timeToLive/enabled"]
    );
    completed(&table.update().await);
    assert_eq!(changes(), [1, 1]);
    assert_eq!(table.drift().await, [""; 0]);
}

#[tokio::test]
async fn a_table_is_found_by_its_marker() {
    let fixture = Fixture::new().await;
    let mut nameless = table(&fixture, desired());
    nameless.external_name = String::new();
    assert_eq!(nameless.absent().await, "");
    let mut other = fixture.object("dynamodb", "Table", "others", desired());
    other.marker = "another-object".to_owned();
    operation(&other.create().await);
    assert_eq!(nameless.absent().await, "");
    let table = existing(&fixture, desired()).await;
    assert_eq!(nameless.observation().await.external_name, table.external_name);
    fixture
        .aws
        .inject(Fault::new(Harm::AccessDenied).on(Service::DynamoDB, "ListTables"));
    assert_eq!(
        nameless.observe_failure().await.code(),
        FailureCode::PermissionDenied
    );
}

#[tokio::test]
async fn protection_turned_off_in_aws_does_not_block_a_deletion() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut protected = desired();
    protected["deletionProtectionEnabled"] = json!(true);
    let mut table = existing(&fixture, protected).await;
    assert_eq!(
        failure(&table.delete().await).code(),
        FailureCode::DependencyNotReady
    );
    let request = aws_client(&fixture).update_table().table_name("orders");
    let off = request.deletion_protection_enabled(false).send().await;
    off.expect("turned off by hand");
    let deleted = table.delete().await;
    completed(&table.follow(deleted).await.0);
}

#[tokio::test]
async fn an_update_reports_the_tags_that_it_wrote() {
    let fixture = Fixture::with(Options {
        table_tags_settle: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let mut table = existing(&fixture, desired()).await;
    table.desired["tags"] = json!({ "tier": "gold" });
    let updated = table.update().await;
    let seen = completed(&updated).observation.as_ref().expect("an observation");
    assert_eq!(
        parameters(seen)["tags"],
        json!({ "tier": "gold" }),
        "though AWS lists them late"
    );
    assert_eq!(seen.found_marker, table.marker);
}

#[tokio::test]
async fn a_table_is_observed_in_the_region_of_its_creation() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut table = table(&fixture, desired());
    let created = table.create().await;
    table.provider_state.clone_from(&created.provider_state);
    completed(&table.follow(created).await.0);
    table.desired["region"] = json!("us-west-2");
    assert_eq!(
        table.drift().await,
        ["/region"],
        "not absent, which would create a second one"
    );
    let moved = table.update().await;
    assert_eq!(
        (failure(&moved).code(), failure(&moved).effect()),
        (FailureCode::ImmutableField, Effect::None)
    );
    let deleted = table.delete().await;
    completed(&table.follow(deleted).await.0);
    assert_eq!(fixture.aws.tables("eu-west-1").await.unwrap(), [""; 0]);
    table.provider_state = "nonsense".to_owned();
    let request = table.try_observe().await.expect_err("no state of ours");
    assert_eq!(request.code(), tonic::Code::InvalidArgument);
}
