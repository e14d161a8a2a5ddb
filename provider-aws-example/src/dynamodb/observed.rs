//! What AWS says of a table, in the shape of the wish.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{
    KeySchemaElement as ApiKey, Projection as ApiProjection, ProvisionedThroughputDescription, SseStatus,
    TableDescription,
};

use super::model::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, LocalIndex, Projection, Sse, Stream, TableParameters,
    Throughput,
};

/// What the description alone tells. `wish` is echoed where a thing that is off has details that AWS does not tell.
pub(super) fn parameters(
    table: &TableDescription,
    region: &str,
    wish: Option<&TableParameters>,
) -> TableParameters {
    let billing_mode = table
        .billing_mode_summary()
        .and_then(|summary| summary.billing_mode());
    let billing_mode = billing_mode.map_or("PROVISIONED", |mode| mode.as_str());
    let is_provisioned = billing_mode == "PROVISIONED";
    let throughput =
        |found: Option<&ProvisionedThroughputDescription>| found.filter(|_| is_provisioned).map(throughput);
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
    let matters = |has_opinion: fn(&TableParameters) -> bool| wish.is_none_or(has_opinion);
    let of_global = global_secondary_indexes
        .iter()
        .filter(|_| matters(|wish| wish.global_secondary_indexes.is_some()))
        .flat_map(|index| &index.key_schema);
    let of_local = local_secondary_indexes
        .iter()
        .filter(|_| matters(|wish| wish.local_secondary_indexes.is_some()))
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
        // A definition may outlive the index that it was for; and where nobody wishes for indexes, what they need is no drift.
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
        stream_specification: Some(stream(table, wish)),
        time_to_live: None,
        point_in_time_recovery_enabled: None,
        sse_specification: Some(sse(table, wish)),
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

fn throughput(found: &ProvisionedThroughputDescription) -> Throughput {
    Throughput {
        read_capacity_units: found.read_capacity_units().unwrap_or_default(),
        write_capacity_units: found.write_capacity_units().unwrap_or_default(),
    }
}

fn keys(found: &[ApiKey]) -> Vec<KeySchemaElement> {
    let key = |key: &ApiKey| KeySchemaElement {
        attribute_name: key.attribute_name().to_owned(),
        key_type: key.key_type().as_str().to_owned(),
    };
    found.iter().map(key).collect()
}

fn projection(found: Option<&ApiProjection>) -> Projection {
    let names = found.map(ApiProjection::non_key_attributes).unwrap_or_default();
    Projection {
        projection_type: found
            .and_then(ApiProjection::projection_type)
            .map_or("ALL", |projection| projection.as_str())
            .to_owned(),
        non_key_attributes: (!names.is_empty()).then(|| names.to_vec()),
    }
}

fn stream(table: &TableDescription, wish: Option<&TableParameters>) -> Stream {
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
            stream_view_type: wish
                .and_then(|wish| wish.stream_specification.as_ref())
                .and_then(|stream| stream.stream_view_type.clone()),
        },
    }
}

fn sse(table: &TableDescription, wish: Option<&TableParameters>) -> Sse {
    let wished = wish
        .and_then(|wish| wish.sse_specification.as_ref())
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
            kms_master_key_id: key_as_wished(wished, sse.kms_master_key_arn()),
        },
        None => Sse {
            enabled: false,
            kms_master_key_id: wished.map(ToOwned::to_owned),
        },
    }
}

/// AWS tells a key's ARN, whatever it was called in the wish: an id is the ARN's end, an alias cannot be compared.
fn key_as_wished(wish: Option<&str>, found: Option<&str>) -> Option<String> {
    match (wish, found) {
        (Some(wish), Some(_)) if wish.starts_with("alias/") || wish.contains(":alias/") => {
            Some(wish.to_owned())
        }
        (Some(wish), Some(found)) if found.ends_with(&format!("/{wish}")) => Some(wish.to_owned()),
        (_, found) => found.map(ToOwned::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{
        AttributeDefinition as ApiDefinition, GlobalSecondaryIndexDescription, KeyType, ScalarAttributeType,
    };

    use super::*;

    #[test]
    fn what_an_index_made_by_hand_needs_is_no_drift() {
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
        let names = |wish: Option<&TableParameters>| -> Vec<String> {
            let found = parameters(&table, "eu-west-1", wish).attribute_definitions;
            found.into_iter().map(|one| one.attribute_name).collect()
        };
        assert_eq!(names(None), ["id", "hand"]);
        let mut wish = TableParameters::default();
        assert_eq!(names(Some(&wish)), ["id"], "no opinion on indexes");
        wish.global_secondary_indexes = Some(Vec::new());
        assert_eq!(names(Some(&wish)), ["id", "hand"], "the index has to go");
    }

    #[test]
    fn a_key_is_told_as_it_was_wished_for() {
        let arn = "arn:aws:kms:eu-west-1:1:key/abc";
        for wish in ["abc", arn, "alias/mine"] {
            assert_eq!(key_as_wished(Some(wish), Some(arn)).as_deref(), Some(wish));
        }
        assert_eq!(key_as_wished(Some("other"), Some(arn)).as_deref(), Some(arn));
        assert_eq!(key_as_wished(None, Some(arn)).as_deref(), Some(arn));
        assert_eq!(key_as_wished(Some("abc"), None), None);
    }
}
