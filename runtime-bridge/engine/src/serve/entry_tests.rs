use serde_json::json;

use super::*;
use crate::api_error::ApiError;
use crate::crd::write_pace::IN_A_ROW;

fn entry(now: Instant) -> Entry {
    let kind = DesiredKind {
        name: "Note".to_owned(),
        source: "plugin".to_owned(),
        crd: json!({}),
        controller: None,
    };
    let mut entry = Entry::new(Arc::new(kind), now);
    entry.begin();
    entry
}

fn after(entry: &Entry, now: Instant) -> Option<u64> {
    entry.due().map(|due| (due - now).as_secs())
}

fn unreadable() -> CrdError {
    CrdError::Api {
        verb: "read",
        name: "notes".to_owned(),
        source: ApiError::Interrupted("no".to_owned()),
    }
}

fn not_established() -> CrdError {
    CrdError::NotEstablished {
        name: "notes".to_owned(),
        why: "not yet".to_owned(),
    }
}

fn not_leader() -> CrdError {
    CrdError::NotLeader {
        name: "notes".to_owned(),
    }
}

#[test]
fn a_good_definition_is_inspected_when_it_changes() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.found_good(7, true, false, now);
    assert_eq!(after(&entry, now), Some(15), "the watch has not shown it yet");
    assert!(!entry.shows(Some(7), now));
    assert_eq!(after(&entry, now), None, "our own write is no news");
    assert!(!entry.shows(Some(8), now));
    assert_eq!(after(&entry, now), Some(1));
}

#[test]
fn a_deleted_definition_is_inspected_after_a_while() {
    let now = Instant::now();
    let mut entry = entry(now);
    assert!(!entry.shows(None, now), "it was never there");
    entry.found_good(7, false, false, now);
    assert!(!entry.shows(None, now), "the watch is behind what was found");
    entry.shows(Some(7), now);
    assert!(entry.is_standing);
    assert!(entry.shows(None, now));
    assert_eq!(after(&entry, now), Some(15));
    assert!(!entry.is_standing);
}

#[test]
fn one_that_is_missing_though_it_was_shown_is_created_after_a_while() {
    let now = Instant::now();
    let mut entry = entry(now);
    assert!(entry.may_create(), "there was none");
    entry.shows(Some(7), now);
    entry.found_good(7, false, false, now);
    // The API server notes on it that it is being deleted.
    entry.shows(Some(8), now);
    entry.begin();
    assert!(!entry.may_create());
    let deleted = CrdError::Deleted {
        name: "notes".to_owned(),
    };
    entry.found_bad(&deleted, false, true, 0.0, now);
    assert_eq!(after(&entry, now), Some(15));
    assert!(!entry.is_standing);
    assert!(entry.may_create(), "whatever the watch shows by then");
    entry.shows(Some(9), now);
    assert!(!entry.may_create(), "it is another one");
    entry.shows(None, now);
    assert!(entry.may_create());
}

#[test]
fn who_begins_to_lead_during_an_inspection_inspects_again() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.recheck(now);
    assert_eq!(after(&entry, now), None, "one inspection at a time");
    entry.found_good(7, false, false, now);
    assert!(!entry.shows(Some(7), now));
    assert_eq!(after(&entry, now), Some(0));
    entry.begin();
    entry.found_good(7, false, false, now);
    assert_eq!(after(&entry, now), None);
}

#[test]
fn who_writes_against_another_writer_does_so_less_and_less_often() {
    let now = Instant::now();
    let mut entry = entry(now);
    let mut pauses = Vec::new();
    for version in [10, 20, 30, 40] {
        // The other one's write is shown before our own was answered.
        entry.shows(Some(version + 1), now);
        entry.found_good(version, true, false, now);
        pauses.push(after(&entry, now).unwrap());
        entry.begin();
    }
    assert_eq!(pauses, [1, 2, 4, 8]);
    let later = now + IN_A_ROW;
    entry.found_good(50, true, false, later);
    entry.shows(Some(51), later);
    assert_eq!(after(&entry, later), Some(1));
}

#[test]
fn a_write_counts_though_its_definition_was_not_found_good() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.found_bad(&not_established(), true, true, 1.0, now);
    assert_eq!(entry.may_write_at(now), now + Duration::from_secs(1));
    entry.begin();
    let paused = CrdError::Paused {
        name: "notes".to_owned(),
    };
    entry.found_bad(&paused, false, true, 1.0, now);
    assert_eq!(after(&entry, now), Some(1));
    entry.shows(Some(9), now);
    assert_eq!(after(&entry, now), Some(1), "the other writer hurries nothing");
}

#[test]
fn a_definition_that_is_established_is_inspected_at_once() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.found_bad(&not_established(), true, true, 0.0, now);
    assert_eq!(after(&entry, now), Some(1));
    entry.shows(Some(8), now);
    assert_eq!(after(&entry, now), Some(0));
}

#[test]
fn failures_are_retried_less_and_less_often() {
    let now = Instant::now();
    let mut entry = entry(now);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        entry.found_bad(&unreadable(), false, true, 0.0, now);
        pauses.push(after(&entry, now).unwrap());
        entry.begin();
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    entry.found_good(7, false, false, now);
    entry.begin();
    entry.found_bad(&unreadable(), false, true, 1.0, now);
    let first = entry.due().unwrap() - now;
    assert_eq!(first, Duration::from_millis(670), "spread");
}

#[test]
fn a_standby_waits_for_the_leader_without_polling() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.found_bad(&not_leader(), false, true, 0.0, now);
    assert_eq!(after(&entry, now), None);
    entry.shows(Some(3), now);
    assert_eq!(after(&entry, now), Some(0));
    entry.begin();
    entry.found_bad(&not_leader(), false, false, 0.0, now);
    assert_eq!(after(&entry, now), Some(1), "nothing shows what the leader does");
}

#[test]
fn notes_that_could_not_be_written_are_tried_again() {
    let now = Instant::now();
    let mut entry = entry(now);
    entry.shows(Some(7), now);
    entry.found_good(7, false, true, now);
    assert_eq!(after(&entry, now), Some(300));
}

#[test]
fn a_new_definition_is_pending_until_it_takes_too_long() {
    let now = Instant::now();
    let mut entry = entry(now);
    let mut inspected = now;
    let mut pending = Vec::new();
    while inspected <= now + PATIENCE {
        entry.begin();
        entry.found_bad(&not_established(), false, true, 0.5, inspected);
        pending.push(entry.is_pending(inspected));
        inspected = entry.due().unwrap();
    }
    let (last, before) = pending.split_last().unwrap();
    assert!(!last, "said as soon as it lasts");
    assert!(
        before.len() > 2 && before.iter().all(|pending| *pending),
        "{before:?}"
    );

    entry.begin();
    entry.found_good(7, false, false, inspected);
    entry.begin();
    entry.found_bad(&unreadable(), false, true, 0.5, inspected);
    assert!(!entry.is_pending(inspected), "no start goes through that");
    entry.begin();
    entry.found_bad(&not_established(), false, true, 0.5, inspected);
    assert!(entry.is_pending(inspected), "it begins anew");
}
