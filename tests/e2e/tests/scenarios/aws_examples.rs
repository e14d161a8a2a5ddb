//! Every manifest of `examples/aws` as it is: applied by kubectl in any order, ready, explained by `trace`, deleted. No served kind is without one.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::ScratchDir;
use bridge_e2e::{Handle, Stack, StackOptions, condition, eventually, golden, is_ready, is_synced};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

const GROUPS: &str = ".aws.crossbridge.dev";

/// The files of `examples/aws`.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/aws");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder of examples")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

/// The documents of all files, each as it stands there. What others refer to comes after them: no order may matter.
fn documents() -> Vec<String> {
    let mut documents = Vec::new();
    for file in files() {
        let text = fs::read_to_string(file).expect("a manifest");
        documents.extend(text.split("\n---\n").map(str::to_owned));
    }
    documents.reverse();
    documents
}

fn group_of(object: &Value) -> &str {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.split('/').next().unwrap_or_default()
}

/// One of the conditions of a config, as `trace` has them.
fn condition_of<'a>(traced: &'a Value, kind: &str) -> &'a Value {
    let conditions = traced["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// Group, kind and plural of every kind of the plugin, by the CRDs that the bridge has installed.
async fn served_kinds(stack: &Stack) -> BTreeSet<(String, String, String)> {
    let definitions = Api::<CustomResourceDefinition>::all(stack.cluster.client.clone());
    let list = definitions
        .list(&ListParams::default())
        .await
        .expect("a list of CRDs");
    let specs = list.items.into_iter().map(|definition| definition.spec);
    specs
        .filter(|spec| spec.group.ends_with(GROUPS))
        .map(|spec| (spec.group, spec.names.kind, spec.names.plural))
        .collect()
}

const COLUMNS: [&str; 2] = ["get", "buckets,queues,tables,distributions"];

/// What `kubectl get` shows of them, with names for what AWS chose.
async fn columns(stack: &Stack, objects: &[(Handle, String)]) -> String {
    let mut text = stack.kubectl(&COLUMNS).await;
    for (object, name) in objects
        .iter()
        .filter(|(_, name)| name.starts_with("distributions."))
    {
        let seen = object.get().await.unwrap_or_else(|| panic!("{name} exists"));
        let id = seen["metadata"]["annotations"]["crossplane.io/external-name"].as_str();
        let domain = seen["status"]["atProvider"]["domainName"].as_str();
        // The domain first, which may begin with the id.
        for (value, stands_for) in [(domain, "DOMAIN.cloudfront.net"), (id, "ID")] {
            text = text.replace(value.expect("it is ready"), stands_for);
        }
    }
    let text = golden::stable(&text.replace(&stack.aws.endpoint(), "http://127.0.0.1:PORT"));
    let tables: Vec<String> = text.trim_end().split("\n\n").map(aligned).collect();
    format!("$ kubectl {}\n{}", COLUMNS.join(" "), tables.join("\n"))
}

/// A table without an empty cell, with the widths of what is in it now.
fn aligned(table: &str) -> String {
    let cells = |row: &str| -> Vec<String> {
        let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect()
    };
    let rows: Vec<Vec<String>> = table.lines().map(cells).collect();
    let width = |column: usize| {
        let widths = rows.iter().filter_map(|row| row.get(column));
        widths.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let row = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let padded = cells.map(|(column, cell)| format!("{cell:0$}   ", width(column)));
        format!("{}\n", padded.collect::<String>().trim_end())
    };
    rows.iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_becomes_ready_and_is_deleted() {
    let stack = Stack::start(StackOptions::default()).await;
    let region = json!({"spec": {"settings": {"region": "eu-west-1"}}});
    stack.config("default").merge(region).await;
    let documents = documents();
    let parsed = documents
        .iter()
        .map(|text| serde_yaml_ng::from_str::<Value>(text));
    let examples: Vec<Value> = parsed.collect::<Result<_, _>>().expect("YAML");
    let kind_of = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    let kinds: BTreeSet<(String, String)> = examples
        .iter()
        .map(|object| (group_of(object).to_owned(), kind_of(object)))
        .collect();
    eventually("the kinds of all examples are served", async || {
        served_kinds(&stack).await.len() >= kinds.len()
    })
    .await;
    let served = served_kinds(&stack).await;

    let mut objects: Vec<(Handle, String)> = Vec::new();
    for example in examples {
        let (group, kind) = (group_of(&example).to_owned(), kind_of(&example));
        let served = served.iter().find(|served| served.0 == group && served.1 == kind);
        let (_, _, plural) = served.unwrap_or_else(|| panic!("{kind} of {group} is not served"));
        let definition = stack.cluster.definition(&format!("{plural}.{group}"));
        let is_established = |seen: &Value| condition(seen, "Established")["status"] == "True";
        definition.until("to be established", is_established).await;
        let name = example["metadata"]["name"].as_str().expect("a name");
        let object = stack.cluster.object(&group, "v1alpha1", &kind, plural, name);
        objects.push((object, format!("{plural}.{group}/{name}")));
    }
    // As a user does, whose kubectl reads YAML otherwise than others do.
    let scratch = ScratchDir::new("crossbridge-examples-").expect("a folder");
    let file = scratch.path().join("document.yaml");
    for document in &documents {
        fs::write(&file, document).expect("it is written");
        let file = file.to_str().expect("a path");
        stack.kubectl(&["apply", "--validate=strict", "-f", file]).await;
    }
    for (object, _) in &objects {
        object
            .until("to be ready", |seen| is_ready(seen) && is_synced(seen))
            .await;
    }
    golden::compare("tests/e2e/golden/columns.txt", &columns(&stack, &objects).await);
    for (_, name) in &objects {
        let trace = stack.trace(name).await;
        // Their groups are below the plugin's, whose config is meant.
        let config = &trace["references"]["config"];
        assert_eq!(config["name"], "default", "{trace}");
        assert_eq!(config["kind"], "ClusterProviderConfig", "{trace}");
        assert_eq!(condition_of(config, "Ready")["reason"], "Usable", "{trace}");
        let completed = &trace["record"]["intent"]["completed"];
        assert!(*completed == true || completed.is_null(), "{trace}");
        assert_eq!(trace["waitsFor"], Value::Null, "{trace}");
    }
    let trace = stack.trace("clusterproviderconfig/default").await;
    let users = trace["users"].as_array().map_or(0, Vec::len);
    assert_eq!(users, objects.len(), "{trace}");
    for (object, _) in &objects {
        object.delete().await;
    }
    for (object, _) in &objects {
        object.until_deleted().await;
    }
    let served = served_kinds(&stack).await.into_iter();
    let served: BTreeSet<(String, String)> = served.map(|(group, kind, _)| (group, kind)).collect();
    assert_eq!(served, kinds, "every served kind has an example");
}
