use super::*;

const START: i64 = 1_700_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(START * 1000 + millis).unwrap()
}

fn refused() -> Signal {
    Signal::Missed("refused".into())
}

/// Held at 500 ms, after misses that began at 250 ms.
fn held() -> Availability {
    let mut availability = Availability::default();
    let ends = [250, 400, 500].map(|millis| availability.end(Attempt::Call, refused(), at(millis), 0.0));
    assert_eq!(ends, [Transition::None, Transition::None, Transition::Held]);
    availability
}

fn rejected() -> FunctionFailure {
    FunctionFailure::Held {
        since: at(0),
        why: "refused".into(),
    }
}

#[test]
fn three_misses_in_a_row_hold_a_function() {
    let expected = Availability::Held {
        since: at(0),
        why: "refused".into(),
        failed_probes: 0,
        probe: Probe::DueAt(at(1500)),
    };
    assert_eq!(held(), expected);
}

#[test]
fn an_answer_between_two_misses_begins_the_count_anew() {
    let mut availability = Availability::default();
    for _ in 0..3 {
        for _ in 1..MISSES {
            assert_eq!(availability.admit(at(0)), Ok(Attempt::Call));
            availability.end(Attempt::Call, refused(), at(0), 0.0);
        }
        let answered = availability.end(Attempt::Call, Signal::Answered, at(0), 0.0);
        assert_eq!(answered, Transition::None);
        assert_eq!(availability, Availability::default());
    }
}

#[test]
fn a_call_that_says_nothing_changes_nothing() {
    let mut availability = Availability::default();
    availability.end(Attempt::Call, refused(), at(0), 0.0);
    let before = availability.clone();
    availability.end(Attempt::Call, Signal::None, at(1), 0.0);
    assert_eq!(availability, before);
}

#[test]
fn a_held_function_is_called_by_one_probe() {
    let mut availability = held();
    assert_eq!(availability.admit(at(1499)), Err(rejected()));
    assert_eq!(availability.rejection(at(1500)), None);
    assert_eq!(availability.admit(at(1500)), Ok(Attempt::Probe));
    assert_eq!(availability.rejection(at(60_000)), Some(rejected()));
    assert_eq!(availability.admit(at(60_000)), Err(rejected()));
}

#[test]
fn probes_come_further_and_further_apart() {
    let mut availability = held();
    let (mut now, mut waits) = (1500, Vec::new());
    for _ in 0..7 {
        assert_eq!(availability.admit(at(now)), Ok(Attempt::Probe));
        let why = Signal::Missed("still refused".into());
        assert_eq!(
            availability.end(Attempt::Probe, why, at(now), 0.0),
            Transition::None
        );
        let Availability::Held {
            probe: Probe::DueAt(due),
            why,
            ..
        } = &availability
        else {
            panic!("{availability:?}");
        };
        assert_eq!(why, "still refused");
        waits.push(due.duration_since(at(now)).as_secs());
        now = due.as_millisecond() - START * 1000;
    }
    assert_eq!(waits, [2, 4, 8, 16, 30, 30, 30]);
}

#[test]
fn a_probe_that_says_nothing_is_followed_by_another() {
    let mut availability = held();
    availability.admit(at(1500)).unwrap();
    availability.end(Attempt::Probe, Signal::None, at(1600), 0.0);
    assert_eq!(availability.rejection(at(2599)), Some(rejected()));
    assert_eq!(availability.admit(at(2600)), Ok(Attempt::Probe));
}

#[test]
fn one_answer_ends_the_hold_whoever_asked() {
    for attempt in [Attempt::Call, Attempt::Probe] {
        let mut availability = held();
        availability.admit(at(1500)).unwrap();
        let answered = availability.end(attempt, Signal::Answered, at(1600), 0.0);
        assert_eq!(answered, Transition::Recovered);
        assert_eq!(availability, Availability::default());
    }
}

#[test]
fn calls_from_before_the_hold_do_not_move_the_probe() {
    let mut availability = held();
    availability.admit(at(1500)).unwrap();
    let before = availability.clone();
    assert_eq!(
        availability.end(Attempt::Call, refused(), at(1600), 0.0),
        Transition::None
    );
    assert_eq!(availability, before);
    availability.end(Attempt::Probe, refused(), at(1700), 0.0);
    assert_eq!(
        availability.end(Attempt::Call, Signal::None, at(1800), 0.0),
        Transition::None
    );
    assert_eq!(availability.rejection(at(3699)), Some(rejected()));
    assert_eq!(availability.rejection(at(3700)), None);
}

#[test]
fn a_clock_that_was_set_back_delays_no_probe() {
    let mut availability = held();
    let hour_before = at(-3_600_000);
    assert_eq!(availability.admit(hour_before), Ok(Attempt::Probe));
}

#[test]
fn time_outs_and_refusals_are_misses_and_answers_are_none() {
    let signal = |failure: FunctionFailure| Signal::of(&Err::<(), _>(failure));
    let status = |code: &str| FunctionFailure::Status {
        code: code.into(),
        message: "m".into(),
    };
    for missed in [
        FunctionFailure::Unreachable("refused".into()),
        FunctionFailure::TimedOut(Duration::from_mins(1)),
        status("UNAVAILABLE"),
    ] {
        let why = missed.to_string();
        assert_eq!(signal(missed), Signal::Missed(why));
    }
    for answered in [
        status("INTERNAL"),
        status("UNIMPLEMENTED"),
        FunctionFailure::Invalid("garbage".into()),
    ] {
        assert_eq!(signal(answered.clone()), Signal::Answered, "{answered}");
    }
    for none in [
        FunctionFailure::OutOfTime,
        FunctionFailure::Busy { places: 16 },
        rejected(),
    ] {
        assert_eq!(signal(none.clone()), Signal::None, "{none}");
    }
    assert_eq!(Signal::of(&Ok(())), Signal::Answered);
}
