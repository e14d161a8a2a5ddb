//! `MUTABILITY_SET_ONCE` as CEL transition rules. An immutable field gets none: the bridge asks for a replacement's approval instead.
//!
//! A sensitive field is held by its reference: another Secret or key is a change, another value in the same key is not seen here.

use serde_json::{Value, json};

use super::{
    Rejection, cel,
    pointer::{ANY, join},
    schema,
};

/// Adds the rule for one field. `path` is the field's as written in the CRD.
///
/// The rule stands on the parameters as a whole, so that it holds also when an object on the way is taken away; a field in a list
/// or map is held for as long as its entry is there.
pub(super) fn add_rule(parameters: &mut Value, path: &[String]) -> Result<(), Rejection> {
    let anchor = path
        .iter()
        .rposition(|token| token == ANY)
        .map_or(0, |last| last + 1);
    for (i, _) in path.iter().enumerate().filter(|(_, token)| *token == ANY) {
        let holder = schema::find(parameters, &path[..i]);
        let list = holder.filter(|holder| holder.get("items").is_some());
        if list.is_some_and(|list| list.get("x-kubernetes-list-type") != Some(&Value::from("map"))) {
            return Err(Rejection::SetOnceInList { path: join(path) });
        }
    }
    let rule = transition(&path[anchor..]).map_err(|name| Rejection::NotInCel {
        path: join(path),
        name,
    })?;
    let node = schema::find_mut(parameters, &path[..anchor])
        .filter(|node| node.is_object())
        .ok_or_else(|| Rejection::NoSuchField { path: join(path) })?;
    let message = format!("{} cannot be changed once it is set", path.join("."));
    schema::push(
        node,
        "x-kubernetes-validations",
        json!({ "rule": rule, "message": message }),
    );
    Ok(())
}

/// `Err`: the property that CEL cannot name.
fn transition(path: &[String]) -> Result<String, String> {
    if path.is_empty() {
        return Ok("self == oldSelf".into());
    }
    let names: Vec<String> = path
        .iter()
        .map(|property| cel::name(property).ok_or_else(|| property.clone()))
        .collect::<Result<_, _>>()?;
    let (mut absent, mut present) = (String::new(), String::new());
    let (mut old, mut new) = (String::from("oldSelf"), String::from("self"));
    for name in names {
        old = old + "." + &name;
        new = new + "." + &name;
        absent = absent + "!has(" + &old + ") || ";
        present = present + "has(" + &new + ") && ";
    }
    Ok(format!("{absent}({present}{new} == {old})"))
}
