//! Connection details that the kind does not declare, as for a moment after an upgrade of the plugin.

use bridge_core::{
    external::{Call, ObserveResult, Secrets, Verb},
    port::External,
};
use crossbridge_proto::v1alpha1::{Completed, CreateResponse, Observation, Outcome, outcome};

use crate::{
    fake::{Fake, Say, Script, desired, in_seconds, target},
    hostile::{found, observed},
};

/// As those of a release that was put in place a moment ago: what else is answered may never come again.
#[tokio::test]
async fn connection_details_that_are_not_declared_are_left_out() {
    let details = || [("random".to_owned(), vec![1]), ("url".to_owned(), vec![2])].into();
    let answer = observed(found(Observation {
        connection_details: details(),
        ..Observation::default()
    }))
    .await;
    let Ok(ObserveResult::Found(found)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        found.connection_details,
        Secrets([("url".to_owned(), vec![2])].into())
    );
    let warnings: Vec<_> = found
        .warnings
        .iter()
        .map(|warning| (&*warning.reason, &*warning.message))
        .collect();
    let message =
        r#"left out connection details that the kind does not declare among its connection_keys: "random""#;
    assert_eq!(warnings, [("UndeclaredConnectionDetails", message)]);
}

/// They may be given once, and never come again.
#[tokio::test]
async fn connection_details_of_an_outcome_are_kept_though_they_are_not_declared() {
    let fake = Fake::start(Script {
        create: Say::Answer(CreateResponse {
            outcome: Some(Outcome {
                external_name: "logs".into(),
                connection_details: [("password".to_owned(), vec![1])].into(),
                result: Some(outcome::Result::Completed(Completed::default())),
                ..Outcome::default()
            }),
        }),
        ..Script::default()
    });
    let plugin = fake.connect().await;
    let mut call = Call::new(Verb::Create, target(), desired(), in_seconds(30));
    call.token = "123e4567-e89b-12d3-a456-426614174000".into();
    let outcome = plugin.execute(&call).await.unwrap();
    assert_eq!(
        outcome.connection_details,
        Secrets([("password".to_owned(), vec![1])].into())
    );
    assert_eq!(outcome.warnings[0].reason, "UndeclaredConnectionDetails");
}
