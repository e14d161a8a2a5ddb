//! The URL of a queue, which is its external name.

use crossbridge_sdk::Failure;

use crate::context::CallContext;

/// The URL that AWS gives to a queue of this name: `https://sqs.eu-west-1.amazonaws.com/123456789012/jobs`.
pub(in crate::services::sqs) async fn of_name(
    context: &CallContext<'_>,
    name: &str,
) -> Result<String, Failure> {
    let session = &context.session;
    let account = session.account(&context.requests).await?;
    Ok(format!("{}/{account}/{name}", session.endpoint("sqs")))
}

/// The region in such a URL. The URL of an endpoint of the user's own has none.
pub(in crate::services::sqs) fn region(url: &str) -> Option<&str> {
    let (host, _) = url.strip_prefix("https://")?.split_once('/')?;
    let (region, domain) = host.strip_prefix("sqs.")?.split_once('.')?;
    domain.starts_with("amazonaws.com").then_some(region)
}

/// The name of the queue, the last part of its URL.
pub(in crate::services::sqs) fn name(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_aws_contains_its_region() {
        let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs";
        assert_eq!(region(url), Some("eu-west-1"));
        assert_eq!(name(url), "jobs");
        let china = "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/jobs";
        assert_eq!(region(china), Some("cn-north-1"));
        for other in [
            "http://127.0.0.1:5000/1/jobs",
            "https://sqs.example.org/1/jobs",
            "",
        ] {
            assert_eq!(region(other), None, "{other}");
        }
    }
}
