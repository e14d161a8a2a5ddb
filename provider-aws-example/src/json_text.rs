//! JSON documents in text fields, such as policies.

use serde_json::Value;

/// Whether two texts hold equal JSON: white space and key order do not count.
pub(crate) fn is_equal(one: &str, other: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || parse(one).is_some_and(|one| Some(one) == parse(other))
}

#[cfg(test)]
mod tests {
    use super::is_equal;

    #[test]
    fn white_space_and_key_order_do_not_count() {
        assert!(is_equal(r#"{"a": 1, "b": [2]}"#, r#"{"b":[2],"a":1}"#));
        assert!(!is_equal(r#"{"a": 1}"#, r#"{"a": 2}"#));
        assert!(is_equal("", ""));
        assert!(!is_equal("", "{}"));
    }
}
