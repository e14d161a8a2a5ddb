//! What changes without end: runs are some time apart then, nothing is lost, and the status says so as long as it is so.

use std::time::Duration;

use bridge_core::{
    composite::{ChoiceProblem, CircuitCounts, CircuitSettings, SecretName},
    function::{DesiredState, RunRequest},
    reasons::CompositeEvent,
};
use serde_json::{Value, json};

use super::{
    life::{Step, act, composed, configmaps, spec},
    process::{Function, World, composite},
};

const BURST: usize = 3;
const TICK: Duration = Duration::from_millis(200);
const MINUTE: Duration = Duration::from_mins(1);

/// One object is composed, and a few runs in a row are too many.
fn settled(function: Function) -> World {
    let mut world = World::new(function);
    world.settings.circuit = CircuitSettings {
        burst: 3,
        refill: Duration::from_secs(10),
        cooldown: Duration::from_mins(5),
    };
    act(&mut world, Step::Create(&[("a", "0")]));
    world.settle().unwrap();
    world.advance(MINUTE);
    (world.runs, world.circuit) = (0, CircuitCounts::default());
    world
}

/// For so long, something changes at each tick.
fn keep(world: &mut World, so_long: Duration, mut change: impl FnMut(&mut World, u64)) {
    let ticks = so_long.as_millis() / TICK.as_millis();
    for n in 0..u64::try_from(ticks).unwrap() {
        change(world, n);
        world.tick(TICK);
    }
}

fn edit(world: &mut World, n: u64) {
    let value = n.to_string();
    world
        .api
        .edit_xr(|xr| xr["spec"]["items"] = spec(&[("a", &value)])["items"].clone());
}

fn note(world: &mut World, n: u64) {
    world
        .api
        .edit_xr(|xr| xr["metadata"]["annotations"]["example.org/n"] = n.to_string().into());
}

fn renew_secret(world: &mut World, n: u64) {
    let secret = SecretName {
        namespace: "team".to_owned(),
        name: "credentials".to_owned(),
    };
    world.secrets.insert(secret, Some(n + 1));
}

fn responsive(world: &World) -> (String, String) {
    let xr = composite(world).unwrap();
    let condition = xr.condition("Responsive").unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&condition["reason"]), text(&condition["message"]))
}

fn assert_open(world: &World, source: &str) {
    let message = format!("Too many watch events from {source}. Allowing events periodically.");
    assert_eq!(responsive(world), ("WatchCircuitOpen".to_owned(), message));
}

const OBSERVED: &str = "its metadata or status, composed or required resources, or Secrets";
const DESIRED: &str = "App/app (team)";

/// As many as the budget has, one that opens the circuit, and one in half a minute.
fn assert_few(world: &World, minutes: usize) {
    let most = BURST + 6 * minutes + 1 + 2 * minutes;
    assert!(world.runs <= most, "{} runs in {minutes} minutes", world.runs);
}

#[test]
fn annotations_that_change_without_end_open_the_circuit() {
    let mut world = settled(configmaps);
    keep(&mut world, 2 * MINUTE, note);
    assert_open(&world, OBSERVED);
    assert_few(&world, 2);
}

#[test]
fn secrets_that_change_without_end_open_the_circuit() {
    let mut world = settled(configmaps);
    keep(&mut world, 2 * MINUTE, renew_secret);
    assert_open(&world, OBSERVED);
    assert_few(&world, 2);
    // The last of them is followed all the same.
    let runs = world.runs;
    world.settle_until(world.now + MINUTE).unwrap();
    assert_eq!(world.runs, runs + 1);
}

#[test]
fn edits_without_end_open_the_circuit_and_the_last_is_followed() {
    for run_takes in [Duration::from_millis(20), Duration::from_secs(20)] {
        let mut world = settled(configmaps);
        world.run_takes = run_takes;
        keep(&mut world, 2 * MINUTE, edit);
        assert_open(&world, DESIRED);
        assert_few(&world, 2);
        edit(&mut world, 7000);
        // Of a slow run nothing is thrown away for an edit more often than that.
        keep(&mut world, MINUTE, |_, _| {});
        let object = &world.api.objects[&composed(&world)["a"]];
        assert_eq!(object["data"]["value"], "7000");
    }
}

/// Desires another value than it observes.
fn restless(request: &RunRequest) -> DesiredState {
    let mut desired = configmaps(request);
    let observed = request.observed.resources.get("a");
    let value = observed.map_or("tick", |one| match one.object["data"]["value"].as_str() {
        Some("tick") => "tock",
        _ => "tick",
    });
    if let Some(resource) = desired.resources.get_mut("a") {
        resource.object["data"]["value"] = value.into();
    }
    desired
}

/// Its own writes are changes like others, or nothing would slow it down.
#[test]
fn a_function_that_never_settles_opens_the_circuit() {
    let mut world = World::new(restless);
    world.settings.circuit = CircuitSettings {
        burst: 3,
        refill: Duration::from_secs(10),
        cooldown: Duration::from_mins(5),
    };
    act(&mut world, Step::Create(&[("a", "0")]));
    keep(&mut world, 2 * MINUTE, |_, _| {});
    assert_open(&world, OBSERVED);
    assert_few(&world, 2);
}

type Happening = fn(&mut World);

#[test]
fn the_status_says_when_changes_are_followed_at_once_again() {
    let hold = |world: &mut World| {
        let id = composed(world)["a"].clone();
        world.api.edit(&id, |mut object| {
            object["metadata"]["finalizers"] = json!(["test/hold"]);
            Some(object)
        });
        act(world, Step::Delete);
    };
    let forget_composition = |world: &mut World| {
        world.no_choice = Some(ChoiceProblem {
            event: CompositeEvent::SelectComposition,
            message: "there is no composition".to_owned(),
            may_pass: false,
        });
    };
    let pause = |world: &mut World| {
        world
            .api
            .edit_xr(|xr| xr["metadata"]["annotations"]["crossplane.io/paused"] = "true".into());
    };
    let nothing = |_: &mut World| {};
    let all: [(&str, Happening); 4] = [
        ("nothing", nothing),
        ("deletion", hold),
        ("no composition", forget_composition),
        ("pause", pause),
    ];
    for (what, happens) in all {
        let mut world = settled(configmaps);
        keep(&mut world, MINUTE, note);
        assert_open(&world, OBSERVED);
        happens(&mut world);
        world.settle_until(world.now + 5 * MINUTE).unwrap();
        let expected = ("WatchCircuitClosed".to_owned(), String::new());
        assert_eq!(responsive(&world), expected, "{what}");
        assert_eq!((world.circuit.opened, world.circuit.closed), (1, 1), "{what}");
    }
}

#[test]
fn each_run_upon_a_change_is_counted() {
    let mut world = settled(configmaps);
    keep(&mut world, 2 * MINUTE, note);
    let counted = world.circuit.allowed + world.circuit.half_open_allowed;
    assert_eq!(usize::try_from(counted).unwrap(), world.runs);
    assert!(world.circuit.half_open_allowed > 0);
}
