//! Signed calls of our own, straight to moto: neither counted nor harmed.

use std::fmt;
use std::net::SocketAddr;
use std::time::SystemTime;

use aws_credential_types::Credentials as SigningCredentials;
use aws_sigv4::http_request::{PayloadChecksumKind, SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::{Method, Request, StatusCode};

use crate::proxy::Upstream;

/// Keys of an AWS user. `Debug` leaves the secret out.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of that key; signs requests, is never sent.
    pub secret_access_key: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// For a moto that checks nothing: any will do.
    pub(crate) fn unchecked() -> Self {
        Self {
            access_key_id: "AKIAEMULATOR00000000".to_owned(),
            secret_access_key: "invented".to_owned(),
        }
    }
}

/// Why a call of our own did not work.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It cannot be sent.
    #[error("cannot call {service}: {cause}")]
    Unsent {
        /// The signing name of the service.
        service: String,
        /// The transport's error.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Moto rejected the call.
    #[error("{service} rejected the call: HTTP {status}: {said}")]
    Rejected {
        /// The signing name of the service.
        service: String,
        /// HTTP status of the answer.
        status: StatusCode,
        /// The answer's body.
        said: String,
    },
    /// The response does not have the expected shape.
    #[error("{service} answered something unexpected: {said}")]
    Unexpected {
        /// The signing name of the service.
        service: String,
        /// The answer's body.
        said: String,
    },
}

/// A call to send.
#[derive(Debug, Clone)]
pub(crate) struct SignedCall<'a> {
    /// By signing name: `s3`.
    pub(crate) service: &'a str,
    pub(crate) region: &'a str,
    pub(crate) method: Method,
    /// Path and query, as they are signed.
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(&'a str, String)>,
    pub(crate) body: String,
}

impl<'a> SignedCall<'a> {
    /// Of a REST protocol.
    pub(crate) fn get(service: &'a str, path: &'a str) -> Self {
        Self {
            service,
            region: "us-east-1",
            method: Method::GET,
            path,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Of a JSON protocol; the target is `DynamoDB_20120810.ListTables`.
    pub(crate) fn json(service: &'a str, region: &'a str, target: &str, body: &serde_json::Value) -> Self {
        let headers = vec![
            ("content-type", "application/x-amz-json-1.0".to_owned()),
            ("x-amz-target", target.to_owned()),
        ];
        Self {
            service,
            region,
            method: Method::POST,
            path: "/",
            headers,
            body: body.to_string(),
        }
    }

    /// Of the query protocol.
    pub(crate) fn form(service: &'a str, fields: &[(&str, &str)]) -> Self {
        let headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        Self {
            service,
            region: "us-east-1",
            method: Method::POST,
            path: "/",
            headers,
            body,
        }
    }
}

/// Signs calls and sends them straight to moto, past counts, faults and behaviors.
#[derive(Debug, Clone)]
pub(crate) struct Aws {
    upstream: Upstream,
    /// As clients know it: queue URLs are built from it.
    address: SocketAddr,
}

impl Aws {
    pub(crate) fn new(upstream: Upstream, address: SocketAddr) -> Self {
        Self { upstream, address }
    }

    /// The body of a successful answer.
    pub(crate) async fn call(&self, who: &Credentials, call: SignedCall<'_>) -> Result<String, CallError> {
        let service = call.service.to_owned();
        let unsent = |cause| CallError::Unsent {
            service: service.clone(),
            cause,
        };
        let request = self.sign(who, &call).map_err(unsent)?;
        let (parts, ()) = request.into_parts();
        let reply = self
            .upstream
            .forward(parts, Bytes::from(call.body))
            .await
            .map_err(unsent)?;
        let said = reply.text().to_owned();
        if reply.is_success() {
            Ok(said)
        } else {
            Err(CallError::Rejected {
                service,
                status: reply.status,
                said,
            })
        }
    }

    fn sign(
        &self,
        who: &Credentials,
        call: &SignedCall<'_>,
    ) -> Result<Request<()>, Box<dyn std::error::Error + Send + Sync>> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("http://{}{}", self.address, call.path))
            .header("host", self.address.to_string());
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(())?;
        let identity = SigningCredentials::new(
            &who.access_key_id,
            &who.secret_access_key,
            None,
            None,
            "aws-emulator",
        )
        .into();
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(call.region)
            .name(call.service)
            .time(SystemTime::now())
            .settings(settings)
            .build()?
            .into();
        let headers = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
        let uri = request.uri().to_string();
        let signable = SignableRequest::new(
            call.method.as_str(),
            uri,
            headers,
            SignableBody::Bytes(call.body.as_bytes()),
        )?;
        let (instructions, _) = sign(signable, &parameters)?.into_parts();
        instructions.apply_to_request_http1x(&mut request);
        Ok(request)
    }
}
