//! A wish and what came of it, compared as the bridge would.

use crossbridge_proto::checked::{Comparison, Document, Kind};
use serde_json::Value;

/// Up to here a double holds every integer: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What of a wish did not come back as it was wished: JSON Pointers, each with a word.
pub(crate) fn unfulfilled(kind: &Kind, wish: &Document, fact: &Document) -> Vec<String> {
    let mut missing = Vec::new();
    compare(
        kind,
        &Value::Object(wish.clone()),
        Some(&Value::Object(fact.clone())),
        "",
        &mut missing,
    );
    missing
}

fn compare(kind: &Kind, wish: &Value, fact: Option<&Value>, at: &str, missing: &mut Vec<String>) {
    let rule = kind.field_rules.iter().find(|rule| covers(&rule.path, at));
    let comparison = rule.map_or(Comparison::Json, |rule| rule.comparison);
    if comparison == Comparison::WriteOnly || rule.is_some_and(|rule| rule.sensitive) {
        return;
    }
    let Some(fact) = fact else {
        missing.push(format!("{at} is not there"));
        return;
    };
    match (wish, fact) {
        (Value::Object(wish), Value::Object(fact)) => {
            for (name, value) in wish {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                compare(kind, value, fact.get(name), &at, missing);
            }
        }
        // Lists may be sets or maps, whose order is nobody's: each wished item must be there.
        (Value::Array(wish), Value::Array(fact)) => {
            for (index, item) in wish.iter().enumerate() {
                let at = format!("{at}/{index}");
                let is_there = fact.iter().any(|fact| {
                    let mut none = Vec::new();
                    compare(kind, item, Some(fact), &at, &mut none);
                    none.is_empty()
                });
                if !is_there {
                    missing.push(format!("{at} is not there"));
                }
            }
        }
        _ if same(comparison, wish, fact) => {}
        _ => missing.push(format!("{at} is another")),
    }
}

fn same(comparison: Comparison, wish: &Value, fact: &Value) -> bool {
    match (comparison, wish, fact) {
        (Comparison::CaseInsensitive, Value::String(wish), Value::String(fact)) => {
            wish.eq_ignore_ascii_case(fact)
        }
        (Comparison::JsonText, Value::String(wish), Value::String(fact)) => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            parse(wish).is_some() && parse(wish) == parse(fact)
        }
        // Kubernetes spells one quantity in many ways; the bridge knows them, the kit only that there is one.
        (Comparison::Quantity, _, _) => true,
        _ => wish == fact || same_number(wish, fact),
    }
}

/// 1 and 1.0. That large integers keep their last digits has an assertion of its own.
fn same_number(wish: &Value, fact: &Value) -> bool {
    match (wish, fact) {
        (Value::Number(wish), Value::Number(fact)) => {
            let is_exact =
                !wish.is_f64() && !fact.is_f64() && wish.as_f64().is_some_and(|value| value.abs() < EXACT);
            !is_exact && wish.as_f64() == fact.as_f64()
        }
        _ => false,
    }
}

/// Whether a rule's path, with `*` for any part, leads here.
fn covers(rule: &str, at: &str) -> bool {
    let (rule, at): (Vec<_>, Vec<_>) = (rule.split('/').collect(), at.split('/').collect());
    rule.len() == at.len() && rule.iter().zip(&at).all(|(rule, at)| *rule == "*" || rule == at)
}

/// Integers beyond what a double holds: their pointers and values.
pub(crate) fn big_integers(document: &Document) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    collect(&Value::Object(document.clone()), String::new(), &mut found);
    found
}

fn collect(value: &Value, at: String, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                collect(
                    value,
                    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{at}/{index}"), found);
            }
        }
        Value::Number(number)
            if number
                .as_u64()
                .or(number.as_i64().map(i64::unsigned_abs))
                .is_some_and(|size| size > 1 << 53) =>
        {
            found.push((at, value.clone()));
        }
        _ => {}
    }
}
