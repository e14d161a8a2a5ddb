use serde_json::json;

use super::*;

#[test]
fn all_fields_of_a_step_are_read() {
    let pipeline = json!([{
        "step": "s",
        "functionRef": {"name": "f"},
        "input": {"apiVersion": "x/v1", "kind": "Input", "n": 1.5, "null": null},
        "credentials": [
            {"name": "c", "source": "Secret", "secretRef": {"namespace": "ns", "name": "n"}},
            {"name": "none", "source": "None"},
        ],
        "requirements": {
            "requiredResources": [
                {"requirementName": "one", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "m"},
                {"requirementName": "some", "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"a": "b"}},
                {"requirementName": "all", "apiVersion": "v1", "kind": "ConfigMap", "namespace": ""},
            ],
            "requiredSchemas": [{"requirementName": "schema", "apiVersion": "v1", "kind": "Pod"}],
        },
    }]);
    let selector = |matching: ResourceMatch, namespace: Option<&str>| ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching,
        namespace: namespace.map(str::to_owned),
    };
    let labels = |labels: &[(&str, &str)]| {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ResourceMatch::Labels(labels.collect())
    };
    let schema = SchemaSelector {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
    };
    let expected = StepSpec {
        step: "s".to_owned(),
        function: "f".to_owned(),
        input: Some(json!({"apiVersion": "x/v1", "kind": "Input", "n": 1.5, "null": null})),
        credentials: vec![CredentialSpec {
            name: "c".to_owned(),
            namespace: "ns".to_owned(),
            secret: "n".to_owned(),
        }],
        requirements: Requirements {
            extra_resources: BTreeMap::new(),
            resources: [
                (
                    "one".to_owned(),
                    selector(ResourceMatch::Name("m".to_owned()), Some("ns")),
                ),
                ("some".to_owned(), selector(labels(&[("a", "b")]), None)),
                ("all".to_owned(), selector(labels(&[]), None)),
            ]
            .into(),
            schemas: [("schema".to_owned(), schema)].into(),
        },
    };
    let expected = PipelineSpec {
        steps: vec![expected],
    };
    assert_eq!(PipelineSpec::parse(&pipeline), Ok(expected.clone()));
    let required = expected.steps[0].requirements.clone();
    assert_eq!(
        expected.requirements(),
        [("s".to_owned(), required)].into_iter().collect()
    );
}

#[test]
fn what_is_wrong_is_said_of_the_step_by_name() {
    let step = |more: Value| {
        let mut step = json!({"step": "s", "functionRef": {"name": "f"}});
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!([step])
    };
    let both =
        json!({"requirementName": "r", "apiVersion": "v1", "kind": "Pod", "name": "n", "matchLabels": {}});
    let cases = [
        (
            json!(null),
            "an array of pipeline steps is required in Pipeline mode",
        ),
        (
            json!([]),
            "an array of pipeline steps is required in Pipeline mode",
        ),
        (
            json!([{"functionRef": {"name": "f"}}]),
            "cannot use pipeline step number 1: it has no name in field step",
        ),
        (
            json!(["s"]),
            "cannot use pipeline step number 1: it has no name in field step",
        ),
        (
            json!([{"step": "s"}]),
            "cannot use pipeline step \"s\": missing field `functionRef`",
        ),
        (
            step(json!({"functionRef": {}})),
            "cannot use pipeline step \"s\": missing field `name`",
        ),
        (
            step(json!({"credentials": [{"name": "c"}]})),
            "cannot use pipeline step \"s\": missing field `source`",
        ),
        (
            step(json!({"requirements": {"requiredResources": [both]}})),
            "cannot use pipeline step \"s\": requirement \"r\": name and matchLabels are mutually exclusive",
        ),
        (
            json!([{"step": "s", "functionRef": {"name": "f"}}, {"step": "s", "functionRef": {"name": "g"}}]),
            "cannot use pipeline step \"s\": another step has this name",
        ),
    ];
    for (pipeline, text) in cases {
        assert_eq!(PipelineSpec::parse(&pipeline).unwrap_err().to_string(), text);
    }
}
