//! Plays a sequence on one API server, and notes what it answers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    draw::{Base, Sequence, Step},
    kinds::GROUP,
};
use crate::server::{Answer, Server};

/// What came of a sequence.
pub struct Played {
    /// By step; one that was left out has none.
    pub answers: Vec<Vec<Answer>>,
    /// The events of a watch from the beginning to the end.
    pub events: Vec<Value>,
}

const FOREIGN_UID: &str = "00000000-0000-4000-8000-ffffffffffff";
/// The object whose creation ends a sequence.
pub const LAST: &str = "last";

struct Player<'a> {
    server: &'a Server,
    steps: &'a Sequence,
    namespace: &'a str,
    first: BTreeMap<&'static str, Value>,
    /// The namespace accepts no new object.
    ended: bool,
}

/// Plays it, in a namespace of its own.
pub async fn play(server: &Server, namespace: &str, steps: &Sequence) -> Played {
    let made = server
        .post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}))
        .await;
    assert_eq!(made.code, 201, "{made:?}");
    let mut player = Player {
        server,
        steps,
        namespace,
        first: BTreeMap::new(),
        ended: false,
    };
    let list = server.get(&player.collection()).await;
    let since = list.body["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut watch = server
        .watch_at(&format!(
            "{}?watch=true&resourceVersion={since}",
            player.collection()
        ))
        .await;
    let mut answers = Vec::new();
    for step in &steps.steps {
        answers.push(player.step(step).await);
    }
    let last = player.last().await;
    let mut events = Vec::new();
    loop {
        let event = watch.next().await;
        if event["object"]["metadata"]["name"] == last {
            break;
        }
        events.push(event);
    }
    Played { answers, events }
}

impl Player<'_> {
    fn collection(&self) -> String {
        format!(
            "/apis/{GROUP}/v1/namespaces/{}/{}",
            self.namespace, self.steps.plural
        )
    }

    fn path(&self, name: &str, status: bool) -> String {
        let subresource = if status { "/status" } else { "" };
        format!("{}/{name}{subresource}", self.collection())
    }

    fn complete(&self, name: &str, object: &Value) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = format!("{GROUP}/v1").into();
        object["kind"] = self.steps.kind.into();
        object["metadata"]["name"] = name.into();
        object
    }

    /// What ends the sequence, in a namespace where something can be created. Its name.
    async fn last(&self) -> &'static str {
        let object = json!({"spec": {"size": 1}});
        if self.ended {
            // It must exist, so that the last object can be created in it.
            self.server.put_namespace_back(self.namespace).await;
        }
        let made = self
            .server
            .post(&self.collection(), &self.complete(LAST, &object))
            .await;
        assert_eq!(made.code, 201, "{made:?}");
        LAST
    }

    async fn step(&mut self, step: &Step) -> Vec<Answer> {
        let server = self.server;
        match step {
            Step::Create(name, object) => {
                let made = server
                    .post(&self.collection(), &self.complete(name, object))
                    .await;
                if made.code == 201 {
                    self.first.entry(*name).or_insert_with(|| made.body.clone());
                }
                vec![made]
            }
            Step::Put(name, base, status, changes) => {
                let read = server.get(&self.path(name, false)).await;
                let mut object = match base {
                    Base::First => self.first.get(name).cloned().unwrap_or_default(),
                    _ => read.body.clone(),
                };
                if object["kind"] != self.steps.kind {
                    object = self.complete(name, &json!({"spec": {"size": 1}}));
                }
                match base {
                    Base::NoVersion => drop(
                        object["metadata"]
                            .as_object_mut()
                            .unwrap()
                            .remove("resourceVersion"),
                    ),
                    Base::OtherUid => object["metadata"]["uid"] = FOREIGN_UID.into(),
                    Base::Newest | Base::First => {}
                }
                for (pointer, value) in changes {
                    set(&mut object, pointer, value);
                }
                let put = server.put(&self.path(name, *status), &object).await;
                vec![read, put]
            }
            Step::MergePatch(name, status, patch) => {
                vec![server.merge_patch(&self.path(name, *status), patch).await]
            }
            Step::JsonPatch(name, status, test, operations) => {
                let read = server.get(&self.path(name, false)).await;
                let mut all = Vec::new();
                if let Some(base) = test {
                    let uid = match base {
                        Base::OtherUid => json!(FOREIGN_UID),
                        _ => read.body["metadata"]["uid"].clone(),
                    };
                    all.push(json!({"op": "test", "path": "/metadata/uid", "value": uid}));
                }
                all.extend(operations.as_array().unwrap().iter().cloned());
                vec![
                    read,
                    server.json_patch(&self.path(name, *status), &json!(all)).await,
                ]
            }
            Step::Delete(name, base, policy) => {
                let read = server.get(&self.path(name, false)).await;
                let mut options = json!({});
                match base {
                    Some(Base::OtherUid) => options["preconditions"]["uid"] = FOREIGN_UID.into(),
                    Some(Base::First) => {
                        let first = self.first.get(name).cloned().unwrap_or_default();
                        options["preconditions"]["resourceVersion"] =
                            first["metadata"]["resourceVersion"].clone();
                    }
                    Some(_) => options["preconditions"]["uid"] = read.body["metadata"]["uid"].clone(),
                    None => {}
                }
                if !policy.is_empty() {
                    options["propagationPolicy"] = (*policy).into();
                }
                vec![read, server.delete(&self.path(name, false), &options).await]
            }
            Step::DeleteStatus(name) => {
                vec![server.delete(&self.path(name, true), &Value::Null).await]
            }
            Step::Get(name, status) => vec![server.get(&self.path(name, *status)).await],
            Step::List => vec![server.get(&self.collection()).await],
            Step::EndNamespace | Step::DropNamespace if self.ended => Vec::new(),
            Step::EndNamespace => {
                self.ended = true;
                vec![server.end_namespace(self.namespace, &self.collection()).await]
            }
            Step::DropNamespace => {
                self.ended = true;
                let ended = server.end_namespace(self.namespace, &self.collection()).await;
                let dropped = server.drop_namespace(self.namespace, &self.collection()).await;
                vec![ended, dropped]
            }
        }
    }
}

fn set(object: &mut Value, pointer: &str, value: &Value) {
    let mut at = object;
    for token in pointer.trim_start_matches('/').split('/') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[token];
    }
    at.clone_from(value);
}
