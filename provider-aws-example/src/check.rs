//! Are a config's settings and credentials usable?

use std::sync::Arc;

use crossbridge_sdk::{ConfigCall, Failure};

use crate::session::Sessions;
use crate::settings::Settings;
use crate::upstream::Steps;

/// Asks AWS who we are: the account. Needs no permission.
pub(crate) async fn config(sessions: Arc<Sessions>, call: ConfigCall) -> Result<String, Failure> {
    let settings: Settings = call.config.settings()?;
    settings.check()?;
    let session = sessions.global(&call.config, settings.home_region()).await?;
    session.account(&Steps::new(call.deadline)).await
}
