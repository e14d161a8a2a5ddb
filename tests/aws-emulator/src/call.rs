//! Which API call a request is: read from what every AWS client sends, before any body is understood.

use std::fmt;

use http::{HeaderMap, Method, Uri};
use serde::{Deserialize, Serialize};

mod rest;

/// An AWS service, by the name of its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Service {
    /// Simple Storage Service.
    S3,
    /// Simple Queue Service.
    #[serde(rename = "SQS")]
    Sqs,
    /// `DynamoDB`.
    DynamoDB,
    /// `CloudFront`.
    CloudFront,
    /// Security Token Service.
    #[serde(rename = "STS")]
    Sts,
    /// Identity and Access Management.
    #[serde(rename = "IAM")]
    Iam,
    /// Resource Groups Tagging.
    Tagging,
    /// Any other.
    Other,
}

impl Service {
    fn by_signing_name(name: &str) -> Self {
        match name {
            "s3" => Self::S3,
            "sqs" => Self::Sqs,
            "dynamodb" => Self::DynamoDB,
            "cloudfront" => Self::CloudFront,
            "sts" => Self::Sts,
            "iam" => Self::Iam,
            "tagging" => Self::Tagging,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S3 => "S3",
            Self::Sqs => "SQS",
            Self::DynamoDB => "DynamoDB",
            Self::CloudFront => "CloudFront",
            Self::Sts => "STS",
            Self::Iam => "IAM",
            Self::Tagging => "Tagging",
            Self::Other => "Other",
        })
    }
}

/// One call of an AWS API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) service: Service,
    /// As in the API reference: `CreateDistributionWithTags`.
    pub(crate) action: String,
    /// From the signature; empty if unsigned.
    pub(crate) region: String,
    /// What stands in the path of a REST call: bucket, distribution id.
    pub(crate) resource: Option<String>,
}

impl Call {
    pub(crate) fn identify(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let (region, signing_name) = credential_scope(headers).unwrap_or_default();
        let mut service = Service::by_signing_name(signing_name);
        let (action, resource) = match service {
            Service::CloudFront => rest::cloudfront(method, uri),
            Service::S3 => rest::s3(method, uri),
            _ if headers.contains_key("x-amz-target") => (target(headers), None),
            _ => {
                if let Some(action) = query_action(body) {
                    (action, None)
                } else {
                    service = Service::Other;
                    (format!("{method} {}", uri.path()), None)
                }
            }
        };
        Self {
            service,
            action,
            region: region.to_owned(),
            resource,
        }
    }
}

/// Region and signing name, from `Credential=KEY/20260101/us-east-1/s3/aws4_request`.
fn credential_scope(headers: &HeaderMap) -> Option<(&str, &str)> {
    let authorization = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let scope = authorization.split_once("Credential=")?.1.split(',').next()?;
    let mut parts = scope.rsplit('/');
    let (_terminator, service, region) = (parts.next()?, parts.next()?, parts.next()?);
    Some((region, service))
}

/// The JSON protocols name the action in a header: `DynamoDB_20120810.CreateTable`.
fn target(headers: &HeaderMap) -> String {
    let target = headers
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The query protocol names it in the form: `Action=GetCallerIdentity&Version=…`.
fn query_action(body: &[u8]) -> Option<String> {
    let form = std::str::from_utf8(body).ok()?;
    form.split('&')
        .find_map(|pair| pair.strip_prefix("Action="))
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
