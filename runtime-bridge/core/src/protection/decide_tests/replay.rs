//! Deletions that were refused.

use super::{super::facts::Facts, super::standing::Standing, *};
use crate::composite::Settings;

/// Nothing uses the resource any more, and its label is off; where nothing owns it, a live read has shown that.
fn left(edit: impl FnOnce(&mut Snapshot, &mut LiveObject)) -> String {
    let mut memory = settled();
    memory.ownerless = Some(bare().resource_version().to_owned());
    left_with(&memory, edit)
}

fn left_with(memory: &UsageMemory, edit: impl FnOnce(&mut Snapshot, &mut LiveObject)) -> String {
    let mut of = deleting();
    of.usage.0.object_mut()["spec"]["replayDeletion"] = true.into();
    using(&mut of, ObjectState::KindGone);
    let mut object = bare();
    edit(&mut of, &mut object);
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(object));
    decided(&of, memory)
}

const DELETES: &str = "delete Db db";
const GOES: &str = "remove finalizer";

#[test]
fn what_has_lost_its_owner_is_deleted_with_the_last_usage() {
    assert_eq!(left(|_, _| {}), GOES);
    for owner in [ControllerState::Gone, ControllerState::Going { orphans: false }] {
        assert_eq!(left(|of, _| of.owner = owner.clone()), DELETES);
        let unasked = left(|of, _| {
            of.owner = owner.clone();
            of.usage.0.object_mut()["spec"]["replayDeletion"] = false.into();
        });
        assert_eq!(unasked, GOES);
        let is_deleting = left(|of, object| {
            of.owner = owner.clone();
            object.object_mut()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        });
        assert_eq!(is_deleting, GOES);
    }
    for owner in [
        ControllerState::Lives,
        ControllerState::Going { orphans: true },
        ControllerState::Unknown("why".to_owned()),
    ] {
        assert_eq!(left(|of, _| of.owner = owner), GOES);
    }
}

#[test]
fn that_nothing_owns_it_is_read_live_first() {
    let mut memory = settled();
    assert_eq!(
        left_with(&memory, |of, _| of.owner = ControllerState::Gone),
        "observe owner"
    );
    // Of another version of what is used, which may name another owner.
    memory.ownerless = Some("another".to_owned());
    assert_eq!(
        left_with(&memory, |of, _| of.owner = ControllerState::Gone),
        "observe owner"
    );
    // It has been read, and is there.
    memory.failed_read = Some((at("2030-01-01T00:00:00Z"), "why".to_owned()));
    let waits = left_with(&memory, |of, _| of.owner = ControllerState::Gone);
    assert!(!waits.starts_with("delete") && waits != GOES, "{waits}");
}

#[test]
fn a_refused_deletion_is_done_if_it_is_of_this_teardown() {
    let attempted = |at: Option<&str>, policy: &str| {
        left(|_, object| {
            object.object_mut()["metadata"]["annotations"] =
                json!({names::ATTEMPT: policy, names::ATTEMPTED_AT: at});
        })
    };
    assert_eq!(attempted(Some("2026-01-01T00:50:00Z"), "Background"), DELETES);
    assert_eq!(attempted(Some("2026-01-01T00:59:30Z"), "Foreground"), DELETES);
    assert_eq!(attempted(Some("2026-01-01T00:48:00Z"), "Background"), GOES);
    assert_eq!(attempted(Some("2026-01-01T00:58:00Z"), "Whatever"), GOES);
    assert_eq!(attempted(None, "Background"), GOES);
    // It was refused on account of something else.
    let before = left(|of, object| {
        of.usage.0.object_mut()["metadata"]["creationTimestamp"] = "2026-01-01T00:55:00Z".into();
        object.object_mut()["metadata"]["annotations"] =
            json!({names::ATTEMPT: "Background", names::ATTEMPTED_AT: "2026-01-01T00:54:00Z"});
    });
    assert_eq!(before, GOES);
}

#[test]
fn how_long_ago_it_may_have_been_refused_is_a_setting() {
    let attempted = |window: u64| {
        left(|of, object| {
            of.settings = Settings {
                replay_window: std::time::Duration::from_mins(window),
                ..Settings::default()
            }
            .into();
            object.object_mut()["metadata"]["annotations"] =
                json!({names::ATTEMPT: "Background", names::ATTEMPTED_AT: "2026-01-01T00:48:00Z"});
        })
    };
    assert_eq!(
        (attempted(10), attempted(15)),
        (GOES.to_owned(), DELETES.to_owned())
    );
}

#[test]
fn a_guard_that_notes_no_attempts_is_named() {
    let of = |replays: bool, notes: bool| {
        let mut of = protecting();
        of.usage.0.object_mut()["spec"]["replayDeletion"] = replays.into();
        of.notes_attempts = notes;
        let memory = UsageMemory::default();
        let events = Standing::of(&Facts::new(&of, &memory)).events;
        events
            .iter()
            .any(|event| event.message.contains("--usage-guard=webhook"))
    };
    assert_eq!(
        (of(true, false), of(true, true), of(false, false)),
        (true, false, false)
    );
}

#[test]
fn the_label_goes_first() {
    let mut of = deleting();
    of.usage.0.object_mut()["spec"]["replayDeletion"] = true.into();
    of.owner = ControllerState::Gone;
    using(&mut of, ObjectState::KindGone);
    assert_eq!(first(&of), LETS_GO);
}
