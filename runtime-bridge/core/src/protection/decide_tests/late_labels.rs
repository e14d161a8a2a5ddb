//! Writes of the label that may be carried out late.

use super::*;

const LABELS: &str = "label Db db as in use";

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

/// Seeds of compositions 13407667510042 and 24855794140015.
#[test]
fn a_label_without_an_answer_is_set_and_taken_off_before_the_usage_goes() {
    let mut memory = verified();
    marked(
        &mut memory,
        &sample::snapshot(sample::recorded(), &bare()),
        failure(WriteFailureKind::Unknown),
    );
    let mut of = lets_go(bare());
    of.now += Duration::from_mins(1);
    assert_eq!(decided(&of, &memory), LABELS);
    marked(&mut memory, &of, Ok(()));
    let of = lets_go(sample::marked());
    assert_eq!(decided(&of, &memory), LETS_GO);
    marked(&mut memory, &of, Ok(()));
    assert_eq!(decided(&lets_go(bare()), &memory), "remove finalizer");
}

#[test]
fn of_another_process_or_term_no_answer_is_known() {
    let of = lets_go(bare());
    assert_eq!(first(&of), "verify resourceVersion");
    assert_eq!(decided(&of, &verified()), LABELS);
    let mut memory = settled();
    memory.begin(7);
    assert_eq!(decided(&of, &memory), "verify resourceVersion");
}

#[test]
fn what_is_answered_says_whether_one_may_land_later() {
    let after = |kind: WriteFailureKind| {
        let mut memory = verified();
        let mut of = lets_go(bare());
        marked(&mut memory, &of, failure(kind));
        of.now += Duration::from_mins(10);
        decided(&of, &memory)
    };
    assert_eq!(after(WriteFailureKind::Unknown), LABELS);
    assert_eq!(after(WriteFailureKind::Conflict), LABELS);
    assert_eq!(after(WriteFailureKind::NotDone), LABELS);
    // A usage is not kept for ever by an object that the bridge may not write.
    assert_eq!(after(WriteFailureKind::Rejected), "remove finalizer");
    let mut memory = verified();
    let mut of = lets_go(bare());
    for kind in [WriteFailureKind::Unknown, WriteFailureKind::Rejected] {
        marked(&mut memory, &of, failure(kind));
        of.now += Duration::from_mins(10);
    }
    assert_eq!(decided(&of, &memory), LABELS);
}
