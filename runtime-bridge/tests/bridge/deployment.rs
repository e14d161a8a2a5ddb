//! What the manifests give to whom: a plugin gets nothing that is the bridge's.

use std::collections::BTreeSet;

use clap::Parser;
use runtime_bridge::serve::BehaviourArgs;
use serde::Deserialize;
use serde_json::{Value, json};

const MANIFESTS: [(&str, &str); 2] = [
    ("bridge.yaml", include_str!("../../../deploy/bridge.yaml")),
    (
        "compositions.yaml",
        include_str!("../../../deploy/compositions.yaml"),
    ),
];

const BRIDGE: &str = "bridge";

/// What holds where the manifests say nothing.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    behaviour: BehaviourArgs,
}

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    documents.map(|one| Value::deserialize(one).unwrap()).collect()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The pod of a Deployment.
fn pod(text: &str) -> Value {
    let all = documents(text);
    let deployment = all.iter().find(|one| one["kind"] == "Deployment").unwrap();
    deployment["spec"]["template"]["spec"].clone()
}

fn containers(pod: &Value) -> Vec<&Value> {
    items(&pod["initContainers"])
        .chain(items(&pod["containers"]))
        .collect()
}

/// Names of the volumes that hold a token of the `ServiceAccount`.
fn tokens(pod: &Value) -> BTreeSet<&str> {
    let has_token = |volume: &&Value| {
        items(&volume["projected"]["sources"]).any(|source| source.get("serviceAccountToken").is_some())
    };
    items(&pod["volumes"])
        .filter(has_token)
        .map(|volume| volume["name"].as_str().unwrap())
        .collect()
}

/// What a bridge began is stored before the kubelet kills it: nothing it does at its end, all of which is done at once, takes longer than it drains.
#[test]
fn a_pod_has_more_time_to_end_than_the_bridge_takes() {
    for (file, text) in MANIFESTS {
        let pod = pod(text);
        let bridge = items(&pod["containers"]).find(|container| container["name"] == BRIDGE);
        let bridge = bridge.unwrap();
        let variables = items(&bridge["env"]).map(|variable| variable["name"].as_str().unwrap());
        let mut given = variables.chain(items(&bridge["args"]).map(|argument| argument.as_str().unwrap()));
        assert!(
            !given.any(|name| name.to_lowercase().contains("drain")),
            "{file}: the default"
        );
        let drains = Defaults::parse_from(["serve"]).behaviour.drain_timeout.as_secs();
        let granted = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(
            granted >= drains + 10,
            "{file}: {granted} s, and it drains {drains} s"
        );
    }
}

#[test]
fn the_token_is_mounted_in_the_container_of_the_bridge_alone() {
    for (file, text) in MANIFESTS {
        let pod = pod(text);
        assert_eq!(pod["automountServiceAccountToken"], false, "{file}");
        let tokens = tokens(&pod);
        assert_eq!(tokens.len(), 1, "{file}");
        for container in containers(&pod) {
            let mounts: Vec<&Value> = items(&container["volumeMounts"])
                .filter(|mount| tokens.contains(mount["name"].as_str().unwrap()))
                .collect();
            if container["name"] != BRIDGE {
                assert_eq!(mounts, Vec::<&Value>::new(), "{file}: {}", container["name"]);
                continue;
            }
            assert_eq!(mounts.len(), 1, "{file}");
            assert_eq!(mounts[0]["readOnly"], true, "{file}");
            assert_eq!(
                mounts[0]["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount",
                "{file}"
            );
        }
    }
}

#[test]
fn no_two_containers_may_write_to_one_folder() {
    for (file, text) in MANIFESTS {
        let pod = pod(text);
        let mut written = BTreeSet::new();
        for container in containers(&pod) {
            assert_eq!(
                container["securityContext"]["readOnlyRootFilesystem"], true,
                "{file}"
            );
            for mount in items(&container["volumeMounts"]) {
                let volume = mount["name"].as_str().unwrap();
                let may_write = mount["readOnly"] != true;
                assert!(
                    !may_write || written.insert(volume.to_owned()),
                    "{file}: {volume}"
                );
                assert!(!may_write || container["name"] != BRIDGE, "{file}: {volume}");
            }
        }
    }
}

#[test]
fn a_plugin_runs_as_a_user_of_its_own_whom_the_bridge_checks() {
    let pod = pod(MANIFESTS[0].1);
    let common = &pod["securityContext"]["runAsUser"];
    let user = |container: &Value| match &container["securityContext"]["runAsUser"] {
        Value::Null => common.clone(),
        own => own.clone(),
    };
    let users: BTreeSet<String> = containers(&pod)
        .into_iter()
        .map(|container| user(container).to_string())
        .collect();
    assert_eq!(users.len(), containers(&pod).len(), "{users:?}");
    let variable = |container: &str, name: &str| {
        let container = *containers(&pod)
            .iter()
            .find(|one| one["name"] == container)
            .unwrap();
        let found = items(&container["env"]).find(|variable| variable["name"] == name);
        found.unwrap()["value"].as_str().unwrap().to_owned()
    };
    let served = variable("plugin", "PROVIDER_PLUGIN_ENDPOINT");
    assert_eq!(
        variable(BRIDGE, "CROSSBRIDGE_PLUGIN"),
        format!("aws.crossbridge.dev={served}")
    );
    assert_eq!(
        variable(BRIDGE, "CROSSBRIDGE_PLUGIN_UID"),
        "aws.crossbridge.dev=65533"
    );
    let plugin = items(&pod["initContainers"]).next().unwrap();
    assert_eq!(user(plugin), json!(65533));
    let folder = plugin["volumeMounts"][0]["mountPath"].as_str().unwrap();
    assert!(served.starts_with(&format!("unix://{folder}/")), "{served}");
}

#[test]
fn every_container_is_limited_and_no_network_reaches_more_than_it_needs() {
    for (file, text) in MANIFESTS {
        let pod = pod(text);
        for container in containers(&pod) {
            let limits = &container["resources"]["limits"];
            assert!(limits["memory"].is_string(), "{file}: {}", container["name"]);
        }
        let all = documents(text);
        let policy = all.iter().find(|one| one["kind"] == "NetworkPolicy").unwrap();
        let deployment = all.iter().find(|one| one["kind"] == "Deployment").unwrap();
        assert_eq!(
            policy["spec"]["podSelector"], deployment["spec"]["selector"],
            "{file}"
        );
        let ingress: Vec<&Value> = items(&policy["spec"]["ingress"]).collect();
        assert_eq!(ingress.len(), 1, "{file}");
        assert_eq!(ingress[0]["ports"], json!([{ "port": "admin" }]), "{file}");
        assert!(ingress[0]["from"].is_array(), "{file}");
    }
}

/// With what stands in comments and is YAML, and not prose.
fn with_options(text: &str) -> String {
    let shown = |line: &str| {
        let (indent, rest) = line.split_at_checked(line.find('#')?)?;
        let option = rest.strip_prefix("# ")?;
        let first = option.split_whitespace().next()?;
        let is_yaml = indent.trim().is_empty() && (first.ends_with(':') || first.starts_with('-'));
        is_yaml.then(|| format!("{indent}{option}"))
    };
    let lines = text
        .lines()
        .map(|line| shown(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn api_servers_reach_the_webhook_where_it_is_turned_on() {
    let text = with_options(MANIFESTS[1].1);
    let all = documents(&text);
    let of_kind = |kind: &str| all.iter().find(|one| one["kind"] == kind).unwrap();
    let port = &of_kind("Service")["spec"]["ports"][0]["targetPort"];
    let pod = pod(&text);
    let bridge = containers(&pod)
        .into_iter()
        .find(|container| container["name"] == BRIDGE)
        .unwrap();
    assert!(items(&bridge["ports"]).any(|one| one["name"] == *port), "{port}");
    let open = items(&of_kind("NetworkPolicy")["spec"]["ingress"])
        .find(|rule| items(&rule["ports"]).any(|one| one["port"] == *port))
        .unwrap();
    assert!(
        open.get("from").is_none(),
        "no selector names an API server: {open}"
    );
}
