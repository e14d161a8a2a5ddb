use super::*;

#[allow(clippy::needless_pass_by_value)] // Tests read better so.
fn violation(limits: Limits, answer: RunResponse) -> Option<Violation> {
    let input = RunInput {
        limits,
        ..steps(["a"])
    };
    let (outcome, _) = run(input, find, |_, _, _| Ok(answer.clone()));
    match outcome.result {
        Ok(_) => None,
        Err(RunFailure::Step {
            why: StepFailure::Violation { why, .. },
            ..
        }) => Some(why),
        Err(other) => panic!("{other}"),
    }
}

fn message(limits: Limits, answer: RunResponse) -> Option<String> {
    violation(limits, answer).map(|violation| violation.to_string())
}

fn of_object(object: Value) -> RunResponse {
    let resources = [("rn".to_owned(), Resource::of(object))].into();
    RunResponse {
        desired: DesiredState {
            composite: None,
            resources,
        },
        ..RunResponse::default()
    }
}

#[test]
fn the_usual_limits_are_those_of_the_documents() {
    let limits = Limits::default();
    assert_eq!(
        (
            limits.composed,
            limits.object_bytes,
            limits.nesting,
            limits.requirements
        ),
        (2_000, 1_048_576, 100, 200)
    );
    assert_eq!((limits.required_objects, limits.results), (10_000, 100));
}

#[test]
fn a_violation_names_step_and_function() {
    let (outcome, _) = run(steps(["a"]), find, |_, _, _| {
        Ok(of_object(json!({"kind": "Pod"})))
    });
    assert_eq!(
        outcome.result.unwrap_err().to_string(),
        "cannot run Composition pipeline step \"a\": cannot use the response of Function \"function-a\": desired resource \"rn\" has no apiVersion: the function must set apiVersion and kind"
    );
}

#[test]
fn composed_resources_are_counted() {
    let limits = Limits {
        composed: 2,
        ..Limits::default()
    };
    let answer = |desired: DesiredState| RunResponse {
        desired,
        ..RunResponse::default()
    };
    assert_eq!(message(limits, answer(desiring(["a", "b"]))), None);
    assert_eq!(
        message(limits, answer(desiring(["a", "b", "c"]))).unwrap(),
        "it desires 3 composed resources, more than 2: compose fewer, or nest composite resources"
    );
}

#[test]
fn an_object_has_a_size_in_bytes_of_json() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "x": "ä"});
    let size = object.to_string().len();
    let limits = |object_bytes| Limits {
        object_bytes,
        ..Limits::default()
    };
    assert_eq!(message(limits(size), of_object(object.clone())), None);
    let text = format!("is larger than {} bytes: no API server would store it", size - 1);
    assert_eq!(
        message(limits(size - 1), of_object(object.clone())),
        Some(format!("desired resource \"rn\" {text}"))
    );
    let desired = DesiredState {
        composite: Some(Resource::of(object)),
        ..DesiredState::default()
    };
    let answer = RunResponse {
        desired,
        ..RunResponse::default()
    };
    assert_eq!(
        message(limits(size - 1), answer),
        Some(format!("desired composite resource {text}"))
    );
}

#[test]
fn nesting_counts_maps_and_lists() {
    let limits = |nesting| Limits {
        nesting,
        ..Limits::default()
    };
    let object = || of_object(json!({"apiVersion": "v1", "kind": "Pod", "x": [{"y": 1}]}));
    assert_eq!(message(limits(3), object()), None);
    assert_eq!(
        message(limits(2), object()).unwrap(),
        "desired resource \"rn\" is nested deeper than 2 maps and lists"
    );
}

#[test]
fn requirements_and_what_they_select_are_counted() {
    let one = Limits {
        requirements: 1,
        ..Limits::default()
    };
    let two = Requirements {
        extra_resources: [("x".to_owned(), by_labels())].into(),
        ..requiring([("y", by_labels())])
    };
    assert_eq!(
        message(one, response(two.clone())).unwrap(),
        "it requires 2 selections of resources and schemas, more than 1: require fewer"
    );
    let objects = |required_objects| Limits {
        required_objects,
        ..Limits::default()
    };
    assert_eq!(message(objects(6), response(two.clone())), None);
    assert_eq!(
        message(objects(5), response(two)).unwrap(),
        "what it requires selects more than 5 objects: select by namespace, name or labels"
    );
}

#[test]
fn results_are_counted() {
    let limits = Limits {
        results: 1,
        ..Limits::default()
    };
    let answer = |count: usize| RunResponse {
        results: vec![result(Severity::Normal, "m"); count],
        ..RunResponse::default()
    };
    assert_eq!(message(limits, answer(1)), None);
    assert_eq!(
        message(limits, answer(2)).unwrap(),
        "it returned 2 results, more than 1: return fewer"
    );
}

#[test]
fn render_passes_on_objects_without_kind() {
    let limits = Limits {
        strictness: Strictness::Render,
        ..Limits::default()
    };
    assert_eq!(message(limits, of_object(Value::Null)), None);
    assert!(message(Limits::default(), of_object(Value::Null)).is_some());
}

#[test]
fn a_fatal_result_matters_more_than_what_is_desired() {
    let fatal = RunResponse {
        results: vec![result(Severity::Fatal, "m")],
        ..of_object(Value::Null)
    };
    let (outcome, _) = run(steps(["a"]), find, |_, _, _| Ok(fatal.clone()));
    assert!(matches!(outcome.result, Err(RunFailure::Fatal { .. })));
}
