//! Lists within sentences: no longer than a person reads, however many they are.

/// Names in a message: sorted, and of many the first three.
pub(super) fn names_of(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    match names.as_slice() {
        [a, b, c] => format!("{a}, {b}, and {c}"),
        [a, b, c, more @ ..] => format!("{a}, {b}, {c}, and {} more", more.len()),
        few => few.join(", "),
    }
}

/// The same of whole texts; `None`: there is none.
pub(super) fn some_of(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    (!all.is_empty()).then(|| names_of(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_first_three_are_named() {
        let all = |count: usize| some_of((0..count).rev().map(|number| format!("object {number}")));
        assert_eq!(all(0), None);
        assert_eq!(all(2).unwrap(), "object 0, object 1");
        assert_eq!(all(3).unwrap(), "object 0, object 1, and object 2");
        assert_eq!(all(9).unwrap(), "object 0, object 1, object 2, and 6 more");
    }
}
