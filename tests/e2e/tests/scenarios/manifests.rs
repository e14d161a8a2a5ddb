//! What users ask for, one of each kind.

use serde_json::{Value, json};

/// A bucket with tags and versioning.
pub fn bucket() -> Value {
    json!({
        "apiVersion": "s3.aws.crossbridge.dev/v1alpha1",
        "kind": "Bucket",
        "spec": {"forProvider": {"tags": {"team": "web"}, "versioning": "Enabled"}},
    })
}

/// The manifest of a small SQS queue.
pub fn queue() -> Value {
    json!({
        "apiVersion": "sqs.aws.crossbridge.dev/v1alpha1",
        "kind": "Queue",
        "spec": {"forProvider": {"name": "orders", "visibilityTimeoutSeconds": 45, "tags": {"team": "web"}}},
    })
}

/// The manifest of a small DynamoDB table.
pub fn table() -> Value {
    json!({
        "apiVersion": "dynamodb.aws.crossbridge.dev/v1alpha1",
        "kind": "Table",
        "spec": {"forProvider": {
            "attributeDefinitions": [{"attributeName": "id", "attributeType": "S"}],
            "keySchema": [{"attributeName": "id", "keyType": "HASH"}],
            "billingMode": "PAY_PER_REQUEST",
            "tags": {"team": "web"},
        }},
    })
}

/// A distribution before an S3 origin.
pub fn distribution() -> Value {
    json!({
        "apiVersion": "cloudfront.aws.crossbridge.dev/v1alpha1",
        "kind": "Distribution",
        "spec": {"forProvider": {
            "comment": "site",
            "enabled": true,
            "origins": [{"id": "bucket", "domainName": "site.s3.amazonaws.com", "s3Origin": {}}],
            "defaultCacheBehavior": {"targetOriginId": "bucket", "viewerProtocolPolicy": "redirect-to-https"},
            "tags": {"team": "web"},
        }},
    })
}
