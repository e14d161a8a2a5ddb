//! The URL of a queue, which is its name in the API.

use crossbridge_sdk::Failure;

use crate::session::Session;
use crate::upstream::Steps;

/// The URL that AWS gives to a queue of this name: `https://sqs.eu-west-1.amazonaws.com/123456789012/jobs`.
pub(super) async fn url(session: &Session, steps: &Steps, name: &str) -> Result<String, Failure> {
    let account = session.account(steps).await?;
    Ok(format!("{}/{account}/{name}", session.endpoint("sqs")))
}

/// The region that such a URL tells. One of an endpoint of the user's own tells none.
pub(super) fn region_in(url: &str) -> Option<&str> {
    let (host, _) = url.strip_prefix("https://")?.split_once('/')?;
    let (region, domain) = host.strip_prefix("sqs.")?.split_once('.')?;
    domain.starts_with("amazonaws.com").then_some(region)
}

/// The queue's own name.
pub(super) fn of(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_aws_tells_its_region() {
        let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs";
        assert_eq!(region_in(url), Some("eu-west-1"));
        assert_eq!(of(url), "jobs");
        let china = "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/jobs";
        assert_eq!(region_in(china), Some("cn-north-1"));
        for other in [
            "http://127.0.0.1:5000/1/jobs",
            "https://sqs.example.org/1/jobs",
            "",
        ] {
            assert_eq!(region_in(other), None, "{other}");
        }
    }
}
