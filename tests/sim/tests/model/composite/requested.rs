//! A person asks for a reconcile: what is held back is tried again now, once for each token.

use std::time::Duration;

use bridge_core::{
    composite::names,
    function::{ResultTarget, RunResponse, RunResult, Severity},
};

use super::{
    life::{Step, act, composed, configmaps},
    process::{World, composite},
};

const HOUR: Duration = Duration::from_hours(1);
/// Shorter than any wait after an hour of failures, and longer than what is done at once takes.
const SOON: Duration = Duration::from_secs(5);

fn created() -> World {
    let mut world = World::new(configmaps);
    act(&mut world, Step::Create(&[("a", "1"), ("b", "1")]));
    world
}

fn ask(world: &mut World, token: &str) {
    world
        .api
        .edit_xr(|xr| xr["metadata"]["annotations"][names::RECONCILE_REQUESTED] = token.into());
}

fn handled(world: &World) -> usize {
    let handled = |event: &&bridge_core::managed::Event| {
        event.reason == "ReconcileRequestHandled" && event.message == "Handling reconcile request"
    };
    world.events.iter().filter(handled).count()
}

fn fatal(response: &mut RunResponse) {
    response.results = vec![RunResult {
        severity: Severity::Fatal,
        message: "as the test wants".to_owned(),
        reason: None,
        target: ResultTarget::Composite,
    }];
}

#[test]
fn a_mended_refusal_is_tried_again_at_once() {
    let mut world = created();
    world.refuses_writes = true;
    world.live_on(HOUR);
    world.refuses_writes = false;
    world.live_on(SOON);
    assert_eq!(composed(&world).len(), 0, "it is held back");
    ask(&mut world, "1");
    world.live_on(SOON);
    assert_eq!((composed(&world).len(), handled(&world)), (2, 1));
    let xr = composite(&world).unwrap();
    assert_eq!(xr.condition("Synced").unwrap()["status"], "True");
}

#[test]
fn a_failed_run_is_begun_again_at_once() {
    let mut world = created();
    world.answer = fatal;
    world.live_on(HOUR / 3);
    world.answer = |_| {};
    let runs = world.runs;
    ask(&mut world, "1");
    world.live_on(Duration::from_millis(500));
    assert_eq!((composed(&world).len(), handled(&world)), (2, 1));
    assert!(world.runs > runs);
}

#[test]
fn a_refused_deletion_is_tried_again_at_once() {
    let mut world = created();
    world.live_on(HOUR);
    world.refuses_deletions = true;
    act(&mut world, Step::Edit(&[("a", "1")]));
    world.live_on(HOUR);
    world.refuses_deletions = false;
    world.live_on(SOON);
    assert_eq!(composed(&world).len(), 2, "it is held back");
    ask(&mut world, "1");
    world.live_on(SOON);
    assert_eq!((composed(&world).len(), handled(&world)), (1, 1));
}

#[test]
fn each_token_is_handled_once_and_none_of_a_former_process() {
    let mut world = created();
    world.live_on(SOON);
    assert_eq!(handled(&world), 0);
    for (token, times) in [("1", 1), ("1", 1), ("2", 2)] {
        ask(&mut world, token);
        world.live_on(HOUR);
        assert_eq!(handled(&world), times, "{token}");
    }
    world.restart();
    world.live_on(HOUR);
    assert_eq!(handled(&world), 2);
}

#[test]
fn a_paused_composite_handles_it_once_it_goes_on() {
    let mut world = created();
    world.live_on(SOON);
    let pause = |paused: &'static str| {
        move |xr: &mut serde_json::Value| xr["metadata"]["annotations"][names::PAUSED] = paused.into()
    };
    world.api.edit_xr(pause("true"));
    world.live_on(SOON);
    ask(&mut world, "1");
    world.live_on(HOUR);
    assert_eq!(handled(&world), 0);
    world.api.edit_xr(pause("false"));
    world.live_on(SOON);
    assert_eq!(handled(&world), 1);
}
