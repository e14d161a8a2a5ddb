//! A caller's mistake is a status, a user's mistake is a failure, and a change without a good deadline is not begun.

use std::time::Duration;

use crate::support::{Plugin, by, create, desired, failure, soon, target, within};
use crossbridge_proto::v1alpha1 as wire;
use serde_json::json;
use tonic::{Code, Request};

type TestResult = Result<(), Box<dyn std::error::Error>>;

#[tokio::test]
async fn a_caller_s_mistake_is_named() -> TestResult {
    let mut plugin = Plugin::start().await;
    let things = plugin.things();
    let parameters = json!({});
    let mut refused = async |request: wire::CreateRequest| {
        let status = plugin
            .resources
            .create(soon(request))
            .await
            .expect_err("it is rejected");
        (status.code(), status.message().to_owned())
    };

    let mut without_uid = create(target(&things, "Thing", "a"), &parameters);
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

    let (code, message) = refused(create(target(&things, "Nothing", "a"), &parameters)).await;
    assert_eq!(code, Code::NotFound, "{message}");
    let (code, message) = refused(create(target(&things, "Thing", ""), &parameters)).await;
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
async fn a_mutating_call_without_a_valid_deadline_is_rejected() -> TestResult {
    let mut plugin = Plugin::start().await;
    let request = || create(plugin.target("Thing", "a"), &json!({}));
    let late = Duration::from_secs(61);
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
