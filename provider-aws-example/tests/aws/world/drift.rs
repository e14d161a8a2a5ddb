//! Fact and wish, compared as the bridge does.

use crossbridge_proto::v1alpha1 as wire;
use serde_json::Value;

use super::answer::parameters;
use super::object::Object;

impl Object<'_> {
    /// JSON Pointers at which what was found is not what is wished for, as the bridge sees it.
    pub async fn drift(&self) -> Vec<String> {
        let request = wire::GetResourceKindRequest {
            resource_type: Some(self.resource_type.clone()),
        };
        let kind = self
            .world
            .plugin()
            .get_resource_kind(request)
            .await
            .expect("the kind is served")
            .into_inner();
        let kind = kind.resource_kind.expect("a kind");
        let schema: Value = serde_json::from_str(&kind.parameters_schema_json).expect("a schema");
        let json_texts: Vec<&str> = kind
            .field_rules
            .iter()
            .filter(|rule| rule.comparison() == wire::Comparison::JsonText)
            .map(|rule| rule.path.as_str())
            .collect();
        let fact = parameters(&self.found().await);
        let mut found = Vec::new();
        unmet("", &self.wish, Some(&fact), &schema, &json_texts, &mut found);
        found
    }
}

/// Every wished leaf that is not there or not equal, minding list types.
fn unmet(
    path: &str,
    wish: &Value,
    fact: Option<&Value>,
    schema: &Value,
    texts: &[&str],
    found: &mut Vec<String>,
) {
    let is = |key: &str, value: &str| schema[key] == value;
    let mut differs = || found.push(path.to_owned());
    match (wish, fact) {
        (Value::Object(wish), Some(Value::Object(fact))) if !is("x-kubernetes-map-type", "atomic") => {
            for (key, wish) in wish {
                let below = format!("{path}/{key}");
                unmet(
                    &below,
                    wish,
                    fact.get(key),
                    &schema["properties"][key],
                    texts,
                    found,
                );
            }
        }
        (Value::Array(wish), Some(Value::Array(fact))) if wish.len() != fact.len() => differs(),
        (Value::Array(wish), Some(Value::Array(fact))) if is("x-kubernetes-list-type", "set") => {
            if !wish.iter().all(|one| fact.contains(one)) {
                differs();
            }
        }
        (Value::Array(wish), Some(Value::Array(fact))) => {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .map(|keys| keys.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            for (index, one) in wish.iter().enumerate() {
                let same_key = |other: &&Value| keys.iter().all(|key| one[*key] == other[*key]);
                let counterpart = if keys.is_empty() {
                    fact.get(index)
                } else {
                    fact.iter().find(same_key)
                };
                unmet(
                    &format!("{path}/{index}"),
                    one,
                    counterpart,
                    &schema["items"],
                    texts,
                    found,
                );
            }
        }
        (Value::String(wish), Some(Value::String(fact))) if texts.contains(&path) && !wish.is_empty() => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            if parse(wish) != parse(fact) {
                differs();
            }
        }
        (wish, fact) if Some(wish) == fact => {}
        _ => differs(),
    }
}
