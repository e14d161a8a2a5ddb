//! Which object a selector means: the same for everybody who resolves it.

use super::usage::Selector;
use crate::{composite::LiveObject, rule::Rule};

/// The first by namespace and name of those that bear all labels and, if asked for, have the same controller. `controller`: uid of that of the
/// usage.
pub fn select<'a>(
    selector: &Selector,
    controller: Option<&str>,
    objects: impl IntoIterator<Item = &'a LiveObject>,
) -> Option<&'a LiveObject> {
    let has_labels = |object: &LiveObject| {
        let mut labels = selector.labels.iter();
        labels.all(|(name, value)| object.label(name) == Some(value))
    };
    let same_controller = |object: &LiveObject| {
        let of = object
            .controller()
            .and_then(|controller| controller["uid"].as_str());
        !selector.same_controller || (of.is_some() && of == controller)
    };
    let place = |object: &LiveObject| {
        let text = |field: &str| {
            object.object()["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        (text("namespace"), text("name"))
    };
    let mut selected = objects
        .into_iter()
        .filter(|object| has_labels(object) && same_controller(object));
    if Rule::FirstIsSelected.is_off() {
        return selected.next();
    }
    selected.min_by_key(|object| place(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protection::sample;

    #[test]
    fn the_first_by_namespace_and_name_is_selected() {
        let object = |namespace: &str, name: &str, label: &str, controller: &str| {
            let mut object = sample::object("Db", name);
            object.object_mut()["metadata"]["namespace"] = namespace.into();
            object.object_mut()["metadata"]["labels"] = json!({"app": label, "more": "x"});
            object.object_mut()["metadata"]["ownerReferences"] =
                json!([{"kind": "X", "name": "x", "uid": controller, "controller": true}]);
            object
        };
        let all = [
            object("b", "a", "yes", "1"),
            object("a", "c", "yes", "2"),
            object("a", "b", "yes", "1"),
            object("a", "a", "no", "1"),
        ];
        let mut selector = Selector {
            labels: [("app".to_owned(), "yes".to_owned())].into(),
            same_controller: false,
        };
        let found = |selector: &Selector, controller: Option<&str>| {
            let one = select(selector, controller, &all)?;
            Some(format!(
                "{}/{}",
                one.object()["metadata"]["namespace"].as_str()?,
                one.object()["metadata"]["name"].as_str()?
            ))
        };
        assert_eq!(found(&selector, None).as_deref(), Some("a/b"));
        selector.same_controller = true;
        assert_eq!(found(&selector, Some("2")).as_deref(), Some("a/c"));
        assert_eq!(found(&selector, Some("3")), None);
        assert_eq!(found(&selector, None), None);
        selector.labels = [("app".to_owned(), "none".to_owned())].into();
        assert_eq!(found(&selector, Some("1")), None);
    }
}
