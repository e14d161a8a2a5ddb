//! Moto answers every rejected signature or permission in one XML shape; AWS answers in the protocol of the service, with the
//! service's own codes.

use http::StatusCode;

use crate::reply::{AwsError, Reply};
use crate::service::{Protocol, Service};

/// Rewrites moto's rejection as the service would have it; leaves everything else alone.
pub(super) fn reword(service: Service, reply: &mut Reply) {
    if service.protocol() == Protocol::RestXmlUnwrapped || reply.status != StatusCode::FORBIDDEN {
        return;
    }
    let text = reply.text();
    if !text.contains("<ErrorResponse>") {
        return;
    }
    let (Some(code), Some(message)) = (element(text, "Code"), element(text, "Message")) else {
        return;
    };
    let error = match (service.protocol(), code) {
        (Protocol::Json, code) => {
            let code = match code {
                "InvalidClientTokenId" => "UnrecognizedClientException",
                "SignatureDoesNotMatch" => "InvalidSignatureException",
                "AccessDenied" => "AccessDeniedException",
                other => other,
            };
            AwsError::bad_request(code, message)
        }
        (_, code) => AwsError::new(StatusCode::FORBIDDEN, code, message),
    };
    *reply = error.render(service);
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let length = text[start..].find(&format!("</{name}>"))?;
    Some(&text[start..start + length])
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn refusal(code: &str) -> Reply {
        let body = format!(
            "<ErrorResponse><Errors><Error><Code>{code}</Code><Message>no</Message></Error></Errors></ErrorResponse>"
        );
        Reply {
            status: StatusCode::FORBIDDEN,
            headers: HeaderMap::new(),
            body: body.into(),
        }
    }

    #[test]
    fn a_rejection_uses_the_protocol_of_its_service() {
        let mut dynamodb = refusal("InvalidClientTokenId");
        reword(Service::DynamoDB, &mut dynamodb);
        assert_eq!(dynamodb.status, StatusCode::BAD_REQUEST);
        assert!(
            dynamodb.text().contains("#UnrecognizedClientException"),
            "{}",
            dynamodb.text()
        );
        let mut cloudfront = refusal("SignatureDoesNotMatch");
        reword(Service::CloudFront, &mut cloudfront);
        assert_eq!(cloudfront.status, StatusCode::FORBIDDEN);
        assert!(
            cloudfront
                .text()
                .contains("<Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code>")
        );
    }
}
