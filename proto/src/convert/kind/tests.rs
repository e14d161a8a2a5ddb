use std::time::Duration;

use crossbridge_types::{CreateRecovery, DiffMode, Kind, Rule, Violation};

use crate::v1alpha1 as wire;

const PARAMETERS: &str = r#"{
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "mode": {"x-kubernetes-int-or-string": true},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "rules": {"type": "array", "items": {"type": "object", "properties": {"a/b": {"type": "string"}}}},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
    }
}"#;

fn kind() -> wire::ResourceKind {
    wire::ResourceKind {
        resource_type: Some(wire::ResourceType {
            group: "files.example.org".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "File".to_owned(),
        }),
        plural: "files".to_owned(),
        short_names: vec!["fi".to_owned()],
        parameters_schema_json: PARAMETERS.to_owned(),
        status_schema_json: r#"{"type": "object"}"#.to_owned(),
        printer_columns: vec![wire::PrinterColumn {
            name: "SIZE".to_owned(),
            data_type: "integer".to_owned(),
            json_path: ".status.atProvider.size".to_owned(),
        }],
        capabilities: Some(wire::KindCapabilities {
            can_create: true,
            create_recovery: vec![
                wire::CreateRecovery::DeterministicName.into(),
                wire::CreateRecovery::ClientToken.into(),
                wire::CreateRecovery::Marker.into(),
                4711,
            ],
            token_retention: Some(prost_types::Duration {
                seconds: 315_576_000_000,
                nanos: 0,
            }),
            holds_marker: true,
            diff_mode: 4711,
            ..Default::default()
        }),
        external_name: Some(wire::ExternalNameRules {
            source: wire::ExternalNameSource::User.into(),
            max_length: 9,
            example: "notes.txt".to_owned(),
            ..Default::default()
        }),
        field_rules: vec![wire::FieldRule {
            path: "/content".to_owned(),
            ..Default::default()
        }],
        connection_keys: vec![wire::ConnectionKey {
            name: "path".to_owned(),
            ..Default::default()
        }],
        examples: vec![wire::KindExample {
            name: "basic".to_owned(),
            external_name: "notes.txt".to_owned(),
            create_parameters: Some(wire::Document {
                json: "{}".to_owned(),
            }),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn can(kind: &mut wire::ResourceKind) -> &mut wire::KindCapabilities {
    kind.capabilities.as_mut().expect("capabilities")
}

fn names(kind: &mut wire::ResourceKind) -> &mut wire::ExternalNameRules {
    kind.external_name.as_mut().expect("name rules")
}

fn refused(spoil: impl FnOnce(&mut wire::ResourceKind)) -> Violation {
    let mut wire = kind();
    spoil(&mut wire);
    Kind::try_from(wire).expect_err("the spoilt kind is rejected")
}

#[test]
fn defaults_are_filled_in() -> Result<(), Violation> {
    let kind = Kind::try_from(kind())?;
    assert_eq!(kind.singular, "file");
    assert_eq!(kind.timeouts.call, Duration::from_secs(30));
    assert_eq!(
        kind.capabilities.rate_limit_group,
        "File.files.example.org/v1alpha1"
    );
    assert_eq!(kind.capabilities.token_retention, Duration::MAX);
    assert_eq!(kind.capabilities.diff_mode, DiffMode::Bridge);
    assert_eq!(
        kind.capabilities.create_recovery,
        [
            CreateRecovery::DeterministicName,
            CreateRecovery::ClientToken,
            CreateRecovery::Marker
        ]
    );
    Ok(())
}

type Spoil = fn(&mut wire::ResourceKind);

#[test]
fn known_names_require_recovery_by_name_or_marker() {
    for (recovery, served) in [
        (wire::CreateRecovery::ClientToken, false),
        (wire::CreateRecovery::DeterministicName, true),
        (wire::CreateRecovery::Marker, true),
    ] {
        let mut wire = kind();
        can(&mut wire).create_recovery = vec![recovery.into()];
        let field = Kind::try_from(wire).err().map(|error| error.field);
        let expected = (!served).then(|| "capabilities.create_recovery".to_owned());
        assert_eq!(field, expected, "{recovery:?}");
    }
}

#[test]
fn each_rule_of_a_kind_is_checked() {
    let cases: &[(&str, Spoil)] = &[
        ("resource_type", |kind| kind.resource_type = None),
        ("plural", |kind| kind.plural = "Files".to_owned()),
        ("plural", |kind| kind.plural.clear()),
        ("singular", |kind| kind.singular = "-file".to_owned()),
        ("short_names[0]", |kind| kind.short_names[0].clear()),
        ("short_names[1]", |kind| kind.short_names.push("fi".to_owned())),
        ("categories[0]", |kind| kind.categories.push("A".to_owned())),
        ("parameters_schema_json", |kind| {
            kind.parameters_schema_json.clear();
        }),
        ("status_schema_json", |kind| {
            kind.status_schema_json = "{".to_owned();
        }),
        ("list_filter_schema_json", |kind| {
            kind.list_filter_schema_json = "{}".to_owned();
        }),
        ("printer_columns[0].data_type", |kind| {
            kind.printer_columns[0].data_type = "int".to_owned();
        }),
        ("printer_columns[0].json_path", |kind| {
            kind.printer_columns[0].json_path = "status".to_owned();
        }),
        ("printer_columns[1].name", |kind| {
            kind.printer_columns.push(kind.printer_columns[0].clone());
        }),
        ("capabilities", |kind| kind.capabilities = None),
        ("capabilities.token_retention", |kind| {
            can(kind).token_retention = None;
        }),
        ("capabilities.holds_marker", |kind| can(kind).holds_marker = false),
        ("capabilities.create_recovery", |kind| {
            can(kind).push_create_recovery(wire::CreateRecovery::Marker);
        }),
        ("capabilities.create_recovery", |kind| {
            can(kind).push_create_recovery(wire::CreateRecovery::None);
        }),
        ("capabilities.create_recovery", |kind| {
            names(kind).set_source(wire::ExternalNameSource::Provider);
        }),
        ("external_name", |kind| kind.external_name = None),
        ("external_name.source", |kind| names(kind).source = 0),
        ("external_name.example", |kind| names(kind).example.clear()),
        ("external_name.example", |kind| names(kind).max_length = 8),
        ("external_name.max_length", |kind| names(kind).max_length = -1),
        ("field_rules[0].path", |kind| {
            kind.field_rules[0].path = "content".to_owned();
        }),
        ("field_rules[0].path", |kind| {
            kind.field_rules[0].path = "/elsewhere".to_owned();
        }),
        ("field_rules[1].path", |kind| {
            kind.field_rules.push(kind.field_rules[0].clone());
        }),
        ("field_rules[0].reference.resource_type", |kind| {
            kind.field_rules[0].reference = Some(wire::ReferenceRule::default());
        }),
        ("connection_keys[0].name", |kind| {
            kind.connection_keys[0].name.clear();
        }),
        ("connection_keys[1].name", |kind| {
            kind.connection_keys.push(kind.connection_keys[0].clone());
        }),
        ("timeouts.call_timeout", |kind| {
            kind.timeouts.get_or_insert_default().call_timeout = Some(prost_types::Duration {
                seconds: 60,
                nanos: 1,
            });
        }),
        ("timeouts.call_timeout", |kind| {
            kind.timeouts.get_or_insert_default().call_timeout = Some(prost_types::Duration::default());
        }),
        ("timeouts.create_timeout", |kind| {
            kind.timeouts.get_or_insert_default().create_timeout = Some(prost_types::Duration {
                seconds: -1,
                nanos: 0,
            });
        }),
        ("examples", |kind| kind.examples.clear()),
        ("examples[0].name", |kind| kind.examples[0].name.clear()),
        ("examples[1].name", |kind| {
            kind.examples.push(kind.examples[0].clone());
        }),
        ("examples[0].create_parameters", |kind| {
            kind.examples[0].create_parameters = None;
        }),
        ("examples[0].external_name", |kind| {
            kind.examples[0].external_name.clear();
        }),
        ("examples[0].sensitive_values[\"a\"]", |kind| {
            kind.examples[0]
                .sensitive_values
                .insert("a".to_owned(), String::new());
        }),
    ];
    for (field, spoil) in cases {
        let violation = refused(spoil);
        assert_eq!(violation.field, *field, "{violation}");
    }
}

#[test]
fn a_field_rule_may_point_wherever_the_schema_reaches() -> Result<(), Violation> {
    let paths = [
        "/tags",
        "/tags/*",
        "/rules/*",
        "/rules/*/a~1b",
        "/mode",
        "/extra/any/thing",
    ];
    let mut wire = kind();
    wire.field_rules = paths
        .iter()
        .map(|path| wire::FieldRule {
            path: (*path).to_owned(),
            ..Default::default()
        })
        .collect();
    Kind::try_from(wire)?;

    for path in ["/rules/first", "/rules/*/c", "/content/x", "/tags/a/b"] {
        let violation = refused(|kind| kind.field_rules[0].path = path.to_owned());
        assert_eq!(violation.field, "field_rules[0].path", "{violation}");
    }
    Ok(())
}

#[test]
fn an_invalid_schema_is_rejected_with_its_path() {
    let cases = [
        (r#"{"type": "string"}"#, ""),
        (r#"{"type": "object", "properties": {"a": {}}}"#, "/properties/a"),
        (
            r#"{"type": "object", "properties": {"a": {"type": ["string", "null"]}}}"#,
            "/properties/a",
        ),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}"##,
            "/properties/a",
        ),
        (r#"{"type": "object", "$defs": {}}"#, ""),
        (r#"{"type": "object", "properties": []}"#, ""),
        (
            r#"{"type": "object", "properties": {"a/b": 1}}"#,
            "/properties/a~1b",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "array"}}}"#,
            "/properties/a",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "array", "items": {}}}}"#,
            "/properties/a/items",
        ),
        (r#"{"type": "object", "additionalProperties": false}"#, ""),
        (
            r#"{"type": "object", "additionalProperties": {"type": "null"}}"#,
            "/additionalProperties",
        ),
        (
            r#"{"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}"#,
            "",
        ),
    ];
    for (schema, place) in cases {
        let violation = refused(|kind| kind.status_schema_json = schema.to_owned());
        assert_eq!(violation.field, "status_schema_json");
        assert!(
            matches!(&violation.rule, Rule::NotStructural { pointer, .. } if pointer == place),
            "{schema}: {violation}"
        );
    }
}
