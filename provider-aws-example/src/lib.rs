//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront; one module and one feature per service.

// What the services share is more than some of them use.
#![cfg_attr(
    not(all(feature = "cloudfront", feature = "dynamodb", feature = "s3", feature = "sqs")),
    allow(dead_code, unused_imports)
)]

mod check;
mod credentials;
#[cfg(any(feature = "cloudfront", feature = "dynamodb"))]
mod handle;
mod json_text;
mod ownership;
mod partition;
mod session;
mod settings;
mod upstream;
mod violations;

#[cfg(feature = "cloudfront")]
mod cloudfront;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "sqs")]
mod sqs;

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::Plugin;

use session::Sessions;
use settings::Settings;

/// Name of the plugin, and group of its `ProviderConfig`.
const NAME: &str = "aws.crossbridge.dev";

/// Served version of every kind.
const VERSION: &str = "v1alpha1";

/// Deadline of one call: a crash in the middle of a creation that never reached AWS then costs seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The plugin with the kinds of every service that is compiled in.
pub fn plugin() -> Plugin {
    let sessions = Arc::new(Sessions::default());
    let mut plugin = Plugin::new(NAME, env!("CARGO_PKG_VERSION")).settings::<Settings>();
    for key in settings::credential_keys() {
        plugin = plugin.credential(key);
    }
    let checking = Arc::clone(&sessions);
    plugin = plugin.check_config(move |call| check::config(Arc::clone(&checking), call));
    #[cfg(feature = "cloudfront")]
    {
        plugin = plugin.resource(cloudfront::Distribution::new(&sessions));
    }
    #[cfg(feature = "s3")]
    {
        plugin = plugin.resource(s3::Bucket::new(&sessions));
    }
    #[cfg(feature = "dynamodb")]
    {
        plugin = plugin.resource(dynamodb::Table::new(&sessions));
    }
    #[cfg(feature = "sqs")]
    {
        plugin = plugin.resource(sqs::Queue::new(&sessions));
    }
    plugin
}
