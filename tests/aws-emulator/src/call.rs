//! Which API call a request is: read from what every AWS client sends, before any body is understood.

use http::{HeaderMap, Method, Uri};

use crate::service::Service;

mod rest;

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
