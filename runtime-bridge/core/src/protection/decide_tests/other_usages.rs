//! Usages of one object, objects that another one takes the place of, and usages that name another object than before.

use super::*;

fn other(uid: &str, is_deleting: bool) -> UsageView {
    UsageView {
        uid: uid.to_owned(),
        title: format!("Usage team/{uid}"),
        details: "why".to_owned(),
        created: None,
        controller: None,
        is_deleting,
        has_finalizer: true,
        of: Some(NamedObject {
            id: sample::reference("Db", "db").id(None),
            uid: Some("uid-db".to_owned()),
        }),
        by: None,
    }
}

fn alone() -> Snapshot {
    let mut of = deleting();
    using(&mut of, ObjectState::KindGone);
    of
}

#[test]
fn the_label_stays_while_another_usage_holds_it() {
    let mut of = alone();
    let mut object = sample::marked();
    object.object_mut()["metadata"]["annotations"][names::HELD_BY] = "other,uid-usage".into();
    of.others = vec![other("other", false)];
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(object));
    let Decision::Act(Action::Mark(write)) = decide(&of, &UsageMemory::default()) else {
        panic!("it lets its object go");
    };
    assert!(write.mark.label);
    assert_eq!(write.mark.text.as_deref(), Some("Usage team/other: why"));
    assert_eq!(write.mark.held_by, ["other".to_owned()].into());
}

#[test]
fn a_label_that_crossplane_set_goes_with_the_last_usage() {
    let mut of = alone();
    let mut object = bare();
    object.object_mut()["metadata"]["labels"] = json!({names::IN_USE: "true"});
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(object));
    assert_eq!(first(&of), LETS_GO);
    of.others = vec![other("other", false)];
    assert_eq!(decided(&of, &settled()), "remove finalizer");
}

#[test]
fn a_usage_that_names_another_object_lets_the_former_one_go() {
    let mut of = protecting();
    let mut other = bare();
    other.object_mut()["metadata"]["name"] = "new".into();
    other.object_mut()["metadata"]["uid"] = "uid-new".into();
    of.usage.0.object_mut()["spec"]["of"]["resourceRef"]["name"] = "new".into();
    of.of = Resolution::Found(sample::reference("Db", "new"), Arc::new(other));
    assert_eq!(first(&of), LETS_GO);
    let mut memory = settled();
    let failure = WriteFailure {
        kind: WriteFailureKind::NotDone,
        message: "too many requests".to_owned(),
    };
    marked(&mut memory, &of, Err(failure));
    let expected = "status Ready=False/FormerHeld: cannot take the label off the former used resource: too many requests";
    assert_eq!(decided(&of, &memory), expected);
    of.used = Known::Object(
        sample::reference("Db", "db"),
        ObjectState::Unknown("not listed".to_owned()),
    );
    let expected = "status Ready=False/FormerHeld: cannot get former used resource: not listed";
    assert_eq!(first(&of), expected);
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(bare()));
    assert_eq!(first(&of), "let Db db go");
    assert_eq!(decided(&of, &settled()), "write details, what it is about");
}

#[test]
fn the_former_object_is_let_go_only_when_the_usage_can_turn_to_the_other_one() {
    let mut of = protecting();
    let mut other = bare();
    other.object_mut()["metadata"]["name"] = "new".into();
    other.object_mut()["metadata"]["uid"] = "uid-new".into();
    of.of = Resolution::Found(sample::reference("Db", "new"), Arc::new(other));
    of.by = Some(Resolution::Absent(sample::reference("App", "other")));
    let expected = r#"status Ready=False/ResourceNotFound: cannot get using resource: App.example.org "team/other" does not exist"#;
    assert_eq!(decided(&of, &verified()), expected);
    // Somebody takes off what the usage writes, and it is let go: it is not labelled anew.
    of.by = protecting().by;
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(bare()));
    let Decision::Act(Action::Write(write)) = decide(&of, &settled()) else {
        panic!("it turns to the other one");
    };
    let memory = UsageMemory {
        last_write: Some(*write),
        ..settled()
    };
    assert_eq!(decided(&of, &memory), "rest");
}

#[test]
fn a_successor_of_the_used_object_is_protected_and_one_of_the_using_object_means_nothing() {
    let mut of = protecting();
    let mut successor = bare();
    successor.object_mut()["metadata"]["uid"] = "another".into();
    of.of = Resolution::Found(sample::reference("Db", "db"), Arc::new(successor.clone()));
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(successor));
    assert_eq!(first(&of), "write what it is about");
    let mut of = protecting();
    let mut successor = sample::object("App", "app");
    successor.object_mut()["metadata"]["uid"] = "another".into();
    of.by = Some(Resolution::Found(
        sample::reference("App", "app"),
        Arc::new(successor.clone()),
    ));
    using(&mut of, sample::exists(successor));
    assert_eq!(first(&of), READY);
}
