use bridge_core::external::{Effect, FailureCode, FieldViolation, Secrets};

use super::*;

fn sent(values: &[&str]) -> Config {
    let values = values.iter().enumerate();
    let credentials = values.map(|(n, value)| (n.to_string(), value.as_bytes().to_vec()));
    Config {
        id: "id".to_owned(),
        revision: "1".to_owned(),
        settings_digest: String::new(),
        identity: String::new(),
        settings: None,
        credentials: Secrets(credentials.collect()),
        credentials_expire: None,
    }
}

fn hidden(config: &Config, text: &str) -> String {
    let error = CallError::Unknown {
        code: "INTERNAL".to_owned(),
        message: text.to_owned(),
    };
    match SentSecrets::of(config, None).hide_in_error(error) {
        CallError::Unknown { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_is_hidden_in_every_form_that_a_text_may_have() {
    let secrets = sent(&["s3cr3t&key/+ \"x\"\n"]);
    let forms = [
        "s3cr3t&key/+ \"x\"",
        "s3cr3t&key/+ \"x\"\n",
        "s3cr3t&key/+ \\\"x\\\"\\n",
        "czNjcjN0JmtleS8rICJ4Igo=",
        "czNjcjN0JmtleS8rICJ4Ig==",
        "s3cr3t%26key%2F%2B%20%22x%22",
        "s3cr3t%26key%2F%2B+%22x%22%0A",
    ];
    for form in forms {
        let text = hidden(&secrets, &format!("denied for <{form}>"));
        assert!(
            text.starts_with("denied for <[redacted]") && !text.contains("3cr3t"),
            "{form}: {text}"
        );
    }
}

#[test]
fn a_key_with_windows_line_ends_is_hidden_in_a_text_that_was_cut() {
    let key = format!("-----BEGIN PRIVATE KEY-----\r\n{}\r\n", "MIIEvQ".repeat(1000));
    let text = hidden(&sent(&[&key]), &bridge_core::limits::cut(format!("no: {key}")));
    assert_eq!(text, "no: [redacted]…");
}

#[test]
fn a_value_that_is_longer_than_any_text_is_hidden() {
    let value = "0123456789abcdef".repeat(2000);
    assert_eq!(
        hidden(&sent(&[&value]), &format!("no: {value}")),
        "no: [redacted]"
    );
}

#[test]
fn of_two_values_the_longer_one_goes_first_and_short_ones_stay() {
    let secrets = sent(&["canary", "canary-long", "eu"]);
    assert_eq!(
        hidden(&secrets, "canary-long canary eu"),
        "[redacted] [redacted] eu"
    );
}

/// What a status shows of these texts, of an object with this sensitive value.
fn published(value: &str, texts: &[&str]) -> Vec<String> {
    let config = sent(&[]);
    let desired = DesiredState {
        sensitive: Secrets([("/password".to_owned(), value.as_bytes().to_vec())].into()),
        ..DesiredState::default()
    };
    let status = serde_json::json!({ "texts": texts });
    let observation = Observation {
        status: status.as_object().cloned(),
        ..Observation::default()
    };
    let sent = SentSecrets::of(&config, Some(&desired));
    let hidden = sent.hide_in_answer(ObserveResult::Found(Box::new(observation)));
    let ObserveResult::Found(observation) = hidden else {
        panic!("{hidden:?}");
    };
    let texts = observation.status.expect("a status")["texts"].clone();
    serde_json::from_value(texts).expect("texts")
}

#[test]
fn a_sensitive_value_of_any_length_is_hidden_in_a_status() {
    let long = "canary ".repeat(10_000);
    assert_eq!(published(&long, &[&format!("<{long}>")]), ["<[redacted]>"]);
}

#[test]
fn a_short_value_is_hidden_in_a_status_where_it_stands_alone() {
    assert_eq!(
        published("master", &["master", "arn:master-1", "a"]),
        ["[redacted]", "arn:master-1", "a"]
    );
}

#[test]
fn names_with_a_value_in_them_are_replaced_whole() {
    let failure = Failure {
        reason: "Deniedcanary".to_owned(),
        violations: vec![
            FieldViolation {
                path: "/tags/canary".to_owned(),
                message: "no".to_owned(),
            },
            FieldViolation {
                path: "/size".to_owned(),
                message: "no".to_owned(),
            },
        ],
        code: FailureCode::InvalidSpec,
        effect: Effect::None,
        message: "no".to_owned(),
        retry_after: None,
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    };
    let config = sent(&["canary"]);
    let answer = SentSecrets::of(&config, None).hide_in_answer(ObserveResult::Failed(failure));
    let ObserveResult::Failed(failure) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(failure.reason, "Redacted");
    assert_eq!(failure.violations[0].path, "/Redacted");
    assert_eq!(failure.violations[1].path, "/size");
    assert!(failure.check().is_ok());
}

#[test]
fn ten_thousand_values_are_sought_in_one_walk() {
    let config = sent(&[]);
    // Alike for longer than what is sought of each, so that a text agrees with all of them.
    let value = |n: usize| format!("{}{n:05}", "a".repeat(200)).into_bytes();
    let values = (0..10_000).map(|n| (format!("/{n}"), value(n)));
    let desired = DesiredState {
        sensitive: Secrets(values.collect()),
        ..DesiredState::default()
    };
    let texts: Vec<String> = (0..30_000)
        .map(|n| "a".repeat(n % 100))
        .chain(["a".repeat(100_000)])
        .collect();
    let status = serde_json::json!({ "texts": texts, "value": String::from_utf8(value(7)).unwrap() });
    let observation = Observation {
        status: status.as_object().cloned(),
        ..Observation::default()
    };
    let sent = SentSecrets::of(&config, Some(&desired));
    let began = std::time::Instant::now();
    let hidden = sent.hide_in_answer(ObserveResult::Found(Box::new(observation)));
    assert!(
        began.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    let ObserveResult::Found(observation) = hidden else {
        panic!("{hidden:?}");
    };
    assert_eq!(observation.status.expect("a status")["value"], "[redacted]");
}
