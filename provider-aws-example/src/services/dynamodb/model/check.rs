//! Checks of a table that its schema cannot express.

use std::collections::BTreeSet;

use crossbridge_sdk::Failure;

use super::{KeySchemaElement, Projection, TableParameters};
use crate::tags;
use crate::validation::Violations;

/// How many global indexes AWS allows in a table.
const MAX_GLOBAL_INDEXES: usize = 20;

/// How many local indexes AWS allows in a table.
const MAX_LOCAL_INDEXES: usize = 5;

impl TableParameters {
    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// `INVALID_SPEC` that names every invalid field.
    pub(in crate::services::dynamodb) fn check(&self) -> Result<(), Failure> {
        let mut violations = Violations::default();
        tags::check(self.tags.as_ref(), &mut violations);
        keys(self, &mut violations);
        throughput(self, &mut violations);
        indexes(self, &mut violations);
        if let Some(stream) = &self.stream_specification {
            violations.add_if(
                stream.stream_enabled && stream.stream_view_type.is_none(),
                "/streamSpecification/streamViewType",
                "a stream needs a view type",
            );
        }
        violations.into_result()
    }
}

fn indexes(desired: &TableParameters, violations: &mut Violations) {
    let global = desired.global_secondary_indexes.as_deref().unwrap_or_default();
    let local = desired.local_secondary_indexes.as_deref().unwrap_or_default();
    for (at, index) in global.iter().enumerate() {
        projection(
            &index.projection,
            &format!("/globalSecondaryIndexes/{at}"),
            violations,
        );
    }
    let hash_of = |keys: &[KeySchemaElement]| {
        let hash = keys.iter().find(|key| key.key_type == "HASH");
        hash.map(|key| key.attribute_name.clone())
    };
    for (at, index) in local.iter().enumerate() {
        let path = format!("/localSecondaryIndexes/{at}");
        projection(&index.projection, &path, violations);
        violations.add_if(
            hash_of(&index.key_schema) != hash_of(&desired.key_schema) || index.key_schema.len() != 2,
            format!("{path}/keySchema"),
            "the key of a local index is the table's HASH attribute, and a RANGE attribute of its own",
        );
        violations.add_if(
            global.iter().any(|other| other.index_name == index.index_name),
            format!("{path}/indexName"),
            format!("two indexes are called {:?}", index.index_name),
        );
    }
    violations.add_if(
        !local.is_empty() && desired.key_schema.len() < 2,
        "/localSecondaryIndexes",
        "only a table whose key has a RANGE attribute has local indexes",
    );
    for (path, count, most) in [
        ("/globalSecondaryIndexes", global.len(), MAX_GLOBAL_INDEXES),
        ("/localSecondaryIndexes", local.len(), MAX_LOCAL_INDEXES),
    ] {
        violations.add_if(count > most, path, format!("at most {most} are possible"));
    }
}

/// Every key is defined, and every defined attribute is a key.
fn keys(desired: &TableParameters, violations: &mut Violations) {
    let definitions = &desired.attribute_definitions;
    let is_defined = |name: &str| {
        definitions
            .iter()
            .any(|definition| definition.attribute_name == name)
    };
    let mut used = BTreeSet::new();
    let global = desired
        .global_secondary_indexes
        .iter()
        .flatten()
        .map(|index| &index.key_schema);
    let local = desired
        .local_secondary_indexes
        .iter()
        .flatten()
        .map(|index| &index.key_schema);
    let keys = std::iter::once(("/keySchema".to_owned(), &desired.key_schema))
        .chain(
            global
                .enumerate()
                .map(|(at, keys)| (format!("/globalSecondaryIndexes/{at}/keySchema"), keys)),
        )
        .chain(
            local
                .enumerate()
                .map(|(at, keys)| (format!("/localSecondaryIndexes/{at}/keySchema"), keys)),
        );
    for (path, keys) in keys {
        key(&path, keys, violations);
        for element in keys {
            let name = element.attribute_name.as_str();
            violations.add_if(
                !is_defined(name),
                &path,
                format!("the attribute {name:?} is not defined"),
            );
            used.insert(name);
        }
    }
    for (at, definition) in definitions.iter().enumerate() {
        let name = definition.attribute_name.as_str();
        let message = format!("the attribute {name:?} is no key");
        violations.add_if(
            !used.contains(name),
            format!("/attributeDefinitions/{at}"),
            message,
        );
    }
}

fn key(path: &str, elements: &[KeySchemaElement], violations: &mut Violations) {
    let count = |kind: &str| elements.iter().filter(|element| element.key_type == kind).count();
    violations.add_if(
        count("HASH") != 1 || count("RANGE") > 1,
        path,
        "a key is one HASH attribute, and at most one RANGE attribute",
    );
}

fn throughput(desired: &TableParameters, violations: &mut Violations) {
    match desired.billing_mode.as_deref() {
        Some("PROVISIONED") => violations.add_if(
            desired.provisioned_throughput.is_none(),
            "/provisionedThroughput",
            "the billing mode PROVISIONED needs a throughput",
        ),
        Some("PAY_PER_REQUEST") => {
            let wrong = "the billing mode PAY_PER_REQUEST has no throughput";
            violations.add_if(
                desired.provisioned_throughput.is_some(),
                "/provisionedThroughput",
                wrong,
            );
            for (at, index) in desired.global_secondary_indexes.iter().flatten().enumerate() {
                let path = format!("/globalSecondaryIndexes/{at}/provisionedThroughput");
                violations.add_if(index.provisioned_throughput.is_some(), path, wrong);
            }
        }
        _ => {
            // Without a mode, a table that is created without a throughput is PAY_PER_REQUEST.
            let indexes = desired.global_secondary_indexes.iter().flatten().enumerate();
            for (at, index) in indexes.filter(|_| desired.provisioned_throughput.is_none()) {
                violations.add_if(
                    index.provisioned_throughput.is_some(),
                    format!("/globalSecondaryIndexes/{at}/provisionedThroughput"),
                    "a throughput goes with the billing mode PROVISIONED: set it, and the table's throughput",
                );
            }
        }
    }
}

fn projection(projection: &Projection, path: &str, violations: &mut Violations) {
    let includes = projection.projection_type == "INCLUDE";
    let names = projection
        .non_key_attributes
        .as_ref()
        .is_some_and(|names| !names.is_empty());
    violations.add_if(
        includes != names,
        format!("{path}/projection/nonKeyAttributes"),
        "attributes are named with the projection INCLUDE, and only then",
    );
}

#[cfg(test)]
mod tests {
    use crossbridge_sdk::serde_json::{Value, from_value, json};

    use super::*;

    fn index(name: &str, keys: &[(&str, &str)]) -> Value {
        let key = |(name, kind): &(&str, &str)| json!({ "attributeName": name, "keyType": kind });
        let keys: Vec<Value> = keys.iter().map(key).collect();
        json!({
            "indexName": name,
            "keySchema": keys,
            "projection": { "projectionType": "ALL" },
        })
    }

    /// The failure for a table with the key (id, at) and these changes.
    fn failure_of(more: &Value) -> String {
        let defined = |name: &str| json!({ "attributeName": name, "attributeType": "S" });
        let definitions = ["id", "at", "by"].map(defined);
        let mut desired = json!({
            "attributeDefinitions": definitions,
            "keySchema": [
                { "attributeName": "id", "keyType": "HASH" },
                { "attributeName": "at", "keyType": "RANGE" },
            ],
        });
        for (key, value) in more.as_object().expect("an object") {
            desired[key] = value.clone();
        }
        let parameters: TableParameters = from_value(desired).expect("parameters");
        parameters
            .check()
            .err()
            .map(|failure| failure.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn local_indexes_share_the_hash_key_of_the_table() {
        let local = index("local", &[("id", "HASH"), ("by", "RANGE")]);
        assert_eq!(failure_of(&json!({ "localSecondaryIndexes": [local] })), "");
        for keys in [&[("by", "HASH"), ("at", "RANGE")][..], &[("id", "HASH")]] {
            let wrong = json!({ "localSecondaryIndexes": [index("local", keys)] });
            assert!(
                failure_of(&wrong).contains("/localSecondaryIndexes/0/keySchema"),
                "{keys:?}"
            );
        }
        let twice = json!({
            "localSecondaryIndexes": [local],
            "globalSecondaryIndexes": [index("local", &[("by", "HASH")])],
        });
        assert!(failure_of(&twice).contains("/localSecondaryIndexes/0/indexName"));
        let lonely = json!({
            "keySchema": [{ "attributeName": "id", "keyType": "HASH" }],
            "localSecondaryIndexes": [index("local", &[("id", "HASH"), ("by", "RANGE")])],
        });
        assert!(failure_of(&lonely).contains("/localSecondaryIndexes: "));
        let many: Vec<Value> = (0..21)
            .map(|n| index(&format!("index-{n}"), &[("by", "HASH")]))
            .collect();
        assert!(failure_of(&json!({ "globalSecondaryIndexes": many })).contains("at most 20"));
    }

    #[test]
    fn an_index_has_a_throughput_where_the_table_has_one() {
        let units = json!({ "readCapacityUnits": 1, "writeCapacityUnits": 1 });
        let mut index = index("by", &[("by", "HASH")]);
        index["provisionedThroughput"] = units.clone();
        let mut desired = json!({ "globalSecondaryIndexes": [index] });
        for mode in [Value::Null, json!("PAY_PER_REQUEST")] {
            desired["billingMode"] = mode;
            assert!(failure_of(&desired).contains("/globalSecondaryIndexes/0/provisionedThroughput"));
        }
        for mode in [Value::Null, json!("PROVISIONED")] {
            desired["billingMode"] = mode;
            desired["provisionedThroughput"] = units.clone();
            assert_eq!(failure_of(&desired), "");
        }
    }
}
