//! The URL of a queue, which is its name in the API.

use crossbridge_sdk::Failure;

use crate::session::Session;
use crate::upstream::Steps;

/// The URL that AWS gives to a queue of this name.
pub(super) async fn url(session: &Session, steps: &Steps, name: &str) -> Result<String, Failure> {
    let account = session.account(steps).await?;
    let domain = session.partition().domain;
    Ok(derive(
        session.settings.endpoint.as_deref(),
        &session.region,
        domain,
        &account,
        name,
    ))
}

fn derive(endpoint: Option<&str>, region: &str, domain: &str, account: &str, name: &str) -> String {
    match endpoint {
        Some(endpoint) => format!("{}/{account}/{name}", endpoint.trim_end_matches('/')),
        None => format!("https://sqs.{region}.{domain}/{account}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::derive;

    #[test]
    fn a_url_is_made_of_region_account_and_name() {
        assert_eq!(
            derive(None, "eu-west-1", "amazonaws.com", "123456789012", "jobs"),
            "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
        );
        assert_eq!(
            derive(
                Some("http://127.0.0.1:5000/"),
                "eu-west-1",
                "amazonaws.com",
                "1",
                "jobs"
            ),
            "http://127.0.0.1:5000/1/jobs"
        );
    }
}
