//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront.

use std::io::{self, IsTerminal};

use crossbridge_sdk::ServeError;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Serves at `PROVIDER_PLUGIN_ENDPOINT`. Logs go to standard error, as much as `RUST_LOG` asks for.
#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    provider_aws_example::plugin().serve().await
}
