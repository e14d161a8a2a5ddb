use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    ActiveFunction, Collection, Composition, Content, PipelineCheck, Revision, RevisionStep, RevisionUpdate,
    Validity, check_pipeline, plan,
};
use crate::controller_ref::ControllerRef;

fn composition(image: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {
            "name": "small",
            "uid": "c-1",
            "labels": { "channel": "stable" },
            "annotations": { "note": "n", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        },
        "spec": {
            "compositeTypeRef": { "apiVersion": "example.org/v1", "kind": "App" },
            "mode": "Pipeline",
            "pipeline": [
                { "step": "a", "functionRef": { "name": "f" }, "input": { "kind": "In", "image": image, "empty": {} } },
            ],
        },
    })
}

/// A control plane of one composition and its revisions.
struct Cluster {
    composition: Value,
    revisions: Vec<Value>,
    written: usize,
}

impl Cluster {
    fn new() -> Self {
        Self {
            composition: composition("a"),
            revisions: Vec::new(),
            written: 0,
        }
    }

    fn plan(&self, collection: Collection<'_>) -> Vec<RevisionStep> {
        let revisions: Vec<Revision> = self.revisions.iter().map(Revision::read).collect();
        plan(&Composition::read(&self.composition), &revisions, collection)
    }

    fn carry_out(&mut self, step: RevisionStep) {
        self.written += 1;
        let version = json!(self.written.to_string());
        match step {
            RevisionStep::Create(mut object) => {
                object["metadata"]["uid"] = json!(format!("r-{}", self.written));
                object["metadata"]["resourceVersion"] = version;
                let name = &object["metadata"]["name"];
                assert!(
                    self.revisions
                        .iter()
                        .all(|other| other["metadata"]["name"] != *name)
                );
                self.revisions.push(object);
            }
            RevisionStep::Update(update) => {
                let mut revisions = self.revisions.iter_mut();
                let object = revisions
                    .find(|object| object["metadata"]["uid"] == update.uid.as_str())
                    .unwrap();
                assert_eq!(
                    object["metadata"]["resourceVersion"],
                    update.resource_version.as_str()
                );
                *object = update.applied_to(object);
                object["metadata"]["resourceVersion"] = version;
            }
            RevisionStep::Delete { uid, .. } => {
                self.revisions
                    .retain(|object| object["metadata"]["uid"] != uid.as_str());
            }
            RevisionStep::Await { name } => panic!("{name} is awaited"),
        }
    }

    fn settle(&mut self) {
        for _ in 0..3 {
            for step in self.plan(Collection::Off) {
                self.carry_out(step);
            }
        }
        assert_eq!(self.plan(Collection::Off), []);
    }

    fn edit(&mut self, image: &str) {
        self.composition["spec"]["pipeline"][0]["input"]["image"] = json!(image);
        self.settle();
    }

    /// Image and number of each revision, in the order of their making.
    fn numbers(&self) -> Vec<(String, i64)> {
        let image = |object: &Value| {
            object["spec"]["pipeline"][0]["input"]["image"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let revisions = self.revisions.iter();
        revisions
            .map(|object| (image(object), object["spec"]["revision"].as_i64().unwrap()))
            .collect()
    }
}

fn numbers<const N: usize>(of: [(&str, i64); N]) -> Vec<(String, i64)> {
    of.map(|(image, number)| (image.to_owned(), number)).into()
}

#[test]
fn the_first_revision_is_a_copy_with_number_one() {
    let mut cluster = Cluster::new();
    let digest = Content::of(&Composition::read(&cluster.composition)).digest();
    let mut spec = cluster.composition["spec"].clone();
    spec["revision"] = json!(1);
    let expected = json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositionRevision",
        "metadata": {
            "name": format!("small-{}", &digest[..7]),
            "labels": {
                "channel": "stable",
                "crossplane.io/composition-name": "small",
                "crossplane.io/composition-hash": &digest[..63],
            },
            "annotations": { "note": "n" },
            "ownerReferences": [{
                "apiVersion": "apiextensions.crossplane.io/v1",
                "kind": "Composition",
                "name": "small",
                "uid": "c-1",
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    });
    assert_eq!(cluster.plan(Collection::Off), [RevisionStep::Create(expected)]);
    cluster.settle();
    assert_eq!(cluster.written, 1);
}

#[test]
fn going_back_renumbers_the_old_revision() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.edit("b");
    assert_eq!(cluster.numbers(), numbers([("a", 1), ("b", 2)]));
    cluster.edit("a");
    assert_eq!(cluster.numbers(), numbers([("a", 3), ("b", 2)]));
    cluster.edit("b");
    assert_eq!(cluster.numbers(), numbers([("a", 3), ("b", 4)]));
}

#[test]
fn a_revision_of_crossplane_is_adopted() {
    let mut cluster = Cluster::new();
    cluster.settle();
    let revision = &mut cluster.revisions[0];
    // Its digest is another one, and it copies what kubectl notes.
    revision["metadata"]["name"] = json!("small-abcdef0");
    revision["metadata"]["labels"]["crossplane.io/composition-hash"] = json!("abcdef0");
    revision["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{ }");
    revision["spec"].as_object_mut().unwrap().remove("mode");
    cluster.composition["spec"]["pipeline"][0]["credentials"] = json!([]);
    cluster.composition["spec"]["pipeline"][0]["requirements"] = json!({ "requiredResources": [] });
    assert_eq!(cluster.plan(Collection::Off), []);
}

#[test]
fn an_empty_field_of_an_input_is_content() {
    let mut changed = composition("a");
    changed["spec"]["pipeline"][0]["input"]
        .as_object_mut()
        .unwrap()
        .remove("empty");
    let content = |object: &Value| Content::of(&Composition::read(object));
    assert_ne!(content(&changed), content(&composition("a")));
}

#[test]
fn labels_that_people_put_on_a_revision_mint_no_other() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.revisions[0]["metadata"]["labels"]["approved"] = json!("yes");
    assert_eq!(cluster.plan(Collection::Off), []);
}

#[test]
fn a_tampered_revision_is_replaced_under_a_longer_name() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.revisions[0]["spec"]["pipeline"][0]["functionRef"]["name"] = json!("other");
    cluster.settle();
    let names: Vec<&str> = cluster
        .revisions
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names[1].starts_with(names[0]) && names[1].len() == names[0].len() + 1);
    assert_eq!(cluster.numbers(), numbers([("a", 1), ("a", 2)]));
}

#[test]
fn restored_revisions_are_adopted_with_their_numbers() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.edit("b");
    for revision in &mut cluster.revisions {
        revision["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("ownerReferences");
    }
    cluster.composition["metadata"]["uid"] = json!("c-2");
    let steps = cluster.plan(Collection::Off);
    let owner = Composition::read(&cluster.composition).controller_ref();
    let adopted = |revision: &Value| {
        let revision = Revision::read(revision);
        RevisionStep::Update(RevisionUpdate {
            name: revision.name,
            uid: revision.uid,
            resource_version: revision.resource_version,
            controller: Some(owner.clone()),
            number: None,
        })
    };
    assert_eq!(
        steps,
        [adopted(&cluster.revisions[1]), adopted(&cluster.revisions[0])]
    );
    cluster.settle();
    assert_eq!(cluster.numbers(), numbers([("a", 1), ("b", 2)]));
}

#[test]
fn revisions_of_a_deleted_namesake_are_adopted() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.composition["metadata"]["uid"] = json!("c-2");
    cluster.settle();
    let owner = ControllerRef::of(&cluster.revisions[0]).unwrap();
    assert_eq!((owner.uid.as_str(), cluster.revisions.len()), ("c-2", 1));
}

#[test]
fn a_revision_of_another_owner_is_left_alone() {
    let mut cluster = Cluster::new();
    cluster.settle();
    let owner = &mut cluster.revisions[0]["metadata"]["ownerReferences"][0];
    owner["kind"] = json!("ConfigMap");
    owner["uid"] = json!("other");
    let before = cluster.revisions[0].clone();
    cluster.settle();
    assert_eq!(cluster.revisions[0], before);
    assert_eq!(cluster.numbers(), numbers([("a", 1), ("a", 1)]));
}

#[test]
fn a_name_that_is_being_freed_is_awaited() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.revisions[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let name = cluster.revisions[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(cluster.plan(Collection::Off), [RevisionStep::Await { name }]);
}

#[test]
fn a_composition_that_is_being_deleted_gets_no_revisions() {
    let mut cluster = Cluster::new();
    cluster.composition["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(cluster.plan(Collection::Off), []);
}

#[test]
fn old_revisions_that_nobody_refers_to_are_collected() {
    let mut cluster = Cluster::new();
    for image in ["a", "b", "c", "d"] {
        cluster.edit(image);
    }
    let name = |of: usize| {
        cluster.revisions[of]["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let collected = |limit, referenced: &BTreeSet<String>| -> Vec<String> {
        let steps = cluster.plan(Collection::Beyond { limit, referenced });
        let names = steps.into_iter().map(|step| match step {
            RevisionStep::Delete { name, .. } => name,
            step => panic!("{step:?}"),
        });
        names.collect()
    };
    let nobody = BTreeSet::new();
    assert_eq!(collected(4, &nobody), [""; 0]);
    assert_eq!(collected(2, &nobody), [name(1), name(0)]);
    assert_eq!(collected(2, &[name(0)].into()), [name(1)]);
    assert_eq!(collected(1, &nobody), [name(2), name(1), name(0)]);
    assert_eq!(collected(0, &nobody), collected(1, &nobody));
    assert_eq!(cluster.plan(Collection::Off), []);
}

#[test]
fn nothing_is_collected_while_a_revision_is_due() {
    let mut cluster = Cluster::new();
    for image in ["a", "b", "c"] {
        cluster.edit(image);
    }
    cluster.composition["spec"]["pipeline"][0]["input"]["image"] = json!("d");
    let nobody = BTreeSet::new();
    let steps = cluster.plan(Collection::Beyond {
        limit: 1,
        referenced: &nobody,
    });
    assert!(matches!(steps[..], [RevisionStep::Create(_)]), "{steps:?}");
}

proptest! {
    #[test]
    fn any_order_of_revisions_gives_one_plan(
        edits in proptest::collection::vec(0..4_u8, 1..8),
        seed in any::<prop::sample::Index>(),
        next in 0..4_u8,
    ) {
        let mut cluster = Cluster::new();
        for edit in edits {
            cluster.edit(&edit.to_string());
        }
        cluster.composition["spec"]["pipeline"][0]["input"]["image"] = json!(next.to_string());
        let nobody = BTreeSet::new();
        let collection = Collection::Beyond { limit: 2, referenced: &nobody };
        let expected = cluster.plan(collection);
        let by = seed.index(cluster.revisions.len());
        cluster.revisions.rotate_left(by);
        cluster.revisions.reverse();
        prop_assert_eq!(cluster.plan(collection), expected);
    }

    #[test]
    fn the_current_content_has_the_highest_number(edits in proptest::collection::vec(0..4_u8, 1..12)) {
        let mut cluster = Cluster::new();
        let mut contents = BTreeSet::new();
        for edit in edits {
            contents.insert(edit);
            cluster.edit(&edit.to_string());
            let numbers = cluster.numbers();
            let highest = numbers.iter().max_by_key(|(_, number)| *number).unwrap();
            prop_assert_eq!(&highest.0, &edit.to_string());
            prop_assert_eq!(numbers.len(), contents.len());
        }
    }
}

fn function(name: &str, capabilities: &[&str]) -> ActiveFunction {
    ActiveFunction {
        function: name.to_owned(),
        revision: format!("{name}-1"),
        capabilities: capabilities.iter().map(|one| (*one).to_owned()).collect(),
    }
}

fn revision_with(functions: &[&str]) -> Revision {
    let steps: Vec<Value> = functions
        .iter()
        .map(|function| json!({ "step": function, "functionRef": { "name": function } }))
        .collect();
    Revision::read(&json!({ "spec": { "pipeline": steps } }))
}

#[test]
fn a_pipeline_is_valid_unless_a_function_declares_otherwise() {
    let revision = revision_with(&["f", "g"]);
    let valid = [
        vec![],
        vec![function("f", &[]), function("g", &["composition"])],
        vec![
            function("f", &["operation", "Compo-sition"]),
            function("other", &["operation"]),
        ],
    ];
    for active in valid {
        assert_eq!(check_pipeline(&revision, &active), PipelineCheck::Valid);
    }
    let missing = check_pipeline(&revision, &[function("f", &["operation"])]);
    let message = r#"function "f" (active revision "f-1") is missing required capabilities: composition"#;
    assert_eq!(
        missing,
        PipelineCheck::MissingCapabilities {
            message: message.into()
        }
    );
    assert_eq!(missing.reason(), "MissingCapabilities");
    let both = check_pipeline(
        &revision,
        &[function("g", &["operation"]), function("f", &["operation"])],
    );
    let message = format!("[{message}, {}]", message.replace("\"f", "\"g"));
    assert_eq!(both, PipelineCheck::MissingCapabilities { message });
}

#[test]
fn the_active_revision_of_a_function_is_read() {
    let mut object = json!({
        "metadata": { "name": "f-1", "labels": { "pkg.crossplane.io/package": "f" } },
        "spec": { "desiredState": "Active" },
        "status": { "capabilities": ["composition"] },
    });
    assert_eq!(
        ActiveFunction::read(&object),
        Some(function("f", &["composition"]))
    );
    object["spec"]["desiredState"] = json!("Inactive");
    assert_eq!(ActiveFunction::read(&object), None);
}

#[test]
fn the_status_of_a_revision_says_whether_it_is_valid() {
    let validity =
        |conditions: Value| Revision::read(&json!({ "status": { "conditions": conditions } })).validity;
    let condition = |status: &str, message: &str| json!([{ "type": "ValidPipeline", "status": status, "message": message }]);
    assert_eq!(validity(Value::Null), Validity::Unknown);
    assert_eq!(
        validity(json!([{ "type": "Synced", "status": "True" }])),
        Validity::Unknown
    );
    assert_eq!(validity(condition("True", "")), Validity::Valid);
    assert_eq!(
        validity(condition("False", "why")),
        Validity::Invalid("why".into())
    );
    assert_eq!(
        validity(condition("False", "")),
        Validity::Invalid("pipeline status unknown".into())
    );
}
