//! JSON in a string: white space and key order do not count.

use serde_json::Value;

/// Whether two texts mean the same.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || parse(one).is_some_and(|one| Some(one) == parse(other))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn white_space_and_key_order_do_not_count() {
        assert!(same(r#"{"a": 1, "b": [2]}"#, r#"{"b":[2],"a":1}"#));
        assert!(!same(r#"{"a": 1}"#, r#"{"a": 2}"#));
        assert!(same("", ""));
        assert!(!same("", "{}"));
    }
}
