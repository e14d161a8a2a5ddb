use proptest::prelude::*;

use super::*;

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
                let is_shown = |request: &&RunRequest| {
                    let mut names = bootstrap.resources.keys();
                    names.all(|name| request.required_resources.contains_key(name))
                };
                prop_assert!(calls.iter().all(is_shown));
            }
        }
    }
}
