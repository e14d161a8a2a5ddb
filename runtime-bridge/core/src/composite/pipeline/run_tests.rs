use proptest::prelude::*;
use serde_json::{Value, json};

use crate::function::{
    ConditionStatus, Requirements, Resource, ResourceMatch, ResourceSelector, ResultTarget, SchemaSelector,
    SecretData,
};

use super::{
    super::{
        super::{Strictness, digest::ContentDigest},
        failure::StepFailure,
        limits::Violation,
        spec::CredentialSpec,
    },
    *,
};

/// What happened in a run, in order.
#[derive(Debug, Default)]
struct Trace {
    looked: Vec<Vec<String>>,
    calls: Vec<(String, RunRequest)>,
}

type Answer = Result<RunResponse, FunctionFailure>;

/// Runs to the end. `function` is told the step and how often it was called before.
fn run(
    input: RunInput,
    find: impl Fn(&Lookup) -> Found,
    mut function: impl FnMut(&str, usize, &RunRequest) -> Answer,
) -> (RunOutcome, Trace) {
    let mut pipeline = Pipeline::begin(input);
    let mut trace = Trace::default();
    loop {
        let next = pipeline.next();
        assert_eq!(pipeline.next(), next, "asked twice it says the same");
        match next {
            Next::Need(lookups) => {
                assert!(!lookups.is_empty());
                trace
                    .looked
                    .push(lookups.iter().map(ToString::to_string).collect());
                let found = lookups.into_iter().map(|lookup| (lookup.clone(), find(&lookup)));
                pipeline.found(found.collect());
            }
            Next::Call {
                step,
                function: name,
                request,
            } => {
                assert_eq!(name, format!("function-{step}"));
                let before = trace.calls.iter().filter(|(called, _)| *called == step).count();
                let answer = function(&step, before, &request);
                trace.calls.push((step, *request));
                pipeline.answered(answer);
            }
            Next::End(outcome) => return (*outcome, trace),
        }
    }
}

fn steps<const N: usize>(names: [&str; N]) -> RunInput {
    let steps = names.map(|name| StepSpec {
        step: name.to_owned(),
        function: format!("function-{name}"),
        ..StepSpec::default()
    });
    let steps = PipelineSpec { steps: steps.into() };
    RunInput {
        steps,
        ..RunInput::default()
    }
}

fn by_name(name: &str) -> ResourceSelector {
    ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: ResourceMatch::Name(name.to_owned()),
        namespace: Some("ns".to_owned()),
    }
}

fn by_labels() -> ResourceSelector {
    ResourceSelector {
        matching: ResourceMatch::Labels([].into()),
        namespace: None,
        ..by_name("")
    }
}

fn requiring<const N: usize>(resources: [(&str, ResourceSelector); N]) -> Requirements {
    let resources = resources.map(|(name, selector)| (name.to_owned(), selector));
    Requirements {
        resources: resources.into(),
        ..Requirements::default()
    }
}

fn response(requirements: Requirements) -> RunResponse {
    RunResponse {
        requirements,
        ..RunResponse::default()
    }
}

fn desiring<const N: usize>(names: [&str; N]) -> DesiredState {
    let resources = names.map(|name| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        (name.to_owned(), Resource::of(object))
    });
    DesiredState {
        composite: None,
        resources: resources.into(),
    }
}

fn result(severity: Severity, message: &str) -> RunResult {
    let message = message.to_owned();
    RunResult {
        severity,
        message,
        reason: None,
        target: ResultTarget::Composite,
    }
}

fn condition(type_: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: ConditionStatus::True,
        reason: "R".to_owned(),
        message: None,
        target: ResultTarget::Composite,
    }
}

fn map(namespace: &str, name: &str) -> Resource {
    Resource::of(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}}),
    )
}

/// One object for each name, but for `absent`.
fn find(lookup: &Lookup) -> Found {
    match lookup {
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) if name == "absent" => Found::Resources(Vec::new()),
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) if name == "forbidden" => Found::Failed("configmaps is forbidden".to_owned()),
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) => Found::Resources(vec![map("ns", name)]),
        Lookup::Resources(_) => Found::Resources(vec![map("b", "a"), map("a", "b"), map("a", "a")]),
        Lookup::Schema(_) => Found::Schema(None),
        Lookup::Secret { name, .. } if name == "absent" => Found::Secret(None),
        Lookup::Secret { .. } => {
            Found::Secret(Some(SecretData([("key".to_owned(), b"canary".to_vec())].into())))
        }
    }
}

fn nothing_is_looked_up(lookup: &Lookup) -> Found {
    panic!("{lookup}")
}

fn names_of(resources: &[Resource]) -> Vec<String> {
    let name = |resource: &Resource| {
        let metadata = &resource.object["metadata"];
        format!(
            "{}/{}",
            metadata["namespace"].as_str().unwrap(),
            metadata["name"].as_str().unwrap()
        )
    };
    resources.iter().map(name).collect()
}

mod passing_on {
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
        assert_eq!(ttl([None, Some(60), None]), Some(Duration::from_secs(60)));
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
}

mod requirements {
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
        assert_eq!(
            outcome.requirements,
            [("a".to_owned(), required(5))].into_iter().collect()
        );
        assert_eq!(outcome.looked.len(), 5);
    }
}

mod failures {
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
            _ => Err(FunctionFailure::TimedOut(Duration::from_secs(60))),
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
}

mod credentials {
    use super::*;

    fn with_credential(secret: &str) -> RunInput {
        let mut input = steps(["a"]);
        let [name, namespace] = ["c", "ns"].map(str::to_owned);
        input.steps.steps[0].credentials = vec![CredentialSpec {
            name,
            namespace,
            secret: secret.to_owned(),
        }];
        input
    }

    #[test]
    fn a_step_is_given_its_credentials() {
        let (outcome, trace) = run(with_credential("s"), find, |_, _, _| Ok(RunResponse::default()));
        assert_eq!(trace.calls[0].1.credentials["c"].0["key"], b"canary");
        assert!(outcome.result.is_ok());
    }

    #[test]
    fn a_missing_secret_ends_the_run_before_the_call() {
        let (outcome, trace) = run(with_credential("absent"), find, |_, _, _| {
            Ok(RunResponse::default())
        });
        assert_eq!(trace.calls.len(), 0);
        assert_eq!(
            outcome.result.unwrap_err().to_string(),
            r#"cannot get Composition pipeline step "a" credential "c" from Secret: Secret "ns/absent" does not exist"#
        );
    }

    #[test]
    fn a_credential_is_in_no_debug_output() {
        let mut pipeline = Pipeline::begin(with_credential("s"));
        let Next::Need(lookups) = pipeline.next() else {
            panic!()
        };
        let found: BTreeMap<Lookup, Found> = lookups
            .into_iter()
            .map(|lookup| (lookup.clone(), find(&lookup)))
            .collect();
        let mut shown = format!("{found:?}");
        let digest = ContentDigest::of_secret(&SecretData([("key".to_owned(), b"canary".to_vec())].into()));
        pipeline.found(found);
        shown += &format!("{:?}", pipeline.next());
        pipeline.answered(Ok(RunResponse::default()));
        let Next::End(outcome) = pipeline.next() else {
            panic!()
        };
        assert_eq!(outcome.looked.values().collect::<Vec<_>>(), [&digest]);
        shown += &format!("{pipeline:?}{outcome:?}");
        assert!(
            !shown.contains("canary") && !shown.contains("99, 97, 110"),
            "{shown}"
        );
    }
}

mod limits {
    use super::*;

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
}

/// Requirements of up to six objects, of which one is absent and one forbidden.
fn arbitrary_requirements() -> impl Strategy<Value = Requirements> {
    let name = prop_oneof![4 => "[a-d]", 1 => Just("absent".to_owned()), 1 => Just("forbidden".to_owned())];
    let selectors = || {
        let entry = ("[x-z]", name.clone()).prop_map(|(key, name)| (key, by_name(&name)));
        prop::collection::vec(entry, 0..3).prop_map(|all| all.into_iter().collect::<BTreeMap<_, _>>())
    };
    (selectors(), selectors()).prop_map(|(extra_resources, resources)| Requirements {
        extra_resources,
        resources,
        schemas: BTreeMap::new(),
    })
}

proptest! {
    #[test]
    fn every_run_ends_and_looks_up_everything_once(
        bootstrap in arbitrary_requirements(),
        seeds in arbitrary_requirements(),
        script in prop::collection::vec(arbitrary_requirements(), 1..12),
    ) {
        let mut input = steps(["a", "b"]);
        input.steps.steps[0].requirements = bootstrap.clone();
        input.seeds = ["a", "b"].map(|step| (step.to_owned(), seeds.clone())).into_iter().collect();
        let mut answers = script.into_iter().cycle();
        let (outcome, trace) = run(input, find, |_, _, _| Ok(response(answers.next().unwrap())));
        let mut looked: Vec<&String> = trace.looked.iter().flatten().collect();
        let all = looked.len();
        looked.sort();
        looked.dedup();
        prop_assert_eq!((all, outcome.looked.len()), (looked.len(), looked.len()));
        for step in ["a", "b"] {
            let calls: Vec<&RunRequest> =
                trace.calls.iter().filter(|(called, _)| called == step).map(|(_, request)| request).collect();
            prop_assert!(calls.len() <= 6);
            if step == "a" {
                let mut shown = calls.iter();
                prop_assert!(shown.all(|request| {
                    bootstrap.resources.keys().all(|name| request.required_resources.contains_key(name))
                }));
            }
        }
    }
}
