use serde_json::json;

use super::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters, Stored};

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
        }),
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: String::new(),
        details: Details::Complete,
        config: ConfigIdentity::default(),
        plugin_version: String::new(),
        incarnation: 0,
        replacement: None,
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
