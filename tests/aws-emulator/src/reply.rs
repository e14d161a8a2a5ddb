//! Answers: what moto said, and errors of our own in the protocol of the service.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};

use crate::service::{Protocol, Service};
use crate::xml::escape;

/// A whole answer, in memory.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            status,
            headers,
            body: value.to_string().into(),
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_default()
    }
}

/// An error as an AWS service reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AwsError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl AwsError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn bad_request(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// In the protocol of the service.
    pub(crate) fn render(&self, service: Service) -> Reply {
        let (content_type, body) = match service.protocol() {
            Protocol::RestXmlUnwrapped => ("application/xml", self.unwrapped_xml()),
            Protocol::RestXml | Protocol::Query => ("text/xml", self.xml()),
            Protocol::Json | Protocol::JsonQueryCompatible => {
                ("application/x-amz-json-1.0", self.json(service))
            }
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if service.protocol() == Protocol::JsonQueryCompatible {
            let sender = if self.status.is_server_error() {
                "Receiver"
            } else {
                "Sender"
            };
            // SQS still names its errors as its former protocol did.
            let legacy = match self.code.as_str() {
                code @ ("QueueDeletedRecently" | "NonExistentQueue") => {
                    format!("AWS.SimpleQueueService.{code}")
                }
                code => code.to_owned(),
            };
            if let Ok(value) = HeaderValue::from_str(&format!("{legacy};{sender}")) {
                headers.insert("x-amzn-query-error", value);
            }
        }
        Reply {
            status: self.status,
            headers,
            body: body.into(),
        }
    }

    fn unwrapped_xml(&self) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>\
             <RequestId>{REQUEST_ID}</RequestId></Error>",
            self.code,
            escape(&self.message)
        )
    }

    fn xml(&self) -> String {
        let kind = if self.status.is_server_error() {
            "Receiver"
        } else {
            "Sender"
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ErrorResponse><Error><Type>{kind}</Type><Code>{}</Code>\
             <Message>{}</Message></Error><RequestId>{REQUEST_ID}</RequestId></ErrorResponse>",
            self.code,
            escape(&self.message)
        )
    }

    fn json(&self, service: Service) -> String {
        let namespace = format!("com.amazonaws.{}", service.to_string().to_ascii_lowercase());
        serde_json::json!({ "__type": format!("{namespace}#{}", self.code), "message": self.message })
            .to_string()
    }
}

const REQUEST_ID: &str = "00000000-emul-ated-0000-000000000000";
