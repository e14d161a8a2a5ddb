use std::time::{Duration, SystemTime};

use tonic::{Code, Status, metadata::MetadataMap};

use super::{Metadata, grpc_timeout, trace_parent};
use crate::Failure;

fn metadata(entries: &[(&'static str, String)]) -> Result<Metadata, Status> {
    let mut map = MetadataMap::new();
    for (key, value) in entries {
        map.insert(*key, value.parse().expect("ASCII"));
    }
    Metadata::read(&map)
}

fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> Code {
    result
        .expect_err("it is rejected")
        .into_types()
        .expect_err("by a status")
        .code()
}

fn unix_ms(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970")
        .as_millis()
        .to_string()
}

#[test]
fn timeouts_are_read_in_every_unit() {
    let cases = [
        ("1H", Some(3_600_000_000_000)),
        ("2M", Some(120_000_000_000)),
        ("3S", Some(3_000_000_000)),
        ("4m", Some(4_000_000)),
        ("5u", Some(5_000)),
        ("99999999n", Some(99_999_999)),
        ("", None),
        ("S", None),
        ("1", None),
        ("123456789S", None),
        ("-1S", None),
        ("1s", None),
        ("1µ", None),
    ];
    for (text, nanoseconds) in cases {
        assert_eq!(
            grpc_timeout(text),
            nanoseconds.map(Duration::from_nanos),
            "{text}"
        );
    }
}

#[test]
fn a_change_needs_a_deadline_of_at_most_60_s() {
    let now = SystemTime::now();
    let of_change =
        |entries: &[(&'static str, String)]| metadata(entries).expect("well-formed").deadline_of_change(now);
    assert_eq!(code(of_change(&[])), Code::FailedPrecondition);
    assert_eq!(
        code(of_change(&[("grpc-timeout", "61S".to_owned())])),
        Code::FailedPrecondition
    );
    assert_eq!(
        code(of_change(&[("grpc-timeout", "0S".to_owned())])),
        Code::FailedPrecondition
    );
    assert!(of_change(&[("grpc-timeout", "60S".to_owned())]).is_ok());
}

#[test]
fn the_absolute_deadline_bounds_the_relative_one() {
    let now = SystemTime::now();
    let passed = unix_ms(now - Duration::from_millis(5));
    let in_ten = unix_ms(now + Duration::from_secs(10));
    let timeout = ("grpc-timeout", "30S".to_owned());

    let late = metadata(&[timeout.clone(), ("crossbridge-deadline-ms", passed)]).expect("well-formed");
    assert_eq!(code(late.deadline_of_change(now)), Code::FailedPrecondition);
    assert_eq!(code(late.deadline_of_observe(now)), Code::FailedPrecondition);

    let soon = metadata(&[timeout, ("crossbridge-deadline-ms", in_ten)]).expect("well-formed");
    let deadline = soon.deadline_of_change(now).expect("it lies ahead");
    assert!(
        deadline.remaining() <= Duration::from_secs(10),
        "the nearer one counts"
    );
}

#[test]
fn an_observe_without_deadline_has_60_s() {
    let now = SystemTime::now();
    for entries in [vec![], vec![("grpc-timeout", "10H".to_owned())]] {
        let deadline = metadata(&entries)
            .expect("well-formed")
            .deadline_of_observe(now)
            .expect("it lies ahead");
        assert!(deadline.remaining() <= Duration::from_mins(1));
    }
}

#[test]
fn an_unreadable_deadline_is_rejected() {
    for key in ["grpc-timeout", "crossbridge-deadline-ms"] {
        let rejected = metadata(&[(key, "soon".to_owned())]).expect_err(key);
        assert_eq!(rejected.code(), Code::InvalidArgument, "{key}");
    }
}

#[test]
fn an_invalid_trace_parent_is_ignored() {
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (trace, parent) = trace_parent(good).expect("it is W3C's own example");
    assert_eq!(
        (trace.as_str(), parent.as_str()),
        ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    );
    for bad in [
        "",
        "00-0-0-0",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    ] {
        assert_eq!(trace_parent(bad), None, "{bad}");
    }
}
