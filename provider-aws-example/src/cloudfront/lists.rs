//! Putting a wish over what is there: what nobody wished for stays.

use aws_sdk_cloudfront::error::BuildError;

/// A part of a configuration that can lack what AWS requires.
pub(super) type Built<T> = Result<T, BuildError>;

/// The wish, if there is one.
pub(super) fn put<T>(to: &mut Option<T>, wish: Option<T>) {
    if wish.is_some() {
        *to = wish;
    }
}

/// Likewise, for a text whose absence AWS tells as an empty one.
pub(super) fn put_text(to: &mut Option<String>, wish: Option<&String>) {
    let Some(wish) = wish else { return };
    if to.as_deref().unwrap_or_default() != wish {
        *to = (!wish.is_empty()).then(|| wish.clone());
    }
}

/// The wished members of a set, which AWS hands back in an order of its own: if they are there already, in that order.
pub(super) fn members<T: PartialEq>(wish: Vec<T>, there: Vec<T>) -> Vec<T> {
    let within = |these: &[T], those: &[T]| these.iter().all(|one| those.contains(one));
    let same = wish.len() == there.len() && within(&wish, &there) && within(&there, &wish);
    if same { there } else { wish }
}

/// One item for each wish: the one that is there, in its place, else a new one at the end; changed as wished.
pub(super) fn items<W, T>(
    wish: &[W],
    mut there: Vec<T>,
    is: impl Fn(&W, &T) -> bool,
    new: impl Fn(&W) -> Built<T>,
    change: impl Fn(&W, &mut T) -> Built<()>,
) -> Built<Vec<T>> {
    there.retain(|item| wish.iter().any(|wish| is(wish, item)));
    for wish in wish {
        if let Some(item) = there.iter_mut().find(|item| is(wish, item)) {
            change(wish, item)?;
        } else {
            let mut item = new(wish)?;
            change(wish, &mut item)?;
            there.push(item);
        }
    }
    Ok(there)
}

/// The length of a list, as AWS wants it told beside the list.
pub(super) fn quantity<T>(items: &[T]) -> i32 {
    i32::try_from(items.len()).unwrap_or(i32::MAX)
}

/// A text that was found, perhaps empty.
pub(super) fn text(found: Option<&String>) -> String {
    found.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_takes_away_and_no_wish_leaves() {
        let after = |there: Option<&str>, wish: Option<&str>| {
            let mut to = there.map(ToOwned::to_owned);
            put_text(&mut to, wish.map(ToOwned::to_owned).as_ref());
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
    fn a_set_that_is_there_keeps_its_order() {
        assert_eq!(members(vec![1, 2], vec![2, 1]), [2, 1]);
        assert_eq!(members(vec![1, 2], vec![2, 3]), [1, 2]);
        assert_eq!(members(vec![1, 1], vec![1, 2]), [1, 1]);
        assert_eq!(members(vec![], vec![1]), [0; 0]);
    }

    #[test]
    fn known_items_keep_their_place_and_others_come_and_go() {
        let change = |wish: &(char, i32), item: &mut (char, i32)| {
            item.1 += wish.1;
            Ok(())
        };
        let after = items(
            &[('c', 1), ('b', 1)],
            vec![('a', 10), ('b', 20)],
            |wish, item| wish.0 == item.0,
            |wish| Ok((wish.0, 0)),
            change,
        );
        assert_eq!(after.expect("nothing is lacking"), [('b', 21), ('c', 1)]);
    }
}
