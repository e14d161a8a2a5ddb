//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront.

use crossbridge_sdk::ServeError;

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    provider_aws_example::plugin().serve().await
}
