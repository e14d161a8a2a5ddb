//! Writes of the label that may be carried out late.

use super::*;

const MAKES_SURE: &str = "let Db db go";

fn failure(kind: WriteFailureKind) -> Result<(), WriteFailure> {
    let message = "no answer".to_owned();
    Err(WriteFailure { kind, message })
}

fn lets_go(used: LiveObject) -> Snapshot {
    let mut of = deleting();
    using(&mut of, ObjectState::KindGone);
    of.used = Known::Object(sample::reference("Db", "db"), sample::exists(used));
    of
}

fn letting_go() -> LiveObject {
    let mut object = bare();
    object.object_mut()["metadata"]["annotations"] = json!({names::LET_GO_BY: "uid-usage"});
    object
}

/// A usage whose label had no answer.
fn unanswered() -> UsageMemory {
    let mut memory = settled();
    let of = sample::snapshot(sample::recorded(), &bare());
    marked(&mut memory, &of, failure(WriteFailureKind::Unknown));
    memory.failed = None;
    memory
}

/// Seeds of compositions 13407667510042 and 24855794140015.
#[test]
fn a_label_without_an_answer_is_rejected_before_the_usage_goes() {
    let mut memory = unanswered();
    let of = lets_go(bare());
    assert_eq!(decided(&of, &memory), MAKES_SURE);
    marked(&mut memory, &of, Ok(()));
    let of = lets_go(letting_go());
    assert_eq!(decided(&of, &memory), LETS_GO);
    marked(&mut memory, &of, Ok(()));
    assert_eq!(decided(&lets_go(bare()), &memory), "remove finalizer");
}

#[test]
fn a_label_without_an_answer_is_rejected_by_another_version_or_object() {
    for (field, other) in [("resourceVersion", "6"), ("uid", "another")] {
        let mut object = bare();
        object.object_mut()["metadata"][field] = other.into();
        let memory = LabelWrites {
            settled: Some(object.uid().to_owned()),
            ..unanswered().label_writes
        };
        assert!(memory.are_settled(&object), "{field}");
    }
}

#[test]
fn a_label_that_is_taken_off_without_an_answer_comes_to_nobody() {
    let mut memory = settled();
    marked(
        &mut memory,
        &lets_go(sample::marked()),
        failure(WriteFailureKind::Unknown),
    );
    memory.failed = None;
    assert_eq!(decided(&lets_go(bare()), &memory), "remove finalizer");
}

#[test]
fn of_another_process_or_term_no_answer_is_known() {
    let of = lets_go(bare());
    assert_eq!(first(&of), MAKES_SURE);
    let mut memory = settled();
    memory.begin(7);
    assert_eq!(decided(&of, &memory), MAKES_SURE);
    // What it left is taken off.
    assert_eq!(first(&lets_go(letting_go())), LETS_GO);
}

#[test]
fn no_object_that_may_not_be_written_keeps_a_usage() {
    let after = |memory: &UsageMemory, kind: WriteFailureKind| {
        let (mut memory, mut of) = (memory.clone(), lets_go(bare()));
        marked(&mut memory, &of, failure(kind));
        let waits = decided(&of, &memory);
        let message = "status Ready=False/Deleting: cannot make sure that no label comes to the used resource: no answer";
        assert_eq!(
            waits == message,
            kind == WriteFailureKind::NotDone || kind == WriteFailureKind::Unknown,
            "{waits}"
        );
        of.now += Duration::from_mins(10);
        decided(&of, &memory)
    };
    for memory in [verified(), unanswered()] {
        assert_eq!(after(&memory, WriteFailureKind::Unknown), MAKES_SURE);
        assert_eq!(after(&memory, WriteFailureKind::Conflict), MAKES_SURE);
        assert_eq!(after(&memory, WriteFailureKind::NotDone), MAKES_SURE);
        assert_eq!(after(&memory, WriteFailureKind::Rejected), "remove finalizer");
    }
    // A label that is rejected says nothing of one that had no answer before.
    let mut memory = unanswered();
    let of = sample::snapshot(sample::recorded(), &bare());
    marked(&mut memory, &of, failure(WriteFailureKind::Rejected));
    memory.failed = None;
    assert_eq!(decided(&lets_go(bare()), &memory), MAKES_SURE);
}
