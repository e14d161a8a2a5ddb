//! Parameters of a table as AWS describes it.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{
    KeySchemaElement as ApiKey, Projection as ApiProjection, ProvisionedThroughputDescription, SseStatus,
    TableDescription,
};

use super::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, LocalIndex, Projection, Sse, Stream, TableParameters,
    Throughput,
};

/// The parameters that are in the description. The desired ones are echoed where something is off, and AWS does not report its details.
pub(in crate::services::dynamodb) fn parameters(
    table: &TableDescription,
    region: &str,
    desired: Option<&TableParameters>,
) -> TableParameters {
    let billing_mode = table
        .billing_mode_summary()
        .and_then(|summary| summary.billing_mode());
    let billing_mode = billing_mode.map_or("PROVISIONED", |mode| mode.as_str());
    let is_provisioned = billing_mode == "PROVISIONED";
    let throughput = |observed: Option<&ProvisionedThroughputDescription>| {
        observed.filter(|_| is_provisioned).map(throughput)
    };
    let global_secondary_indexes: Vec<GlobalIndex> = table
        .global_secondary_indexes()
        .iter()
        .map(|index| GlobalIndex {
            index_name: index.index_name().unwrap_or_default().to_owned(),
            key_schema: keys(index.key_schema()),
            projection: projection(index.projection()),
            provisioned_throughput: throughput(index.provisioned_throughput()),
        })
        .collect();
    let local_secondary_indexes: Vec<LocalIndex> = table
        .local_secondary_indexes()
        .iter()
        .map(|index| LocalIndex {
            index_name: index.index_name().unwrap_or_default().to_owned(),
            key_schema: keys(index.key_schema()),
            projection: projection(index.projection()),
        })
        .collect();
    let key_schema = keys(table.key_schema());
    let is_compared = |has_opinion: fn(&TableParameters) -> bool| desired.is_none_or(has_opinion);
    let of_global = global_secondary_indexes
        .iter()
        .filter(|_| is_compared(|desired| desired.global_secondary_indexes.is_some()))
        .flat_map(|index| &index.key_schema);
    let of_local = local_secondary_indexes
        .iter()
        .filter(|_| is_compared(|desired| desired.local_secondary_indexes.is_some()))
        .flat_map(|index| &index.key_schema);
    let defined: BTreeSet<&str> = key_schema
        .iter()
        .chain(of_global)
        .chain(of_local)
        .map(|key| key.attribute_name.as_str())
        .collect();
    TableParameters {
        region: Some(region.to_owned()),
        tags: None,
        // A definition may outlive its index; and where the desired state has no opinion on indexes, their definitions are no drift.
        attribute_definitions: table
            .attribute_definitions()
            .iter()
            .filter(|definition| defined.contains(definition.attribute_name()))
            .map(|definition| AttributeDefinition {
                attribute_name: definition.attribute_name().to_owned(),
                attribute_type: definition.attribute_type().as_str().to_owned(),
            })
            .collect(),
        billing_mode: Some(billing_mode.to_owned()),
        provisioned_throughput: throughput(table.provisioned_throughput()),
        stream_specification: Some(stream(table, desired)),
        time_to_live: None,
        point_in_time_recovery_enabled: None,
        sse_specification: Some(sse(table, desired)),
        deletion_protection_enabled: Some(table.deletion_protection_enabled().unwrap_or(false)),
        table_class: Some(
            table
                .table_class_summary()
                .and_then(|summary| summary.table_class())
                .map_or("STANDARD", |class| class.as_str())
                .to_owned(),
        ),
        key_schema,
        global_secondary_indexes: Some(global_secondary_indexes),
        local_secondary_indexes: Some(local_secondary_indexes),
    }
}

fn throughput(observed: &ProvisionedThroughputDescription) -> Throughput {
    Throughput {
        read_capacity_units: observed.read_capacity_units().unwrap_or_default(),
        write_capacity_units: observed.write_capacity_units().unwrap_or_default(),
    }
}

fn keys(observed: &[ApiKey]) -> Vec<KeySchemaElement> {
    let key = |key: &ApiKey| KeySchemaElement {
        attribute_name: key.attribute_name().to_owned(),
        key_type: key.key_type().as_str().to_owned(),
    };
    observed.iter().map(key).collect()
}

fn projection(observed: Option<&ApiProjection>) -> Projection {
    let names = observed
        .map(ApiProjection::non_key_attributes)
        .unwrap_or_default();
    Projection {
        projection_type: observed
            .and_then(ApiProjection::projection_type)
            .map_or("ALL", |projection| projection.as_str())
            .to_owned(),
        non_key_attributes: (!names.is_empty()).then(|| names.to_vec()),
    }
}

fn stream(table: &TableDescription, desired: Option<&TableParameters>) -> Stream {
    match table
        .stream_specification()
        .filter(|stream| stream.stream_enabled())
    {
        Some(stream) => Stream {
            stream_enabled: true,
            stream_view_type: stream.stream_view_type().map(|view| view.as_str().to_owned()),
        },
        None => Stream {
            stream_enabled: false,
            stream_view_type: desired
                .and_then(|desired| desired.stream_specification.as_ref())
                .and_then(|stream| stream.stream_view_type.clone()),
        },
    }
}

fn sse(table: &TableDescription, desired: Option<&TableParameters>) -> Sse {
    let desired = desired
        .and_then(|desired| desired.sse_specification.as_ref())
        .and_then(|sse| sse.kms_master_key_id.as_deref());
    let on = table.sse_description().filter(|sse| {
        matches!(
            sse.status(),
            Some(SseStatus::Enabled | SseStatus::Enabling | SseStatus::Updating)
        )
    });
    match on {
        Some(sse) => Sse {
            enabled: true,
            kms_master_key_id: key_as_desired(desired, sse.kms_master_key_arn()),
        },
        None => Sse {
            enabled: false,
            kms_master_key_id: desired.map(ToOwned::to_owned),
        },
    }
}

/// AWS reports the ARN of a key, however it was given: an id is the end of the ARN, an alias cannot be compared.
fn key_as_desired(desired: Option<&str>, observed: Option<&str>) -> Option<String> {
    match (desired, observed) {
        (Some(desired), Some(_)) if desired.starts_with("alias/") || desired.contains(":alias/") => {
            Some(desired.to_owned())
        }
        (Some(desired), Some(observed)) if observed.ends_with(&format!("/{desired}")) => {
            Some(desired.to_owned())
        }
        (_, observed) => observed.map(ToOwned::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{
        AttributeDefinition as ApiDefinition, GlobalSecondaryIndexDescription, KeyType, ScalarAttributeType,
    };

    use super::*;

    #[test]
    fn definitions_of_a_foreign_index_are_no_drift() {
        let key = |name: &str| {
            let key = ApiKey::builder().attribute_name(name).key_type(KeyType::Hash);
            key.build().expect("a key")
        };
        let defined = |name: &str| {
            let definition = ApiDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S);
            definition.build().expect("a definition")
        };
        let by_hand = GlobalSecondaryIndexDescription::builder()
            .index_name("by-hand")
            .key_schema(key("hand"));
        let table = TableDescription::builder()
            .key_schema(key("id"))
            .global_secondary_indexes(by_hand.build())
            .set_attribute_definitions(Some(["id", "hand", "left-over"].map(defined).into()))
            .build();
        let names = |desired: Option<&TableParameters>| -> Vec<String> {
            let observed = parameters(&table, "eu-west-1", desired).attribute_definitions;
            observed.into_iter().map(|one| one.attribute_name).collect()
        };
        assert_eq!(names(None), ["id", "hand"]);
        let mut desired = TableParameters::default();
        assert_eq!(names(Some(&desired)), ["id"], "no opinion on indexes");
        desired.global_secondary_indexes = Some(Vec::new());
        assert_eq!(names(Some(&desired)), ["id", "hand"], "the index has to go");
    }

    #[test]
    fn a_key_is_reported_as_it_was_given() {
        let arn = "arn:aws:kms:eu-west-1:1:key/abc";
        for desired in ["abc", arn, "alias/mine"] {
            assert_eq!(key_as_desired(Some(desired), Some(arn)).as_deref(), Some(desired));
        }
        assert_eq!(key_as_desired(Some("other"), Some(arn)).as_deref(), Some(arn));
        assert_eq!(key_as_desired(None, Some(arn)).as_deref(), Some(arn));
        assert_eq!(key_as_desired(Some("abc"), None), None);
    }
}
