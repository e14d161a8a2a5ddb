//! The driver with a machine of its own: a counter that is to be brought to three, by calls whose answers must be stored.

use std::{fmt, time::Duration};

use jiff::Timestamp;

use super::*;

#[derive(Debug, Clone)]
enum Counter {}

/// What this process remembers.
#[derive(Debug, Default)]
struct Memory {
    term: u64,
    failed_writes: u32,
    answers: Vec<u32>,
    reports: Vec<String>,
}

#[derive(Debug, Clone)]
struct Snapshot {
    stored: u32,
    desired: Option<u32>,
    may_begin: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Increment;

impl fmt::Display for Increment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("increment")
    }
}

impl Machine for Counter {
    type Snapshot = Snapshot;
    type Additions = u32;
    type Memory = Memory;
    type Action = Increment;
    type Performed = u32;
    type Answer = u32;
    type View = u32;
    type Change = u32;

    fn begin_reconcile(memory: &mut Memory, term: u64) {
        memory.term = term;
    }

    fn authorize(snapshot: &mut Snapshot, memory: &Memory, moment: &Moment) {
        snapshot.may_begin = Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(snapshot: &Snapshot) -> bool {
        snapshot.may_begin
    }

    fn is_granted(memory: &Memory, moment: &Moment, authority: Authority) -> bool {
        let leads = moment.leadership.leads && moment.leadership.term == memory.term;
        authority == Authority::Anybody || leads && !moment.leadership.draining
    }

    fn refresh(_: &mut Memory, _: &Snapshot) {}

    fn complete(snapshot: &mut Snapshot, desired: u32) {
        snapshot.desired = Some(desired);
    }

    fn decide_cached(_: &Snapshot, _: &Memory) -> Option<Decision<Increment>> {
        None
    }

    fn decide(snapshot: &Snapshot, _: &Memory) -> Decision<Increment> {
        if snapshot.may_begin && snapshot.desired > Some(snapshot.stored) {
            Decision::Act(Increment)
        } else {
            Decision::Rest(Rest::NEVER)
        }
    }

    fn requirements(_: &Memory, _: &Increment) -> Requirements {
        Requirements {
            permit: true,
            authority: Authority::Begin,
        }
    }

    fn ends_permit(_: &Increment) -> bool {
        true
    }

    fn before(_: &mut Memory, _: &Snapshot, _: &Increment) {}

    fn performed(
        _: &mut Memory,
        _: &mut Snapshot,
        _: &Increment,
        answer: u32,
        _: Timestamp,
        _: &Moment,
    ) -> Follow<u32> {
        Follow::Persist(answer)
    }

    fn persisting(_: &Snapshot, stored: &u32, _: &Increment, answer: &u32) -> Persisting<u32> {
        if stored < answer {
            Persisting::Write(*answer)
        } else {
            Persisting::Nothing
        }
    }

    fn record_answer(
        memory: &mut Memory,
        _: &mut Snapshot,
        _: &Increment,
        answer: &u32,
        _: Option<u32>,
        _: &Moment,
    ) {
        memory.answers.push(*answer);
    }

    fn report_not_persisted(memory: &mut Memory, _: &Increment, _: &u32, failure: &ApiFailure) {
        memory.reports.push(format!("not persisted: {}", failure.message));
    }

    fn report_failure(memory: &mut Memory, _: &Increment, failure: &ApiFailure) {
        memory.reports.push(format!("failed: {}", failure.message));
    }

    fn count_failed_write(memory: &mut Memory) -> u32 {
        memory.failed_writes += 1;
        memory.failed_writes
    }
}

/// Runs a driver, and checks which effect each input brings.
struct Runner {
    driver: Driver<Counter, &'static str>,
    memory: Memory,
    moment: Moment,
}

impl Runner {
    fn new() -> Self {
        let moment = Moment {
            now: Timestamp::UNIX_EPOCH,
            leadership: Leadership {
                leads: true,
                term: 1,
                draining: false,
            },
            jitter: 0.0,
        };
        let mut memory = Memory::default();
        let driver = Driver::begin(&mut memory, &moment);
        Self {
            driver,
            memory,
            moment,
        }
    }

    fn after(&mut self, input: Input<Counter, &'static str>) -> String {
        self.driver.resume(&mut self.memory, &self.moment, input);
        match self.driver.effect() {
            Effect::End(end) => format!("{end:?}"),
            Effect::Wait(pause) => format!("Wait {pause:?}"),
            Effect::Persist { object, change, .. } => format!("Persist {change} upon {object}"),
            effect => effect.name().to_owned(),
        }
    }

    fn collect(&mut self, stored: u32) -> String {
        let snapshot = Box::new(Snapshot {
            stored,
            desired: None,
            may_begin: false,
        });
        assert_eq!(self.after(Input::Cached(Some(("v1", snapshot)))), "Collect");
        self.after(Input::Collected(Box::new(1)))
    }

    /// Up to an answer that must be stored.
    fn answered(&mut self) {
        assert_eq!(self.collect(0), "AcquirePermit");
        assert_eq!(self.after(Input::Permit(Permit::AtOnce)), "Begin");
        assert!(self.driver.holds_permit());
        assert_eq!(self.after(Input::Proceed), "Perform");
        assert_eq!(self.after(Input::Performed(1)), "Newest");
        assert!(!self.driver.holds_permit());
        assert_eq!(self.after(Input::Newest(Some(("v1", 0)))), "Persist 1 upon v1");
    }
}

fn failure(kind: ApiFailureKind) -> ApiFailure {
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: format!("{kind:?}"),
    }
}

fn at(millis: i64, why: Retry) -> String {
    let at = Timestamp::from_millisecond(millis).unwrap();
    format!("{:?}", End::Retry { at, why })
}

#[test]
fn an_answer_is_stored_before_anything_else_is_decided() {
    let mut runner = Runner::new();
    runner.answered();
    assert!(runner.memory.answers.is_empty());
    assert_eq!(runner.after(Input::Persisted(Ok(()))), "Stored");
    assert_eq!(runner.after(Input::Newest(Some(("v2", 1)))), "CollectCached");
    assert_eq!(runner.memory.answers, [1]);
    assert_eq!(runner.collect(1), format!("{:?}", End::Rest(Rest::NEVER)));
}

#[test]
fn a_conflict_writes_the_answer_upon_what_stands_now() {
    let mut runner = Runner::new();
    runner.answered();
    let conflict = Input::Persisted(Err(failure(ApiFailureKind::Conflict)));
    assert_eq!(runner.after(conflict), "ReadLive");
    assert_eq!(runner.after(Input::Live(Ok(("v7", 0)))), "Persist 1 upon v7");
}

#[test]
fn an_answer_is_stored_though_the_lease_is_lost_and_the_process_drains() {
    let mut runner = Runner::new();
    runner.answered();
    runner.moment.leadership.leads = false;
    runner.moment.leadership.draining = true;
    let unavailable = || failure(ApiFailureKind::Transient);
    assert_eq!(runner.after(Input::Persisted(Err(unavailable()))), "Wait 50ms");
    assert_eq!(runner.after(Input::Waited), "ReadLive");
    assert_eq!(runner.after(Input::Live(Err(unavailable()))), "Wait 100ms");
    assert_eq!(runner.after(Input::Waited), "ReadLive");
    assert_eq!(runner.after(Input::Live(Ok(("v1", 0)))), "Persist 1 upon v1");
    assert_eq!(runner.after(Input::Persisted(Ok(()))), "Stored");
    assert_eq!(runner.after(Input::Newest(None)), "CollectCached");
    assert_eq!(runner.memory.answers, [1]);
}

#[test]
fn an_answer_that_may_not_be_stored_is_reported_once() {
    let mut runner = Runner::new();
    runner.answered();
    for _ in 0..3 {
        let rejected = Input::Persisted(Err(failure(ApiFailureKind::Rejected)));
        assert!(runner.after(rejected).starts_with("Wait"));
        assert_eq!(runner.after(Input::Waited), "ReadLive");
        assert_eq!(runner.after(Input::Live(Ok(("v1", 0)))), "Persist 1 upon v1");
    }
    assert_eq!(runner.memory.reports, ["not persisted: Rejected"]);
}

#[test]
fn an_object_that_the_store_does_not_hold_is_read_before_its_answer_is_given_up() {
    let mut runner = Runner::new();
    assert_eq!(runner.collect(0), "AcquirePermit");
    runner.after(Input::Permit(Permit::AtOnce));
    runner.after(Input::Proceed);
    runner.after(Input::Performed(1));
    assert_eq!(runner.after(Input::Newest(None)), "ReadLive");
    let gone = Input::Live(Err(failure(ApiFailureKind::NotFound)));
    assert_eq!(runner.after(gone), "Stored");
}

#[test]
fn a_lease_lost_at_the_last_moment_forbids_the_action() {
    for (leads, term, draining) in [(false, 1, false), (true, 2, false), (true, 1, true)] {
        let mut runner = Runner::new();
        assert_eq!(runner.collect(0), "AcquirePermit");
        assert_eq!(runner.after(Input::Permit(Permit::AtOnce)), "Begin");
        runner.moment.leadership = Leadership {
            leads,
            term,
            draining,
        };
        assert_eq!(runner.after(Input::Proceed), at(1_000, Retry::Standby));
        assert!(!runner.driver.holds_permit());
    }
}

#[test]
fn without_a_permit_the_reconcile_ends() {
    let mut runner = Runner::new();
    assert_eq!(runner.collect(0), "AcquirePermit");
    assert_eq!(
        runner.after(Input::Permit(Permit::Never)),
        at(60_000, Retry::NoPermit)
    );
    assert!(!runner.driver.holds_permit());
}

#[test]
fn a_request_that_fails_is_followed_by_a_read_and_a_growing_pause() {
    for (failed_before, pause) in [(0, 1_000), (1, 2_000)] {
        let mut runner = Runner::new();
        runner.memory.failed_writes = failed_before;
        runner.collect(0);
        runner.after(Input::Permit(Permit::AtOnce));
        runner.after(Input::Proceed);
        let failed = Input::Failed(failure(ApiFailureKind::Transient));
        assert_eq!(runner.after(failed), "ReadLive");
        let live = Input::Live(Ok(("v1", 0)));
        assert_eq!(runner.after(live), at(pause, Retry::ApiServer));
        assert_eq!(runner.memory.reports, ["failed: Transient"]);
    }
    let mut runner = Runner::new();
    runner.collect(0);
    runner.after(Input::Permit(Permit::AtOnce));
    runner.after(Input::Proceed);
    runner.after(Input::Failed(failure(ApiFailureKind::Conflict)));
    let gone = Input::Live(Err(failure(ApiFailureKind::NotFound)));
    assert_eq!(runner.after(gone), "Gone");
}

#[test]
fn a_reconcile_that_repeats_itself_ends() {
    let mut runner = Runner::new();
    for _ in 0..64 {
        assert_eq!(runner.collect(0), "AcquirePermit");
        assert_eq!(runner.after(Input::Permit(Permit::AtOnce)), "Begin");
        assert_eq!(runner.after(Input::Proceed), "Perform");
        assert_eq!(runner.after(Input::Performed(0)), "Newest");
        // Nothing ever comes of it.
        assert_eq!(runner.after(Input::Newest(Some(("v1", 0)))), "Stored");
        assert_eq!(runner.after(Input::Newest(Some(("v1", 0)))), "CollectCached");
    }
    let snapshot = Box::new(Snapshot {
        stored: 0,
        desired: None,
        may_begin: false,
    });
    let ended = runner.after(Input::Cached(Some(("v1", snapshot))));
    assert_eq!(ended, at(30_000, Retry::Unfinished));
}

#[test]
fn without_the_lease_a_rest_is_a_standby() {
    let mut runner = Runner::new();
    runner.moment.leadership.leads = false;
    assert_eq!(runner.collect(0), at(1_000, Retry::Standby));
}

#[test]
#[should_panic(expected = "Waited does not answer CollectCached")]
fn an_input_that_nobody_asked_for_is_a_bug() {
    Runner::new().after(Input::Waited);
}
