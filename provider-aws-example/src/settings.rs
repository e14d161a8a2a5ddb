//! Settings and credential keys of a `ProviderConfig` of this plugin.

use std::time::Duration;

use crossbridge_sdk::{CredentialKey, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Key of the credentials: an access key.
pub(crate) const ACCESS_KEY_ID: &str = "accessKeyId";
/// Key of the credentials: its secret.
pub(crate) const SECRET_ACCESS_KEY: &str = "secretAccessKey";
/// Key of the credentials: a token that goes with temporary keys.
pub(crate) const SESSION_TOKEN: &str = "sessionToken";
/// Key of the credentials: all of the above in an AWS credentials file, as Crossplane's providers have it.
pub(crate) const CREDENTIALS_FILE: &str = "credentials";

/// Which AWS to call, in which region and role.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    /// AWS region of resources that name none, for instance eu-west-1.
    pub(crate) region: Option<String>,
    /// URL of an endpoint that serves all AWS services, instead of AWS itself: a test, a proxy, another cloud that speaks its APIs.
    #[schemars(regex(pattern = r"^https?://.+$"))]
    pub(crate) endpoint: Option<String>,
    /// Address buckets as ENDPOINT/BUCKET rather than BUCKET.ENDPOINT. Endpoints that are IP addresses imply it.
    pub(crate) s3_use_path_style: Option<bool>,
    /// A role to assume.
    pub(crate) assume_role: Option<AssumeRole>,
    /// How often to poll an operation, such as 500ms, 10s or 2m. If omitted, each kind has an interval of its own.
    #[schemars(regex(pattern = r"^[0-9]+(ms|s|m)$"))]
    pub(crate) poll_interval: Option<String>,
}

/// A role to assume.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AssumeRole {
    /// ARN of the role.
    pub(crate) role_arn: String,
    /// External id that the role's trust policy asks for.
    pub(crate) external_id: Option<String>,
    /// Name of the session in `CloudTrail`; defaults to crossbridge.
    pub(crate) session_name: Option<String>,
}

impl Settings {
    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// `INVALID_CONFIG` for a poll interval that is no duration.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.poll_interval(Duration::ZERO).map(drop)
    }

    /// A region of the partition that the config is for; one of the commercial partition by default.
    pub(crate) fn home_region(&self) -> &str {
        self.region.as_deref().unwrap_or("us-east-1")
    }

    /// How often to poll an operation, where the kind's own interval is `default`.
    pub(crate) fn poll_interval(&self, default: Duration) -> Result<Duration, Failure> {
        let Some(text) = &self.poll_interval else {
            return Ok(default);
        };
        duration(text).ok_or_else(|| {
            Failure::invalid_config(format!(
                "settings.pollInterval {text:?} is not a duration such as 500ms, 10s or 2m"
            ))
        })
    }
}

fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u32 = text[..split].parse().ok()?;
    match &text[split..] {
        "ms" => Some(Duration::from_millis(number.into())),
        "s" => Some(Duration::from_secs(number.into())),
        "m" => Some(Duration::from_mins(1) * number),
        _ => None,
    }
}

/// The keys that credentials may have, and what each is. No key at all means the identity of the environment that the plugin runs in.
pub(crate) const CREDENTIAL_KEYS: [(&str, &str); 4] = [
    (ACCESS_KEY_ID, "AWS access key id"),
    (SECRET_ACCESS_KEY, "AWS secret access key"),
    (SESSION_TOKEN, "Session token of temporary keys"),
    (
        CREDENTIALS_FILE,
        "Instead of the others: an AWS credentials file, of which the profile \"default\" is used",
    ),
];

/// As the plugin publishes them.
pub(crate) fn credential_keys() -> [CredentialKey; CREDENTIAL_KEYS.len()] {
    CREDENTIAL_KEYS.map(|(name, description)| CredentialKey::new(name, description))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_interval_reads_like_a_duration() {
        let interval = |text: &str| {
            let settings = Settings {
                poll_interval: Some(text.to_owned()),
                ..Settings::default()
            };
            settings.poll_interval(Duration::from_secs(10)).ok()
        };
        assert_eq!(interval("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(interval("10s"), Some(Duration::from_secs(10)));
        assert_eq!(interval("2m"), Some(Duration::from_mins(2)));
        for wrong in ["", "s", "1", "1h", "-1s", "99999999999s"] {
            assert_eq!(interval(wrong), None, "{wrong}");
        }
        let default = Settings::default().poll_interval(Duration::from_secs(7));
        assert_eq!(default.ok(), Some(Duration::from_secs(7)));
    }
}
