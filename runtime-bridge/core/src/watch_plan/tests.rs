#![allow(clippy::needless_raw_string_hashes, reason = "as expect-test writes them")]
#![allow(clippy::unnecessary_wraps, reason = "definitions may be unknown")]

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

const GRACE: SignedDuration = SignedDuration::from_secs(60);

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn bucket() -> GroupKind {
    GroupKind::new("s3.example", "Bucket")
}

fn want(kind: GroupKind, reasons: &[&str]) -> (GroupKind, Want) {
    let mut want = Want::new("v1", kind.group().is_empty());
    for reason in reasons {
        want.subscribe(reason);
    }
    (kind, want)
}

fn definition(uid: &str, served: &str, established: bool) -> Definition {
    let served = served.split(',').map(ToOwned::to_owned).collect();
    Definition {
        uid: uid.to_owned(),
        served,
        established,
    }
}

fn watch(uid: Option<&str>) -> WatchId {
    WatchId {
        kind: bucket(),
        version: "v1".to_owned(),
        definition: uid.map(ToOwned::to_owned),
    }
}

/// The plan for one kind, wanted by "serves it".
#[track_caller]
fn check(definitions: &Definitions, running: &[WatchId], expected: &Expect) {
    let wants = BTreeMap::from([want(bucket(), &["serves it"])]);
    let running = running.iter().cloned().collect();
    expected.assert_eq(&plan(&wants, definitions, &None, &running, at(0), GRACE).to_string());
}

fn known(definition: Definition) -> Definitions {
    Ok(BTreeMap::from([(bucket(), definition)]))
}

#[test]
fn a_watch_starts_with_its_definition() {
    let cases = [
        (
            Ok(BTreeMap::new()),
            expect![[r#"
            wait  Bucket.s3.example: there is no definition of this kind
        "#]],
        ),
        (
            known(definition("u1", "v1", false)),
            expect![[r#"
            wait  Bucket.s3.example: its definition is not established
        "#]],
        ),
        (
            known(definition("u1", "v2,v3", true)),
            expect![[r#"
            wait  Bucket.s3.example: its definition does not serve v1, only v2, v3
        "#]],
        ),
        (
            known(definition("u1", "v1,v2", true)),
            expect![[r#"
            start Bucket.s3.example/v1 of definition u1: serves it
        "#]],
        ),
        (
            Err("no permission".to_owned()),
            expect![[r#"
            wait  Bucket.s3.example: the definitions are not known: no permission
        "#]],
        ),
    ];
    for (definitions, expected) in cases {
        check(&definitions, &[], &expected);
    }
}

#[test]
fn a_watch_stops_with_its_definition() {
    let cases = [
        (
            Ok(BTreeMap::new()),
            expect![[r#"
            stop  Bucket.s3.example/v1 of definition u1: its definition was deleted; its objects are gone
            wait  Bucket.s3.example: there is no definition of this kind
        "#]],
        ),
        (
            known(definition("u2", "v1", true)),
            expect![[r#"
            stop  Bucket.s3.example/v1 of definition u1: its definition was deleted and made anew as u2; its objects are gone
            start Bucket.s3.example/v1 of definition u2: serves it
        "#]],
        ),
        (
            known(definition("u2", "v1", false)),
            expect![[r#"
            stop  Bucket.s3.example/v1 of definition u1: its definition was deleted and made anew as u2; its objects are gone
            wait  Bucket.s3.example: its definition is not established
        "#]],
        ),
        (
            known(definition("u1", "v2", true)),
            expect![[r#"
            stop  Bucket.s3.example/v1 of definition u1: its definition does not serve v1, only v2; its objects are no longer watched
            wait  Bucket.s3.example: its definition does not serve v1, only v2
        "#]],
        ),
        (known(definition("u1", "v1", true)), expect![""]),
        (Err("no permission".to_owned()), expect![""]),
    ];
    for (definitions, expected) in cases {
        check(&definitions, &[watch(Some("u1"))], &expected);
    }
}

#[test]
fn a_watch_outlives_its_last_subscriber_for_a_while() {
    let (kind, mut want) = want(bucket(), &["serves it", "serves it"]);
    want.unsubscribe("serves it", at(10));
    assert_eq!(want.unwanted_since, None, "one is left");
    want.unsubscribe("serves it", at(20));
    let wants = BTreeMap::from([(kind, want)]);
    let definitions = known(definition("u1", "v1", true));
    let running = BTreeSet::from([watch(Some("u1"))]);
    let at_second = |second| plan(&wants, &definitions, &None, &running, at(second), GRACE).to_string();
    expect![[r#"
        again 1970-01-01T00:01:20Z
    "#]]
    .assert_eq(&at_second(79));
    expect![[r#"
        stop  Bucket.s3.example/v1 of definition u1: no controller has needed it for 1m; its objects are no longer watched
    "#]]
    .assert_eq(&at_second(80));
}

#[test]
fn a_subscriber_within_the_grace_keeps_the_watch() {
    let (kind, mut want) = want(bucket(), &["first"]);
    want.unsubscribe("first", at(20));
    want.subscribe("second");
    let wants = BTreeMap::from([(kind.clone(), want.clone())]);
    let definitions = known(definition("u1", "v1", true));
    let running = BTreeSet::from([watch(Some("u1"))]);
    for second in [50, 79, 80, 1_000_000] {
        let plan = plan(&wants, &definitions, &None, &running, at(second), GRACE);
        assert_eq!(plan, Plan::default(), "second {second}");
    }
    // The grace begins anew when that one leaves.
    want.unsubscribe("second", at(90));
    let wants = BTreeMap::from([(kind, want)]);
    let stops = |second| {
        !plan(&wants, &definitions, &None, &running, at(second), GRACE)
            .stops
            .is_empty()
    };
    assert_eq!((stops(149), stops(150)), (false, true));
}

#[test]
fn unwanted_watches_are_not_started() {
    let (kind, mut want) = want(bucket(), &["serves it"]);
    want.unsubscribe("serves it", at(0));
    let plan = plan(
        &BTreeMap::from([(kind, want)]),
        &known(definition("u1", "v1", true)),
        &None,
        &BTreeSet::new(),
        at(1),
        GRACE,
    );
    assert_eq!(plan, Plan::default());
}

#[test]
fn what_is_always_served_needs_no_definition() {
    let secret = GroupKind::new("", "Secret");
    let wants = BTreeMap::from([want(secret, &["credentials", "sensitive values"])]);
    let plan = plan(
        &wants,
        &Err("no permission".to_owned()),
        &None,
        &BTreeSet::new(),
        at(0),
        GRACE,
    );
    expect![[r#"
        start Secret/v1: credentials; sensitive values
    "#]]
    .assert_eq(&plan.to_string());
}

/// The plan for one kind without a definition, wanted in `v1`.
#[track_caller]
fn check_built_in(built_ins: &BuiltIns, running: &[WatchId], expected: &Expect) {
    let wants = BTreeMap::from([want(bucket(), &["composes it"])]);
    let running = running.iter().cloned().collect();
    let definitions = Ok(BTreeMap::new());
    expected.assert_eq(&plan(&wants, &definitions, built_ins, &running, at(0), GRACE).to_string());
}

fn built_in(version: &str, watchable: bool) -> BuiltIns {
    let versions = BTreeMap::from([(version.to_owned(), watchable)]);
    Some(Ok(BTreeMap::from([(bucket(), versions)])))
}

#[test]
fn a_kind_without_a_definition_starts_as_discovery_says() {
    let cases = [
        (
            built_in("v1", true),
            expect![[r#"
            start Bucket.s3.example/v1: composes it
        "#]],
        ),
        (
            built_in("v2", true),
            expect![[r#"
            wait  Bucket.s3.example: the cluster does not serve v1, only v2
        "#]],
        ),
        (
            built_in("v1", false),
            expect![[r#"
            wait  Bucket.s3.example: its API cannot be watched
        "#]],
        ),
        (
            Some(Ok(BTreeMap::new())),
            expect![[r#"
            wait  Bucket.s3.example: the cluster serves no such kind
        "#]],
        ),
        (
            Some(Err("no permission".to_owned())),
            expect![[r#"
            wait  Bucket.s3.example: there is no definition of this kind, and what is served without one is not known: no permission
        "#]],
        ),
    ];
    for (built_ins, expected) in cases {
        check_built_in(&built_ins, &[], &expected);
    }
}

#[test]
fn a_watch_without_a_definition_stops_as_discovery_says() {
    check_built_in(&built_in("v1", true), &[watch(None)], &expect![""]);
    let unknown = Some(Err("no permission".to_owned()));
    check_built_in(&unknown, &[watch(None)], &expect![""]);
    check_built_in(
        &Some(Ok(BTreeMap::new())),
        &[watch(None)],
        &expect![[r#"
            stop  Bucket.s3.example/v1: the cluster serves no such kind; its objects are no longer watched
            wait  Bucket.s3.example: the cluster serves no such kind
        "#]],
    );
    // A definition goes before discovery.
    let wants = BTreeMap::from([want(bucket(), &["composes it"])]);
    let definitions = known(definition("u1", "v1", true));
    let (built_ins, running) = (built_in("v1", true), BTreeSet::from([watch(None)]));
    expect![[r#"
        stop  Bucket.s3.example/v1: it has a definition now; its objects are no longer watched
        start Bucket.s3.example/v1 of definition u1: composes it
    "#]]
    .assert_eq(&plan(&wants, &definitions, &built_ins, &running, at(0), GRACE).to_string());
}

fn kind(n: u8) -> GroupKind {
    GroupKind::new("example", &format!("Kind{n}"))
}

prop_compose! {
    fn any_want()(wanted in any::<bool>(), version in "v[12]", since in 0..100_i64) -> Want {
        let mut want = Want::new(&version, false);
        want.subscribe("a reason");
        if !wanted {
            want.unsubscribe("a reason", at(since));
        }
        want
    }
}

prop_compose! {
    fn any_definition()(uid in "u[12]", served in prop::collection::btree_set("v[12]", 1..3), established in any::<bool>())
        -> Definition {
        Definition { uid, served, established }
    }
}

prop_compose! {
    fn any_watch()(n in 0..4_u8, version in "v[12]", uid in prop::option::of("u[12]")) -> WatchId {
        WatchId { kind: kind(n), version, definition: uid }
    }
}

proptest! {
    /// Carrying out a plan leaves nothing to start or stop, and at most one watch per kind.
    #[test]
    fn a_plan_carried_out_is_the_end_of_it(
        wants in prop::collection::btree_map((0..4_u8).prop_map(kind), any_want(), 0..4),
        definitions in prop::collection::btree_map((0..4_u8).prop_map(kind), any_definition(), 0..4),
        built_ins in prop::collection::btree_map(
            (0..4_u8).prop_map(kind), prop::collection::btree_map("v[12]", any::<bool>(), 1..3), 0..4,
        ),
        mut running in prop::collection::btree_set(any_watch(), 0..6),
        second in 0..200_i64,
    ) {
        let (definitions, built_ins) = (Ok(definitions), Some(Ok(built_ins)));
        let first = plan(&wants, &definitions, &built_ins, &running, at(second), GRACE);
        for stop in &first.stops {
            prop_assert!(running.remove(&stop.watch), "stops what does not run");
        }
        for start in &first.starts {
            prop_assert!(running.insert(start.watch.clone()), "starts what runs");
        }
        let rest = plan(&wants, &definitions, &built_ins, &running, at(second), GRACE);
        prop_assert!(rest.is_idle(), "{}", rest);
        let kinds: BTreeSet<&GroupKind> = running.iter().map(|watch| &watch.kind).collect();
        prop_assert_eq!(kinds.len(), running.len());
    }
}
