//! What a function says to people holds nothing of what it was sent in confidence.

use bridge_core::function::{RunRequest, SecretData};
use bridge_function::Options;
use fake_function::Version;
use serde_json::json;

use crate::{
    clock::Clock,
    host::{Host, table},
};

#[tokio::test]
async fn credentials_come_back_in_no_text_not_even_of_a_kept_response() {
    let (clock, host) = (Clock::new(), Host::unix(Version::V1));
    let client = clock.client(Options::new(table(&host.endpoint), None));
    let key = SecretData([("key".to_owned(), b"canary-of-a-pipeline".to_vec())].into());
    let messages = [
        "denied for canary-of-a-pipeline",
        "denied for Y2FuYXJ5LW9mLWEtcGlwZWxpbmU=",
        &"x".repeat(5000),
    ];
    let request = RunRequest {
        input: Some(json!({"ttlSeconds": 90, "messages": messages})),
        credentials: [("aws".to_owned(), key)].into(),
        ..RunRequest::default()
    };
    for _ in 0..2 {
        let response = clock.run(&client, &request).await.unwrap();
        let texts: Vec<&str> = response
            .results
            .iter()
            .map(|result| result.message.as_str())
            .collect();
        assert_eq!(texts[..2], ["denied for [redacted]"; 2]);
        assert!(texts[2].len() <= 4096 && texts[2].ends_with('…'));
    }
    assert_eq!(host.function.received().len(), 1, "the second response was kept");
}
