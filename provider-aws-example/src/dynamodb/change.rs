//! Changing a table.

use aws_sdk_dynamodb::types::{
    BillingMode, CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate, TableClass, UpdateGlobalSecondaryIndexAction,
};
use crossbridge_sdk::Failure;

use super::look::Found;
use super::model::TableParameters;
use super::plan::Change;
use super::wished;
use super::work::Work;
use crate::ownership::TagChange;

impl Work<'_> {
    /// Changes the tags.
    pub(super) async fn tag(&self, found: &Found, change: TagChange) -> Result<(), Failure> {
        if !change.set.is_empty() {
            let request = self
                .client()
                .tag_resource()
                .resource_arn(&found.arn)
                .set_tags(Some(wished::tags(&change.set)?));
            self.steps
                .change("dynamodb:TagResource", request.send())
                .await
                .map_err(|refusal| self.refused(refusal))?;
        }
        if !change.remove.is_empty() {
            let request = self
                .client()
                .untag_resource()
                .resource_arn(&found.arn)
                .set_tag_keys(Some(change.remove));
            self.steps
                .change("dynamodb:UntagResource", request.send())
                .await
                .map_err(|refusal| self.refused(refusal))?;
        }
        Ok(())
    }

    /// Sends one change; the table is busy with it afterwards.
    pub(super) async fn send(
        &self,
        name: &str,
        wish: &TableParameters,
        change: Change,
    ) -> Result<(), Failure> {
        let request = self.client().update_table().table_name(name);
        let request = match change {
            Change::DeletionProtection(on) => request.deletion_protection_enabled(on),
            Change::TableClass(class) => request.table_class(TableClass::from(class.as_str())),
            Change::Stream(stream) => request.stream_specification(wished::stream(&stream)?),
            Change::Encryption => {
                request.set_sse_specification(wish.sse_specification.as_ref().map(wished::sse))
            }
            Change::Capacity {
                billing_mode,
                table,
                indexes,
            } => {
                let mut request = request
                    .billing_mode(BillingMode::from(billing_mode.as_str()))
                    .set_provisioned_throughput(table.map(wished::throughput).transpose()?);
                for (name, throughput) in indexes {
                    let update = UpdateGlobalSecondaryIndexAction::builder()
                        .index_name(name)
                        .provisioned_throughput(wished::throughput(throughput)?)
                        .build()?;
                    request = request.global_secondary_index_updates(
                        GlobalSecondaryIndexUpdate::builder().update(update).build(),
                    );
                }
                request
            }
            Change::DropIndex(name) => {
                let delete = DeleteGlobalSecondaryIndexAction::builder()
                    .index_name(name)
                    .build()?;
                request.global_secondary_index_updates(
                    GlobalSecondaryIndexUpdate::builder().delete(delete).build(),
                )
            }
            Change::AddIndex {
                index,
                definitions,
                throughput,
            } => {
                let create = CreateGlobalSecondaryIndexAction::builder()
                    .index_name(&index.index_name)
                    .set_key_schema(Some(wished::keys(&index.key_schema)?))
                    .projection(wished::projection(&index.projection))
                    .set_provisioned_throughput(throughput.map(wished::throughput).transpose()?)
                    .build()?;
                request
                    .set_attribute_definitions(Some(wished::definitions(&definitions)?))
                    .global_secondary_index_updates(
                        GlobalSecondaryIndexUpdate::builder().create(create).build(),
                    )
            }
        };
        self.steps
            .change("dynamodb:UpdateTable", request.send())
            .await
            .map_err(|refusal| self.refused(refusal))?;
        Ok(())
    }
}
