//! Is all that is desired present in what exists? What nobody desires does not count.

use std::{fmt, iter};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::digest::{ContentDigest, PlainNumber, is_secret};

/// The most characters of a value that are printed.
const PRINTED: usize = 100;

/// A desired leaf that is not there, and what is there instead. Equal differences may be remembered as those that were in vain to mend.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// JSON Pointer.
    pub path: String,
    /// What exists at it.
    pub seen: Seen,
}

/// What exists in place of what is desired.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// This.
    Value(Value),
    /// Something in a Secret: neither kept nor printed.
    Hidden(ContentDigest),
}

/// `/spec/replicas is 3`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.path)?;
        match &self.seen {
            Seen::Absent => f.write_str("absent"),
            Seen::Hidden(_) => f.write_str("[redacted]"),
            Seen::Value(value) => {
                let text = value.to_string();
                let shown: String = text.chars().take(PRINTED).collect();
                let rest = if shown.len() < text.len() { "…" } else { "" };
                write!(f, "{shown}{rest}")
            }
        }
    }
}

/// All leaves of `desired` that `observed` does not have, by path.
///
/// A list has those that are desired in their order, others between them or not; elements that are maps may have more fields. `null` is as good
/// as absent, 1 as 1.0; a map or list without leaves desires nothing. Quantities are compared as text. `status` is not the writer's, and a
/// Secret's `stringData` is looked for in its `data`.
pub fn differences(desired: &Value, observed: &Value) -> Vec<Difference> {
    let secret = is_secret(desired);
    let stored = secret.then(|| with_encoded_data(desired));
    let desired = stored.as_ref().unwrap_or(desired);
    let mut walk = Walk {
        found: Vec::new(),
        secret,
        path: Vec::new(),
    };
    match desired {
        Value::Object(desired) => {
            let desired = desired.iter().filter(|(field, _)| *field != "status");
            walk.each(desired, observed.as_object());
        }
        other => walk.value(other, Some(observed)),
    }
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    walk.found
}

/// A Secret as the API server stores it, which takes `stringData` for a way to write `data`.
fn with_encoded_data(secret: &Value) -> Value {
    let mut stored = secret.clone();
    let Value::Object(fields) = &mut stored else {
        return stored;
    };
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert(Value::Null);
        if !data.is_object() {
            *data = Value::Object(Map::new());
        }
        for (key, text) in texts {
            data[key] = text.as_str().map(|text| BASE64_STANDARD.encode(text)).into();
        }
    }
    stored
}

struct Walk<'a> {
    found: Vec<Difference>,
    secret: bool,
    path: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

impl<'a> Walk<'a> {
    fn value(&mut self, desired: &'a Value, observed: Option<&Value>) {
        match (desired, observed.unwrap_or(&Value::Null)) {
            (Value::Object(desired), Value::Object(observed)) => self.fields(desired, Some(observed)),
            (Value::Object(desired), Value::Null) => self.fields(desired, None),
            (Value::Array(desired), Value::Array(existing)) => {
                if is_subsequence(desired, existing) {
                    return;
                }
                if desired.len() != existing.len() {
                    return self.differs(observed);
                }
                for (i, (desired, existing)) in iter::zip(desired, existing).enumerate() {
                    self.at(Step::Element(i), |walk| walk.value(desired, Some(existing)));
                }
            }
            (desired, existing) if is_present(desired, existing) => {}
            _ => self.differs(observed),
        }
    }

    fn fields(&mut self, desired: &'a Map<String, Value>, observed: Option<&Map<String, Value>>) {
        self.each(desired.iter(), observed);
    }

    fn each(
        &mut self,
        desired: impl Iterator<Item = (&'a String, &'a Value)>,
        observed: Option<&Map<String, Value>>,
    ) {
        for (field, desired) in desired {
            let existing = observed.and_then(|observed| observed.get(field));
            self.at(Step::Field(field), |walk| walk.value(desired, existing));
        }
    }

    fn at(&mut self, step: Step<'a>, look: impl FnOnce(&mut Self)) {
        self.path.push(step);
        look(self);
        self.path.pop();
    }

    fn differs(&mut self, observed: Option<&Value>) {
        let is_hidden = self.secret && matches!(self.path.first(), Some(Step::Field("data" | "stringData")));
        let seen = match observed {
            None | Some(Value::Null) => Seen::Absent,
            Some(value) if is_hidden => Seen::Hidden(ContentDigest::of_value(value).hide()),
            Some(value) => Seen::Value(value.clone()),
        };
        let path = self.path.iter().map(|step| step.to_pointer()).collect();
        self.found.push(Difference { path, seen });
    }
}

impl Step<'_> {
    fn to_pointer(self) -> String {
        match self {
            Self::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Self::Element(index) => format!("/{index}"),
        }
    }
}

/// Each is looked at once: the first that fits leaves most for those that follow.
fn is_subsequence(desired: &[Value], observed: &[Value]) -> bool {
    let mut rest = observed.iter();
    desired
        .iter()
        .all(|desired| rest.any(|observed| is_present(desired, observed)))
}

fn is_present(desired: &Value, observed: &Value) -> bool {
    match (desired, observed) {
        (Value::Object(desired), Value::Object(observed)) => desired
            .iter()
            .all(|(field, desired)| is_present(desired, observed.get(field).unwrap_or(&Value::Null))),
        (Value::Object(desired), Value::Null) => {
            desired.values().all(|desired| is_present(desired, &Value::Null))
        }
        (Value::Array(desired), Value::Array(observed)) => is_subsequence(desired, observed),
        (Value::Array(desired), Value::Null) => desired.is_empty(),
        (Value::Number(desired), Value::Number(observed)) => {
            PlainNumber::of(desired) == PlainNumber::of(observed)
        }
        (desired, observed) => desired == observed,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::sample, *};

    fn printed(desired: &Value, observed: &Value) -> Vec<String> {
        differences(desired, observed)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn fields_that_nobody_desires_do_not_count() {
        let desired = json!({"spec": {"a": 1}});
        let observed = json!({"spec": {"a": 1, "b": 2}, "status": {}});
        assert_eq!(printed(&desired, &observed), [""; 0]);
    }

    #[test]
    fn each_differing_leaf_is_named_with_what_exists() {
        let desired = json!({"spec": {"a": 1, "b": {"c/d": "x"}, "e": true, "g": {"h": 0}}});
        let observed = json!({"spec": {"a": 2, "b": {"c/d": "y"}, "g": []}});
        let expected = [
            "/spec/a is 2",
            "/spec/b/c~1d is \"y\"",
            "/spec/e is absent",
            "/spec/g is []",
        ];
        assert_eq!(printed(&desired, &observed), expected);
    }

    #[test]
    fn null_is_as_good_as_absent() {
        let desired = json!({"metadata": {"creationTimestamp": null}, "spec": {"a": null}});
        assert_eq!(printed(&desired, &json!({"spec": {"a": null}})), [""; 0]);
        assert_eq!(printed(&desired, &json!({"spec": {"a": 1}})), ["/spec/a is 1"]);
    }

    #[test]
    fn empty_maps_and_lists_desire_nothing() {
        let desired = json!({"spec": {"selector": {"matchLabels": {}}, "list": []}});
        assert_eq!(printed(&desired, &json!({})), [""; 0]);
        assert_eq!(printed(&desired, &json!({"spec": {"list": [1]}})), [""; 0]);
        assert_eq!(printed(&json!({"a": {}}), &json!({"a": 1})), ["/a is 1"]);
    }

    #[test]
    fn an_empty_text_is_a_leaf() {
        let desired = json!({"metadata": {"labels": {"a": ""}}});
        assert_eq!(
            printed(&desired, &json!({"metadata": {"labels": {"a": ""}}})),
            [""; 0]
        );
        assert_eq!(printed(&desired, &json!({})), ["/metadata/labels/a is absent"]);
    }

    #[test]
    fn numbers_are_equal_by_value_and_quantities_are_texts() {
        assert_eq!(printed(&json!({"a": 1}), &json!({"a": 1.0})), [""; 0]);
        assert_eq!(
            printed(&json!({"a": "1000m"}), &json!({"a": "1"})),
            ["/a is \"1\""]
        );
        assert_eq!(printed(&json!({"a": "1"}), &json!({"a": 1})), ["/a is 1"]);
    }

    #[test]
    fn lists_hold_what_is_desired_in_its_order() {
        let observed = json!({"l": [1, 2, 3]});
        assert_eq!(printed(&json!({"l": [1, 3]}), &observed), [""; 0]);
        assert_eq!(printed(&json!({"l": [3, 1]}), &observed), ["/l is [1,2,3]"]);
        assert_eq!(printed(&json!({"l": [1, 1]}), &observed), ["/l is [1,2,3]"]);
        assert_eq!(printed(&json!({"l": [1]}), &json!({})), ["/l is absent"]);
    }

    #[test]
    fn lists_of_maps_match_by_their_desired_fields() {
        let desired = json!({"c": [{"name": "a"}, {"name": "b", "image": "x"}]});
        let more = json!({"c": [
            {"name": "sidecar"}, {"name": "a", "pull": true}, {"name": "b", "image": "x", "pull": true},
        ]});
        assert_eq!(printed(&desired, &more), [""; 0]);
        let other = json!({"c": [{"name": "a"}, {"name": "b", "image": "y"}]});
        assert_eq!(printed(&desired, &other), ["/c/1/image is \"y\""]);
    }

    #[test]
    fn the_status_of_a_composed_resource_does_not_count() {
        assert_eq!(printed(&json!({"status": {"a": 1}}), &json!({})), [""; 0]);
    }

    #[test]
    fn nothing_of_a_secrets_content_is_kept() {
        let desired = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"a": "eA=="}, "stringData": {"b": "y"},
        });
        let canary = BASE64_STANDARD.encode("canary");
        let observed = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Other", "data": {"a": canary, "b": canary},
        });
        let found = differences(&desired, &observed);
        let texts = [
            "/data/a is [redacted]",
            "/data/b is [redacted]",
            "/type is \"Other\"",
        ];
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
        assert!(!format!("{found:?}").contains(&canary));
        let mut changed = observed.clone();
        changed["data"]["a"] = BASE64_STANDARD.encode("other").into();
        assert_ne!(differences(&desired, &changed), found);
    }

    #[test]
    fn string_data_is_present_in_data() {
        let desired =
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="}, "stringData": {"a": "y"}});
        let observed = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eQ=="}});
        assert_eq!(printed(&desired, &observed), [""; 0]);
    }

    #[test]
    fn long_values_are_cut_where_they_are_printed() {
        let text = printed(&json!({"a": 1}), &json!({"a": "ä".repeat(200)})).remove(0);
        assert_eq!(text.chars().count(), "/a is ".len() + PRINTED + 1);
    }

    #[test]
    fn deeply_nested_lists_are_compared_in_time() {
        let nested = |leaf: i32| (0..90).fold(json!(leaf), |inner, _| json!([inner]));
        let found = differences(&json!({"a": nested(1)}), &json!({"a": nested(2)}));
        assert_eq!(found[0].path, format!("/a{}", "/0".repeat(90)));
    }

    /// What an API server may make of an object: other fields beside, nulls dropped.
    fn stored(desired: &Value, extra: &Value) -> Value {
        match desired {
            Value::Object(object) => {
                let kept = object.iter().filter(|(_, value)| !value.is_null());
                let mut object: Map<_, _> = kept
                    .map(|(key, value)| (key.clone(), stored(value, extra)))
                    .collect();
                object.insert("zz".to_owned(), extra.clone());
                object.into()
            }
            Value::Array(elements) => elements.iter().map(|element| stored(element, extra)).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn what_is_desired_is_present_in_itself(desired in sample::object()) {
            prop_assert_eq!(differences(&desired, &desired), []);
        }

        #[test]
        fn what_is_desired_is_present_in_what_is_stored(desired in sample::object(), extra in sample::json()) {
            prop_assert_eq!(differences(&desired, &stored(&desired, &extra)), []);
        }

        #[test]
        fn differences_agree_with_presence(desired in sample::object(), observed in sample::object()) {
            prop_assert_eq!(differences(&desired, &observed).is_empty(), is_present(&desired, &observed));
        }

        #[test]
        fn differences_do_not_depend_on_order(desired in sample::object(), observed in sample::object()) {
            let reversed = differences(&sample::reversed(&desired), &sample::reversed(&observed));
            prop_assert_eq!(differences(&desired, &observed), reversed);
        }
    }
}
