//! The forms that texts of the contract have, and checks of the values that a value holds. Each names the field that it was given.
//!
//! # Errors
//! All of them: the field is missing, too long, out of form, or given twice.
#![allow(clippy::missing_errors_doc)] // Said above, once.

use serde_json::Value;

use crate::{Document, Rule, Violation, limits};

/// Condition reasons, metric labels and Kubernetes names share this length, in bytes.
pub const LABEL_LIMIT: usize = 63;

/// Handles and provider states, in bytes.
pub const STATE_LIMIT: usize = 4096;

/// Longest name of a Kubernetes object, and of a Secret's key.
pub const NAME_LIMIT: usize = 253;

/// Rejects an empty text.
pub fn required(value: &str, field: &str) -> Result<(), Violation> {
    if value.is_empty() {
        return Err(Violation::new(field, Rule::Required));
    }
    Ok(())
}

/// At most so many bytes.
pub fn at_most(value: &str, limit: usize, field: &str) -> Result<(), Violation> {
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

/// A name or an id that a plugin gives: at most 1 KiB, without control characters; may be empty.
pub fn name(value: &str, field: &str) -> Result<(), Violation> {
    at_most(value, limits::NAME, field)?;
    form(
        !value.contains(char::is_control),
        "without control characters",
        field,
    )
}

/// Of the resource whose name was sent, as far as both are known: a name never changes.
pub fn same_name(name: &str, sent_name: &str) -> Result<(), Violation> {
    if name.is_empty() || sent_name.is_empty() || name == sent_name {
        return Ok(());
    }
    let why = format!("the resource is {sent_name:?}, and a name never changes");
    Err(Violation::new("external_name", Rule::NotAllowed { why }))
}

/// At most so many items.
pub fn count<T>(items: &[T], limit: usize, field: &str) -> Result<(), Violation> {
    let count = items.len();
    if count > limit {
        return Err(Violation::new(field, Rule::TooMany { count, limit }));
    }
    Ok(())
}

/// The text of a JSON document, before it is parsed: at most 32768 values.
pub fn json_text(text: &str, field: &str) -> Result<(), Violation> {
    let (count, limit) = (limits::values_in(text), limits::VALUES);
    if count > limit {
        return Err(Violation::new(field, Rule::TooMany { count, limit }));
    }
    Ok(())
}

/// A JSON document: at most 64 levels.
pub fn document(document: &Document, field: &str) -> Result<(), Violation> {
    document.values().try_for_each(|value| shallow(value, field))
}

/// A JSON value: at most 64 levels.
pub fn shallow(value: &Value, field: &str) -> Result<(), Violation> {
    if limits::is_shallow(value) {
        return Ok(());
    }
    let limit = limits::DEPTH;
    Err(Violation::new(field, Rule::TooDeep { limit }))
}

/// Whether a field has its form.
pub fn form(holds: bool, form: &'static str, field: &str) -> Result<(), Violation> {
    if !holds {
        return Err(Violation::new(field, Rule::Malformed { form }));
    }
    Ok(())
}

/// A reason, a phase: not empty.
pub fn pascal_case(value: &str, field: &str) -> Result<(), Violation> {
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
pub fn marker(value: &str, field: &str) -> Result<(), Violation> {
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
pub fn dns_label(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, LABEL_LIMIT, field)?;
    form(
        is_dns_label(value) && !value.starts_with(|first: char| first.is_ascii_digit()),
        "a DNS label: of a-z, 0-9 and '-', beginning with a letter, not ending with '-'",
        field,
    )
}

/// An API group, a plugin's name.
pub fn dns_subdomain(value: &str, limit: usize, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    at_most(value, limit, field)?;
    form(
        value.split('.').all(is_dns_label),
        "a DNS subdomain: labels of a-z, 0-9 and '-', joined by '.'",
        field,
    )
}

/// An API group, as Kubernetes limits it.
pub fn api_group(value: &str, field: &str) -> Result<(), Violation> {
    dns_subdomain(value, NAME_LIMIT, field)
}

/// A key of a Secret.
pub fn secret_key(value: &str, field: &str) -> Result<(), Violation> {
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
pub fn pointer(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    form(is_pointer(value), "a JSON Pointer, such as /a/b", field)
}

/// Whether it is a JSON Pointer, not that of the whole document.
pub fn is_pointer(value: &str) -> bool {
    value.starts_with('/')
        && value
            .split('~')
            .skip(1)
            .all(|escape| escape.starts_with('0') || escape.starts_with('1'))
}

/// A UUID, written with hyphens.
pub fn uuid(value: &str, field: &str) -> Result<(), Violation> {
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

/// A version as `SemVer` 2 writes it, such as `1.2.3`; not empty.
pub fn semantic_version(value: &str, field: &str) -> Result<(), Violation> {
    required(value, field)?;
    form(
        semver::Version::parse(value).is_ok(),
        "a semantic version, such as 1.2.3",
        field,
    )
}

/// A check of each item.
pub fn each<T>(
    items: &[T],
    field: &str,
    check: impl Fn(&T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    items.iter().enumerate().try_for_each(|(index, item)| {
        check(item).map_err(|violation| violation.within(format_args!("{field}[{index}]")))
    })
}

/// A check of an item that may be missing.
pub fn optional<T>(
    item: Option<&T>,
    field: &str,
    check: impl Fn(&T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    item.map_or(Ok(()), |item| {
        check(item).map_err(|violation| violation.within(field))
    })
}

/// Items that must differ by what `key` takes of them, which stands in `name`.
pub fn distinct<'a, T>(
    items: &'a [T],
    field: &str,
    name: &str,
    key: impl Fn(&'a T) -> &'a str,
) -> Result<(), Violation> {
    let mut seen = std::collections::BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let key = key(item);
        if !seen.insert(key) {
            let path = if name.is_empty() {
                format!("{field}[{index}]")
            } else {
                format!("{field}[{index}].{name}")
            };
            return Err(Violation::new(
                path,
                Rule::Duplicate {
                    value: key.to_owned(),
                },
            ));
        }
    }
    Ok(())
}
