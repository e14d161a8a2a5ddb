//! The roles themselves.

use bridge_core::protection::guard::names::{POLICY, WEBHOOK_CONFIGURATION};
use serde_json::{Value, json};

use super::RbacError;
use crate::manifests::Document;

/// The role that is bound to the bridge: the sum of all that bear its label, so that roles that were written for Crossplane count as they are.
pub const NAME: &str = "crossbridge-compositions";
/// Bears what the bridge needs whatever is defined and composed.
const SYSTEM: &str = "crossbridge-compositions-system";
/// Bears what it needs for what is composed.
const COMPOSED: &str = "crossbridge-compositions-composed";

const READ: [&str; 3] = ["get", "list", "watch"];
/// What is done to composite resources, claims and composed resources: a claim or a function may want to create any of them.
const WRITE: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// The kinds of one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedKinds {
    /// Name of the definition.
    name: String,
    group: String,
    plural: String,
    /// Of the claims.
    claims: Option<String>,
}

impl DefinedKinds {
    /// From its manifest.
    pub fn read(document: &Document) -> Result<Self, RbacError> {
        let spec = &document.object.data["spec"];
        let text = |value: &Value, field| match value.as_str().filter(|text| !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err(RbacError::Definition {
                origin: document.origin.clone(),
                field,
            }),
        };
        Ok(Self {
            name: document.object.metadata.name.clone().unwrap_or_default(),
            group: text(&spec["group"], "spec.group")?,
            plural: text(&spec["names"]["plural"], "spec.names.plural")?,
            claims: spec["claimNames"]["plural"].as_str().map(str::to_owned),
        })
    }

    /// Plurals of composite resources and claims, with a suffix.
    fn resources(&self, suffix: &str) -> Vec<String> {
        let plurals = std::iter::once(&self.plural).chain(&self.claims);
        plurals.map(|plural| format!("{plural}{suffix}")).collect()
    }
}

/// A resource that is composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedKind {
    plural: String,
    group: String,
}

impl ComposedKind {
    /// `PLURAL` of the core group, or `PLURAL.GROUP`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (plural, group) = text.split_once('.').unwrap_or((text, ""));
        let is_plural = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_group = |c: char| is_plural(c) || c == '.';
        let is_named = plural == "*" || (!plural.is_empty() && plural.chars().all(is_plural));
        if !is_named || !group.chars().all(is_group) || text.ends_with('.') {
            return Err(format!(
                "{text:?} names no resource: write PLURAL or PLURAL.GROUP, as in configmaps or deployments.apps"
            ));
        }
        Ok(Self {
            plural: plural.to_owned(),
            group: group.to_owned(),
        })
    }
}

/// All roles of a bridge that serves compositions.
pub fn of_bridge(defined: &[DefinedKinds], composed: &[ComposedKind]) -> Vec<Value> {
    let mut roles = vec![aggregate(), system()];
    roles.extend(defined.iter().flat_map(of_definition));
    if !composed.is_empty() {
        let rules: Vec<Value> = composed
            .iter()
            .map(|kind| rule(&kind.group, &[&kind.plural], &WRITE))
            .collect();
        roles.push(role(
            COMPOSED,
            &["rbac.crossplane.io/aggregate-to-crossplane"],
            &rules,
        ));
    }
    roles
}

fn aggregate() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": NAME },
        "aggregationRule": { "clusterRoleSelectors": [{
            "matchLabels": { "rbac.crossplane.io/aggregate-to-crossplane": "true" },
        }]},
        // Written by the controller manager.
        "rules": [],
    })
}

fn system() -> Value {
    let crossplane = "apiextensions.crossplane.io";
    let rules = [
        rule(
            crossplane,
            &["compositeresourcedefinitions"],
            &["get", "list", "watch", "update", "patch"],
        ),
        rule(
            crossplane,
            &["compositionrevisions"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule(crossplane, &["compositions", "environmentconfigs"], &READ),
        rule(
            crossplane,
            &[
                "compositeresourcedefinitions/status",
                "compositionrevisions/status",
            ],
            &["update"],
        ),
        // Where the API server checks who may hold up the deletion of an owner.
        rule(
            crossplane,
            &[
                "compositeresourcedefinitions/finalizers",
                "compositions/finalizers",
            ],
            &["update"],
        ),
        // Compositions compose them, too.
        rule("protection.crossplane.io", &["usages", "clusterusages"], &WRITE),
        rule(
            "protection.crossplane.io",
            &["usages/status", "clusterusages/status"],
            &["update"],
        ),
        rule(crossplane, &["usages"], &WRITE),
        rule(crossplane, &["usages/status"], &["update"]),
        rule("pkg.crossplane.io", &["functions", "functionrevisions"], &READ),
        rule("pkg.crossplane.io", &["functions/status"], &["update"]),
        rule(
            "apiextensions.k8s.io",
            &["customresourcedefinitions"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule("apiregistration.k8s.io", &["apiservices"], &READ),
        // The guard of usages; that of the other kind is removed.
        rule(
            "admissionregistration.k8s.io",
            &[
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
                "validatingwebhookconfigurations",
            ],
            &["get", "list", "watch", "create"],
        ),
        json!({
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
            "resourceNames": [POLICY], "verbs": ["update", "delete"],
        }),
        json!({
            "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"],
            "resourceNames": [WEBHOOK_CONFIGURATION], "verbs": ["update", "delete"],
        }),
        rule(
            "",
            &["secrets"],
            &["get", "list", "watch", "create", "patch", "delete"],
        ),
        rule("", &["events"], &["create", "patch"]),
        json!({
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "resourceNames": ["crossplane-leader-election-core"], "verbs": ["get"],
        }),
        json!({ "apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"] }),
    ];
    role(SYSTEM, &["rbac.crossplane.io/aggregate-to-crossplane"], &rules)
}

/// Named and labelled as Crossplane's RBAC manager does.
fn of_definition(kinds: &DefinedKinds) -> [Value; 4] {
    let (objects, statuses, finalizers) = (
        kinds.resources(""),
        kinds.resources("/status"),
        kinds.resources("/finalizers"),
    );
    let group = kinds.group.as_str();
    let mut roles = [
        (
            "crossplane",
            &["aggregate-to-crossplane"][..],
            vec![
                rule(group, &objects, &WRITE),
                rule(group, &statuses, &["get", "update", "patch"]),
                rule(group, &finalizers, &["update"]),
            ],
        ),
        (
            "edit",
            &[
                "aggregate-to-admin",
                "aggregate-to-ns-admin",
                "aggregate-to-edit",
                "aggregate-to-ns-edit",
            ],
            vec![rule(group, &objects, &["*"])],
        ),
        (
            "view",
            &["aggregate-to-view", "aggregate-to-ns-view"],
            vec![rule(group, &objects, &READ)],
        ),
        (
            "browse",
            &["aggregate-to-browse"],
            vec![rule(group, &[&kinds.plural], &READ)],
        ),
    ]
    .map(|(to, labels, rules)| {
        let labels: Vec<String> = labels
            .iter()
            .map(|label| format!("rbac.crossplane.io/{label}"))
            .collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        role(
            &format!("crossplane:composite:{}:aggregate-to-{to}", kinds.name),
            &labels,
            &rules,
        )
    });
    for role in &mut roles {
        role["metadata"]["labels"]["rbac.crossplane.io/xrd"] = kinds.name.clone().into();
    }
    roles
}

fn rule(group: &str, resources: &[impl AsRef<str>], verbs: &[&str]) -> Value {
    let resources: Vec<&str> = resources.iter().map(AsRef::as_ref).collect();
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

fn role(name: &str, labels: &[&str], rules: &[Value]) -> Value {
    let labels: serde_json::Map<String, Value> = labels
        .iter()
        .map(|label| ((*label).to_owned(), "true".into()))
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": name, "labels": labels },
        "rules": rules,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composed_kind_is_named_by_plural_and_group() {
        let of = |text: &str| ComposedKind::parse(text).map(|kind| (kind.plural, kind.group));
        let pair = |plural: &str, group: &str| Ok((plural.to_owned(), group.to_owned()));
        assert_eq!(of("configmaps"), pair("configmaps", ""));
        assert_eq!(of("deployments.apps"), pair("deployments", "apps"));
        assert_eq!(
            of("*.s3.aws.crossbridge.dev"),
            pair("*", "s3.aws.crossbridge.dev")
        );
        for text in ["", "ConfigMap", "apps/v1", ".apps", "deployments."] {
            assert!(of(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn each_definition_gets_the_four_roles_of_crossplane() {
        let kinds = DefinedKinds {
            name: "xorders.shop.example.org".to_owned(),
            group: "shop.example.org".to_owned(),
            plural: "xorders".to_owned(),
            claims: Some("orders".to_owned()),
        };
        let roles = of_definition(&kinds);
        let names = roles
            .each_ref()
            .map(|role| role["metadata"]["name"].as_str().unwrap());
        assert_eq!(
            names,
            ["crossplane", "edit", "view", "browse"]
                .map(|to| format!("crossplane:composite:xorders.shop.example.org:aggregate-to-{to}"))
        );
        assert_eq!(
            roles[0]["rules"][1],
            json!({
                "apiGroups": ["shop.example.org"],
                "resources": ["xorders/status", "orders/status"],
                "verbs": ["get", "update", "patch"],
            })
        );
        assert_eq!(roles[3]["rules"][0]["resources"], json!(["xorders"]));
        assert_eq!(
            roles[2]["metadata"]["labels"],
            json!({
                "rbac.crossplane.io/aggregate-to-view": "true",
                "rbac.crossplane.io/aggregate-to-ns-view": "true",
                "rbac.crossplane.io/xrd": "xorders.shop.example.org",
            })
        );
    }

    #[test]
    fn what_is_composed_has_a_role_that_the_bridge_gets() {
        let names = |roles: Vec<Value>| -> Vec<String> {
            let names = roles
                .iter()
                .map(|role| role["metadata"]["name"].as_str().unwrap_or_default());
            names.map(str::to_owned).collect()
        };
        assert_eq!(names(of_bridge(&[], &[])), [NAME, SYSTEM]);
        let composed = [ComposedKind::parse("deployments.apps").unwrap()];
        let roles = of_bridge(&[], &composed);
        assert_eq!(roles[2]["rules"], json!([rule("apps", &["deployments"], &WRITE)]));
        assert_eq!(names(roles), [NAME, SYSTEM, COMPOSED]);
    }
}
