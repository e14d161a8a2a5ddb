//! Creations whose end is unknown, looks that come late, and names that come again.

use super::*;

#[tokio::test]
async fn a_lost_answer_is_made_good_by_a_repeat() {
    let world = World::new().await;
    let mut table = table(&world, wish());
    world
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::DynamoDB, "CreateTable"));
    let lost = table.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let again = table.create_again().await;
    let handle = operation(&again).handle.clone();
    assert_eq!(
        table.found().await.operation.expect("AWS is at work").handle,
        handle
    );
    completed(&table.follow(again).await.0);
    assert!(completed(&table.create_again().await).already_done);
    assert_eq!(world.aws.calls(Service::DynamoDB, "CreateTable"), 1);
    assert_eq!(world.aws.tables("eu-west-1").await.unwrap(), ["orders"]);
}

#[tokio::test]
async fn late_tags_are_waited_for() {
    let world = World::with(Options {
        table_tags_settle: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let mut table = table(&world, wish());
    let created = table.create().await;
    assert_eq!(table.found().await.found_marker, "", "the tags are not there yet");
    let again = table.create_again().await;
    assert_eq!(failure(&again).code(), FailureCode::Conflict);
    let (ended, polls) = table.follow(created).await;
    completed(&ended);
    assert!(polls >= 2, "{polls}");
    assert_eq!(table.found().await.found_marker, table.marker);
}

#[tokio::test]
async fn a_former_table_has_to_go_first() {
    let world = World::with(Options {
        table_settles: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let table = made(&world, wish()).await;
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
async fn foreign_handles_are_the_callers_mistake() {
    let world = World::new().await;
    let table = made(&world, wish()).await;
    for handle in [
        "nonsense",
        r#"{"version":1,"verb":"create","name":"another","region":"eu-west-1"}"#,
    ] {
        let status = table.try_poll(handle).await.expect_err("it is refused");
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    }
    assert!(matches!(table.look().await, Look::Observation(_)));
}

/// AWS says, once, that there is no such table.
fn deny_once(world: &World) {
    let harm = Harm::Error {
        status: 400,
        code: "ResourceNotFoundException".to_owned(),
        message: "Requested resource not found".to_owned(),
    };
    world
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
async fn a_table_that_a_late_look_did_not_show_is_found_in_the_way() {
    let world = World::new().await;
    let mut table = table(&world, wish());
    let first = table.create().await;
    deny_once(&world);
    let again = table.create_again().await;
    assert_eq!(
        operation(&again).handle,
        operation(&first).handle,
        "its own earlier work"
    );
    completed(&table.follow(again).await.0);
    deny_once(&world);
    assert!(completed(&table.create_again().await).already_done);
    let mut theirs = table.clone();
    theirs.marker = "somebody-else".to_owned();
    deny_once(&world);
    let refused = theirs.create_again().await;
    assert_eq!(failure(&refused).code(), FailureCode::AlreadyExists);
    assert_eq!(failure(&refused).effect(), Effect::None);
}

#[tokio::test]
async fn an_answer_without_a_table_is_no_absence() {
    let world = World::new().await;
    let harm = Harm::Error {
        status: 200,
        code: String::new(),
        message: String::new(),
    };
    world
        .aws
        .inject(Fault::new(harm).on(Service::DynamoDB, "DescribeTable"));
    let looked = table(&world, wish()).look_failure().await;
    assert_eq!(looked.code(), FailureCode::Unavailable, "{looked:?}");
}

#[tokio::test]
async fn a_look_that_comes_late_ends_no_operation() {
    let world = World::new().await;
    let table = made(&world, wish()).await;
    let created = table.create_again().await;
    completed(&created);
    let found = table.found().await;
    let status: Value = serde_json::from_str(&found.status.expect("a status").json).expect("JSON");
    let handle = |verb: &str, since: u64| {
        json!({
            "version": 1, "verb": verb, "name": "orders", "region": "eu-west-1", "id": status["id"],
            "created": since, "since": since,
        })
        .to_string()
    };
    deny_once(&world);
    assert_eq!(
        operation(&table.poll(&handle("create", now())).await).verb(),
        OperationVerb::Create
    );
    deny_once(&world);
    let gone = table.poll(&handle("create", 1_000_000_000)).await;
    assert_eq!(failure(&gone).code(), FailureCode::OperationFailed);
    assert_eq!(failure(&gone).effect(), Effect::Unknown);

    let deleting = table.poll(&handle("delete", now())).await;
    assert_eq!(
        operation(&deleting).verb(),
        OperationVerb::Delete,
        "ACTIVE may be old news"
    );
    let stays = table.poll(&handle("delete", 1_000_000_000)).await;
    assert_eq!(failure(&stays).code(), FailureCode::OperationFailed, "{stays:?}");

    let mut wishes = table.clone();
    wishes.wish["deletionProtectionEnabled"] = json!(true);
    let step = |since: u64| changed(&handle("update", since), &json!({ "step": "DeletionProtection" }));
    let late = wishes.poll(&step(now())).await;
    assert_eq!(operation(&late).verb(), OperationVerb::Update, "not seen yet");
    completed(&wishes.poll(&step(1_000_000_000)).await);
    completed(&table.poll(&step(now())).await);
}

#[tokio::test]
async fn an_operation_is_about_one_table_and_no_other_of_its_name() {
    let world = World::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let first = made(&world, wish()).await;
    let found = first.found().await;
    let status: Value = serde_json::from_str(&found.status.expect("a status").json).expect("JSON");
    let created = json!({ "version": 1, "verb": "create", "name": "orders", "region": "eu-west-1", "id": status["id"] });
    let deleted = operation(&first.delete().await).handle.clone();
    let mut second = first.clone();
    second.marker = "somebody-else".to_owned();
    let again = second.create().await;
    completed(&second.follow(again).await.0);
    completed(&first.poll(&deleted).await);
    let gone = first.poll(&created.to_string()).await;
    assert_eq!(failure(&gone).code(), FailureCode::OperationFailed, "{gone:?}");
    assert_eq!(
        world.aws.tables("eu-west-1").await.unwrap(),
        ["orders"],
        "the second is left alone"
    );
}

#[tokio::test]
async fn whose_a_table_on_its_way_out_is_is_not_made_up() {
    let world = World::with(Options {
        table_settles: Settle::Reads(4),
        ..Options::default()
    })
    .await;
    let mut table = made(&world, wish()).await;
    let deleted = table.delete().await;
    let looked = table.look_failure().await;
    assert_eq!(
        (looked.code(), looked.reason.as_str()),
        (FailureCode::Conflict, "TagsUnknown")
    );
    let again = table.delete().await;
    assert_eq!(failure(&again).code(), FailureCode::Conflict);
    assert_eq!(failure(&again).effect(), Effect::None);
    completed(&table.follow(deleted).await.0);
    table.absent().await;
}

#[tokio::test]
async fn a_poll_changes_aws_only_where_the_operation_says_so() {
    let world = World::new().await;
    let mut table = table(&world, wish());
    let created = table.create().await;
    assert!(!operation(&created).poll_driven);
    table.wish["timeToLive"] = json!({ "enabled": true, "attributeName": "expires" });
    table.wish["pointInTimeRecoveryEnabled"] = json!(true);
    completed(&table.follow(created).await.0);
    let changes = || {
        ["UpdateTimeToLive", "UpdateContinuousBackups"]
            .map(|action| world.aws.calls(Service::DynamoDB, action))
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
async fn it_is_found_by_its_marker_too() {
    let world = World::new().await;
    let mut nameless = table(&world, wish());
    nameless.external_name = String::new();
    assert_eq!(nameless.absent().await, "");
    let mut other = world.object("dynamodb", "Table", "others", wish());
    other.marker = "somebody-else".to_owned();
    operation(&other.create().await);
    assert_eq!(nameless.absent().await, "");
    let table = made(&world, wish()).await;
    assert_eq!(nameless.found().await.external_name, table.external_name);
    world
        .aws
        .inject(Fault::new(Harm::AccessDenied).on(Service::DynamoDB, "ListTables"));
    assert_eq!(
        nameless.look_failure().await.code(),
        FailureCode::PermissionDenied
    );
}

#[tokio::test]
async fn protection_that_is_turned_off_in_aws_stops_nobody() {
    let world = World::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut protected = wish();
    protected["deletionProtectionEnabled"] = json!(true);
    let mut table = made(&world, protected).await;
    assert_eq!(
        failure(&table.delete().await).code(),
        FailureCode::DependencyNotReady
    );
    let request = by_hand(&world).update_table().table_name("orders");
    let off = request.deletion_protection_enabled(false).send().await;
    off.expect("turned off by hand");
    let deleted = table.delete().await;
    completed(&table.follow(deleted).await.0);
}

#[tokio::test]
async fn an_update_tells_the_tags_that_it_wrote() {
    let world = World::with(Options {
        table_tags_settle: Settle::Reads(3),
        ..Options::default()
    })
    .await;
    let mut table = made(&world, wish()).await;
    table.wish["tags"] = json!({ "tier": "gold" });
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
async fn a_table_is_found_where_it_was_made_whatever_the_wish_says_now() {
    let world = World::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut table = table(&world, wish());
    let created = table.create().await;
    table.provider_state.clone_from(&created.provider_state);
    completed(&table.follow(created).await.0);
    table.wish["region"] = json!("us-west-2");
    assert_eq!(
        table.drift().await,
        ["/region"],
        "not absent, which would make another"
    );
    let moved = table.update().await;
    assert_eq!(
        (failure(&moved).code(), failure(&moved).effect()),
        (FailureCode::ImmutableField, Effect::None)
    );
    let deleted = table.delete().await;
    completed(&table.follow(deleted).await.0);
    assert_eq!(world.aws.tables("eu-west-1").await.unwrap(), [""; 0]);
    table.provider_state = "nonsense".to_owned();
    let request = table.try_look().await.expect_err("no state of ours");
    assert_eq!(request.code(), tonic::Code::InvalidArgument);
}
