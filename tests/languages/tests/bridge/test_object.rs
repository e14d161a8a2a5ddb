//! The objects that the plugins manage, and their state.

use std::{fs, path::Path};

use kube::{Api, api::DynamicObject, runtime::wait::await_condition};
use serde_json::{Value, json};

use crate::{Cluster, LIMIT};

/// An object that a plugin manages, and the change that the test applies.
pub(crate) struct TestObject {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) parameters: Value,
    pub(crate) change: Value,
    /// Its plugin is killed while it is being created.
    pub(crate) takes_a_while: bool,
}

pub(crate) fn test_objects() -> [TestObject; 6] {
    let object = |group, kind, parameters, change, takes_a_while| TestObject {
        group,
        kind,
        parameters,
        change,
        takes_a_while,
    };
    let (python, go, typescript) = ("garden.example.org", "press.example.org", "bakery.example.org");
    [
        object(
            python,
            "Bed",
            json!({ "soil": "loam", "metres": 9_007_199_254_740_993_i64 }),
            json!({ "soil": "clay" }),
            false,
        ),
        object(
            python,
            "Plant",
            json!({ "species": "basil", "growSeconds": 4 }),
            json!({ "waterMillilitres": 300 }),
            true,
        ),
        object(
            go,
            "Page",
            json!({ "text": "Hello!", "copies": 9_007_199_254_740_993_i64 }),
            json!({ "text": "Good morning!" }),
            false,
        ),
        object(
            go,
            "Book",
            json!({ "title": "Three Men in a Boat", "pages": 12 }),
            json!({ "pages": 16 }),
            true,
        ),
        object(
            typescript,
            "Recipe",
            json!({ "title": "Rye bread", "flourGrams": 9_007_199_254_740_993_i64, "steps": ["knead"] }),
            json!({ "steps": ["knead", "bake"] }),
            false,
        ),
        object(
            typescript,
            "Loaf",
            json!({ "grams": 250, "bakeSeconds": 4 }),
            json!({ "glaze": "egg" }),
            true,
        ),
    ]
}

impl TestObject {
    /// The others keep what was, so that a token is honoured for ever.
    pub(crate) fn deletes_files(&self) -> bool {
        matches!(self.kind, "Bed" | "Page" | "Book")
    }

    pub(crate) fn api(&self, cluster: &Cluster) -> Api<DynamicObject> {
        cluster.api(self.group, "v1alpha1", self.kind)
    }

    pub(crate) async fn until(
        &self,
        cluster: &Cluster,
        what: &str,
        holds: impl Fn(&DynamicObject) -> bool,
    ) -> DynamicObject {
        let api = self.api(cluster);
        let condition = await_condition(api.clone(), "one", |object: Option<&DynamicObject>| {
            object.is_some_and(&holds)
        });
        if let Ok(found) = tokio::time::timeout(LIMIT, condition).await {
            return found.expect("a watch").expect("an object");
        }
        let is = api.get("one").await.map(|object| object.data);
        panic!("{} is not {what}: {is:#?}", self.kind);
    }
}

pub(crate) fn condition<'a>(object: &'a DynamicObject, of: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|one| one["type"] == of)
}

pub(crate) fn is_true(object: &DynamicObject, of: &str) -> bool {
    condition(object, of).is_some_and(|condition| condition["status"] == "True")
}

/// How many resources of a kind exist, counted in their files.
pub(crate) fn count(folder: &Path, kind: &str) -> usize {
    let names = |below: &str| -> Vec<String> {
        let entries = fs::read_dir(folder.join(below)).map(|entries| entries.flatten().collect::<Vec<_>>());
        let names = entries.unwrap_or_default().into_iter();
        names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    match kind {
        // A process that is killed leaves a draft behind, which counts for nothing.
        "Page" | "Book" => {
            let names = names(&format!("{}s", kind.to_lowercase()));
            names.iter().filter(|name| !name.starts_with('.')).count()
        }
        // Every resource has one first version.
        "Recipe" | "Loaf" => {
            let below = if kind == "Loaf" { "loaves" } else { "recipes" };
            names(below)
                .iter()
                .filter(|name| name.ends_with(".1.json"))
                .count()
        }
        _ => {
            let query = format!(
                "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM {}s').fetchone()[0])",
                kind.to_lowercase()
            );
            let output = std::process::Command::new("python3")
                .args(["-c", &query])
                .arg(folder.join("garden.db"))
                .output()
                .expect("python3 runs");
            String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse()
                .expect("a number")
        }
    }
}
