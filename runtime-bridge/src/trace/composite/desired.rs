//! What the last run of a composite resource desires, beside what exists of it, as its bridge reports it.

use futures::future::{BoxFuture, FutureExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{super::bridge::Endpoint, node::Node};
use crate::admin::NO_NAMESPACE;

/// Fields that are named in a line.
const NAMED: usize = 5;

/// How a composed resource stands to what the last run desires. It holds no value of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::trace) struct Compared {
    resource_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    state: String,
    /// JSON Pointers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// What a bridge reports of a composite resource, as far as it is needed here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reported {
    composed: Option<Vec<Compared>>,
}

impl Compared {
    fn is_of(&self, node: &Node) -> bool {
        self.group.as_deref() == Some(node.group())
            && self.kind.as_ref() == Some(&node.kind)
            && self.name.as_ref() == Some(&node.name)
            && self.namespace == node.namespace
    }

    /// What a person should know of it; `None`: it is as desired, or its own line says what is wrong.
    pub(super) fn words(&self) -> Option<String> {
        let why = self.message.as_deref().unwrap_or_default();
        match self.state.as_str() {
            "differs" => Some(format!("differs from what is desired at {}", self.named_fields())),
            "notApplied" => Some("what is desired now is not applied yet".to_owned()),
            "altered" => Some(format!(
                "is kept from what is desired by the API server or a webhook at {}",
                self.named_fields()
            )),
            "notDesired" => Some("is desired no more".to_owned()),
            "notOurs" => Some("has the name of what is desired".to_owned()),
            "unknown" => Some(format!("is not compared with what is desired: {why}")),
            _ => None,
        }
    }

    /// What is to be said of one that has no line of its own.
    fn line(&self) -> String {
        let why = self.message.as_deref().unwrap_or_default();
        let words = match self.state.as_str() {
            "absent" => "is not there yet".to_owned(),
            "deleting" => "is being deleted".to_owned(),
            "invalid" => format!("cannot be composed: {why}"),
            state => self.words().unwrap_or_else(|| state.to_owned()),
        };
        let line = format!("{}: {words}", self.resource_name);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn named_fields(&self) -> String {
        let named = self.fields.iter().take(NAMED).cloned().collect::<Vec<_>>();
        let named = named.join(", ");
        match self.fields.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}

/// Notes down at each object of a tree how it stands to what the composite resource above it desires. What is reported of the root is there. Ends where
/// the bridge answers no more: what it has not said is shown as it stands in the cluster.
pub(in crate::trace) fn compare_all(node: &mut Node, bridge: Endpoint) -> BoxFuture<'_, Result<(), String>> {
    async move {
        compare(node);
        for child in node
            .children
            .iter_mut()
            .filter(|child| child.composed_by.is_some())
        {
            let namespace = child.namespace.as_deref().unwrap_or(NO_NAMESPACE);
            let uid = child.uid.as_deref().unwrap_or_default();
            let path = [child.group(), &child.kind, namespace, &child.name, uid];
            child.reported = bridge.seen(path).await?.composition;
            compare_all(child, bridge).await?;
        }
        Ok(())
    }
    .boxed()
}

/// Of one composite resource and the objects below it.
fn compare(node: &mut Node) {
    // A bridge of another version may say something else: what cannot be read is not shown.
    let reported = node.reported.as_ref().map(Reported::deserialize);
    let reported = reported.and_then(Result::ok).unwrap_or_default();
    // It is shown once, at the objects.
    if let Some(Value::Object(report)) = &mut node.reported {
        report.remove("composed");
    }
    node.desired = reported.composed.map(|composed| {
        let mut desired = Desired::default();
        for compared in composed {
            let state = compared.state.as_str();
            desired.resources += usize::from(state != "notDesired");
            desired.met += usize::from(state == "asDesired");
            desired.unknown += usize::from(state == "unknown");
            let is_met = state == "asDesired";
            match node.children.iter_mut().find(|child| compared.is_of(child)) {
                Some(child) => child.compared = Some(compared),
                // It was created after the tree was read.
                None if is_met => {}
                None => desired.elsewhere.push(compared),
            }
        }
        desired
    });
}

/// What the last run of a composite resource desires.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::trace) struct Desired {
    resources: usize,
    #[serde(rename = "asDesired")]
    met: usize,
    /// Such as Secrets, of which the bridge holds no copy.
    #[serde(rename = "notCompared")]
    unknown: usize,
    /// What of it is not among the objects below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<Compared>,
}

impl Desired {
    /// A line, and one for each that has none in the table.
    pub(in crate::trace) fn lines(&self) -> impl Iterator<Item = String> {
        let resources = if self.resources == 1 {
            "resource"
        } else {
            "resources"
        };
        let unknown = match self.unknown {
            0 => String::new(),
            unknown => format!(", {unknown} not compared"),
        };
        let sum = format!(
            "{} desired {resources}, {} as desired{unknown}",
            self.resources, self.met
        );
        [sum].into_iter().chain(self.elsewhere.iter().map(Compared::line))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::composite::table;

    fn object(name: &str) -> Value {
        json!({
            "apiVersion": "example.org/v1", "kind": "Part",
            "metadata": { "name": name, "namespace": "default", "uid": name },
        })
    }

    fn reported(name: &str, state: &str, fields: &[&str], message: Option<&str>) -> Value {
        json!({
            "resourceName": format!("the-{name}"), "group": "example.org", "kind": "Part", "namespace": "default", "name": name,
            "state": state, "fields": fields, "message": message,
        })
    }

    #[test]
    fn what_is_not_as_desired_is_said_where_it_stands_in_the_tree() {
        let mut root = Node::of(&object("root"), None, true);
        for name in ["a", "b", "c", "d", "e"] {
            root.children.push(Node::of(&object(name), None, true));
        }
        let many = ["/spec/1", "/spec/2", "/spec/3", "/spec/4", "/spec/5", "/spec/6"];
        let invalid = json!({
            "resourceName": "bad", "group": null, "kind": null, "namespace": null, "name": null,
            "state": "invalid", "fields": [], "message": "no\nkind",
        });
        let composed = [
            reported("a", "asDesired", &[], None),
            reported("b", "differs", &many, None),
            reported("c", "altered", &["/spec/1"], None),
            reported("d", "unknown", &[], Some("no copy")),
            reported("e", "notDesired", &[], None),
            reported("f", "absent", &[], None),
            reported("g", "deleting", &[], None),
            reported("h", "asDesired", &[], None),
            invalid,
        ];
        root.reported = Some(json!({ "composed": composed }));
        compare(&mut root);
        let statuses: Vec<String> = root.children.iter().map(Node::status).collect();
        assert_eq!(
            statuses,
            [
                "",
                "differs from what is desired at /spec/1, /spec/2, /spec/3, /spec/4, /spec/5 and 1 more",
                "is kept from what is desired by the API server or a webhook at /spec/1",
                "is not compared with what is desired: no copy",
                "is desired no more",
            ]
        );
        let lines: Vec<String> = root.desired.as_ref().unwrap().lines().collect();
        assert_eq!(
            lines,
            [
                "8 desired resources, 2 as desired, 1 not compared",
                "the-f: is not there yet",
                "the-g: is being deleted",
                "bad: cannot be composed: no kind",
            ]
        );
        assert!(table(&root).contains("is desired no more"));
        assert_eq!(root.reported, Some(json!({})));
    }

    #[test]
    fn nothing_is_said_where_the_bridge_compares_nothing() {
        for report in [Value::Null, json!({ "composed": null }), json!({ "composed": 1 })] {
            let mut root = Node::of(&object("root"), None, true);
            root.reported = Some(report);
            compare(&mut root);
            assert_eq!(root.desired, None);
        }
    }
}
