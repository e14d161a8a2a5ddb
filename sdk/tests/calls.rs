//! Every call of the contract over a Unix socket, by the generated client.
#![allow(missing_docs)]

mod support;
mod thing;

use crossbridge_proto::{
    checked,
    v1alpha1::{
        self as wire, discovery_service_client::DiscoveryServiceClient, observe_response, outcome,
        plugin_service_client::PluginServiceClient,
    },
};
use serde_json::{Value, json};
use support::{
    Plugin, by, config, create, desired, document, failure, observe, resource_type, soon, target, within,
};
use tonic::{Code, Request};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn parsed(document: Option<&wire::Document>) -> Value {
    serde_json::from_str(&document.expect("a document").json).expect("JSON")
}

fn completed(outcome: Option<wire::Outcome>) -> (wire::Completed, wire::Outcome) {
    let outcome = outcome.expect("an outcome");
    match outcome.result.clone() {
        Some(outcome::Result::Completed(completed)) => (completed, outcome),
        other => panic!("not completed: {other:?}"),
    }
}

#[tokio::test]
async fn the_plugin_says_what_it_is_and_serves() -> TestResult {
    let plugin = Plugin::start().await;
    let mut client = PluginServiceClient::new(plugin.channel.clone());

    let info = client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?
        .into_inner();
    let again = client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?
        .into_inner();
    assert_eq!(info.instance_id, again.instance_id);
    let info = checked::PluginInfo::try_from(info)?;
    assert_eq!(
        (info.name.as_str(), info.version.as_str()),
        ("things.example.org", "1.2.3")
    );
    assert_eq!((info.max_concurrent_calls, info.max_message_bytes), (2, 64 << 10));
    assert!(info.lists_external);
    assert!(info.config_schema.expect("settings")["properties"]["folder"].is_object());
    assert!(info.credential_keys[0].required);

    // Page by page, and what a page tells is what a kind is.
    let mut kinds = Vec::new();
    let mut page_token = String::new();
    loop {
        let page = client
            .list_resource_kinds(wire::ListResourceKindsRequest {
                page_size: 1,
                page_token,
            })
            .await?
            .into_inner();
        assert_eq!(page.kinds.len(), 1);
        let page = checked::KindPage::try_from(page)?;
        kinds.extend(page.kinds);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let names: Vec<_> = kinds.iter().map(|(kind, _)| kind.kind.as_str()).collect();
    assert_eq!(names, ["Job", "Thing"]);
    assert_ne!(kinds[0].1, kinds[1].1, "different kinds have different digests");

    let thing = client
        .get_resource_kind(wire::GetResourceKindRequest {
            resource_type: Some(resource_type("Thing")),
        })
        .await?
        .into_inner();
    let thing = checked::Kind::try_from(thing)?;
    assert_eq!(thing.plural, "things");
    assert_eq!(
        thing.parameters_schema["properties"]["size"],
        json!({"type": "integer", "format": "int64"})
    );
    assert!(
        thing
            .field_rules
            .iter()
            .any(|rule| rule.path == "/password" && rule.sensitive)
    );

    let refused = client
        .list_resource_kinds(wire::ListResourceKindsRequest {
            page_size: 0,
            page_token: "elsewhere".to_owned(),
        })
        .await
        .expect_err("a foreign page token");
    assert_eq!(refused.code(), Code::InvalidArgument);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_digest_is_the_same_after_a_restart() -> TestResult {
    let mut digests = Vec::new();
    for _ in 0..2 {
        let plugin = Plugin::start().await;
        let mut client = PluginServiceClient::new(plugin.channel.clone());
        let page = client
            .list_resource_kinds(wire::ListResourceKindsRequest::default())
            .await?
            .into_inner();
        digests.push(page.kinds);
        plugin.stop().await;
    }
    assert_eq!(digests[0], digests[1]);
    Ok(())
}

#[tokio::test]
async fn a_config_is_tried() -> TestResult {
    let plugin = Plugin::start().await;
    let mut client = PluginServiceClient::new(plugin.channel.clone());
    let good = config(&plugin.things());
    let mut check = async |config: wire::ConfigContext| {
        client
            .check_config(wire::CheckConfigRequest { config: Some(config) })
            .await
            .map(|response| {
                let response = response.into_inner();
                (response.failure.map(|failure| failure.code()), response.identity)
            })
    };

    assert_eq!(
        check(good.clone()).await?,
        (None, plugin.things().display().to_string())
    );
    let with_settings = |settings: Value| wire::ConfigContext {
        settings: Some(document(&settings)),
        ..good.clone()
    };
    let (wrong_type, _) = check(with_settings(json!({"folder": 7}))).await?;
    assert_eq!(wrong_type, Some(wire::FailureCode::InvalidConfig));
    let (not_there, _) = check(with_settings(json!({"folder": "/not/there"}))).await?;
    assert_eq!(not_there, Some(wire::FailureCode::InvalidConfig));

    let mut without_key = good.clone();
    without_key.credentials = [("other".to_owned(), Vec::new())].into();
    assert_eq!(
        check(without_key).await?.0,
        Some(wire::FailureCode::Unauthenticated)
    );
    let mut ambient = good.clone();
    ambient.credentials.clear();
    assert_eq!(
        check(ambient).await?.0,
        None,
        "an empty map means ambient identity"
    );
    let mut expired = good.clone();
    expired.credentials_expire_time = Some(prost_types::Timestamp { seconds: 1, nanos: 0 });
    assert_eq!(
        check(expired).await?.0,
        Some(wire::FailureCode::CredentialsExpired)
    );

    let mut without_id = good;
    without_id.config_id.clear();
    let refused = check(without_id).await.expect_err("config_id is required");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused.message().starts_with("config.config_id "),
        "{}",
        refused.message()
    );
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_thing_is_made_changed_and_removed() -> TestResult {
    let mut plugin = Plugin::start().await;
    let thing = plugin.target("Thing", "my-thing");
    let wish = json!({"size": 9_007_199_254_740_993_i64});
    let look = observe(thing.clone(), &wish);

    let absent = plugin.resources.observe(look.clone()).await?.into_inner();
    assert!(matches!(absent.result, Some(observe_response::Result::Absent(_))));

    let mut request = create(thing.clone(), &wish);
    let sensitive = &mut request.desired.as_mut().expect("a wish").sensitive_values;
    sensitive.insert("/password".to_owned(), "sesame".to_owned());
    let (done, outcome) = completed(
        plugin
            .resources
            .create(soon(request.clone()))
            .await?
            .into_inner()
            .outcome,
    );
    assert_eq!(outcome.external_name, "my-thing");
    assert_eq!(outcome.connection_details["password"], b"sesame");
    assert_eq!(outcome.warnings[0].reason, "Fragile");
    let observed = parsed(done.observation.expect("saves a read").parameters.as_ref());
    assert_eq!(
        observed,
        json!({"mood": "Obliging", "size": 9_007_199_254_740_993_i64}),
        "64 bits stay exact, and what is sensitive is left out"
    );

    let again = plugin.resources.create(soon(request)).await?.into_inner();
    let (exists, _) = failure(again.outcome);
    assert_eq!(
        (exists.code(), exists.effect()),
        (wire::FailureCode::AlreadyExists, wire::Effect::None)
    );
    assert_eq!(exists.existing_external_name, "my-thing");

    let update = wire::UpdateRequest {
        target: Some(thing.clone()),
        desired: Some(desired(&json!({"size": 2}))),
        changed_paths: vec!["/size".to_owned()],
        etag: String::new(),
    };
    completed(
        plugin
            .resources
            .update(soon(update.clone()))
            .await?
            .into_inner()
            .outcome,
    );
    let found = plugin.resources.observe(look).await?.into_inner();
    let Some(observe_response::Result::Observation(found)) = found.result else {
        panic!("not found: {found:?}");
    };
    assert!(found.ready);
    assert_eq!(parsed(found.parameters.as_ref())["size"], 2);
    assert!(parsed(found.status.as_ref())["bytes"].as_u64() > Some(0));

    // What was wished last no longer fits the type: that must not stop a deletion.
    let delete = wire::DeleteRequest {
        target: Some(thing),
        desired: Some(desired(&json!({"mood": "gone"}))),
        etag: String::new(),
    };
    for already_done in [false, true] {
        let response = plugin.resources.delete(soon(delete.clone())).await?.into_inner();
        assert_eq!(completed(response.outcome).0.already_done, already_done);
    }
    let gone = plugin.resources.update(soon(update)).await?.into_inner();
    assert_eq!(failure(gone.outcome).0.code(), wire::FailureCode::NotFound);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_job_is_followed_to_its_end() -> TestResult {
    let mut plugin = Plugin::start().await;
    let wish = json!({"steps": 3});
    let response = plugin
        .resources
        .create(soon(create(plugin.target("Job", ""), &wish)))
        .await?;
    let outcome = response.into_inner().outcome.expect("an outcome");
    assert_eq!(
        outcome.external_name, "job-7",
        "the name comes with the unfinished"
    );
    assert_eq!(outcome.connection_details["key"], b"told once");
    let mut state = outcome.provider_state;
    let Some(outcome::Result::Operation(operation)) = outcome.result else {
        panic!("no operation: {:?}", outcome.result);
    };
    assert_eq!(operation.verb(), wire::OperationVerb::Create);

    let mut polls = 0;
    loop {
        let poll = wire::PollOperationRequest {
            target: Some(wire::Target {
                provider_state: state.clone(),
                ..plugin.target("Job", "job-7")
            }),
            handle: operation.handle.clone(),
            desired: None,
        };
        polls += 1;
        let outcome = plugin
            .resources
            .poll_operation(poll)
            .await?
            .into_inner()
            .outcome
            .expect("an outcome");
        match outcome.result {
            Some(outcome::Result::Operation(again)) => {
                assert_eq!(again.handle, operation.handle);
                state = outcome.provider_state;
            }
            Some(outcome::Result::Completed(_)) => break,
            other => panic!("neither running nor done: {other:?}"),
        }
    }
    assert_eq!(polls, 3);

    let foreign = wire::PollOperationRequest {
        target: Some(plugin.target("Job", "job-7")),
        handle: "somebody's".to_owned(),
        desired: None,
    };
    let refused = plugin
        .resources
        .poll_operation(foreign)
        .await
        .expect_err("a foreign handle");
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::InvalidArgument, "handle: is none of this plugin's")
    );
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_plugin_that_compares_says_what_differs() -> TestResult {
    let mut plugin = Plugin::start().await;
    let mut look = async |steps: u8| {
        let request = observe(plugin.target("Job", "job-7"), &json!({"steps": steps}));
        plugin
            .resources
            .observe(request)
            .await
            .map(|response| response.into_inner().result)
    };
    let Some(observe_response::Result::Observation(same)) = look(3).await? else {
        panic!("it is there");
    };
    assert_eq!(same.up_to_date(), wire::Tristate::True);
    let Some(observe_response::Result::Observation(other)) = look(1).await? else {
        panic!("it is there");
    };
    assert_eq!(other.up_to_date(), wire::Tristate::False);
    assert_eq!(
        other.diffs,
        [wire::FieldDiff {
            path: "/steps".to_owned(),
            desired_json: "1".to_owned(),
            observed_json: "3".to_owned(),
            needs_replacement: true,
        }]
    );
    let Some(observe_response::Result::Failure(bug)) = look(9).await? else {
        panic!("an author who forgets to compare is told");
    };
    assert_eq!(bug.reason, "InvalidAnswer");
    assert!(bug.message.contains("observation.up_to_date"), "{}", bug.message);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_exists_is_listed() -> TestResult {
    let mut plugin = Plugin::start().await;
    plugin
        .resources
        .create(soon(create(
            plugin.target("Thing", "listed"),
            &json!({"size": 5}),
        )))
        .await?;
    let mut client = DiscoveryServiceClient::new(plugin.channel.clone());
    let list = wire::ListExternalRequest {
        resource_type: Some(resource_type("Thing")),
        config: Some(config(&plugin.things())),
        include_parameters: true,
        ..Default::default()
    };
    let listed = client.list_external(list.clone()).await?.into_inner();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].external_name, "listed");
    assert_eq!(parsed(listed.items[0].parameters.as_ref())["size"], 5);

    let jobs = wire::ListExternalRequest {
        resource_type: Some(resource_type("Job")),
        ..list
    };
    let refused = client.list_external(jobs).await.expect_err("jobs are not listed");
    assert_eq!(refused.code(), Code::Unimplemented);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_caller_s_mistake_is_named() -> TestResult {
    let mut plugin = Plugin::start().await;
    let things = plugin.things();
    let wish = json!({});
    let mut refused = async |request: wire::CreateRequest| {
        let status = plugin
            .resources
            .create(soon(request))
            .await
            .expect_err("it is refused");
        (status.code(), status.message().to_owned())
    };

    let mut without_uid = create(target(&things, "Thing", "a"), &wish);
    let owner = without_uid
        .target
        .as_mut()
        .and_then(|target| target.owner.as_mut());
    owner.expect("an owner").uid.clear();
    assert_eq!(
        refused(without_uid).await,
        (
            Code::InvalidArgument,
            "target.owner.uid is required, and is not set".to_owned()
        )
    );

    let (code, message) = refused(create(target(&things, "Nothing", "a"), &wish)).await;
    assert_eq!(code, Code::NotFound, "{message}");
    let (code, message) = refused(create(target(&things, "Thing", ""), &wish)).await;
    assert_eq!(code, Code::InvalidArgument, "the user gives this name: {message}");
    let (code, message) = refused(create(target(&things, "Job", "job-1"), &json!({"steps": 1}))).await;
    assert_eq!(
        code,
        Code::InvalidArgument,
        "the upstream gives this name: {message}"
    );

    let update = wire::UpdateRequest {
        target: Some(target(&things, "Job", "job-1")),
        desired: Some(desired(&json!({"steps": 1}))),
        ..Default::default()
    };
    let status = plugin
        .resources
        .update(soon(update))
        .await
        .expect_err("jobs are not updated");
    assert_eq!(status.code(), Code::Unimplemented);

    let poll = wire::PollOperationRequest {
        target: Some(target(&things, "Thing", "a")),
        handle: "h".to_owned(),
        desired: None,
    };
    let status = plugin
        .resources
        .poll_operation(poll)
        .await
        .expect_err("things hand out no operations");
    assert_eq!(status.code(), Code::Unimplemented);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_user_s_mistake_is_a_failure() -> TestResult {
    let mut plugin = Plugin::start().await;
    let long = plugin.target("Thing", &"a".repeat(21));
    let odd = plugin.target("Thing", "A1");
    for target in [long, odd] {
        let response = plugin
            .resources
            .create(soon(create(target, &json!({}))))
            .await?
            .into_inner();
        let (failure, _) = failure(response.outcome);
        assert_eq!(
            (failure.code(), failure.effect()),
            (wire::FailureCode::InvalidSpec, wire::Effect::None)
        );
        assert_eq!(failure.reason, "InvalidExternalName");
        assert_eq!(failure.violations[0].path, "");
    }

    let wrong = create(plugin.target("Thing", "a"), &json!({"size": "big"}));
    let response = plugin.resources.create(soon(wrong)).await?.into_inner();
    let (failure, _) = failure(response.outcome);
    assert_eq!(failure.code(), wire::FailureCode::InvalidSpec);
    assert_eq!(failure.violations[0].path, "/size");
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_change_without_a_good_deadline_is_refused() -> TestResult {
    let mut plugin = Plugin::start().await;
    let request = || create(plugin.target("Thing", "a"), &json!({}));
    let late = std::time::Duration::from_secs(61);
    let passed = {
        let mut request = soon(request());
        request
            .metadata_mut()
            .insert("crossbridge-deadline-ms", "1000".parse()?);
        request
    };
    for (what, refused) in [
        ("none", Request::new(request())),
        ("too late", by(request(), late)),
        ("passed", passed),
    ] {
        let status = within(what, plugin.resources.create(refused))
            .await
            .expect_err(what);
        assert_eq!(status.code(), Code::FailedPrecondition, "{what}: {status}");
    }
    assert!(!plugin.things().join("a").exists(), "nothing was done");
    plugin.stop().await;
    Ok(())
}
