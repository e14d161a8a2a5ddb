//! Parameters in the types of the API.

use aws_sdk_dynamodb::client::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition as ApiDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement as ApiKey,
    KeyType, LocalSecondaryIndex, Projection as ApiProjection, ProjectionType, ProvisionedThroughput,
    ScalarAttributeType, SseSpecification, SseType, StreamSpecification, StreamViewType, TableClass, Tag,
};

use super::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, Projection, Sse, Stream, TableParameters, Throughput,
};
use crate::tags::Tags;

/// The request that creates a table, with its tags.
pub(in crate::services::dynamodb) fn create_table(
    client: &Client,
    name: &str,
    desired: &TableParameters,
    all_tags: &Tags,
) -> Result<CreateTableFluentBuilder, BuildError> {
    let billing = match (desired.billing_mode.as_deref(), desired.provisioned_throughput) {
        (Some(mode), _) => BillingMode::from(mode),
        (None, Some(_)) => BillingMode::Provisioned,
        (None, None) => BillingMode::PayPerRequest,
    };
    let mut request = client
        .create_table()
        .table_name(name)
        .set_attribute_definitions(Some(definitions(&desired.attribute_definitions)?))
        .set_key_schema(Some(keys(&desired.key_schema)?))
        .billing_mode(billing)
        .set_provisioned_throughput(desired.provisioned_throughput.map(throughput).transpose()?)
        .set_stream_specification(
            desired
                .stream_specification
                .as_ref()
                .filter(|desired| desired.stream_enabled)
                .map(stream)
                .transpose()?,
        )
        .set_sse_specification(desired.sse_specification.as_ref().map(sse))
        .set_deletion_protection_enabled(desired.deletion_protection_enabled)
        .set_table_class(desired.table_class.as_deref().map(TableClass::from))
        .set_tags(Some(tags(all_tags)?));
    for index in desired.global_secondary_indexes.iter().flatten() {
        let throughput = index.provisioned_throughput.or(desired.provisioned_throughput);
        request = request.global_secondary_indexes(global_index(index, throughput)?);
    }
    for index in desired.local_secondary_indexes.iter().flatten() {
        let index = LocalSecondaryIndex::builder()
            .index_name(&index.index_name)
            .set_key_schema(Some(keys(&index.key_schema)?))
            .projection(projection(&index.projection))
            .build()?;
        request = request.local_secondary_indexes(index);
    }
    Ok(request)
}

pub(in crate::services::dynamodb) fn definitions(
    desired: &[AttributeDefinition],
) -> Result<Vec<ApiDefinition>, BuildError> {
    let definition = |desired: &AttributeDefinition| {
        ApiDefinition::builder()
            .attribute_name(&desired.attribute_name)
            .attribute_type(ScalarAttributeType::from(desired.attribute_type.as_str()))
            .build()
    };
    desired.iter().map(definition).collect()
}

/// Puts the HASH attribute first, as AWS requires.
pub(in crate::services::dynamodb) fn keys(desired: &[KeySchemaElement]) -> Result<Vec<ApiKey>, BuildError> {
    let mut sorted: Vec<&KeySchemaElement> = desired.iter().collect();
    sorted.sort_by(|one, other| one.key_type.cmp(&other.key_type));
    let key = |desired: &KeySchemaElement| {
        ApiKey::builder()
            .attribute_name(&desired.attribute_name)
            .key_type(KeyType::from(desired.key_type.as_str()))
            .build()
    };
    sorted.into_iter().map(key).collect()
}

pub(in crate::services::dynamodb) fn projection(desired: &Projection) -> ApiProjection {
    ApiProjection::builder()
        .projection_type(ProjectionType::from(desired.projection_type.as_str()))
        .set_non_key_attributes(desired.non_key_attributes.clone())
        .build()
}

pub(in crate::services::dynamodb) fn throughput(
    desired: Throughput,
) -> Result<ProvisionedThroughput, BuildError> {
    ProvisionedThroughput::builder()
        .read_capacity_units(desired.read_capacity_units)
        .write_capacity_units(desired.write_capacity_units)
        .build()
}

pub(in crate::services::dynamodb) fn global_index(
    desired: &GlobalIndex,
    capacity: Option<Throughput>,
) -> Result<GlobalSecondaryIndex, BuildError> {
    GlobalSecondaryIndex::builder()
        .index_name(&desired.index_name)
        .set_key_schema(Some(keys(&desired.key_schema)?))
        .projection(projection(&desired.projection))
        .set_provisioned_throughput(capacity.map(throughput).transpose()?)
        .build()
}

pub(in crate::services::dynamodb) fn stream(desired: &Stream) -> Result<StreamSpecification, BuildError> {
    let view = desired
        .stream_view_type
        .as_deref()
        .filter(|_| desired.stream_enabled)
        .map(StreamViewType::from);
    StreamSpecification::builder()
        .stream_enabled(desired.stream_enabled)
        .set_stream_view_type(view)
        .build()
}

pub(in crate::services::dynamodb) fn sse(desired: &Sse) -> SseSpecification {
    SseSpecification::builder()
        .enabled(desired.enabled)
        .set_sse_type(desired.enabled.then_some(SseType::Kms))
        .set_kms_master_key_id(desired.kms_master_key_id.clone().filter(|_| desired.enabled))
        .build()
}

pub(in crate::services::dynamodb) fn tags(desired: &Tags) -> Result<Vec<Tag>, BuildError> {
    desired
        .iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect()
}
