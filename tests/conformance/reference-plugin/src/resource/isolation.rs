//! One client for the whole process, where each config needs its own.

use std::{sync::Arc, time::Duration};

use crossbridge_types::Target;
use serde_json::Value;
use tokio::time::sleep;

use crate::plugin::ReferencePlugin;

impl ReferencePlugin {
    /// Sets the client's folder, and comes back to it after others may have.
    pub(super) async fn cross(&self, target: &mut Target, call: &str) {
        let is_crossed = match self.faults.variant("config/isolated") {
            Some("at-once") => call == "Observe",
            Some("unmarked") => call == "Observe" && target.resource_type.kind == "Record",
            Some("updates") => call == "Update",
            _ => false,
        };
        let folder = |target: &Target| {
            target
                .config
                .settings
                .as_ref()?
                .get("folder")?
                .as_str()
                .map(str::to_owned)
        };
        if let (true, Some(own)) = (is_crossed, folder(target)) {
            self.faults.set_client(&own);
            sleep(Duration::from_millis(5)).await;
            let config = Arc::make_mut(&mut target.config);
            let settings = config.settings.get_or_insert_default();
            settings.insert("folder".to_owned(), Value::from(self.faults.client()));
        }
    }
}
