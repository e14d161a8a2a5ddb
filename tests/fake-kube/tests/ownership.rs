//! Random sequences of applies, updates and conversions of owners, on the fake and on a real kube-apiserver: what is left of an object, and which
//! applies are refused, must be the same. `FAKE_KUBE_SEEDS=N` runs N of them.
#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)] // The contract uses more of it.
#[path = "server/mod.rs"]
mod server;

use serde_json::{Map, Value, json};

use self::server::{Answer, Server};

const SEEDS: u64 = 120;
const MANAGERS: [&str; 3] = ["one", "other", "third"];
const FIELDS: [&str; 4] = ["a", "b", "c", "d"];
const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

/// A small generator of its own, so that a seed means the same for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((word ^ (word >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }

    fn fields(&mut self) -> Map<String, Value> {
        let mut fields = Map::new();
        for field in FIELDS {
            if self.below(2) == 0 {
                fields.insert(field.to_owned(), self.below(2).to_string().into());
            }
        }
        fields
    }
}

#[derive(Debug, Clone)]
enum Step {
    Apply(&'static str, bool, Value),
    Patch(&'static str, Value),
    /// What the manager has updated becomes what it applied.
    Convert(&'static str),
}

fn wanted(random: &mut Random) -> Value {
    let mut wanted = json!({"data": random.fields(), "metadata": {"labels": random.fields()}});
    if random.below(3) == 0 {
        wanted["metadata"]["finalizers"] = json!([format!("example.org/{}", random.below(2))]);
    }
    if random.below(4) == 0 {
        wanted["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": format!("uid-{}", random.below(2)),
        }]);
    }
    // None at all is not the same as an empty one.
    for pointer in ["/data", "/metadata/labels"] {
        if wanted.pointer(pointer).unwrap().as_object().unwrap().is_empty() {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            let parent = wanted.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            parent.remove(field);
        }
    }
    wanted
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random(seed);
    let count = 4 + random.below(10);
    (0..count)
        .map(|_| {
            let manager = MANAGERS[random.below(3)];
            match random.below(10) {
                0..=5 => Step::Apply(manager, random.below(2) == 0, wanted(&mut random)),
                6..=7 => {
                    let mut change = json!({"data": random.fields()});
                    let field = FIELDS[random.below(4)];
                    change["data"][field] = [Value::Null, "2".into()][random.below(2)].clone();
                    Step::Patch(manager, change)
                }
                _ => Step::Convert(manager),
            }
        })
        .collect()
}

/// What can be compared of an answer.
fn shown(answer: &Answer) -> Value {
    let body = &answer.body;
    let mut causes: Vec<Value> = body["details"]["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| json!([cause["reason"], cause["field"]]))
        .collect();
    causes.sort_by_key(Value::to_string);
    let metadata = &body["metadata"];
    json!({
        "code": answer.code, "reason": answer.reason(), "causes": causes, "data": body["data"],
        "labels": metadata["labels"], "finalizers": metadata["finalizers"], "owners": metadata["ownerReferences"],
    })
}

fn of_object(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = "v1".into();
    object["kind"] = "ConfigMap".into();
    object["metadata"]["name"] = name.into();
    object
}

/// Its entries of operation `Update` become one of `Apply`, as the bridge does it before its first apply.
fn converted(object: &Value, manager: &str) -> Option<Value> {
    let mut entries = object["metadata"]["managedFields"].as_array()?.clone();
    let applies = |entry: &Value| entry["manager"] == manager && entry["operation"] == "Apply";
    let at = entries
        .iter()
        .position(|entry| entry["manager"] == manager && entry["operation"] == "Update")?;
    // Of what is around fields the fake notes no owner.
    if entries[at]["fieldsV1"] == json!({"f:data": {}}) {
        return None;
    }
    if entries.iter().any(applies) {
        return None;
    }
    entries[at]["operation"] = "Apply".into();
    Some(json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries}]))
}

async fn play(server: &Server, name: &str, steps: &[Step]) -> Vec<Value> {
    let path = format!("{COLLECTION}/{name}");
    let first = of_object(&json!({"data": {"a": "0", "b": "0"}}), name);
    let made = server
        .post(&format!("{COLLECTION}?fieldManager=one"), &first)
        .await;
    let mut answers = vec![shown(&made)];
    for step in steps {
        let answer = match step {
            Step::Apply(manager, force, wanted) => {
                let path = format!("{path}?fieldManager={manager}&force={force}");
                server.apply(&path, &of_object(wanted, name)).await
            }
            Step::Patch(manager, change) => {
                server
                    .merge_patch(&format!("{path}?fieldManager={manager}"), change)
                    .await
            }
            Step::Convert(manager) => {
                let read = server.get(&path).await;
                match converted(&read.body, manager) {
                    Some(change) => server.json_patch(&path, &change).await,
                    None => continue,
                }
            }
        };
        answers.push(shown(&answer));
    }
    answers
}

#[tokio::test]
async fn fake_and_real_leave_the_same_of_an_object() {
    let real = Server::bare_real().await;
    let count = std::env::var("FAKE_KUBE_SEEDS").map_or(SEEDS, |count| count.parse().unwrap());
    let (mut different, mut refused) = (Vec::new(), 0);
    for seed in 0..count {
        let steps = steps(seed);
        let name = format!("seed-{seed}");
        let ours = play(&Server::bare_fake(), &name, &steps).await;
        let theirs = play(&real, &name, &steps).await;
        refused += theirs.iter().filter(|answer| answer["code"] == 409).count();
        if ours != theirs {
            let at = ours.iter().zip(&theirs).position(|(one, other)| one != other);
            let at = at.unwrap_or_else(|| ours.len().min(theirs.len()));
            different.push(format!(
                "seed {seed}, answer {at} of {steps:#?}\n  fake: {:?}\n  real: {:?}",
                ours.get(at),
                theirs.get(at)
            ));
        }
    }
    let shown = different.iter().take(2).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(
        different.is_empty(),
        "{} of {count} differ:\n{shown}",
        different.len()
    );
    assert!(refused > 20, "only {refused} applies were refused");
}
