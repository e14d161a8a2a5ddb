//! A distribution's creation is long, and AWS gives the name. Killed at five moments, with a policy that forbids late initialisation, it ends as
//! one distribution whose name is kept (crossplane#5918).

use aws_emulator::{Fault, Harm, Options, Service, Settle};
use bridge_e2e::{Stack, StackOptions, annotation, eventually, is_ready};
use serde_json::json;

use super::manifests;

const CREATE: &str = "CreateDistributionWithTags";
const NAME: &str = "crossplane.io/external-name";

/// With a fault, if any, in force before the object is created.
async fn stack(fault: Option<Fault>) -> Stack {
    let aws = Options {
        distribution_settles: Settle::Reads(4),
        ..Options::default()
    };
    let stack = Stack::start(StackOptions {
        aws,
        ..StackOptions::default()
    })
    .await;
    if let Some(fault) = fault {
        stack.aws.inject(fault);
    }
    // A reconciler that stores names through late initialization loses them under this policy.
    let mut manifest = manifests::distribution();
    manifest["spec"]["managementPolicies"] = json!(["Observe", "Create", "Update", "Delete"]);
    stack.distribution("site").create(manifest).await;
    stack
}

async fn kill_both_and_start_again(stack: &mut Stack) {
    stack.kill_bridge().await;
    stack.kill_plugin().await;
    stack.aws.clear_faults();
    stack.start_plugin();
    stack.start_bridge();
}

/// One distribution, Ready, under the name that AWS gave; and it goes when the object does.
async fn assert_single_distribution(stack: &Stack) {
    let ready = stack.distribution("site").until("to be ready", is_ready).await;
    let all = stack.aws.distributions().await.expect("a list");
    assert_eq!(all.len(), 1, "exactly one distribution: {all:?}");
    assert_eq!(annotation(&ready, NAME), all[0].id);
    stack.distribution("site").delete().await;
    stack.distribution("site").until_deleted().await;
    assert!(stack.aws.distributions().await.expect("a list").is_empty());
}

async fn until_called(stack: &Stack, action: &str, times: u64) {
    eventually("AWS is called", async || {
        stack.aws.calls(Service::CloudFront, action) >= times
    })
    .await;
}

async fn until_it_exists(stack: &Stack) {
    eventually("the distribution exists", async || {
        stack.aws.distributions().await.expect("a list").len() == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_create_reaches_aws() {
    let mut stack = stack(Some(Fault::new(Harm::Hang).on(Service::CloudFront, CREATE))).await;
    until_called(&stack, CREATE, 1).await;
    kill_both_and_start_again(&mut stack).await;
    assert_single_distribution(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_create_took_effect() {
    let mut stack = stack(Some(
        Fault::new(Harm::AnswerHangs).on(Service::CloudFront, CREATE),
    ))
    .await;
    until_it_exists(&stack).await;
    kill_both_and_start_again(&mut stack).await;
    assert_single_distribution(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_as_soon_as_the_name_is_stored() {
    let mut stack = stack(None).await;
    stack
        .distribution("site")
        .until("to have its name", |seen| !annotation(seen, NAME).is_empty())
        .await;
    kill_both_and_start_again(&mut stack).await;
    assert_single_distribution(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_the_operation() {
    let mut stack = stack(None).await;
    until_called(&stack, "GetDistribution", 2).await;
    kill_both_and_start_again(&mut stack).await;
    assert_single_distribution(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_during_the_last_poll() {
    let mut stack = stack(Some(
        Fault::new(Harm::AnswerHangs)
            .on(Service::CloudFront, "GetDistribution")
            .skip(4),
    ))
    .await;
    until_called(&stack, "GetDistribution", 5).await;
    kill_both_and_start_again(&mut stack).await;
    assert_single_distribution(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_plugin_causes_no_second_create() {
    let mut stack = stack(Some(
        Fault::new(Harm::AnswerHangs).on(Service::CloudFront, CREATE),
    ))
    .await;
    until_it_exists(&stack).await;
    stack.kill_plugin().await;
    stack.start_plugin();
    assert_single_distribution(&stack).await;
}
