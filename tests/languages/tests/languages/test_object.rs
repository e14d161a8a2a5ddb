//! The objects that the plugins manage, and their state.

use std::path::Path;

use bridge_languages::Language;
use kube::{Api, api::DynamicObject, runtime::wait::await_condition};
use serde_json::{Value, json};

use crate::{
    LIMIT,
    processes::{Cluster, group},
    upstream::externals,
};

/// An object that a plugin manages, and the change that the test applies.
pub(crate) struct TestObject {
    pub(crate) language: Language,
    pub(crate) kind: &'static str,
    pub(crate) parameters: Value,
    pub(crate) change: Value,
    /// Its plugin is killed while it is being created.
    pub(crate) takes_a_while: bool,
}

pub(crate) fn test_objects() -> [TestObject; 6] {
    let object = |language, kind, parameters, change, takes_a_while| TestObject {
        language,
        kind,
        parameters,
        change,
        takes_a_while,
    };
    let [python, go, typescript] = Language::ALL;
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

    pub(crate) fn group(&self) -> &'static str {
        group(self.language)
    }

    /// How many were ever created, as far as the upstream remembers it.
    pub(crate) fn count(&self, folder: &Path) -> usize {
        let all = externals(self.language, folder).into_iter();
        all.filter(|external| external.kind == self.kind).count()
    }

    pub(crate) fn api(&self, cluster: &Cluster) -> Api<DynamicObject> {
        cluster.api(self.group(), "v1alpha1", self.kind)
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
