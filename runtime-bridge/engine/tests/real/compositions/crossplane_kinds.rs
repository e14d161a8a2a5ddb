//! The kinds that Crossplane defines, as the API server serves them: what their rules refuse, and what `kubectl` shows.

use std::{collections::BTreeSet, process::Output};

use bridge_core::crd::CROSSPLANE;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::harness::within;

/// A rule of a kind: name of the definition, version, field, message.
type Rule = (String, String, String, String);

/// All rules below a schema.
fn rules(schema: &Value, field: &str, found: &mut impl FnMut(&str, &str)) {
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        found(field, rule["message"].as_str().unwrap());
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if field.is_empty() { "" } else { "." };
        rules(below, &format!("{field}{dot}{name}"), found);
    }
    if !schema["items"].is_null() {
        rules(&schema["items"], &format!("{field}[0]"), found);
    }
    assert!(
        schema["additionalProperties"]["x-kubernetes-validations"].is_null(),
        "not looked into"
    );
}

fn all_rules() -> BTreeSet<Rule> {
    let mut all = BTreeSet::new();
    for text in CROSSPLANE {
        let crd: Value = serde_yaml_ng::from_str(text).unwrap();
        let name = crd["metadata"]["name"].as_str().unwrap();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let served = version["name"].as_str().unwrap();
            rules(
                &version["schema"]["openAPIV3Schema"],
                "",
                &mut |field, message| {
                    let rule = [name, served, field, message].map(ToOwned::to_owned);
                    let [name, served, field, message] = rule;
                    assert!(
                        all.insert((name, served, field, message)),
                        "two rules with one message"
                    );
                },
            );
        }
    }
    all
}

/// What a rule refuses: an object that is created, or the change of one.
#[derive(Clone)]
struct Refused {
    /// Name of the definition.
    kind: &'static str,
    version: &'static str,
    /// In which version the object is created that is then changed.
    stored: &'static str,
    spec: Value,
    change: Option<Value>,
    field: &'static str,
    message: &'static str,
}

const IMMUTABLE: &str = "Value is immutable";
const PLURAL: &str = "Plural name must be lowercase";
const SINGULAR: &str = "Singular name must be lowercase";

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

fn definitions() -> Vec<Refused> {
    let names = |kind: &str| json!({"kind": kind, "plural": format!("{}s", kind.to_lowercase())});
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let base = json!({
        "group": "rules.example.org", "names": names("Thing"),
        "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": schema}],
    });
    let plural = json!({"kind": "Thing", "plural": "Things"});
    let singular = json!({"kind": "Thing", "plural": "things", "singular": "Thing"});
    let legacy = with(base.clone(), "claimNames", names("Claim"));
    let mut all = Vec::new();
    for version in ["v1", "v2"] {
        let mut add = |spec: &Value, change: Option<Value>, field, message| {
            // Only the first version takes claims at all.
            let stored = if spec["claimNames"].is_null() {
                version
            } else {
                "v1"
            };
            all.push(Refused {
                kind: "compositeresourcedefinitions.apiextensions.crossplane.io",
                version,
                stored,
                spec: spec.clone(),
                change: change.map(|change| json!({"spec": change})),
                field,
                message,
            });
        };
        let change = |field: &str, value: Value| Some(json!({ field: value }));
        let group = json!("others.example.org");
        add(&base, change("group", group), "spec.group", IMMUTABLE);
        add(&base, change("names", names("Other")), "spec.names", IMMUTABLE);
        add(&base, change("scope", json!("Cluster")), "spec.scope", IMMUTABLE);
        let claims = change("claimNames", names("Other"));
        add(&legacy, claims, "spec.claimNames", IMMUTABLE);
        let enforced = with(base.clone(), "enforcedCompositionRef", json!({"name": "one"}));
        let other = change("enforcedCompositionRef", json!({"name": "other"}));
        add(&enforced, other, "spec.enforcedCompositionRef", IMMUTABLE);
        for (field, within) in [("names", "spec.names"), ("claimNames", "spec.claimNames")] {
            let of = |names: &Value| with(base.clone(), field, names.clone());
            add(&of(&plural), None, within, PLURAL);
            add(&of(&singular), None, within, SINGULAR);
        }
        let keys = with(base.clone(), "connectionSecretKeys", json!(["user"]));
        if version == "v1" {
            let namespaced = |spec: &Value| with(spec.clone(), "scope", json!("Namespaced"));
            let message = "Only LegacyCluster composite resources can offer claims";
            add(&namespaced(&legacy), None, "spec", message);
            let message = "Only LegacyCluster composite resources support connection secrets";
            add(&namespaced(&keys), None, "spec", message);
            let conversion = with(base.clone(), "conversion", json!({"strategy": "None"}));
            let message = "Webhook configuration is required when conversion strategy is Webhook";
            add(&conversion, None, "spec.conversion", message);
        } else {
            let message = "Claims aren't supported in apiextensions.crossplane.io/v2";
            add(&legacy, None, "spec", message);
            let message = "XR connection secrets aren't supported in apiextensions.crossplane.io/v2";
            add(&keys, None, "spec", message);
        }
    }
    all
}

fn compositions() -> Vec<Refused> {
    let mut all = Vec::new();
    for kind in ["compositions", "compositionrevisions"] {
        let step = |field: &str, value: Value| {
            let mut step = json!({"step": "one", "functionRef": {"name": "function"}});
            step[field] = value;
            json!([step])
        };
        let type_ref = json!({"apiVersion": "rules.example.org/v1", "kind": "Thing"});
        let mut base = json!({"compositeTypeRef": type_ref});
        if kind == "compositionrevisions" {
            base["revision"] = 1.into();
        }
        let whole = with(base.clone(), "pipeline", step("requirements", json!({})));
        let credentials = step("credentials", json!([{"name": "cloud", "source": "Secret"}]));
        let required = json!({"requirementName": "one", "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "matchLabels": {}});
        let required = step("requirements", json!({"requiredResources": [required]}));
        let another_type = json!({"spec": {"compositeTypeRef": {"kind": "Other"}}});
        let mut add = |spec: Value, change: Option<Value>, field, message| {
            all.push(Refused {
                kind: match kind {
                    "compositions" => "compositions.apiextensions.crossplane.io",
                    _ => "compositionrevisions.apiextensions.crossplane.io",
                },
                version: "v1",
                stored: "v1",
                spec,
                change,
                field,
                message,
            });
        };
        add(whole, Some(another_type), "spec.compositeTypeRef", IMMUTABLE);
        add(
            with(base.clone(), "pipeline", credentials),
            None,
            "spec.pipeline[0].credentials[0]",
            "the Secret source requires a secretRef",
        );
        add(
            with(base.clone(), "pipeline", required),
            None,
            "spec.pipeline[0].requirements.requiredResources[0]",
            "name and matchLabels are mutually exclusive",
        );
        let message = "an array of pipeline steps is required in Pipeline mode";
        add(base, None, "spec", message);
    }
    all
}

fn usages() -> Vec<Refused> {
    let kinds = [
        ("usages.protection.crossplane.io", "v1beta1"),
        ("clusterusages.protection.crossplane.io", "v1beta1"),
        ("usages.apiextensions.crossplane.io", "v1alpha1"),
        ("usages.apiextensions.crossplane.io", "v1beta1"),
    ];
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "a"}});
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let which = "either a resource reference or a resource selector should be set.";
    let mut all = Vec::new();
    for (kind, version) in kinds {
        let mut add = |spec: Value, field, message| {
            all.push(Refused {
                kind,
                version,
                stored: version,
                spec,
                change: None,
                field,
                message,
            });
        };
        add(json!({"of": unnamed, "reason": "because"}), "spec.of", which);
        add(json!({"of": object, "by": unnamed}), "spec.by", which);
        let why = "either \"spec.by\" or \"spec.reason\" must be specified.";
        add(json!({"of": object}), "spec", why);
        if kind == "usages.protection.crossplane.io" {
            let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "a", "namespace": "b"}});
            let message = "cross-namespace \"spec.of\" is not allowed without \"spec.by\" resource.";
            add(json!({"of": elsewhere, "reason": "because"}), "spec", message);
        }
    }
    all
}

/// The folder of a kind, and how its objects begin.
fn addressed(kind: &str, version: &str) -> (String, Value) {
    let mut crds = CROSSPLANE
        .iter()
        .map(|text| serde_yaml_ng::from_str::<Value>(text).unwrap());
    let crd = crds.find(|crd| crd["metadata"]["name"] == kind).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
    let namespace = if crd["spec"]["scope"] == "Namespaced" {
        "namespaces/default/"
    } else {
        ""
    };
    let object = json!({"apiVersion": format!("{group}/{version}"), "kind": crd["spec"]["names"]["kind"]});
    (format!("/apis/{group}/{version}/{namespace}{plural}"), object)
}

async fn installed() -> Stage {
    let stage = Stage::installed().await;
    for text in CROSSPLANE {
        let crd: Value = serde_yaml_ng::from_str(text).unwrap();
        let path = format!(
            "{}/{}",
            crate::admin::DEFINITIONS,
            crd["metadata"]["name"].as_str().unwrap()
        );
        stage
            .condition(&path, "Established", "InitialNamesAccepted")
            .await;
    }
    stage
}

#[tokio::test]
async fn every_rule_refuses_what_it_is_for_with_its_message() {
    let stage = installed().await;
    let cases = [definitions(), compositions(), usages()].concat();
    let mut proved = BTreeSet::new();
    for (number, case) in cases.iter().enumerate() {
        let (folder, mut object) = addressed(case.kind, case.stored);
        object["metadata"] = json!({"name": format!("case-{number}")});
        object["spec"] = case.spec.clone();
        let error = if let Some(change) = &case.change {
            stage.create(&folder, &object).await;
            let (folder, _) = addressed(case.kind, case.version);
            let path = format!("{folder}/case-{number}");
            let refused = stage.admin.patch(&path, change).await;
            refused.map(|_| ()).unwrap_err().to_string()
        } else {
            let (folder, beginning) = addressed(case.kind, case.version);
            object["apiVersion"] = beginning["apiVersion"].clone();
            stage.refusal(&folder, &object).await
        };
        let at = format!("{}: Invalid value: ", case.field);
        assert!(
            error.contains(&at) && error.contains(case.message),
            "{} {} {}: {error}",
            case.kind,
            case.version,
            case.field
        );
        let rule = [case.kind, case.version, case.field, case.message].map(ToOwned::to_owned);
        let [kind, version, field, message] = rule;
        proved.insert((kind, version, field, message));
    }
    let all = all_rules();
    assert_eq!(all.difference(&proved).collect::<Vec<_>>(), Vec::<&Rule>::new());
    assert_eq!(proved.difference(&all).collect::<Vec<_>>(), Vec::<&Rule>::new());
}

async fn kubectl(stage: &Stage, words: &[&str]) -> Output {
    let mut kubectl = tokio::process::Command::new(stage.plane.kubectl());
    let kubeconfig = stage.plane.kubeconfig();
    // What is served is remembered by the address of the server, which another one may have had before.
    let cache = kubeconfig.with_file_name("kubectl-cache");
    kubectl
        .arg("--cache-dir")
        .arg(cache)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(words);
    let output = kubectl.output().await.unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    output
}

/// Kind, version and short name as people type them, an object of it, and its columns.
fn shown() -> Vec<(&'static str, Value, &'static str)> {
    let compositions = compositions();
    let spec = |kind: &str| {
        let mut cases = compositions.iter();
        cases
            .find(|case| case.kind.starts_with(kind))
            .unwrap()
            .spec
            .clone()
    };
    let definition = definitions().swap_remove(0).spec;
    let usage = json!({
        "of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "a"}}, "reason": "because",
    });
    vec![
        ("xrd", definition.clone(), "NAME ESTABLISHED OFFERED AGE"),
        ("xrds", definition, "NAME ESTABLISHED OFFERED AGE"),
        ("comp", spec("compositions"), "NAME XR-KIND XR-APIVERSION AGE"),
        (
            "comprev",
            spec("compositionrevisions"),
            "NAME REVISION XR-KIND XR-APIVERSION AGE",
        ),
        ("envcfg", Value::Null, "NAME AGE"),
        (
            "functions.pkg.crossplane.io",
            json!({}),
            "NAME INSTALLED HEALTHY PACKAGE AGE",
        ),
        (
            "functionrevisions.pkg.crossplane.io",
            json!({}),
            "NAME PACKAGE AGE",
        ),
        (
            "usages.protection.crossplane.io",
            usage.clone(),
            "NAME DETAILS READY AGE",
        ),
        (
            "clusterusages.protection.crossplane.io",
            usage.clone(),
            "NAME DETAILS READY AGE",
        ),
        (
            "usages.apiextensions.crossplane.io",
            usage,
            "NAME DETAILS READY AGE",
        ),
    ]
}

#[tokio::test]
async fn kubectl_knows_their_categories_short_names_columns_and_deprecations() {
    let stage = installed().await;
    let crds = CROSSPLANE.map(|text| serde_yaml_ng::from_str::<Value>(text).unwrap());
    let expected: BTreeSet<&str> = crds
        .iter()
        .map(|crd| crd["metadata"]["name"].as_str().unwrap())
        .collect();
    // What is established is not listed in the same moment.
    within(async {
        loop {
            let names = kubectl(
                &stage,
                &["api-resources", "--categories=crossplane", "-o", "name"],
            )
            .await;
            let listed = String::from_utf8(names.stdout).unwrap();
            if listed.lines().collect::<BTreeSet<&str>>() == expected {
                return;
            }
        }
    })
    .await;

    for (name, spec, columns) in shown() {
        let kind = match name {
            "xrd" | "xrds" => "compositeresourcedefinitions.apiextensions.crossplane.io",
            "comp" => "compositions.apiextensions.crossplane.io",
            "comprev" => "compositionrevisions.apiextensions.crossplane.io",
            "envcfg" => "environmentconfigs.apiextensions.crossplane.io",
            name => name,
        };
        let version = match kind {
            "compositeresourcedefinitions.apiextensions.crossplane.io" => "v2",
            kind if kind.starts_with("composition") || kind.starts_with("function") => "v1",
            _ => "v1beta1",
        };
        let (folder, mut object) = addressed(kind, version);
        object["metadata"] = json!({"name": format!("shown-{}", name.split('.').next().unwrap())});
        if !spec.is_null() {
            object["spec"] = spec;
        }
        stage.create(&folder, &object).await;
        let table = kubectl(&stage, &["get", name, "-n", "default"]).await;
        let table = String::from_utf8(table.stdout).unwrap();
        let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head.join(" "), columns, "{name}");
    }

    let usage = "Warning: apiextensions.crossplane.io Usage is deprecated; migrate to protection.crossplane.io Usage or ClusterUsage";
    let definition = "Warning: CompositeResourceDefinition v1 is deprecated and will be removed in a future release; consider migrating to v2";
    let warnings = [
        ("usages.v1alpha1.apiextensions.crossplane.io", usage),
        ("usages.v1beta1.apiextensions.crossplane.io", usage),
        ("usages.v1beta1.protection.crossplane.io", ""),
        ("clusterusages.v1beta1.protection.crossplane.io", ""),
        (
            "compositeresourcedefinitions.v1.apiextensions.crossplane.io",
            definition,
        ),
        ("compositeresourcedefinitions.v2.apiextensions.crossplane.io", ""),
        // The newest is asked for where none is named.
        ("xrd", ""),
    ];
    for (name, warning) in warnings {
        let said = kubectl(&stage, &["get", name, "-n", "default"]).await.stderr;
        assert_eq!(String::from_utf8(said).unwrap().trim(), warning, "{name}");
    }
}
