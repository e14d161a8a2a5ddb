//! Numbers, durations and times.

use std::time::Duration;

use crossbridge_types::{Rule, Violation};
use jiff::Timestamp;

/// A size or a count; `None`: not set.
pub(super) fn count<N: Copy + Default + PartialEq + TryInto<usize>>(
    value: N,
    field: &str,
) -> Result<Option<usize>, Violation> {
    if value == N::default() {
        return Ok(None);
    }
    value
        .try_into()
        .map(Some)
        .map_err(|_| Violation::new(field, Rule::OutOfRange { range: "0 or more" }))
}

/// Longer than any wait, and short enough to be added to any time: what is longer is cut to it.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

pub(super) fn duration(
    value: Option<prost_types::Duration>,
    field: &str,
) -> Result<Option<Duration>, Violation> {
    uncut_duration(value, field).map(|duration| duration.map(|duration| duration.min(LONGEST)))
}

/// Longest time for which a plugin can put anything off: a plugin that takes milliseconds for seconds stops an account for an hour, not for
/// weeks.
pub(super) const LONGEST_ADVICE: Duration = Duration::from_hours(1);

/// Advice to come back later: what is longer than an hour is cut to it.
pub(super) fn advice(
    value: Option<prost_types::Duration>,
    field: &str,
) -> Result<Option<Duration>, Violation> {
    uncut_duration(value, field).map(|advice| advice.map(|advice| advice.min(LONGEST_ADVICE)))
}

/// However long it is.
pub(super) fn uncut_duration(
    value: Option<prost_types::Duration>,
    field: &str,
) -> Result<Option<Duration>, Violation> {
    value
        .map(Duration::try_from)
        .transpose()
        .map_err(|_| Violation::new(field, Rule::OutOfRange { range: "0s or more" }))
}

/// What is longer than the wire can express is cut to its longest: about 292 billion years.
pub(super) fn wire_duration(value: Option<Duration>) -> Option<prost_types::Duration> {
    value.map(|duration| {
        prost_types::Duration::try_from(duration).unwrap_or(prost_types::Duration {
            seconds: i64::MAX,
            nanos: 0,
        })
    })
}

/// A time beyond the calendar (year 9999) is as good as never.
pub(super) fn time(
    value: Option<prost_types::Timestamp>,
    field: &str,
) -> Result<Option<Timestamp>, Violation> {
    let Some(value) = value.filter(|value| value.seconds <= Timestamp::MAX.as_second()) else {
        return Ok(None);
    };
    let range = "a time of the calendar";
    Timestamp::new(value.seconds, value.nanos)
        .map(Some)
        .map_err(|_| Violation::new(field, Rule::OutOfRange { range }))
}

pub(super) fn wire_time(value: Option<Timestamp>) -> Option<prost_types::Timestamp> {
    value.map(|time| prost_types::Timestamp {
        seconds: time.as_second(),
        nanos: time.subsec_nanosecond(),
    })
}
