use super::*;

#[test]
fn each_step_sees_what_the_one_before_desires_and_leaves() {
    let mut input = steps(["a", "b"]);
    input.steps.steps[1].input = Some(json!({"kind": "Input"}));
    let observed = Arc::new(Observed {
        composite: map("ns", "xr"),
        ..Observed::default()
    });
    input.observed = Arc::clone(&observed);
    let left = HiddenMap([("k".to_owned(), json!(1))].into_iter().collect());
    let first = RunResponse {
        desired: desiring(["x", "y"]),
        context: Some(left.clone()),
        ..RunResponse::default()
    };
    let second = RunResponse {
        desired: desiring(["y"]),
        ..RunResponse::default()
    };
    let (outcome, trace) = run(input, nothing_is_looked_up, |step, _, _| {
        Ok(if step == "a" {
            first.clone()
        } else {
            second.clone()
        })
    });
    let expected = [
        (
            "a".to_owned(),
            RunRequest {
                observed: Arc::clone(&observed),
                context: Some(HiddenMap::default()),
                ..RunRequest::default()
            },
        ),
        (
            "b".to_owned(),
            RunRequest {
                observed,
                desired: desiring(["x", "y"]),
                input: Some(json!({"kind": "Input"})),
                context: Some(left),
                ..RunRequest::default()
            },
        ),
    ];
    assert_eq!(trace.calls, expected);
    assert!(Arc::ptr_eq(
        &trace.calls[0].1.observed,
        &trace.calls[1].1.observed
    ));
    assert_eq!((outcome.result, outcome.context), (Ok(desiring(["y"])), None));
}

#[test]
fn results_and_conditions_are_kept_in_order() {
    let (outcome, _) = run(steps(["a", "b"]), nothing_is_looked_up, |step, _, _| {
        Ok(RunResponse {
            results: vec![result(Severity::Unknown, step), result(Severity::Normal, step)],
            conditions: vec![condition(step)],
            ..RunResponse::default()
        })
    });
    let shown: Vec<(&str, Severity)> = outcome
        .results
        .iter()
        .map(|result| (result.step.as_str(), result.result.severity))
        .collect();
    assert_eq!(
        shown,
        [
            ("a", Severity::Unknown),
            ("a", Severity::Normal),
            ("b", Severity::Unknown),
            ("b", Severity::Normal),
        ]
    );
    assert_eq!(outcome.conditions, [condition("a"), condition("b")]);
}

#[test]
fn the_shortest_ttl_that_is_not_zero_counts() {
    let ttl = |of: [Option<u64>; 3]| {
        let mut of = of.into_iter();
        let answer = |_: &str, _, _: &RunRequest| {
            let ttl = of.next().flatten().map(Duration::from_secs);
            Ok(RunResponse {
                ttl,
                ..RunResponse::default()
            })
        };
        run(steps(["a", "b", "c"]), nothing_is_looked_up, answer).0.ttl
    };
    assert_eq!(ttl([Some(60), Some(0), Some(30)]), Some(Duration::from_secs(30)));
    assert_eq!(ttl([None, Some(60), None]), Some(Duration::from_mins(1)));
    assert_eq!(ttl([None, Some(0), None]), None);
}

#[test]
fn render_may_fill_the_first_context() {
    let context = HiddenMap([("k".to_owned(), json!(1))].into_iter().collect());
    let input = RunInput {
        context: context.clone(),
        ..steps(["a"])
    };
    let (_, trace) = run(input, nothing_is_looked_up, |_, _, _| Ok(RunResponse::default()));
    assert_eq!(trace.calls[0].1.context, Some(context));
}
