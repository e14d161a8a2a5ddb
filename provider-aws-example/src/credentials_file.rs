//! An AWS credentials file as whoever wrote the config's Secret gave it: the static keys of its profile `default`, and nothing else. A file may
//! also tell the SDK to take the identity of the environment, of the machine, or of a file on it, which would be the plugin's own.

use aws_credential_types::Credentials;
use crossbridge_sdk::Failure;

const ACCESS_KEY_ID: &str = "aws_access_key_id";
const SECRET_ACCESS_KEY: &str = "aws_secret_access_key";
const SESSION_TOKEN: &str = "aws_session_token";

/// What leads to other credentials than those in the file.
const ELSEWHERE: [&str; 7] = [
    "credential_process",
    "credential_source",
    "role_arn",
    "source_profile",
    "sso_account_id",
    "sso_session",
    "web_identity_token_file",
];

/// The keys of the profile `default`.
///
/// # Errors
/// `UNAUTHENTICATED` if it has none, `INVALID_CONFIG` if it names credentials that are not in the file.
pub fn keys(text: &str) -> Result<Credentials, Failure> {
    let mut found = [
        (ACCESS_KEY_ID, None),
        (SECRET_ACCESS_KEY, None),
        (SESSION_TOKEN, None),
    ];
    let mut in_default = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(profile) = line.strip_prefix('[') {
            in_default = profile.split(']').next().is_some_and(is_default);
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| in_default && !is_nested) else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        if ELSEWHERE.contains(&key.as_str()) {
            return Err(Failure::invalid_config(format!(
                "the credentials file names {key}: of a file only {ACCESS_KEY_ID}, {SECRET_ACCESS_KEY} and {SESSION_TOKEN} are read; assume \
                 a role by settings.assumeRole"
            )));
        }
        if let Some((_, known)) = found.iter_mut().find(|(name, _)| *name == key) {
            *known = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    let [(_, id), (_, secret), (_, token)] = found;
    match (id, secret) {
        (Some(id), Some(secret)) => Ok(Credentials::new(id, secret, token, None, "ProviderConfig")),
        _ => Err(Failure::unauthenticated(format!(
            "the profile default of the credentials file lacks {ACCESS_KEY_ID} or {SECRET_ACCESS_KEY}"
        ))),
    }
}

fn is_default(profile: &str) -> bool {
    profile.trim() == "default" || profile.split_whitespace().eq(["profile", "default"])
}

#[cfg(test)]
mod tests {
    use crossbridge_sdk::FailureCode;

    use super::*;

    #[test]
    fn the_static_keys_of_the_default_profile_are_read() {
        let text = "# mine\n[other]\naws_access_key_id = X\n[default]\nregion=eu\nAWS_ACCESS_KEY_ID=AKIA\n\
                    s3 =\n  aws_secret_access_key = nested\naws_secret_access_key = a=b \naws_session_token =t\n[last]\n\
                    aws_secret_access_key = Y\n";
        let keys = keys(text).unwrap();
        assert_eq!(
            (
                keys.access_key_id(),
                keys.secret_access_key(),
                keys.session_token()
            ),
            ("AKIA", "a=b", Some("t"))
        );
    }

    #[test]
    fn a_file_that_leads_to_the_plugins_own_identity_is_rejected() {
        for line in [
            "credential_source = Ec2InstanceMetadata",
            "credential_source=Environment",
            "web_identity_token_file = /var/run/secrets/token",
            "role_arn = arn:aws:iam::1:role/x",
            "source_profile = other",
            "credential_process = /bin/sh",
            "SSO_SESSION = x",
        ] {
            let text = format!("[default]\naws_access_key_id = A\naws_secret_access_key = B\n{line}\n");
            let rejected = keys(&text).unwrap_err();
            assert_eq!(rejected.code(), Some(FailureCode::InvalidConfig), "{line}");
        }
        let none = keys("[default]\naws_access_key_id = A\n").unwrap_err();
        assert_eq!(none.code(), Some(FailureCode::Unauthenticated));
    }
}
