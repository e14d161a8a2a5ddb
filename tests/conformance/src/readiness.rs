//! Waiting until a plugin serves.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{GetPluginInfoRequest, plugin_service_client::PluginServiceClient};
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, transport::Channel};

use crate::{client::describe, verdict::Stop};

/// How long a plugin may take to serve after it was started.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(1);

/// Waits until the plugin answers who it is, with whatever. Its health has an assertion of its own.
pub(crate) async fn wait_until_serving(channel: &Channel) -> Result<(), Stop> {
    wait_until_serving_within(channel, START_LIMIT).await
}

/// The same within another limit.
pub(crate) async fn wait_until_serving_within(channel: &Channel, limit: Duration) -> Result<(), Stop> {
    let until = Instant::now() + limit;
    let mut client = PluginServiceClient::new(channel.clone());
    loop {
        let asked = client.get_plugin_info(GetPluginInfoRequest::default());
        let why = match timeout(Duration::from_secs(5), asked).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(status)) if !is_transport(&status) => return Ok(()),
            Ok(Err(status)) => describe(&status),
            Err(_) => "no answer came".to_owned(),
        };
        if Instant::now() >= until {
            return Err(Stop::blocked(format!(
                "the plugin does not serve after {} s: {why}",
                limit.as_secs()
            )));
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Whether no one answered.
fn is_transport(status: &tonic::Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal
    )
}
