//! Looking for our table without its name. AWS cannot be asked for a tag: the tags of every table are read.

use crossbridge_sdk::Failure;
use futures::{StreamExt, TryStreamExt, stream};

use super::look::{Extent, Found};
use super::work::Work;
use crate::ownership::Owner;

/// Tables that are looked at at once; AWS throttles who asks for more.
const AT_ONCE: usize = 8;

impl Work<'_> {
    /// The table with our marker. What cannot be read within the deadline is a failure, never absence.
    pub(super) async fn find(&self, extent: Extent<'_>) -> Result<Option<Found>, Failure> {
        let mut last = None;
        loop {
            let request = self
                .client()
                .list_tables()
                .set_exclusive_start_table_name(last)
                .send();
            let page = self.steps.read("dynamodb:ListTables", request).await?;
            let names = page.table_names.unwrap_or_default();
            let looks = names
                .into_iter()
                .map(|name| async move { self.look(&name, Extent::Bare).await });
            let found: Vec<Option<Found>> = stream::iter(looks)
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
            let ours = found
                .into_iter()
                .flatten()
                .find(|found| self.owner(found) == Owner::Ours);
            if let Some(ours) = ours {
                return self.look(&ours.name, extent).await;
            }
            last = page.last_evaluated_table_name;
            if last.is_none() {
                return Ok(None);
            }
        }
    }
}
