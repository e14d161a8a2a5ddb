//! The items of a list by key or value: a user's list of a hundred thousand items is compared in one walk, not in as many as it has items.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use super::same_json::same_json;

/// The items of a list of type `map`, by its keys. Of several with the same keys the first counts.
pub(super) struct ByKeys<'a, 'k> {
    keys: &'k [&'k str],
    items: BTreeMap<String, &'a Value>,
}

impl<'a, 'k> ByKeys<'a, 'k> {
    pub(super) fn new(list: &'a [Value], keys: &'k [&'k str]) -> Self {
        let mut items = BTreeMap::new();
        for item in list {
            items.entry(key_of(item, keys)).or_insert(item);
        }
        Self { keys, items }
    }

    /// The one that has the same keys.
    pub(super) fn find(&self, item: &Value) -> Option<&'a Value> {
        self.items.get(&key_of(item, self.keys)).copied()
    }
}

fn key_of(item: &Value, keys: &[&str]) -> String {
    let value = |key: &&str| item.get(*key).map_or_else(|| "-".to_owned(), Value::to_string);
    keys.iter().map(value).collect::<Vec<_>>().join(",")
}

/// The items of a list of type `set`, by value.
pub(super) struct ByValue<'a>(BTreeMap<u64, Vec<&'a Value>>);

impl<'a> ByValue<'a> {
    pub(super) fn new(list: &'a [Value]) -> Self {
        let mut items: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for item in list {
            let same = items.entry(digest(item)).or_default();
            if !same.iter().any(|known| same_json(item, known)) {
                same.push(item);
            }
        }
        Self(items)
    }

    /// The one that is the same as JSON.
    pub(super) fn find(&self, item: &Value) -> Option<&'a Value> {
        let candidates = self.0.get(&digest(item))?;
        candidates.iter().find(|other| same_json(item, other)).copied()
    }
}

fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(value, &mut hasher);
    hasher.finish()
}

/// What is the same as JSON is fed alike: whole floats as integers, fields in the order of their names.
fn feed(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(value) => (1_u8, value).hash(hasher),
        Value::Number(number) => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").unwrap_or(&text);
            (2_u8, whole).hash(hasher);
        }
        Value::String(text) => (3_u8, text).hash(hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            for item in items {
                feed(item, hasher);
            }
        }
        Value::Object(fields) => {
            (5_u8, fields.len()).hash(hasher);
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            for (name, field) in fields {
                name.hash(hasher);
                feed(field, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_the_same_as_json_is_found() {
        let list = [json!(1.0), json!({"a": 1, "b": [2.0]}), json!("1"), json!(-0.5)];
        let items = ByValue::new(&list);
        for (sought, found) in [
            (json!(1), Some(0)),
            (json!({"b": [2], "a": 1.0}), Some(1)),
            (json!("1"), Some(2)),
            (json!(-0.5), Some(3)),
            (json!(2), None),
            (json!(null), None),
        ] {
            assert_eq!(items.find(&sought), found.map(|at: usize| &list[at]), "{sought}");
        }
    }

    #[test]
    fn the_first_item_of_its_keys_is_found() {
        let list = [
            json!({"k": "a", "l": 1, "v": 1}),
            json!({"k": "a", "l": 1, "v": 2}),
            json!({"k": "b", "v": 3}),
        ];
        let items = ByKeys::new(&list, &["k", "l"]);
        assert_eq!(items.find(&json!({"k": "a", "l": 1})), Some(&list[0]));
        assert_eq!(items.find(&json!({"k": "b"})), Some(&list[2]));
        assert_eq!(items.find(&json!({"k": "b", "l": null})), None);
        assert_eq!(items.find(&json!({"k": "a", "l": 2})), None);
    }
}
