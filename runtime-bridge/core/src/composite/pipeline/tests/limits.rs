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
    assert_eq!(
        (limits.required_objects, limits.results, limits.conditions),
        (10_000, 100, 100)
    );
    assert_eq!(
        (limits.condition_type_bytes, limits.resource_name_bytes),
        (316, 1_024)
    );
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
fn conditions_are_counted_those_of_a_fatal_response_too() {
    let limits = Limits {
        conditions: 2,
        ..Limits::default()
    };
    let answer = |severity, count: usize| RunResponse {
        results: vec![result(severity, "m")],
        conditions: vec![condition("Sized"); count],
        ..RunResponse::default()
    };
    assert_eq!(message(limits, answer(Severity::Normal, 2)), None);
    for severity in [Severity::Normal, Severity::Fatal] {
        assert_eq!(
            message(limits, answer(severity, 3)).unwrap(),
            "it returned 3 conditions, more than 2: return fewer"
        );
    }
}

#[test]
fn a_type_of_a_condition_is_neither_empty_nor_too_long() {
    let answer = |severity, type_: &str| RunResponse {
        results: vec![result(severity, "m")],
        conditions: vec![condition("Sized"), condition(type_)],
        ..RunResponse::default()
    };
    let usual = Limits::default();
    // Of two bytes each.
    let longest = "ä".repeat(158);
    assert_eq!(message(usual, answer(Severity::Normal, &longest)), None);
    for severity in [Severity::Normal, Severity::Fatal] {
        assert_eq!(
            message(usual, answer(severity, &format!("{longest}x"))),
            Some(format!(
                "it returned a condition of type \"{}…\", longer than 316 bytes: shorten the type",
                "ä".repeat(30)
            ))
        );
        assert_eq!(
            message(usual, answer(severity, "")).unwrap(),
            "it returned a condition with an empty type: the function must set it"
        );
    }
    // What is short is shown whole.
    let limits = |condition_type_bytes| Limits {
        condition_type_bytes,
        ..usual
    };
    let type_ = "x".repeat(64);
    assert_eq!(message(limits(64), answer(Severity::Normal, &type_)), None);
    assert_eq!(
        message(limits(63), answer(Severity::Normal, &type_)),
        Some(format!(
            "it returned a condition of type \"{type_}\", longer than 63 bytes: shorten the type"
        ))
    );
}

#[test]
fn a_composition_resource_name_is_neither_empty_nor_too_long() {
    let answer = |name: &str| RunResponse {
        desired: desiring(["a", name]),
        ..RunResponse::default()
    };
    let usual = Limits::default();
    let longest = "n".repeat(1_024);
    assert_eq!(message(usual, answer(&longest)), None);
    let too_long = format!("{longest}n");
    let text = format!(
        "it desires a resource of composition resource name \"{}…\", longer than 1024 bytes: shorten the name",
        "n".repeat(61)
    );
    assert_eq!(message(usual, answer(&too_long)), Some(text.clone()));
    assert_eq!(
        message(usual, answer("")).unwrap(),
        "it desires a resource with an empty composition resource name: the function must name it"
    );
    // Whatever else is wrong with the object, whose message would hold the whole name.
    let mut incomplete = answer("a");
    incomplete.desired.resources.insert(too_long, Resource::default());
    assert_eq!(message(usual, incomplete), Some(text));
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
