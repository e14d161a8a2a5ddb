//! `CheckConfig`: whether settings and credentials of a config are usable.

use std::sync::Arc;

use crossbridge_sdk::{ConfigCall, Failure};

use crate::api::Requests;
use crate::session::Sessions;
use crate::settings::Settings;

/// Returns the account that the credentials belong to, as AWS reports it. Needs no permission.
pub(crate) async fn check_config(sessions: Arc<Sessions>, call: ConfigCall) -> Result<String, Failure> {
    let settings: Settings = call.config.settings()?;
    settings.check()?;
    let session = sessions.global(&call.config, settings.home_region()).await?;
    session.ask_account(&Requests::new(call.deadline)).await
}
