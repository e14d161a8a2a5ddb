use super::*;

#[test]
fn a_function_that_requires_nothing_is_called_once() {
    let (outcome, trace) = run(steps(["a"]), nothing_is_looked_up, |_, _, _| {
        Ok(RunResponse::default())
    });
    assert_eq!((trace.calls.len(), outcome.requirements.is_empty()), (1, true));
}

#[test]
fn a_function_is_called_again_with_what_it_requires() {
    let schema = SchemaSelector {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
    };
    let required = Requirements {
        extra_resources: [("old".to_owned(), by_name("old"))].into(),
        schemas: [("schema".to_owned(), schema)].into(),
        ..requiring([
            ("one", by_name("one")),
            ("none", by_name("absent")),
            ("all", by_labels()),
        ])
    };
    let state = HiddenMap([("k".to_owned(), json!(1))].into_iter().collect());
    let answer = RunResponse {
        desired: desiring(["x"]),
        context: Some(state.clone()),
        requirements: required.clone(),
        results: vec![result(Severity::Normal, "m")],
        ..RunResponse::default()
    };
    let (outcome, trace) = run(steps(["a"]), find, |_, _, _| Ok(answer.clone()));
    assert_eq!(
        trace.looked,
        [[
            r#"v1 ConfigMap "ns/absent""#,
            r#"v1 ConfigMap "ns/old""#,
            r#"v1 ConfigMap "ns/one""#,
            "v1 ConfigMap with labels {}",
            "schema of v1 Pod",
        ]]
    );
    let [(_, first), (_, second)] = trace.calls.as_slice() else {
        panic!("{trace:?}")
    };
    assert_eq!(
        first,
        &RunRequest {
            context: Some(HiddenMap::default()),
            ..RunRequest::default()
        }
    );
    let expected = RunRequest {
        context: Some(state),
        extra_resources: [("old".to_owned(), vec![map("ns", "old")])].into(),
        required_resources: [
            ("one".to_owned(), vec![map("ns", "one")]),
            ("none".to_owned(), Vec::new()),
            (
                "all".to_owned(),
                vec![map("a", "a"), map("a", "b"), map("b", "a")],
            ),
        ]
        .into(),
        required_schemas: [("schema".to_owned(), None)].into(),
        ..RunRequest::default()
    };
    assert_eq!(second, &expected);
    assert_eq!(outcome.result, Ok(desiring(["x"])));
    assert_eq!(outcome.results.len(), 1, "those of the last call alone");
    assert_eq!(
        outcome.requirements,
        [("a".to_owned(), required)].into_iter().collect()
    );
}

#[test]
fn what_was_required_before_is_shown_at_once() {
    let required = requiring([("one", by_name("one"))]);
    let seeds: StepRequirements = [("a".to_owned(), required.clone())].into_iter().collect();
    let input = RunInput {
        seeds: seeds.clone(),
        ..steps(["a"])
    };
    let (outcome, trace) = run(input, find, |_, _, _| Ok(response(required.clone())));
    assert_eq!((trace.looked.len(), trace.calls.len()), (1, 1));
    assert_eq!(names_of(&trace.calls[0].1.required_resources["one"]), ["ns/one"]);
    assert_eq!(outcome.requirements, seeds);
}

#[test]
fn the_same_object_under_another_selector_needs_no_call() {
    let everywhere = ResourceSelector {
        namespace: None,
        ..by_name("one")
    };
    let seeds = [("a".to_owned(), requiring([("one", by_name("one"))]))]
        .into_iter()
        .collect();
    let (outcome, trace) = run(
        RunInput {
            seeds,
            ..steps(["a"])
        },
        find,
        |_, _, _| Ok(response(requiring([("one", everywhere.clone())]))),
    );
    assert_eq!((trace.looked.len(), trace.calls.len()), (2, 1));
    assert_eq!(outcome.requirements.of("a").unwrap().resources["one"], everywhere);
}

#[test]
fn what_is_required_no_longer_is_shown_once() {
    let seeds = [("a".to_owned(), requiring([("one", by_name("one"))]))]
        .into_iter()
        .collect();
    let input = RunInput {
        seeds,
        ..steps(["a"])
    };
    let (outcome, trace) = run(input, find, |_, _, _| Ok(RunResponse::default()));
    let shown: Vec<usize> = trace
        .calls
        .iter()
        .map(|(_, request)| request.required_resources.len())
        .collect();
    assert_eq!(shown, [1, 0]);
    assert!(outcome.requirements.is_empty());
}

#[test]
fn what_cannot_be_shown_of_the_run_before_is_left_out() {
    let before = requiring([("one", by_name("one")), ("bad", by_name("forbidden"))]);
    let seeds = [("a".to_owned(), before)].into_iter().collect();
    let input = RunInput {
        seeds,
        ..steps(["a"])
    };
    let (outcome, trace) = run(input, find, |_, _, _| {
        Ok(response(requiring([("one", by_name("one"))])))
    });
    assert_eq!(trace.calls.len(), 1);
    assert_eq!(
        trace.calls[0].1.required_resources.keys().collect::<Vec<_>>(),
        ["one"]
    );
    assert!(outcome.result.is_ok());
}

#[test]
fn what_the_composition_requires_is_in_every_call() {
    let mut input = steps(["a"]);
    input.steps.steps[0].requirements = requiring([("own", by_name("own")), ("both", by_name("first"))]);
    let asked = requiring([("more", by_name("more")), ("both", by_name("second"))]);
    let (outcome, trace) = run(input, find, |_, _, _| Ok(response(asked.clone())));
    let shown: Vec<Vec<String>> = trace
        .calls
        .iter()
        .map(|(_, request)| {
            request
                .required_resources
                .values()
                .flat_map(|items| names_of(items))
                .collect()
        })
        .collect();
    assert_eq!(
        shown,
        [vec!["ns/first", "ns/own"], vec!["ns/second", "ns/more", "ns/own"]]
    );
    assert_eq!(
        outcome.requirements,
        [("a".to_owned(), asked)].into_iter().collect()
    );
    assert_eq!(outcome.looked.len(), 4);
}

#[test]
fn a_look_up_serves_all_steps() {
    let mut input = steps(["a", "b"]);
    input.steps.steps[1].requirements = requiring([("x", by_name("one"))]);
    let (_, trace) = run(input, find, |_, _, _| {
        Ok(response(requiring([("one", by_name("one"))])))
    });
    assert_eq!(trace.looked, [[r#"v1 ConfigMap "ns/one""#]]);
    assert_eq!(trace.calls.len(), 4);
}

#[test]
fn functions_see_required_objects_without_our_annotations() {
    let object = json!({"metadata": {
        "name": "one", "managedFields": [], "annotations": {"crossbridge.dev/record": "{}"}, "resourceVersion": "1",
    }});
    let found = |_: &Lookup| Found::Resources(vec![Resource::of(object.clone())]);
    let answer = |_: &str, _, _: &RunRequest| Ok(response(requiring([("one", by_name("one"))])));
    let (_, trace) = run(steps(["a"]), found, answer);
    let shown = json!({"metadata": {"name": "one", "resourceVersion": "1"}});
    assert_eq!(trace.calls[1].1.required_resources["one"], [Resource::of(shown)]);
}

#[test]
fn six_calls_are_the_most() {
    let required = |times: usize| requiring([("one", by_name(&format!("object-{times}")))]);
    let settling_at = |last: usize| {
        run(steps(["a"]), find, |_, times, _| {
            Ok(response(required(times.min(last))))
        })
    };
    let (outcome, trace) = settling_at(4);
    assert_eq!((trace.calls.len(), outcome.result.is_ok()), (6, true));
    let (outcome, trace) = settling_at(5);
    assert_eq!(trace.calls.len(), 6);
    assert_eq!(
        outcome.result.unwrap_err().to_string(),
        "cannot run Composition pipeline step \"a\": requirements didn't stabilize after the maximum number of iterations (5)"
    );
    // The next run begins where this one began.
    assert_eq!(
        outcome.requirements,
        [("a".to_owned(), Requirements::default())].into_iter().collect()
    );
    assert_eq!(outcome.looked.len(), 5);
}

#[test]
fn what_was_shown_matters_after_the_first_call_alone() {
    let everywhere = ResourceSelector {
        namespace: None,
        ..by_name("one")
    };
    let (outcome, trace) = run(steps(["a"]), find, |_, times, _| {
        let selector = if times == 0 {
            by_name("one")
        } else {
            everywhere.clone()
        };
        Ok(response(requiring([("one", selector)])))
    });
    assert_eq!((trace.calls.len(), outcome.result.is_ok()), (3, true));
}

#[test]
fn the_first_answer_to_a_question_counts() {
    let lookup = |name: &str| Lookup::Resources(by_name(name));
    let found = |name: &str, resource: &str| (lookup(name), Found::Resources(vec![map("ns", resource)]));
    let mut input = steps(["a"]);
    input.steps.steps[0].requirements = requiring([("x", by_name("one")), ("y", by_name("two"))]);
    let mut pipeline = Pipeline::begin(input);
    pipeline.found([found("one", "unasked")].into());
    assert_eq!(pipeline.next(), Next::Need(vec![lookup("one"), lookup("two")]));
    pipeline.found([found("one", "first"), found("three", "unasked")].into());
    assert_eq!(pipeline.next(), Next::Need(vec![lookup("two")]));
    pipeline.found([found("one", "late"), found("two", "second")].into());
    let Next::Call { request, .. } = pipeline.next() else {
        panic!("{pipeline:?}")
    };
    let shown: Vec<Vec<String>> = request
        .required_resources
        .values()
        .map(|items| names_of(items))
        .collect();
    assert_eq!(shown, [["ns/first"], ["ns/second"]]);
    pipeline.answered(Ok(RunResponse::default()));
    let Next::End(outcome) = pipeline.next() else {
        panic!("{pipeline:?}")
    };
    let expected = [found("one", "first"), found("two", "second")];
    assert_eq!(
        outcome.looked,
        expected.map(|(lookup, found)| (lookup, found.digest())).into()
    );
}

#[test]
fn the_same_content_has_the_same_digest() {
    let digest =
        |resources: &[&Resource]| Found::Resources(resources.iter().copied().cloned().collect()).digest();
    let (a, b) = (map("ns", "a"), map("ns", "b"));
    let mut touched = a.clone();
    touched.object["metadata"]["resourceVersion"] = "9".into();
    touched.object["metadata"]["managedFields"] = json!([]);
    assert_eq!(digest(&[&a, &b]), digest(&[&b, &touched]));
    let mut changed = a.clone();
    changed.object["status"] = json!({});
    assert_ne!(digest(&[&a]), digest(&[&changed]));
    assert_ne!(digest(&[&a]), digest(&[&a, &b]));
    let secret = |value: &[u8]| Found::Secret(Some(SecretData([("k".to_owned(), value.to_vec())].into())));
    assert_ne!(secret(b"x").digest(), secret(b"y").digest());
    assert_ne!(
        Found::Secret(None).digest(),
        Found::Secret(Some(SecretData::default())).digest()
    );
    assert_ne!(
        Found::Failed("x".to_owned()).digest(),
        Found::Failed("y".to_owned()).digest()
    );
    let details = SecretData([("k".to_owned(), b"canary".to_vec())].into());
    let with_details = Resource {
        connection_details: details,
        ..a.clone()
    };
    assert_ne!(digest(&[&a]), digest(&[&with_details]));
    assert_eq!(format!("{:?}", digest(&[&with_details])), "[redacted]");
}
