//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront.

use std::env;
use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::process;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

const HELP: &str = "\
provider-aws-example: a Crossbridge plugin for AWS (S3, SQS, DynamoDB, CloudFront)

It takes no arguments. `runtime-bridge dev --plugin-command provider-aws-example` starts it and says where to listen.

Environment:
  PROVIDER_PLUGIN_ENDPOINT   where it listens: unix:///path, https://host:port, or http://127.0.0.1:port
  RUST_LOG                   what is logged to standard error; default: info

Region, credentials and endpoint are those of ProviderConfigs: docs/aws.md.
";

/// Serves at `PROVIDER_PLUGIN_ENDPOINT`. Logs go to standard error, as much as `RUST_LOG` asks for.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        None => {}
        Some("--help" | "-h") => return Ok(io::stdout().write_all(HELP.as_bytes())?),
        Some(argument) => {
            let text = format!("error: unexpected argument {argument:?}\n\n{HELP}");
            io::stderr().write_all(text.as_bytes())?;
            process::exit(2);
        }
    }
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    Ok(provider_aws_example::plugin().serve().await?)
}
