//! The life of a resource over a Unix socket, by the generated client.

use crate::support::{Plugin, config, create, desired, failure, observe, resource_type, soon};
use crossbridge_proto::v1alpha1::{
    self as wire, discovery_service_client::DiscoveryServiceClient, observe_response, outcome,
};
use serde_json::{Value, json};
use tonic::Code;

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
async fn a_resource_is_created_updated_and_deleted() -> TestResult {
    let mut plugin = Plugin::start().await;
    let thing = plugin.target("Thing", "my-thing");
    let parameters = json!({"size": 9_007_199_254_740_993_i64});
    let observe_request = observe(thing.clone(), &parameters);

    let absent = plugin
        .resources
        .observe(observe_request.clone())
        .await?
        .into_inner();
    assert!(matches!(absent.result, Some(observe_response::Result::Absent(_))));

    let mut request = create(thing.clone(), &parameters);
    let sensitive = &mut request
        .desired
        .as_mut()
        .expect("a desired state")
        .sensitive_values;
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
    let found = plugin.resources.observe(observe_request).await?.into_inner();
    let Some(observe_response::Result::Observation(found)) = found.result else {
        panic!("not found: {found:?}");
    };
    assert!(found.ready);
    assert_eq!(parsed(found.parameters.as_ref())["size"], 2);
    assert!(parsed(found.status.as_ref())["bytes"].as_u64() > Some(0));

    // The last desired state no longer fits the type: that must not stop a deletion.
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
    let parameters = json!({"steps": 3});
    let response = plugin
        .resources
        .create(soon(create(plugin.target("Job", ""), &parameters)))
        .await?;
    let outcome = response.into_inner().outcome.expect("an outcome");
    assert_eq!(
        outcome.external_name, "job-7",
        "the name comes with the unfinished"
    );
    assert_eq!(outcome.connection_details["key"], b"given once");
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
        handle: "foreign".to_owned(),
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
async fn a_comparing_plugin_reports_differences() -> TestResult {
    let mut plugin = Plugin::start().await;
    let mut observe_with_steps = async |steps: u8| {
        let request = observe(plugin.target("Job", "job-7"), &json!({"steps": steps}));
        plugin
            .resources
            .observe(request)
            .await
            .map(|response| response.into_inner().result)
    };
    let Some(observe_response::Result::Observation(same)) = observe_with_steps(3).await? else {
        panic!("it is there");
    };
    assert_eq!(same.up_to_date(), wire::Tristate::True);
    let Some(observe_response::Result::Observation(other)) = observe_with_steps(1).await? else {
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
    let Some(observe_response::Result::Failure(bug)) = observe_with_steps(9).await? else {
        panic!("an author who forgets to compare gets a failure");
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
