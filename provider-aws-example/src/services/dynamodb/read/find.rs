//! Looks a table up: by name, and without a name by its marker. AWS has no look-up by tag: the tags of every table are read.

use crossbridge_sdk::{Failure, Observation, Observed};
use futures::{StreamExt, TryStreamExt, stream};

use super::{ObservedTable, ReadScope, client, read};
use crate::context::CallContext;
use crate::services::dynamodb::kind::Table;
use crate::services::dynamodb::model::TableParameters;
use crate::tags::Ownership;

/// Tables that are read at once; AWS throttles more.
const CONCURRENT_READS: usize = 8;

/// Reads the table of the external name, else the one with the marker of the object.
pub(in crate::services::dynamodb) async fn observe(
    context: &CallContext<'_>,
    desired: Option<&TableParameters>,
) -> Result<Observed<Table>, Failure> {
    let scope = ReadScope::of(desired);
    let observed = match context.external_name() {
        "" => find_by_marker(context, scope).await?,
        name => read(context, name, scope).await?,
    };
    Ok(match observed {
        Some(observed) => Observation::from(observed).into(),
        None => Observed::absent(),
    })
}

/// What cannot be read within the deadline is a failure, never absence.
async fn find_by_marker(
    context: &CallContext<'_>,
    scope: ReadScope<'_>,
) -> Result<Option<ObservedTable>, Failure> {
    let client = client(&context.session);
    let mut last = None;
    loop {
        let request = client.list_tables().set_exclusive_start_table_name(last).send();
        let page = context.requests.read("dynamodb:ListTables", request).await?;
        let names = page.table_names.unwrap_or_default();
        let reads = names
            .into_iter()
            .map(|name| async move { read(context, &name, ReadScope::Identity).await });
        let tables: Vec<Option<ObservedTable>> = stream::iter(reads)
            .buffer_unordered(CONCURRENT_READS)
            .try_collect()
            .await?;
        let owned = tables
            .into_iter()
            .flatten()
            .find(|table| context.ownership(&table.tags) == Ownership::Owned);
        if let Some(owned) = owned {
            return read(context, &owned.name, scope).await;
        }
        last = page.last_evaluated_table_name;
        if last.is_none() {
            return Ok(None);
        }
    }
}
