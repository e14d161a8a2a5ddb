use super::*;

#[test]
fn a_pipeline_without_steps_deletes_nothing() {
    let (outcome, _) = run(steps([]), nothing_is_looked_up, |_, _, _| {
        Ok(RunResponse::default())
    });
    assert_eq!(outcome.result, Err(RunFailure::NoSteps));
}

#[test]
fn a_fatal_result_ends_the_run() {
    let required = requiring([("one", by_name("one"))]);
    let before = requiring([("three", by_name("three"))]);
    let seeds = [
        ("c".to_owned(), before.clone()),
        ("gone".to_owned(), before.clone()),
    ]
    .into_iter()
    .collect();
    let input = RunInput {
        seeds,
        ..steps(["a", "b", "c"])
    };
    let (outcome, trace) = run(input, nothing_is_looked_up, |step, _, _| {
        let severities: &[Severity] = match step {
            "a" => &[Severity::Normal],
            _ => &[
                Severity::Warning,
                Severity::Fatal,
                Severity::Normal,
                Severity::Fatal,
            ],
        };
        Ok(RunResponse {
            desired: desiring([step]),
            results: severities
                .iter()
                .map(|severity| result(*severity, &format!("{severity:?}!")))
                .collect(),
            conditions: vec![condition(step)],
            requirements: if step == "b" {
                required.clone()
            } else {
                Requirements::default()
            },
            ..RunResponse::default()
        })
    });
    assert_eq!(trace.calls.len(), 2);
    let expected = RunOutcome {
        result: Err(RunFailure::Fatal {
            step: "b".to_owned(),
            message: "Fatal!".to_owned(),
        }),
        context: None,
        results: vec![
            StepResult {
                step: "a".to_owned(),
                result: result(Severity::Normal, "Normal!"),
            },
            StepResult {
                step: "b".to_owned(),
                result: result(Severity::Warning, "Warning!"),
            },
        ],
        conditions: vec![condition("a"), condition("b")],
        ttl: None,
        requirements: [("b".to_owned(), required.clone()), ("c".to_owned(), before)]
            .into_iter()
            .collect(),
        looked: BTreeMap::new(),
    };
    assert_eq!(outcome, expected);
    assert_eq!(
        outcome.result.unwrap_err().to_string(),
        "pipeline step \"b\" returned a fatal result: Fatal!"
    );
}

#[test]
fn a_fatal_call_keeps_what_the_one_before_required() {
    let required = requiring([("one", by_name("one"))]);
    let (outcome, _) = run(steps(["a"]), find, |_, times, _| {
        let mut answer = response(if times == 0 {
            required.clone()
        } else {
            Requirements::default()
        });
        answer.results = vec![result(
            if times == 0 {
                Severity::Normal
            } else {
                Severity::Fatal
            },
            "m",
        )];
        Ok(answer)
    });
    assert_eq!(
        outcome.requirements,
        [("a".to_owned(), required)].into_iter().collect()
    );
}

#[test]
fn a_step_that_requires_nothing_as_it_fails_keeps_its_seeds() {
    let seeds: StepRequirements = [("a".to_owned(), requiring([("one", by_name("one"))]))]
        .into_iter()
        .collect();
    let fatal = RunResponse {
        results: vec![result(Severity::Fatal, "m")],
        ..RunResponse::default()
    };
    for answer in [Ok(fatal), Err(FunctionFailure::Unreachable("refused".to_owned()))] {
        let input = RunInput {
            seeds: seeds.clone(),
            ..steps(["a"])
        };
        let (outcome, _) = run(input, find, |_, _, _| answer.clone());
        assert!(outcome.result.is_err());
        assert_eq!(outcome.requirements, seeds);
    }
}

#[test]
fn a_function_that_gives_no_response_ends_the_run() {
    let (outcome, _) = run(steps(["a", "b"]), nothing_is_looked_up, |step, _, _| match step {
        "a" => Ok(RunResponse {
            conditions: vec![condition("a")],
            ..RunResponse::default()
        }),
        _ => Err(FunctionFailure::TimedOut(Duration::from_mins(1))),
    });
    assert_eq!(
        outcome.result.unwrap_err().to_string(),
        r#"cannot run Composition pipeline step "b": cannot run Function "function-b": no answer within 60s"#
    );
    assert_eq!(outcome.conditions, [condition("a")]);
}

#[test]
fn what_cannot_be_looked_up_ends_the_run() {
    let forbidden = requiring([("r", by_name("forbidden"))]);
    let mut own = steps(["a"]);
    own.steps.steps[0].requirements = forbidden.clone();
    for (input, calls) in [(steps(["a"]), 1), (own, 0)] {
        let (outcome, trace) = run(input, find, |_, _, _| Ok(response(forbidden.clone())));
        assert_eq!(trace.calls.len(), calls);
        assert_eq!(
            outcome.result.unwrap_err().to_string(),
            r#"cannot run Composition pipeline step "a": fetching resources for r: configmaps is forbidden"#
        );
        assert_eq!(outcome.looked.len(), 1, "another answer makes another run");
    }
}

#[test]
fn a_response_that_nobody_asked_for_changes_nothing() {
    let mut pipeline = Pipeline::begin(steps(["a"]));
    pipeline.answered(Ok(RunResponse::default()));
    let Next::End(outcome) = pipeline.next() else {
        return;
    };
    panic!("{outcome:?}");
}
