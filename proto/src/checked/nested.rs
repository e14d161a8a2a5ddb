//! Checks of the messages that a message holds, with their place in the path.

use super::{Rule, Violation};

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

/// A repeated field.
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

/// A check of each item.
pub(super) fn check_each<T>(
    items: &[T],
    field: &str,
    check: impl Fn(&T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    items.iter().enumerate().try_for_each(|(index, item)| {
        check(item).map_err(|violation| violation.within(format_args!("{field}[{index}]")))
    })
}

/// A check of an item that may be missing.
pub(super) fn check_optional<T>(
    item: Option<&T>,
    field: &str,
    check: impl Fn(&T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    item.map_or(Ok(()), |item| {
        check(item).map_err(|violation| violation.within(field))
    })
}

/// Items that must differ by what `key` takes of them, which stands in `name`.
pub(super) fn distinct<'a, T>(
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
