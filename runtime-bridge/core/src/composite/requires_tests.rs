use proptest::{collection::btree_map, option, prelude::*};

use super::*;

fn selector(kind: &str, matching: ResourceMatch, namespace: Option<&str>) -> ResourceSelector {
    ResourceSelector {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        matching,
        namespace: namespace.map(str::to_owned),
    }
}

fn steps() -> StepRequirements {
    let labels = ResourceMatch::Labels([("a".to_owned(), "b".to_owned())].into());
    let first = Requirements {
        extra_resources: [(
            "old".to_owned(),
            selector("Node", ResourceMatch::Labels([].into()), None),
        )]
        .into(),
        resources: [
            (
                "map".to_owned(),
                selector("ConfigMap", ResourceMatch::Name("m".to_owned()), Some("ns")),
            ),
            ("all".to_owned(), selector("ConfigMap", labels, None)),
        ]
        .into(),
        ..Requirements::default()
    };
    let schema = SchemaSelector {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
    };
    let second = Requirements {
        schemas: [("s".to_owned(), schema)].into(),
        ..Requirements::default()
    };
    [("2".to_owned(), second), ("1".to_owned(), first)]
        .into_iter()
        .collect()
}

#[test]
fn requirements_are_written_by_step_and_name() {
    let text = encode(&steps()).unwrap();
    let expected = concat!(
        r#"[{"step":"1","name":"old","as":"extra","apiVersion":"v1","kind":"Node","matchLabels":{}},"#,
        r#"{"step":"1","name":"all","apiVersion":"v1","kind":"ConfigMap","matchLabels":{"a":"b"}},"#,
        r#"{"step":"1","name":"map","apiVersion":"v1","kind":"ConfigMap","matchName":"m","namespace":"ns"},"#,
        r#"{"step":"2","name":"s","as":"schema","apiVersion":"apps/v1","kind":"Deployment"}]"#,
    );
    assert_eq!(text, expected);
    let read = decode(Some(&text));
    assert_eq!(
        read,
        Required {
            kinds: steps().kinds(),
            steps: steps(),
            problem: None
        }
    );
}

#[test]
fn objects_are_selected_by_old_and_new_requirements() {
    let steps = steps();
    let kinds: Vec<&str> = steps.selectors().map(|selector| &*selector.kind).collect();
    assert_eq!(kinds, ["Node", "ConfigMap", "ConfigMap"]);
}

#[test]
fn what_is_added_takes_free_names_alone() {
    let of = |step: &str, name: &str, kind: &str| -> StepRequirements {
        let selector = selector(kind, ResourceMatch::Labels([].into()), None);
        let resources = [(name.to_owned(), selector)].into();
        let requirements = Requirements {
            resources,
            ..Requirements::default()
        };
        [(step.to_owned(), requirements)].into_iter().collect()
    };
    let mut all = of("1", "a", "Pod");
    all.add(&of("1", "a", "Node"));
    assert_eq!(all, of("1", "a", "Pod"));
    all.add(&of("1", "b", "Node"));
    all.add(&of("2", "a", "Node"));
    let names: Vec<(&str, Vec<&String>)> = all
        .iter()
        .map(|(step, all)| (step, all.resources.keys().collect()))
        .collect();
    assert_eq!(
        names,
        [
            ("1", vec![&"a".to_owned(), &"b".to_owned()]),
            ("2", vec![&"a".to_owned()])
        ]
    );
}

#[test]
fn nothing_required_is_no_annotation() {
    let mut none = StepRequirements::default();
    none.set("a", Requirements::default());
    assert_eq!(encode(&none), None);
    assert_eq!(decode(None), Required::default());
}

#[test]
fn beyond_the_limit_kinds_alone_are_kept() {
    let mut long = steps();
    let many = (0..100).map(|i| {
        (
            format!("requirement-{i}"),
            selector("Pod", ResourceMatch::Name("p".repeat(60)), None),
        )
    });
    long.set(
        "3",
        Requirements {
            resources: many.collect(),
            ..Requirements::default()
        },
    );
    let text = encode(&long).unwrap();
    let expected = concat!(
        r#"[{"apiVersion":"v1","kind":"ConfigMap"},{"apiVersion":"v1","kind":"Node"},"#,
        r#"{"apiVersion":"v1","kind":"Pod"},{"as":"schema","apiVersion":"apps/v1","kind":"Deployment"}]"#,
    );
    assert_eq!(text, expected);
    let read = decode(Some(&text));
    assert_eq!(
        read,
        Required {
            kinds: long.kinds(),
            ..Required::default()
        }
    );
}

#[test]
fn a_bad_text_is_empty_and_reported() {
    for text in ["", "{", "{}", "text"] {
        let read = decode(Some(text));
        assert_eq!((read.steps, read.kinds), Default::default(), "{text}");
        let problem = read.problem.unwrap().to_string();
        assert!(
            problem.starts_with("cannot read annotation crossbridge.dev/requires: "),
            "{problem}"
        );
    }
}

#[test]
fn a_bad_entry_spares_the_others() {
    let text =
        r#"[{"kind":1},{"as":"what","apiVersion":"v1","kind":"Pod"},{"apiVersion":"v1","kind":"Node"}]"#;
    let read = decode(Some(text));
    assert!(read.problem.is_some());
    assert_eq!(
        read.kinds.resources,
        BTreeSet::from([RequiredKind::new("v1", "Node")])
    );
}

fn arbitrary() -> impl Strategy<Value = StepRequirements> {
    let labels = btree_map("[a-c]", "[a-c]?", 0..3);
    let matching = prop_oneof![
        "[a-z]{1,5}".prop_map(ResourceMatch::Name),
        labels.prop_map(ResourceMatch::Labels)
    ];
    let selector = ("[a-z]{1,3}", "[A-C]", matching, option::of("[a-z]{1,3}")).prop_map(
        |(api_version, kind, matching, namespace)| ResourceSelector {
            api_version,
            kind,
            matching,
            namespace,
        },
    );
    let schema = ("[a-z]{1,3}", "[A-C]").prop_map(|(api_version, kind)| SchemaSelector { api_version, kind });
    let selectors = || btree_map("\\PC{0,4}", selector.clone(), 0..4);
    let requirements = (selectors(), selectors(), btree_map("[a-z]{0,4}", schema, 0..3)).prop_map(
        |(extra_resources, resources, schemas)| Requirements {
            extra_resources,
            resources,
            schemas,
        },
    );
    btree_map("\\PC{0,4}", requirements, 0..4).prop_map(|steps| steps.into_iter().collect())
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(steps in arbitrary()) {
        let text = encode(&steps);
        let expected = Required { kinds: steps.kinds(), steps, problem: None };
        prop_assert_eq!(decode(text.as_deref()), expected);
    }

    #[test]
    fn no_text_is_too_strange_to_be_read(text in ".{0,60}") {
        decode(Some(&text));
    }
}
