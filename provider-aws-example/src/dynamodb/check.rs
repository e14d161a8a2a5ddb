//! What a table's schema cannot say.

use std::collections::BTreeSet;

use crossbridge_sdk::Failure;

use super::model::{KeySchemaElement, Projection, TableParameters};
use crate::ownership;
use crate::violations::Violations;

/// Refuses what AWS would refuse, and tells which fields are at fault.
pub(super) fn check(wish: &TableParameters) -> Result<(), Failure> {
    let mut violations = Violations::default();
    ownership::check(wish.tags.as_ref(), &mut violations);
    keys(wish, &mut violations);
    throughput(wish, &mut violations);
    for (index, global) in wish.global_secondary_indexes.iter().flatten().enumerate() {
        projection(
            &global.projection,
            &format!("/globalSecondaryIndexes/{index}"),
            &mut violations,
        );
    }
    for (index, local) in wish.local_secondary_indexes.iter().flatten().enumerate() {
        projection(
            &local.projection,
            &format!("/localSecondaryIndexes/{index}"),
            &mut violations,
        );
    }
    if let Some(stream) = &wish.stream_specification {
        violations.add_if(
            stream.stream_enabled && stream.stream_view_type.is_none(),
            "/streamSpecification/streamViewType",
            "a stream needs a view type",
        );
    }
    violations.into_result()
}

/// Every key is defined, and everything that is defined is a key.
fn keys(wish: &TableParameters, violations: &mut Violations) {
    let definitions = &wish.attribute_definitions;
    let is_defined = |name: &str| {
        definitions
            .iter()
            .any(|definition| definition.attribute_name == name)
    };
    let mut used = BTreeSet::new();
    let global = wish
        .global_secondary_indexes
        .iter()
        .flatten()
        .map(|index| &index.key_schema);
    let local = wish
        .local_secondary_indexes
        .iter()
        .flatten()
        .map(|index| &index.key_schema);
    let places = std::iter::once(("/keySchema".to_owned(), &wish.key_schema))
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
    for (path, keys) in places {
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
    // Without an opinion on the indexes, their keys are not known here.
    if wish.global_secondary_indexes.is_none() && definitions.len() > wish.key_schema.len() {
        return;
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

fn throughput(wish: &TableParameters, violations: &mut Violations) {
    match wish.billing_mode.as_deref() {
        Some("PROVISIONED") => violations.add_if(
            wish.provisioned_throughput.is_none(),
            "/provisionedThroughput",
            "the billing mode PROVISIONED needs a throughput",
        ),
        Some("PAY_PER_REQUEST") => {
            let wrong = "the billing mode PAY_PER_REQUEST has no throughput";
            violations.add_if(
                wish.provisioned_throughput.is_some(),
                "/provisionedThroughput",
                wrong,
            );
            for (at, index) in wish.global_secondary_indexes.iter().flatten().enumerate() {
                let path = format!("/globalSecondaryIndexes/{at}/provisionedThroughput");
                violations.add_if(index.provisioned_throughput.is_some(), path, wrong);
            }
        }
        _ => {}
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
