use serde_json::json;

use crate::external::Document;

use super::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters, Stored, Unreadable};

fn of_parameters(parameters: &serde_json::Value) -> Record {
    let now = jiff::Timestamp::UNIX_EPOCH;
    Record {
        uid: "uid-1".to_owned(),
        external_name: String::new(),
        confirmed: false,
        adopted: false,
        name_conflict: false,
        intent: Some(Intent {
            verb: IntentVerb::Create,
            token: "token".to_owned(),
            attempt: 0,
            exclusive: false,
            token_exhausted: false,
            generation: 1,
            parameters: RecordedParameters::of(parameters.as_object().expect("an object"), "digest"),
            started_at: now,
            deadline: now,
            operation: None,
            operation_ended: false,
            unknown: serde_json::Map::new(),
        }),
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: String::new(),
        details: Details::Complete,
        config: ConfigIdentity::default(),
        plugin_version: String::new(),
        incarnation: 0,
        replacement: None,
        format: super::RecordFormat::default(),
    }
}

#[test]
fn recorded_parameters_equal_those_that_were_sent() {
    let known = [
        6.592_148_136_198_245e-9,
        8.323_413_780_389_788e-10,
        6.812_025_798_410_788e-8,
    ];
    let many = (1..2_000).map(|count| f64::from(count).sqrt() / 3e9);
    for ratio in known.into_iter().chain(many) {
        // As they come from the API server: text.
        let sent = format!("{{\"ratio\": {ratio:e}}}");
        let sent = serde_json::from_str(&sent).expect("JSON");
        let record = of_parameters(&sent);
        let Stored::Owned(read) = Stored::read(Some(&record.write()), "uid-1") else {
            panic!("{sent} cannot be read back");
        };
        assert_eq!(*read, record, "{sent}");
    }
    let whole = of_parameters(&json!({"count": u64::MAX, "least": i64::MIN, "none": null}));
    assert_eq!(
        Stored::read(Some(&whole.write()), "uid-1"),
        Stored::Owned(Box::new(whole))
    );
}

/// The record with more in it, at every level.
fn newer(must_understand: &[&str]) -> String {
    let mut record = serde_json::to_value(of_parameters(&json!({"size": 1}))).expect("JSON");
    record["format"] = json!(2);
    record["mustUnderstand"] = json!(must_understand);
    record["shard"] = json!({"of": 3});
    record["config"]["region"] = json!("north");
    record["intent"]["urgent"] = json!(true);
    record["intent"]["operation"] = json!({"handle": "h", "attempt": 0, "cost": 0.1});
    record["replacement"] = json!({"generation": 1, "approvals": 1, "by": "x"});
    record.to_string()
}

#[test]
fn unknown_fields_of_a_newer_format_are_kept() {
    let text = newer(&["externalName", "intent.deadline"]);
    let Stored::Owned(record) = Stored::read(Some(&text), "uid-1") else {
        panic!("it can be read");
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(json(&record.write()), json(&text));
    let next = Record::kept_format(Some(&record));
    assert_eq!(next, record.format, "also by the record that takes its place");
}

#[test]
fn a_field_that_must_be_understood_stops_an_older_bridge() {
    for field in [
        "shard",
        "shard.of",
        "config.region",
        "intent.urgent",
        "intent.operation.cost",
        "replacement.by",
    ] {
        let text = newer(&["intent.deadline", field]);
        let Stored::Unreadable(Unreadable::TooNew { format, fields }) = Stored::read(Some(&text), "uid-1")
        else {
            panic!("{field} is not understood");
        };
        assert_eq!((format, fields), (2, vec![field.to_owned()]));
        assert_eq!(
            Stored::read(Some(&text), "uid-2"),
            Stored::None,
            "another object's"
        );
    }
    let text = newer(&[]).replace("\"Create\"", "\"Move\"");
    let read = Stored::read(Some(&text), "uid-1");
    assert!(
        matches!(&read, Stored::Unreadable(Unreadable::TooNew { .. })),
        "{read:?}"
    );
}

#[test]
fn an_unknown_field_of_a_known_format_makes_a_record_unreadable() {
    let text = newer(&[]).replace("\"format\":2", "\"format\":1");
    let read = Stored::read(Some(&text), "uid-1");
    assert!(
        matches!(&read, Stored::Unreadable(Unreadable::Malformed(_))),
        "{read:?}"
    );
}

#[test]
fn a_record_without_a_format_is_of_the_first() {
    let record = of_parameters(&json!({}));
    let text = record.write();
    assert!(text.contains("\"format\":1"), "{text}");
    let read = Stored::read(Some(&text.replace(",\"format\":1", "")), "uid-1");
    assert_eq!(read, Stored::Owned(Box::new(record)));
}

#[test]
fn an_identity_that_was_hidden_without_a_digest_is_that_of_any_account() {
    let of = |identity: &str| ConfigIdentity {
        id: "one".to_owned(),
        identity: identity.to_owned(),
        settings: String::new(),
        unknown: Document::new(),
    };
    let old = of("subscription [redacted]");
    let new = of("subscription [redacted] (sha256:0123456789abcdef)");
    assert!(!old.acts_as_another(&new) && old.shares_names_with(&new));
    let other = of("subscription [redacted] (sha256:fedcba9876543210)");
    assert!(new.acts_as_another(&other) && !new.shares_names_with(&other));
    let elsewhere = ConfigIdentity {
        id: "two".to_owned(),
        ..old.clone()
    };
    assert!(
        !old.shares_names_with(&elsewhere),
        "of two configs it says nothing"
    );
}
