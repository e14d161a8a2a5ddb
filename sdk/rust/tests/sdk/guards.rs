//! What goes wrong in one call stays in it, and limits are those that are advertised.

use std::{sync::atomic::Ordering, time::Duration};

use crate::support::{Plugin, by, create, failure, observe, soon, until, within};
use crossbridge_proto::v1alpha1 as wire;
use serde_json::json;
use tonic::Code;

/// A deadline that passes within a test. The answer's reserve, which grows with it, must be enough on a busy machine.
const SHORT: Duration = Duration::from_secs(4);

type TestResult = Result<(), Box<dyn std::error::Error>>;

async fn create_in(plugin: &mut Plugin, mood: &str, deadline: Duration) -> (wire::Failure, String) {
    let request = create(plugin.target("Thing", "given"), &json!({"mood": mood}));
    let response = within(mood, plugin.resources.create(by(request, deadline)))
        .await
        .expect("the call was processed");
    failure(response.into_inner().outcome)
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_call_only() -> TestResult {
    let mut plugin = Plugin::start().await;
    let (panicked, name) = create_in(&mut plugin, "Panicking", Duration::from_secs(20)).await;
    assert_eq!(
        (panicked.code(), panicked.effect()),
        (wire::FailureCode::Internal, wire::Effect::Unknown)
    );
    assert_eq!(panicked.reason, "PluginPanicked");
    assert_eq!(name, "", "no name was learnt");
    let (_, name) = create_in(&mut plugin, "NamedThenPanicking", Duration::from_secs(20)).await;
    assert_eq!(name, "given");

    let request = observe(plugin.target("Thing", "given"), &json!({"mood": "Panicking"}));
    let observed = plugin.resources.observe(request).await?.into_inner();
    let Some(wire::observe_response::Result::Failure(observed)) = observed.result else {
        panic!("an Observe that panicked is no absence: {observed:?}");
    };
    assert_eq!(observed.reason, "PluginPanicked");

    let fine = create(plugin.target("Thing", "fine"), &json!({}));
    plugin.resources.create(soon(fine)).await?;
    assert!(plugin.things().join("fine").exists(), "the next call works");
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn work_is_dropped_at_the_deadline_and_the_name_survives() {
    let mut plugin = Plugin::start().await;
    let (hung, name) = create_in(&mut plugin, "NamedThenHanging", SHORT).await;
    assert_eq!(
        (hung.code(), hung.effect()),
        (wire::FailureCode::Timeout, wire::Effect::Unknown)
    );
    assert_eq!(name, "given");
    plugin.stop().await;
}

#[tokio::test]
async fn an_error_is_internal_with_unknown_effect_and_the_name() {
    let mut plugin = Plugin::start().await;
    let (failed, name) = create_in(&mut plugin, "NamedThenFailing", Duration::from_secs(20)).await;
    assert_eq!(
        (failed.code(), failed.effect()),
        (wire::FailureCode::Internal, wire::Effect::Unknown)
    );
    assert!(failed.message.contains("No such file"), "{}", failed.message);
    assert_eq!(name, "given");
    plugin.stop().await;
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_does_not_leave() {
    let mut plugin = Plugin::start().await;
    let (failed, _) = create_in(&mut plugin, "BadReason", Duration::from_secs(20)).await;
    assert_eq!(
        (failed.code(), failed.reason.as_str()),
        (wire::FailureCode::Internal, "InvalidAnswer")
    );
    assert!(failed.message.contains("failure.reason"), "{}", failed.message);

    let (failed, name) = create_in(&mut plugin, "BadDetails", Duration::from_secs(20)).await;
    assert_eq!(failed.reason, "InvalidAnswer");
    assert!(
        failed.message.contains("connection_details"),
        "{}",
        failed.message
    );
    assert_eq!(name, "given", "a name goes along");
    plugin.stop().await;
}

#[tokio::test]
async fn an_oversized_message_is_rejected_and_the_next_call_served() -> TestResult {
    let mut plugin = Plugin::start().await;
    let big = create(
        plugin.target("Thing", "big"),
        &json!({"note": "x".repeat(65 << 10)}),
    );
    let refused = plugin
        .resources
        .create(soon(big))
        .await
        .expect_err("it is too big");
    assert!(
        matches!(refused.code(), Code::ResourceExhausted | Code::OutOfRange),
        "{refused}"
    );

    let within_limit = create(
        plugin.target("Thing", "big"),
        &json!({"note": "x".repeat(60 << 10)}),
    );
    plugin.resources.create(soon(within_limit)).await?;
    assert!(plugin.things().join("big").exists());
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn calls_beyond_the_limit_wait() -> TestResult {
    let plugin = Plugin::start().await;
    let calls: Vec<_> = (0..6)
        .map(|number| {
            let mut target = plugin.target("Thing", &"abcdef"[number..=number]);
            target.owner.as_mut().expect("an owner").uid = number.to_string();
            let mut client = plugin.resources.clone();
            let request = soon(create(target, &json!({"mood": "Waiting"})));
            tokio::spawn(async move { client.create(request).await })
        })
        .collect();
    let begun = || {
        (0..6)
            .filter(|number| plugin.things().join(format!("begun-{number}")).exists())
            .count()
    };
    until("two calls to have begun", || begun() == 2).await;

    // One whose deadline passes while it waits was never begun, and the answer reports it.
    let hurried = create(plugin.target("Thing", "hurried"), &json!({}));
    let mut client = plugin.resources.clone();
    let refused = within("the hurried call", client.create(by(hurried, SHORT)))
        .await
        .expect_err("it never got a permit");
    assert_eq!(refused.code(), Code::FailedPrecondition);

    std::fs::write(plugin.things().join("go"), "")?;
    for call in calls {
        let response = within("a call", call).await??;
        assert!(matches!(
            response.into_inner().outcome.and_then(|outcome| outcome.result),
            Some(wire::outcome::Result::Completed(_))
        ));
    }
    assert_eq!(
        crate::thing::MOST_AT_ONCE.load(Ordering::SeqCst),
        2,
        "as advertised"
    );
    plugin.stop().await;
    Ok(())
}
