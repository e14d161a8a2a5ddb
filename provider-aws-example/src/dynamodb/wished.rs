//! The wish, in the types of the API.

use aws_sdk_dynamodb::client::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition as ApiDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement as ApiKey,
    KeyType, LocalSecondaryIndex, Projection as ApiProjection, ProjectionType, ProvisionedThroughput,
    ScalarAttributeType, SseSpecification, SseType, StreamSpecification, StreamViewType, TableClass, Tag,
};

use super::model::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, Projection, Sse, Stream, TableParameters, Throughput,
};
use crate::ownership::Tags;

/// The request that makes a table, with its tags.
pub(super) fn create(
    client: &Client,
    name: &str,
    wish: &TableParameters,
    all_tags: &Tags,
) -> Result<CreateTableFluentBuilder, BuildError> {
    let billing = match (wish.billing_mode.as_deref(), wish.provisioned_throughput) {
        (Some(mode), _) => BillingMode::from(mode),
        (None, Some(_)) => BillingMode::Provisioned,
        (None, None) => BillingMode::PayPerRequest,
    };
    let mut request = client
        .create_table()
        .table_name(name)
        .set_attribute_definitions(Some(definitions(&wish.attribute_definitions)?))
        .set_key_schema(Some(keys(&wish.key_schema)?))
        .billing_mode(billing)
        .set_provisioned_throughput(wish.provisioned_throughput.map(throughput).transpose()?)
        .set_stream_specification(
            wish.stream_specification
                .as_ref()
                .filter(|wish| wish.stream_enabled)
                .map(stream)
                .transpose()?,
        )
        .set_sse_specification(wish.sse_specification.as_ref().map(sse))
        .set_deletion_protection_enabled(wish.deletion_protection_enabled)
        .set_table_class(wish.table_class.as_deref().map(TableClass::from))
        .set_tags(Some(tags(all_tags)?));
    for index in wish.global_secondary_indexes.iter().flatten() {
        let throughput = index.provisioned_throughput.or(wish.provisioned_throughput);
        request = request.global_secondary_indexes(global_index(index, throughput)?);
    }
    for index in wish.local_secondary_indexes.iter().flatten() {
        let index = LocalSecondaryIndex::builder()
            .index_name(&index.index_name)
            .set_key_schema(Some(keys(&index.key_schema)?))
            .projection(projection(&index.projection))
            .build()?;
        request = request.local_secondary_indexes(index);
    }
    Ok(request)
}

pub(super) fn definitions(wish: &[AttributeDefinition]) -> Result<Vec<ApiDefinition>, BuildError> {
    let definition = |wish: &AttributeDefinition| {
        ApiDefinition::builder()
            .attribute_name(&wish.attribute_name)
            .attribute_type(ScalarAttributeType::from(wish.attribute_type.as_str()))
            .build()
    };
    wish.iter().map(definition).collect()
}

/// AWS wants the HASH attribute first.
pub(super) fn keys(wish: &[KeySchemaElement]) -> Result<Vec<ApiKey>, BuildError> {
    let mut sorted: Vec<&KeySchemaElement> = wish.iter().collect();
    sorted.sort_by(|one, other| one.key_type.cmp(&other.key_type));
    let key = |wish: &KeySchemaElement| {
        ApiKey::builder()
            .attribute_name(&wish.attribute_name)
            .key_type(KeyType::from(wish.key_type.as_str()))
            .build()
    };
    sorted.into_iter().map(key).collect()
}

pub(super) fn projection(wish: &Projection) -> ApiProjection {
    ApiProjection::builder()
        .projection_type(ProjectionType::from(wish.projection_type.as_str()))
        .set_non_key_attributes(wish.non_key_attributes.clone())
        .build()
}

pub(super) fn throughput(wish: Throughput) -> Result<ProvisionedThroughput, BuildError> {
    ProvisionedThroughput::builder()
        .read_capacity_units(wish.read_capacity_units)
        .write_capacity_units(wish.write_capacity_units)
        .build()
}

pub(super) fn global_index(
    wish: &GlobalIndex,
    capacity: Option<Throughput>,
) -> Result<GlobalSecondaryIndex, BuildError> {
    GlobalSecondaryIndex::builder()
        .index_name(&wish.index_name)
        .set_key_schema(Some(keys(&wish.key_schema)?))
        .projection(projection(&wish.projection))
        .set_provisioned_throughput(capacity.map(throughput).transpose()?)
        .build()
}

pub(super) fn stream(wish: &Stream) -> Result<StreamSpecification, BuildError> {
    let view = wish
        .stream_view_type
        .as_deref()
        .filter(|_| wish.stream_enabled)
        .map(StreamViewType::from);
    StreamSpecification::builder()
        .stream_enabled(wish.stream_enabled)
        .set_stream_view_type(view)
        .build()
}

pub(super) fn sse(wish: &Sse) -> SseSpecification {
    SseSpecification::builder()
        .enabled(wish.enabled)
        .set_sse_type(wish.enabled.then_some(SseType::Kms))
        .set_kms_master_key_id(wish.kms_master_key_id.clone().filter(|_| wish.enabled))
        .build()
}

pub(super) fn tags(wish: &Tags) -> Result<Vec<Tag>, BuildError> {
    wish.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect()
}
