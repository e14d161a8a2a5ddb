//! Merging desired values into a current configuration: values that the desired state does not give stay.

use aws_sdk_cloudfront::error::BuildError;

/// A part of a configuration; an error if it lacks what the API requires.
pub(super) type Built<T> = Result<T, BuildError>;

/// Sets the desired value, if there is one.
pub(super) fn put<T>(to: &mut Option<T>, desired: Option<T>) {
    if desired.is_some() {
        *to = desired;
    }
}

/// Sets the desired text, if there is one. AWS reports an absent text as an empty one.
pub(super) fn put_text(to: &mut Option<String>, desired: Option<&String>) {
    let Some(desired) = desired else { return };
    if to.as_deref().unwrap_or_default() != desired {
        *to = (!desired.is_empty()).then(|| desired.clone());
    }
}

/// The desired members of a set; in the current order if they are the same, as AWS returns sets in an order of its own.
pub(super) fn members<T: PartialEq>(desired: Vec<T>, current: Vec<T>) -> Vec<T> {
    let within = |these: &[T], those: &[T]| these.iter().all(|one| those.contains(one));
    let same = desired.len() == current.len() && within(&desired, &current) && within(&current, &desired);
    if same { current } else { desired }
}

/// One item for each desired one: the current item in its place, else a new one at the end; changed to the desired values.
pub(super) fn items<W, T>(
    desired: &[W],
    mut current: Vec<T>,
    is: impl Fn(&W, &T) -> bool,
    new: impl Fn(&W) -> Built<T>,
    change: impl Fn(&W, &mut T) -> Built<()>,
) -> Built<Vec<T>> {
    current.retain(|item| desired.iter().any(|desired| is(desired, item)));
    for desired in desired {
        if let Some(item) = current.iter_mut().find(|item| is(desired, item)) {
            change(desired, item)?;
        } else {
            let mut item = new(desired)?;
            change(desired, &mut item)?;
            current.push(item);
        }
    }
    Ok(current)
}

/// The length of a list, which the API wants beside each list.
pub(super) fn quantity<T>(items: &[T]) -> i32 {
    i32::try_from(items.len()).unwrap_or(i32::MAX)
}

/// An observed text; empty if absent.
pub(super) fn text(observed: Option<&String>) -> String {
    observed.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_removes_and_an_absent_one_keeps() {
        let after = |current: Option<&str>, desired: Option<&str>| {
            let mut to = current.map(ToOwned::to_owned);
            put_text(&mut to, desired.map(ToOwned::to_owned).as_ref());
            to
        };
        assert_eq!(after(Some("a"), None).as_deref(), Some("a"));
        assert_eq!(after(Some("a"), Some("b")).as_deref(), Some("b"));
        assert_eq!(after(Some("a"), Some("")), None);
        assert_eq!(
            after(Some(""), Some("")).as_deref(),
            Some(""),
            "nothing to change"
        );
        assert_eq!(after(None, Some("")), None);
    }

    #[test]
    fn an_equal_set_keeps_its_order() {
        assert_eq!(members(vec![1, 2], vec![2, 1]), [2, 1]);
        assert_eq!(members(vec![1, 2], vec![2, 3]), [1, 2]);
        assert_eq!(members(vec![1, 1], vec![1, 2]), [1, 1]);
        assert_eq!(members(vec![], vec![1]), [0; 0]);
    }

    #[test]
    fn current_items_keep_their_place() {
        let change = |desired: &(char, i32), item: &mut (char, i32)| {
            item.1 += desired.1;
            Ok(())
        };
        let after = items(
            &[('c', 1), ('b', 1)],
            vec![('a', 10), ('b', 20)],
            |desired, item| desired.0 == item.0,
            |desired| Ok((desired.0, 0)),
            change,
        );
        assert_eq!(after.expect("nothing is lacking"), [('b', 21), ('c', 1)]);
    }
}
