//! The same checks against the fake and against a real kube-apiserver: where they part, the fake is wrong.
#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)] // The random sequences use more of it.
mod server;

use serde_json::{Value, json};

use self::server::{Answer, DEFINITIONS, Server};

/// One test against each.
macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod fake {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Server::fake().await).await;
                }
            )*
        }

        mod real {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Server::real().await).await;
                }
            )*
        }
    };
}

contract![
    an_object_is_created_read_listed_and_deleted,
    a_replacement_needs_the_version_and_the_uid,
    what_did_not_change_keeps_its_version,
    status_and_the_rest_are_written_apart,
    finalizers_hold_what_is_deleted,
    a_json_patch_is_tested,
    a_merge_patch_takes_a_uid,
    an_apply_takes_a_uid_and_a_version,
    a_deletion_takes_a_uid,
    an_absent_object_is_named_and_an_unserved_path_is_not,
    defaults_are_filled_in,
    a_list_comes_in_pages,
    a_streamed_list_ends_with_a_bookmark_and_goes_on,
    a_watch_goes_on_where_it_stood,
    metadata_comes_alone,
    a_definition_takes_its_instances_along,
    a_secret_and_an_event_are_kept,
    a_status_without_its_subresource_reads_like_an_absent_object,
    an_object_outlives_its_dropped_namespace_and_cannot_be_written,
    what_is_stored_is_read_by_the_schema_of_today,
    discovery_and_api_services_show_what_is_served,
];

fn name_of(answer: &Answer) -> &Value {
    &answer.body["metadata"]["name"]
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

async fn an_object_is_created_read_listed_and_deleted(server: Server) {
    let made = server.create("one").await;
    assert_eq!(made.code, 201);
    assert_eq!(made.body["metadata"]["generation"], 1);
    assert_eq!(made.body["kind"], "Thing");
    let again = server.post(&server.things(), &server.thing("one")).await;
    assert_eq!((again.code, again.reason()), (409, "AlreadyExists"));
    let read = server.get(&server.path("one")).await;
    assert_eq!(read.body["metadata"]["uid"], made.body["metadata"]["uid"]);
    let list = server.get(&server.things()).await;
    assert_eq!(list.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(list.body["kind"], "ThingList");
    assert_eq!(server.delete(&server.path("one"), &Value::Null).await.code, 200);
    let gone = server.get(&server.path("one")).await;
    assert_eq!((gone.code, gone.reason()), (404, "NotFound"));
}

async fn a_replacement_needs_the_version_and_the_uid(server: Server) {
    let made = server.create("one").await.body;
    let mut new = made.clone();
    new["spec"]["size"] = 2.into();
    let replaced = server.put(&server.path("one"), &new).await;
    assert_eq!(replaced.code, 200);
    assert_eq!(replaced.body["metadata"]["generation"], 2);
    new["spec"]["size"] = 3.into();
    let stale = server.put(&server.path("one"), &new).await;
    assert_eq!((stale.code, stale.reason()), (409, "Conflict"));
    let mut other = replaced.body.clone();
    other["metadata"]["uid"] = "00000000-0000-4000-8000-ffffffffffff".into();
    let other = server.put(&server.path("one"), &other).await;
    assert_eq!((other.code, other.reason()), (409, "Conflict"));
    new["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let without = server.put(&server.path("one"), &new).await;
    assert_eq!((without.code, without.reason()), (422, "Invalid"));
    let nowhere = server.put(&server.path("two"), &made).await;
    assert!(nowhere.code >= 400, "{nowhere:?}");
}

async fn what_did_not_change_keeps_its_version(server: Server) {
    let made = server.create("one").await.body;
    let same = server.put(&server.path("one"), &made).await.body;
    assert_eq!(version(&same), version(&made));
    let mut annotated = made.clone();
    annotated["metadata"]["annotations"] = json!({"a": "b"});
    let annotated = server.put(&server.path("one"), &annotated).await.body;
    assert_ne!(version(&annotated), version(&made));
    assert_eq!(annotated["metadata"]["generation"], 1);
}

async fn status_and_the_rest_are_written_apart(server: Server) {
    let mut object = server.create("one").await.body;
    assert!(object["status"].is_null());
    object["status"] = json!({"phase": "Ready"});
    object["spec"]["size"] = 7.into();
    object["metadata"]["annotations"] = json!({"a": "b"});
    let status = format!("{}/status", server.path("one"));
    let answer = server.put(&status, &object).await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.body["status"]["phase"], "Ready");
    assert_eq!(answer.body["spec"]["size"], 1);
    assert_eq!(answer.body["metadata"]["generation"], 1);
    let mut object = answer.body;
    object["status"] = json!({"phase": "Other"});
    object["spec"]["size"] = 7.into();
    let answer = server.put(&server.path("one"), &object).await.body;
    assert_eq!(answer["status"]["phase"], "Ready");
    assert_eq!(answer["spec"]["size"], 7);
}

async fn finalizers_hold_what_is_deleted(server: Server) {
    let mut object = server.thing("one");
    object["metadata"]["finalizers"] = json!(["example.org/a", "example.org/b"]);
    let made = server.post(&server.things(), &object).await.body;
    let marked = server.delete(&server.path("one"), &Value::Null).await;
    assert_eq!(marked.code, 200);
    assert!(!marked.body["metadata"]["deletionTimestamp"].is_null());
    let mut held = server.get(&server.path("one")).await.body;
    assert_eq!(held["metadata"]["uid"], made["metadata"]["uid"]);
    held["metadata"]["finalizers"] = json!(["example.org/a", "example.org/b", "example.org/c"]);
    let grown = server.put(&server.path("one"), &held).await;
    assert_eq!((grown.code, grown.reason()), (422, "Invalid"));
    let remove = json!([{"op": "remove", "path": "/metadata/finalizers/0"}]);
    let left = server.json_patch(&server.path("one"), &remove).await;
    assert_eq!(left.body["metadata"]["finalizers"], json!(["example.org/b"]));
    let last = server.json_patch(&server.path("one"), &remove).await;
    assert_eq!(last.code, 200);
    assert_eq!(name_of(&last), "one");
    assert_eq!(server.get(&server.path("one")).await.code, 404);
}

async fn a_json_patch_is_tested(server: Server) {
    let made = server.create("one").await.body;
    let patch = |uid: &Value| {
        json!([
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "replace", "path": "/spec/size", "value": 5},
        ])
    };
    let wrong = server
        .json_patch(&server.path("one"), &patch(&"other".into()))
        .await;
    assert_eq!((wrong.code, wrong.reason()), (422, "Invalid"));
    let message = wrong.body["message"].as_str().unwrap();
    assert!(
        message.starts_with("the server rejected our request"),
        "{message}"
    );
    let right = server
        .json_patch(&server.path("one"), &patch(&made["metadata"]["uid"]))
        .await;
    assert_eq!(right.body["spec"]["size"], 5);
    assert_eq!(right.body["metadata"]["generation"], 2);
}

async fn a_merge_patch_takes_a_uid(server: Server) {
    let made = server.create("one").await.body;
    let change = json!({"metadata": {"uid": made["metadata"]["uid"], "labels": {"a": "b"}}});
    let answer = server.merge_patch(&server.path("one"), &change).await;
    assert_eq!(answer.body["metadata"]["labels"], json!({"a": "b"}));
    let stale = json!({"metadata": {"resourceVersion": version(&made), "labels": {"a": "c"}}});
    let stale = server.merge_patch(&server.path("one"), &stale).await;
    assert_eq!((stale.code, stale.reason()), (409, "Conflict"));
    let removed = server
        .merge_patch(&server.path("one"), &json!({"metadata": {"labels": {"a": null}}}))
        .await;
    assert!(removed.body["metadata"]["labels"].is_null());
}

async fn an_apply_takes_a_uid_and_a_version(server: Server) {
    let made = server.create("one").await.body;
    let apply = async |name: &str, uid: &Value, version: &Value| {
        let mut desired = server.thing(name);
        desired["spec"]["size"] = 7.into();
        desired["metadata"]["uid"] = uid.clone();
        if !version.is_null() {
            desired["metadata"]["resourceVersion"] = version.clone();
        }
        let path = format!("{}?fieldManager=one&force=true", server.path(name));
        let answer = server.apply(&path, &desired).await;
        (answer.code, answer.reason().to_owned())
    };
    let said = |code: u16, reason: &str| (code, reason.to_owned());
    let (uid, other) = (
        &made["metadata"]["uid"],
        Value::from("00000000-0000-4000-8000-ffffffffffff"),
    );
    assert_eq!(apply("one", &other, &Value::Null).await, said(422, "Invalid"));
    assert_eq!(apply("absent", &other, &Value::Null).await, said(409, "Conflict"));
    assert_eq!(apply("one", uid, &"1".into()).await, said(409, "Conflict"));
    assert_eq!(apply("one", &other, &"1".into()).await, said(409, "Conflict"));
    assert_eq!(server.get(&server.path("absent")).await.code, 404);
    assert_eq!(apply("one", uid, &version(&made).into()).await, said(200, ""));
    assert_eq!(apply("one", uid, &Value::Null).await, said(200, ""));
    assert_eq!(server.get(&server.path("one")).await.body["spec"]["size"], 7);
}

async fn a_deletion_takes_a_uid(server: Server) {
    let made = server.create("one").await.body;
    let wrong = json!({"preconditions": {"uid": "other"}});
    let wrong = server.delete(&server.path("one"), &wrong).await;
    assert_eq!((wrong.code, wrong.reason()), (409, "Conflict"));
    let right = json!({"preconditions": {"uid": made["metadata"]["uid"]}});
    assert_eq!(server.delete(&server.path("one"), &right).await.code, 200);
    let gone = server.delete(&server.path("one"), &Value::Null).await;
    assert_eq!((gone.code, gone.reason()), (404, "NotFound"));
}

async fn an_absent_object_is_named_and_an_unserved_path_is_not(server: Server) {
    let missing = server.get(&server.path("one")).await;
    assert_eq!(missing.body["details"]["name"], "one");
    let nowhere = server.get("/apis/nobody.example.org/v1/things/one").await;
    assert_eq!(nowhere.code, 404);
    assert!(nowhere.body["details"]["name"].is_null(), "{nowhere:?}");
    let elsewhere = server.things().replace(&server.namespace, "nowhere");
    let elsewhere = server.post(&elsewhere, &server.thing("one")).await;
    assert_eq!((elsewhere.code, elsewhere.reason()), (404, "NotFound"));
}

async fn defaults_are_filled_in(server: Server) {
    let made = server.create("one").await.body;
    assert_eq!(made["spec"]["colour"], "red");
}

async fn a_list_comes_in_pages(server: Server) {
    for name in ["a", "b", "c"] {
        server.create(name).await;
    }
    let first = server.get(&format!("{}?limit=2", server.things())).await.body;
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&first), ["a", "b"]);
    let next = first["metadata"]["continue"].as_str().unwrap();
    let second = server
        .get(&format!("{}?limit=2&continue={next}", server.things()))
        .await
        .body;
    assert_eq!(names(&second), ["c"]);
    assert!(
        second["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
    );
}

async fn a_streamed_list_ends_with_a_bookmark_and_goes_on(server: Server) {
    server.create("one").await;
    let query =
        "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let mut watch = server.watch(query).await;
    let first = watch.next().await;
    assert_eq!(
        (&first["type"], &first["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("one"))
    );
    let end = watch.next().await;
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(
        end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    server.create("two").await;
    let next = watch.next().await;
    assert_eq!(
        (&next["type"], &next["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("two"))
    );
    server.delete(&server.path("two"), &Value::Null).await;
    let last = watch.next().await;
    assert_eq!(last["type"], "DELETED");
    let versions = [next, last].map(|line| version(&line["object"]).parse::<u64>().unwrap());
    assert!(versions[0] < versions[1], "{versions:?}");
}

async fn a_watch_goes_on_where_it_stood(server: Server) {
    let made = server.create("one").await.body;
    let mut changed = made.clone();
    changed["spec"]["size"] = 2.into();
    let changed = server.put(&server.path("one"), &changed).await.body;
    let mut watch = server
        .watch(&format!("watch=true&resourceVersion={}", version(&made)))
        .await;
    let next = watch.next().await;
    assert_eq!(next["type"], "MODIFIED");
    assert_eq!(version(&next["object"]), version(&changed));
}

async fn metadata_comes_alone(server: Server) {
    server.create("one").await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let answer = server.get_as(&server.path("one"), accept).await;
    assert_eq!(answer.body["kind"], "PartialObjectMetadata");
    assert_eq!(name_of(&answer), "one");
    assert!(answer.body["spec"].is_null());
}

async fn a_definition_takes_its_instances_along(server: Server) {
    let mut object = server.thing("one");
    object["metadata"]["finalizers"] = json!(["example.org/a"]);
    server.post(&server.things(), &object).await;
    server.create("two").await;
    let definition = format!("{DEFINITIONS}/{}", server.definition);
    assert_eq!(server.delete(&definition, &Value::Null).await.code, 200);
    server
        .eventually("the instance without a finalizer is gone", || async {
            server.get(&server.path("two")).await.code == 404
        })
        .await;
    let held = server.get(&server.path("one")).await;
    assert!(!held.body["metadata"]["deletionTimestamp"].is_null(), "{held:?}");
    let terminating = server.get(&definition).await.body;
    assert!(!terminating["metadata"]["deletionTimestamp"].is_null());
    let release = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    assert_eq!(server.json_patch(&server.path("one"), &release).await.code, 200);
    server
        .eventually("the definition is gone", || async {
            server.get(&definition).await.code == 404
        })
        .await;
}

async fn a_secret_and_an_event_are_kept(server: Server) {
    let namespace = &server.namespace;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "dmFsdWU="},
    });
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    assert_eq!(server.post(&secrets, &secret).await.code, 201);
    let read = server.get(&format!("{secrets}/s")).await.body;
    assert_eq!(read["data"]["key"], "dmFsdWU=");
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"kind": "Secret", "namespace": namespace, "name": "s"},
        "reason": "Tried", "message": "It was tried.", "type": "Normal",
    });
    let events = format!("/api/v1/namespaces/{namespace}/events");
    assert_eq!(server.post(&events, &event).await.code, 201);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a"},
    });
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    assert_eq!(server.post(&leases, &lease).await.code, 201);
}

async fn a_status_without_its_subresource_reads_like_an_absent_object(server: Server) {
    let made = server.create("one").await.body;
    let definition = format!("{DEFINITIONS}/{}", server.definition);
    let remove = json!([{"op": "remove", "path": "/spec/versions/0/subresources"}]);
    assert_eq!(server.json_patch(&definition, &remove).await.code, 200);
    let status = format!("{}/status", server.path("one"));
    server
        .eventually("the subresource is gone", || async {
            server.get(&status).await.code == 404
        })
        .await;
    let answer = server.put(&status, &made).await;
    assert_eq!((answer.code, answer.reason()), (404, "NotFound"));
    assert_eq!(answer.body["details"]["name"], "one");
    assert_eq!(answer.body["details"]["kind"], "things");
    assert_eq!(
        server.get(&server.path("one")).await.code,
        200,
        "the object is there"
    );
}

async fn an_object_outlives_its_dropped_namespace_and_cannot_be_written(server: Server) {
    let made = server.create("one").await.body;
    server.end_namespace(&server.namespace, &server.things()).await;
    server.drop_namespace(&server.namespace, &server.things()).await;
    let namespace = format!("/api/v1/namespaces/{}", server.namespace);
    assert_eq!(server.get(&namespace).await.code, 404);
    for path in [server.path("one"), format!("{}/status", server.path("one"))] {
        let answer = server.put(&path, &made).await;
        assert_eq!((answer.code, answer.reason()), (404, "NotFound"));
        assert_eq!(answer.body["details"]["kind"], "namespaces");
        assert_eq!(answer.body["details"]["name"], server.namespace);
    }
    assert_eq!(
        server.get(&server.path("one")).await.code,
        200,
        "the object is there"
    );
}

async fn what_is_stored_is_read_by_the_schema_of_today(server: Server) {
    let made = server.create("one").await.body;
    let definition = format!("{DEFINITIONS}/{}", server.definition);
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let change = json!([
        {"op": "remove", "path": format!("{properties}/colour")},
        {"op": "add", "path": format!("{properties}/added"), "value": {"type": "string", "default": "new"}},
    ]);
    assert_eq!(server.json_patch(&definition, &change).await.code, 200);
    server
        .eventually("the new schema is served", || async {
            server.get(&server.path("one")).await.body["spec"]["added"] == "new"
        })
        .await;
    let read = server.get(&server.path("one")).await.body;
    assert_eq!(read["spec"], json!({"size": 1, "added": "new"}));
    assert_eq!(version(&read), version(&made));
}

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Kind, scope, freshness, and whether it can be listed and watched.
async fn discovered(server: &Server, path: &str, group: &str, plural: &str) -> Option<Value> {
    let document = server.get_as(path, DISCOVERY).await.body;
    assert_eq!(document["kind"], "APIGroupDiscoveryList");
    let items = document["items"].as_array().unwrap();
    let of = items
        .iter()
        .find(|item| item["metadata"]["name"].as_str().unwrap_or_default() == group)?;
    let version = of["versions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|version| version["version"] == "v1")?;
    let found = version["resources"]
        .as_array()?
        .iter()
        .find(|found| found["resource"] == plural)?;
    let verbs = found["verbs"].as_array().unwrap();
    let watched = ["list", "watch"]
        .iter()
        .all(|verb| verbs.iter().any(|known| known == verb));
    Some(json!([
        found["responseKind"]["kind"],
        found["scope"],
        version["freshness"],
        watched
    ]))
}

async fn discovery_and_api_services_show_what_is_served(server: Server) {
    let config_map = discovered(&server, "/api", "", "configmaps").await;
    assert_eq!(
        config_map,
        Some(json!(["ConfigMap", "Namespaced", "Current", true]))
    );
    let lease = discovered(&server, "/apis", "coordination.k8s.io", "leases").await;
    assert_eq!(lease, Some(json!(["Lease", "Namespaced", "Current", true])));
    let group = &server.group;
    server
        .eventually("the kind is shown", || async {
            discovered(&server, "/apis", group, "things").await
                == Some(json!(["Thing", "Namespaced", "Current", true]))
        })
        .await;

    let made_by = async |name: &str| {
        let service = server.get(&format!("{SERVICES}/{name}")).await.body;
        let conditions = service["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let available = conditions
            .iter()
            .any(|one| one["type"] == "Available" && one["status"] == "True");
        let spec = [&service["spec"]["group"], &service["spec"]["version"]]
            .map(|part| part.as_str().unwrap_or_default().to_owned());
        (
            service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].clone(),
            available,
            spec,
        )
    };
    let spec = |group: &str| [group.to_owned(), "v1".to_owned()];
    assert_eq!(made_by("v1.").await, ("onstart".into(), true, spec("")));
    let leases = made_by("v1.coordination.k8s.io").await;
    assert_eq!(leases, ("onstart".into(), true, spec("coordination.k8s.io")));
    let own = format!("v1.{group}");
    server
        .eventually("the definition has its own", || async {
            made_by(&own).await == ("true".into(), true, spec(group))
        })
        .await;

    let definition = format!("{DEFINITIONS}/{}", server.definition);
    assert_eq!(server.delete(&definition, &Value::Null).await.code, 200);
    server
        .eventually("it goes with its definition", || async {
            server.get(&format!("{SERVICES}/{own}")).await.code == 404
                && discovered(&server, "/apis", group, "things").await.is_none()
        })
        .await;
}
