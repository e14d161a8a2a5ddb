//! Changes to AWS outside the bridge, with the official SDK.

use aws_emulator::AwsEmulator;

/// SDK clients of the emulated AWS.
pub struct AwsClients {
    /// Client of S3.
    pub s3: aws_sdk_s3::Client,
    /// Client of SQS.
    pub sqs: aws_sdk_sqs::Client,
    /// Client of `DynamoDB`.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Client of `CloudFront`.
    pub cloudfront: aws_sdk_cloudfront::Client,
}

impl AwsClients {
    /// Clients with the keys of the emulator's user, who may do everything.
    pub async fn of(aws: &AwsEmulator) -> Self {
        let keys = aws.credentials();
        let keys = aws_sdk_s3::config::Credentials::new(
            keys.access_key_id,
            keys.secret_access_key,
            None,
            None,
            "test",
        );
        let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
            .endpoint_url(aws.endpoint())
            .region("us-east-1")
            .credentials_provider(keys)
            .load()
            .await;
        let s3 = aws_sdk_s3::config::Builder::from(&config)
            .force_path_style(true)
            .build();
        Self {
            s3: aws_sdk_s3::Client::from_conf(s3),
            sqs: aws_sdk_sqs::Client::new(&config),
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            cloudfront: aws_sdk_cloudfront::Client::new(&config),
        }
    }
}
