//! The request of one planned change.

use aws_sdk_dynamodb::types::{
    BillingMode, CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate, TableClass, UpdateGlobalSecondaryIndexAction,
};
use crossbridge_sdk::Failure;

use super::errors::explain;
use super::plan::TableChange;
use crate::context::CallContext;
use crate::services::dynamodb::model::{TableParameters, to_api};
use crate::services::dynamodb::read::client;

/// Sends one change; the table is busy with it afterwards.
pub(super) async fn send(
    context: &CallContext<'_>,
    name: &str,
    desired: &TableParameters,
    change: TableChange,
) -> Result<(), Failure> {
    let client = client(&context.session);
    let request = client.update_table().table_name(name);
    let request = match change {
        TableChange::DeletionProtection(on) => request.deletion_protection_enabled(on),
        TableChange::TableClass(class) => request.table_class(TableClass::from(class.as_str())),
        TableChange::Stream(stream) => request.stream_specification(to_api::stream(&stream)?),
        TableChange::Encryption => {
            request.set_sse_specification(desired.sse_specification.as_ref().map(to_api::sse))
        }
        TableChange::Capacity {
            billing_mode,
            table,
            indexes,
        } => {
            let mut request = request
                .billing_mode(BillingMode::from(billing_mode.as_str()))
                .set_provisioned_throughput(table.map(to_api::throughput).transpose()?);
            for (name, throughput) in indexes {
                let update = UpdateGlobalSecondaryIndexAction::builder()
                    .index_name(name)
                    .provisioned_throughput(to_api::throughput(throughput)?)
                    .build()?;
                request = request.global_secondary_index_updates(
                    GlobalSecondaryIndexUpdate::builder().update(update).build(),
                );
            }
            request
        }
        TableChange::DropIndex(name) => {
            let delete = DeleteGlobalSecondaryIndexAction::builder()
                .index_name(name)
                .build()?;
            request
                .global_secondary_index_updates(GlobalSecondaryIndexUpdate::builder().delete(delete).build())
        }
        TableChange::AddIndex {
            index,
            definitions,
            throughput,
        } => {
            let create = CreateGlobalSecondaryIndexAction::builder()
                .index_name(&index.index_name)
                .set_key_schema(Some(to_api::keys(&index.key_schema)?))
                .projection(to_api::projection(&index.projection))
                .set_provisioned_throughput(throughput.map(to_api::throughput).transpose()?)
                .build()?;
            request
                .set_attribute_definitions(Some(to_api::definitions(&definitions)?))
                .global_secondary_index_updates(GlobalSecondaryIndexUpdate::builder().create(create).build())
        }
    };
    context
        .requests
        .write("dynamodb:UpdateTable", request.send())
        .await
        .map_err(|error| explain(context, error))?;
    Ok(())
}
