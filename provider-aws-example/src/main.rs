//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront.

fn main() {}
