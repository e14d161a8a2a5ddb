//! Rules of which nothing else here would show that they are broken.

use std::time::Duration;

use bridge_core::{
    composite::{ObjectId, names},
    function::{DesiredState, Readiness, ResultTarget, RunRequest, RunResponse, RunResult, Severity},
};
use serde_json::{Value, json};

use super::{
    api::NAMESPACE,
    life::{Step, act, composed, configmaps},
    process::{Fault, Function, World, composite},
};

const MINUTE: Duration = Duration::from_mins(1);
const TWO: Step = Step::Create(&[("a", "1"), ("b", "1")]);

fn composed_by(function: Function) -> World {
    let mut world = World::new(function);
    act(&mut world, TWO);
    world.live_on(MINUTE);
    world
}

fn status(world: &World, type_: &str) -> Value {
    composite(world).unwrap().condition(type_).unwrap()["status"].clone()
}

/// Wants what it composes elsewhere.
fn elsewhere(request: &RunRequest) -> DesiredState {
    let mut desired = configmaps(request);
    for resource in desired.resources.values_mut() {
        resource.object["metadata"]["namespace"] = "elsewhere".into();
    }
    desired
}

#[test]
fn nothing_is_composed_in_another_namespace() {
    let world = composed_by(elsewhere);
    let namespaces: Vec<_> = world
        .api
        .objects
        .keys()
        .map(|id| id.namespace.as_deref())
        .collect();
    assert_eq!(namespaces, [Some(NAMESPACE); 2]);
}

#[test]
fn of_two_objects_of_one_name_one_is_left() {
    let mut world = composed_by(configmaps);
    let id = composed(&world)["a"].clone();
    let mut twin = world.api.objects[&id].clone();
    twin["metadata"]["name"] = "twin".into();
    let twin_id = ObjectId {
        name: "twin".to_owned(),
        ..id.clone()
    };
    world.api.put_foreign(&twin_id, twin);
    world.live_on(10 * MINUTE);
    assert!(world.api.objects.contains_key(&id));
    assert!(!world.api.objects.contains_key(&twin_id));
}

/// What was decided upon is not what is there.
#[test]
fn what_a_person_orphans_in_time_is_not_deleted() {
    let mut world = composed_by(configmaps);
    let id = composed(&world)["a"].clone();
    world.before_deletion = Some(|api| {
        for id in api.objects.keys().cloned().collect::<Vec<_>>() {
            api.edit(&id, |mut object| {
                object["metadata"]["ownerReferences"] = json!([]);
                object["metadata"]["annotations"] = json!({});
                Some(object)
            });
        }
    });
    act(&mut world, Step::Edit(&[("b", "1")]));
    world.live_on(10 * MINUTE);
    assert!(world.api.objects.contains_key(&id));
}

#[test]
fn an_object_that_exists_already_is_known_before_watches_show_it() {
    let mut world = World::new(configmaps);
    // Of the first object that is created.
    world.faults.insert(1, Fault::AnswerLost);
    world.stick(60 * MINUTE);
    act(&mut world, TWO);
    world.live_on(10 * MINUTE);
    assert_eq!(status(&world, "Synced"), "True");
}

#[test]
fn without_the_lease_and_while_it_stops_nothing_is_begun() {
    let mut world = World::new(configmaps);
    act(&mut world, TWO);
    for (leads, draining) in [(false, false), (true, true)] {
        (world.leads, world.draining) = (leads, draining);
        world.live_on(MINUTE);
        assert_eq!((world.api.writes.len(), world.runs), (0, 0), "{leads} {draining}");
    }
    (world.leads, world.draining) = (true, false);
    world.live_on(MINUTE);
    assert_eq!(composed(&world).len(), 2);
}

#[test]
fn while_it_is_paused_nothing_is_changed_or_deleted() {
    let mut world = composed_by(configmaps);
    let pause = |paused: &'static str| {
        move |xr: &mut Value| xr["metadata"]["annotations"][names::PAUSED] = paused.into()
    };
    world.api.edit_xr(pause("true"));
    world.live_on(MINUTE);
    let (writes, objects) = (world.api.writes.len(), world.api.objects.clone());
    for step in [Step::Edit(&[("a", "2")]), Step::Delete] {
        act(&mut world, step);
        world.live_on(MINUTE);
        let news = world.api.writes[writes..]
            .iter()
            .filter(|write| *write != "status");
        assert_eq!(news.count(), 0, "{step:?}: {:?}", world.api.writes);
        assert_eq!(world.api.objects, objects, "{step:?}");
    }
    world.api.edit_xr(pause("false"));
    world.live_on(MINUTE);
    assert_eq!((&world.api.xr, world.api.objects.len()), (&None, 0));
}

/// Nothing is ever ready to it.
fn unready(request: &RunRequest) -> DesiredState {
    let mut desired = configmaps(request);
    for resource in desired.resources.values_mut() {
        resource.ready = Readiness::Unspecified;
    }
    desired
}

#[test]
fn what_exists_is_not_ready_before_its_function_says_so() {
    let world = composed_by(unready);
    assert_eq!(status(&world, "Synced"), "True");
    let ready = composite(&world).unwrap().condition("Ready").cloned().unwrap();
    assert_eq!(
        (&ready["status"], &ready["message"]),
        (&"False".into(), &"Unready resources: a, b".into())
    );
}

fn fatal(response: &mut RunResponse) {
    // It desires nothing, too.
    response.desired = DesiredState::default();
    response.results = vec![RunResult {
        severity: Severity::Fatal,
        message: "as the test wants".to_owned(),
        reason: None,
        target: ResultTarget::Composite,
    }];
}

#[test]
fn a_failed_run_leaves_everything_as_it_is() {
    let mut world = composed_by(configmaps);
    let objects = world.api.objects.clone();
    world.answer = fatal;
    act(&mut world, Step::Edit(&[("a", "2")]));
    world.live_on(MINUTE);
    assert_eq!(world.api.objects, objects);
    assert_eq!(composite(&world).unwrap().refs.len(), 2);
    assert_eq!(status(&world, "Synced"), "False");
}
