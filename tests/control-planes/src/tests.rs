#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

use std::collections::BTreeMap;

use kube::{
    Api, Client, Config,
    api::{DynamicObject, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use super::*;
use crate::{content::RULES, etcd::Key};

const WIDGETS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.example.org}
spec:
  group: test.example.org
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";

async fn client(plane: &ControlPlane) -> Client {
    let config = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

fn kind(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

/// As soon as its kind is served.
async fn create(api: &Api<DynamicObject>, value: Value) {
    let wanted = object(value);
    let end = Instant::now() + LIMIT;
    loop {
        match api.create(&PostParams::default(), &wanted).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 && Instant::now() < end => {}
            Err(error) => panic!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn names(api: &Api<DynamicObject>) -> Vec<String> {
    let all = api.list(&ListParams::default()).await.unwrap();
    all.items
        .into_iter()
        .filter_map(|one| one.metadata.name)
        .collect()
}

#[tokio::test]
async fn a_control_plane_is_used_again_as_if_it_were_new() {
    static PLANES: ControlPlanes = ControlPlanes::new(&[WIDGETS]);
    let first = PLANES.take().await.unwrap();
    let directory = first.directory().to_owned();
    let of = client(&first).await;
    let all = |of: &Client, group: &str, name: &str| Api::all_with(of.clone(), &kind(group, name));
    let shop =
        |of: &Client, group: &str, name: &str| Api::namespaced_with(of.clone(), "shop", &kind(group, name));
    create(&all(&of, "", "Namespace"), json!({"metadata": {"name": "shop"}})).await;
    create(
        &shop(&of, "test.example.org", "Widget"),
        json!({"apiVersion": "test.example.org/v1", "kind": "Widget", "metadata": {"name": "one"}}),
    )
    .await;
    let mut gadgets: Value = serde_yaml_ng::from_str(&WIDGETS.replace("idget", "adget")).unwrap();
    gadgets["metadata"]["finalizers"] = json!(["test.example.org/held"]);
    create(
        &all(&of, "apiextensions.k8s.io", "CustomResourceDefinition"),
        gadgets.clone(),
    )
    .await;
    create(
        &shop(&of, "test.example.org", "Wadget"),
        json!({"apiVersion": "test.example.org/v1", "kind": "Wadget", "metadata": {"name": "two"}}),
    )
    .await;
    let event = json!({"metadata": {"name": "e"}, "reason": "Left", "type": "Normal", "involvedObject": {"namespace": "shop"}});
    create(&shop(&of, "", "Event"), event).await;
    drop(first);

    let again = PLANES.take().await.unwrap();
    assert_eq!(again.directory(), directory);
    let of = client(&again).await;
    let definitions = all(&of, "apiextensions.k8s.io", "CustomResourceDefinition");
    assert_eq!(names(&definitions).await, ["widgets.test.example.org"]);
    for (group, name) in [("test.example.org", "Widget"), ("", "Event")] {
        assert_eq!(names(&shop(&of, group, name)).await, [""; 0], "{name}");
    }
    assert!(
        !names(&all(&of, "", "Namespace"))
            .await
            .contains(&"shop".to_owned())
    );
    let unserved = shop(&of, "test.example.org", "Wadget")
        .list(&ListParams::default())
        .await;
    assert!(unserved.is_err(), "{unserved:?}");
    // The same kind again, of which nothing is left.
    create(&definitions, gadgets).await;
    create(&all(&of, "", "Namespace"), json!({"metadata": {"name": "shop"}})).await;
    create(
        &shop(&of, "test.example.org", "Wadget"),
        json!({"apiVersion": "test.example.org/v1", "kind": "Wadget", "metadata": {"name": "three"}}),
    )
    .await;
    assert_eq!(names(&shop(&of, "test.example.org", "Wadget")).await, ["three"]);

    let role = json!({"metadata": {"name": "left"}, "rules": []});
    create(&all(&of, "rbac.authorization.k8s.io", "ClusterRole"), role).await;
    drop(again);
    assert_ne!(PLANES.take().await.unwrap().directory(), directory);
}

const DEFAULT: &str = "/registry/namespaces/default";

fn left_or_why(before: &BTreeMap<Key, i64>, now: &BTreeMap<Key, i64>) -> Result<Vec<Key>, String> {
    left(before, now).map_err(|why| why.to_string())
}

#[test]
fn what_was_there_must_be_as_it_was() {
    let keys = |keys: &[(&str, i64)]| -> BTreeMap<Key, i64> {
        keys.iter()
            .map(|(key, revision)| ((*key).to_owned(), *revision))
            .collect()
    };
    let before = keys(&[(DEFAULT, 1)]);
    let changed = Err("/registry/namespaces/default was changed or deleted".to_owned());
    assert_eq!(left_or_why(&before, &before), Ok(vec![]));
    assert_eq!(left_or_why(&before, &keys(&[])), changed);
    assert_eq!(left_or_why(&before, &keys(&[(DEFAULT, 2)])), changed);
    let mut now = before.clone();
    now.extend(keys(&[
        ("/registry/apiregistration.k8s.io/apiservices/v1.a", 2),
        ("/registry/pods/one/a", 3),
    ]));
    assert_eq!(
        left_or_why(&before, &now),
        Ok(vec!["/registry/pods/one/a".to_owned()])
    );
    for rule in RULES {
        let key = format!("{rule}a");
        let mut now = now.clone();
        now.insert(key.clone(), 4);
        let why = format!("{key} rules over requests, and may do so for a while after it is deleted");
        assert_eq!(left_or_why(&before, &now), Err(why));
    }
}
