//! The forms that texts, numbers and times of the contract have.

use std::time::{Duration, SystemTime};

use super::{Rule, Violation};

/// Condition reasons, metric labels and Kubernetes names share this length, in bytes.
pub(super) const LABEL_LIMIT: usize = 63;

/// Handles and provider states, in bytes.
pub(super) const STATE_LIMIT: usize = 4096;

/// Longest name of a Kubernetes object, and of a Secret's key.
const NAME_LIMIT: usize = 253;

pub(super) fn required(value: &str, field: &str) -> Result<(), Violation> {
    if value.is_empty() {
        return Err(Violation::new(field, Rule::Required));
    }
    Ok(())
}

pub(super) fn at_most(value: &str, limit: usize, field: &str) -> Result<(), Violation> {
    if value.len() > limit {
        return Err(Violation::new(
            field,
            Rule::TooLong {
                length: value.len(),
                limit,
            },
        ));
    }
    Ok(())
}

fn form(holds: bool, form: &'static str, field: &str) -> Result<(), Violation> {
    if !holds {
        return Err(Violation::new(field, Rule::Malformed { form }));
    }
    Ok(())
}

/// A reason, a phase: not empty.
pub(super) fn pascal_case(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, LABEL_LIMIT, field)?;
    form(
        value.starts_with(|first: char| first.is_ascii_uppercase())
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "PascalCase, of ASCII letters and digits",
        field,
    )
}

/// An ownership marker; may be empty.
pub(super) fn marker(value: &str, field: &str) -> Result<(), Violation> {
    at_most(value, LABEL_LIMIT, field)?;
    form(
        value.is_empty()
            || (value.starts_with(|first: char| first.is_ascii_lowercase())
                && value.bytes().all(is_label_byte)),
        "of a-z, 0-9 and '-', beginning with a letter",
        field,
    )
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn is_dns_label(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= LABEL_LIMIT
        && value.bytes().all(is_label_byte)
        && !value.starts_with('-')
        && !value.ends_with('-')
}

/// A plural, a singular, a short name, a version.
pub(super) fn dns_label(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, LABEL_LIMIT, field)?;
    form(
        is_dns_label(value) && !value.starts_with(|first: char| first.is_ascii_digit()),
        "a DNS label: of a-z, 0-9 and '-', beginning with a letter, not ending with '-'",
        field,
    )
}

/// An API group, a plugin's name.
pub(super) fn dns_subdomain(value: &str, limit: usize, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, limit, field)?;
    form(
        value.split('.').all(is_dns_label),
        "a DNS subdomain: labels of a-z, 0-9 and '-', joined by '.'",
        field,
    )
}

/// An API group, as Kubernetes limits it.
pub(super) fn api_group(value: &str, field: &str) -> Result<(), Violation> {
    dns_subdomain(value, NAME_LIMIT, field)
}

/// A key of a Secret.
pub(super) fn secret_key(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, NAME_LIMIT, field)?;
    form(
        value != "."
            && value != ".."
            && value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
        "a key of a Secret: of letters, digits, '-', '_' and '.'",
        field,
    )
}

/// A JSON Pointer (RFC 6901), not that of the whole document.
pub(super) fn pointer(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    form(is_pointer(value), "a JSON Pointer, such as /a/b", field)
}

pub(super) fn is_pointer(value: &str) -> bool {
    value.starts_with('/')
        && value
            .split('~')
            .skip(1)
            .all(|escape| escape.starts_with('0') || escape.starts_with('1'))
}

/// A UUID, written with hyphens.
pub(super) fn uuid(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    let hyphen_at = [8, 13, 18, 23];
    form(
        value.len() == 36
            && value.bytes().enumerate().all(|(index, byte)| {
                if hyphen_at.contains(&index) {
                    byte == b'-'
                } else {
                    byte.is_ascii_hexdigit()
                }
            }),
        "a UUID, such as 123e4567-e89b-12d3-a456-426614174000",
        field,
    )
}

pub(super) fn semantic_version(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    form(
        semver::Version::parse(value).is_ok(),
        "a semantic version, such as 1.2.3",
        field,
    )
}

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

/// Longer than anybody waits, and short enough to be added to any time: what is longer is cut to it.
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

/// What is longer than the wire can say is cut to its longest: about 292 billion years.
pub(super) fn wire_duration(value: Option<Duration>) -> Option<prost_types::Duration> {
    value.map(|duration| {
        prost_types::Duration::try_from(duration).unwrap_or(prost_types::Duration {
            seconds: i64::MAX,
            nanos: 0,
        })
    })
}

pub(super) fn time(
    value: Option<prost_types::Timestamp>,
    field: &str,
) -> Result<Option<SystemTime>, Violation> {
    value.map(SystemTime::try_from).transpose().map_err(|_| {
        Violation::new(
            field,
            Rule::OutOfRange {
                range: "a time of this machine's clock",
            },
        )
    })
}
