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
