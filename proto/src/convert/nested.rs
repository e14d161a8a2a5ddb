//! The messages that a message holds, with their place in the path of a violation.

use crossbridge_types::{Rule, Violation};

/// A field that is REQUIRED.
pub(super) fn required<W, T>(wire: Option<W>, field: &str) -> Result<T, Violation>
where
    T: TryFrom<W, Error = Violation>,
{
    optional(wire, field)?.ok_or_else(|| Violation::new(field, Rule::Required))
}

/// A field that may be missing.
pub(super) fn optional<W, T>(wire: Option<W>, field: &str) -> Result<Option<T>, Violation>
where
    T: TryFrom<W, Error = Violation>,
{
    wire.map(|wire| T::try_from(wire).map_err(|violation| violation.within(field)))
        .transpose()
}

/// Converts each item of a repeated field; a violation names the item's index.
pub(super) fn each<W, T>(wire: Vec<W>, field: &str) -> Result<Vec<T>, Violation>
where
    T: TryFrom<W, Error = Violation>,
{
    wire.into_iter()
        .enumerate()
        .map(|(index, wire)| {
            T::try_from(wire).map_err(|violation| violation.within(format_args!("{field}[{index}]")))
        })
        .collect()
}
