//! The tables of docs/aws.md are written from the types and the requests of the plugin: a test compares them, and writes them anew where
//! `UPDATE_DOCUMENTS` is set.
#![cfg(feature = "all-services")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crossbridge_sdk::serde_json::{Value, json};
use schemars::schema_for;

use super::cloudfront::model::DistributionParameters;
use super::dynamodb::model::TableParameters;
use super::s3::model::BucketParameters;
use super::sqs::model::QueueParameters;
use crate::settings::{CREDENTIAL_KEYS, Settings};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// One row per field, those of objects and lists below them.
fn fields(schema: &Value) -> String {
    let mut table = "| field | type | description |\n|---|---|---|\n".to_owned();
    rows(schema, &schema["$defs"], "", &mut table);
    table
}

fn rows(schema: &Value, definitions: &Value, path: &str, table: &mut String) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let (target, lists) = resolved(field, definitions);
        let kind = target["type"].clone();
        let kind = match &kind {
            Value::Array(several) => several.iter().find(|one| **one != json!("null")).cloned(),
            one => Some(one.clone()),
        };
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("object");
        let own = [field, &target]
            .into_iter()
            .find_map(|one| one["description"].as_str());
        let description = own.unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let must = if required.contains(&name.as_str()) {
            " **Required.**"
        } else {
            ""
        };
        let of = if lists > 0 {
            format!("list of {kind}")
        } else {
            kind.to_owned()
        };
        let _ = writeln!(table, "| `{path}` | {of} | {description}{must} |");
        rows(
            &target,
            definitions,
            &format!("{path}{}", "[]".repeat(lists)),
            table,
        );
    }
}

/// What a field holds: through references, alternatives with null, and lists, of which there are so many.
fn resolved(field: &Value, definitions: &Value) -> (Value, usize) {
    if let Some(name) = field["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return resolved(&definitions[name], definitions);
    }
    let alternatives = field["anyOf"].as_array().into_iter().flatten();
    if let Some(one) = alternatives.into_iter().find(|one| one["type"] != "null") {
        return resolved(one, definitions);
    }
    if field["items"].is_object() {
        let (item, lists) = resolved(&field["items"], definitions);
        return (item, lists + 1);
    }
    (field.clone(), 0)
}

fn credentials() -> String {
    let mut table = "| key | description |\n|---|---|\n".to_owned();
    for (name, description) in CREDENTIAL_KEYS {
        let _ = writeln!(table, "| `{name}` | {description} |");
    }
    table
}

/// What AWS demands beside the action that a request has the name of, by service.
const FURTHER_ACTIONS: [(&str, &str); 1] = [
    // Of CreateBucket with `objectLockEnabled`.
    ("s3", "s3:PutBucketObjectLockConfiguration"),
];

/// The actions that the requests of a service name, which are those of IAM, and what they need beside.
fn actions(service: &str) -> String {
    let folder = root().join("src/services").join(service);
    let further = FURTHER_ACTIONS.iter().filter(|(of, _)| *of == service);
    let mut found: BTreeSet<String> = further.map(|(_, action)| (*action).to_owned()).collect();
    for text in sources(&folder) {
        let quoted = text.split('"').skip(1).step_by(2);
        found.extend(quoted.filter(|word| is_action(word)).map(str::to_owned));
    }
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": found, "Resource": "*"}],
    });
    format!("```json\n{policy:#}\n```\n")
}

fn is_action(word: &str) -> bool {
    word.split_once(':').is_some_and(|(service, action)| {
        !service.is_empty()
            && service
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && action.starts_with(|first: char| first.is_ascii_uppercase())
            && action.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else {
            texts.push(fs::read_to_string(path).expect("a source"));
        }
    }
    texts
}

/// The page with this table in place of what stands between its marks.
fn with_table(page: &str, mark: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {mark}:"), format!("<!-- end of {mark} -->"));
    let start = page
        .find(&begin)
        .unwrap_or_else(|| panic!("the page has no mark {begin}"));
    let line = page[start..].find('\n').expect("a mark is a line");
    let start = start + line + 1;
    let stop = page
        .find(&end)
        .unwrap_or_else(|| panic!("the page has no mark {end}"));
    format!("{}{table}{}", &page[..start], &page[stop..])
}

#[test]
fn the_documents_have_the_fields_keys_and_actions_of_the_plugin() {
    let path = root().join("../docs/aws.md");
    let held = fs::read_to_string(&path).unwrap();
    let tables = [
        ("settings", fields(schema_for!(Settings).as_value())),
        ("credentials", credentials()),
        ("bucket", fields(schema_for!(BucketParameters).as_value())),
        ("bucket-actions", actions("s3")),
        ("queue", fields(schema_for!(QueueParameters).as_value())),
        ("queue-actions", actions("sqs")),
        ("table", fields(schema_for!(TableParameters).as_value())),
        ("table-actions", actions("dynamodb")),
        (
            "distribution",
            fields(schema_for!(DistributionParameters).as_value()),
        ),
        ("distribution-actions", actions("cloudfront")),
    ];
    let expected = tables
        .iter()
        .fold(held.clone(), |page, (mark, table)| with_table(&page, mark, table));
    let update = std::env::var_os("UPDATE_DOCUMENTS").is_some();
    if update {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        update || held == expected,
        "docs/aws.md is not as the code has it: run `UPDATE_DOCUMENTS=1 cargo test -p provider-aws-example documents`"
    );
}
