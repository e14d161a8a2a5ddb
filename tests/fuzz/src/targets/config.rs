//! What tenants and operators write into a ProviderConfig and its Secret.

use bridge_engine::config::{ConfigSpec, credentials_of_value};
use provider_aws_example::credentials_file;

use super::{in_proportion, object};
use crate::{Target, ensure, target::rejected};

/// The spec of a config.
pub(super) const CONFIG: Target = Target {
    name: "config",
    about: "spec of a ProviderConfig: one of a namespace never names a Secret of another, whatever it says; a rejection names the field",
    words: &[
        "credentials",
        "secretRef",
        "namespace",
        "source",
        "Secret",
        "Environment",
        "Filesystem",
        "InjectedIdentity",
        "env",
        "fs",
        "key",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        let Some(config) = object::config(Some("tenant"), &text) else {
            return Ok("no object".to_owned());
        };
        let spec = match ConfigSpec::of(&config) {
            Ok(spec) => spec,
            Err(why) => return rejected(&why),
        };
        let secret = spec.secret(config.namespace());
        ensure(
            secret.as_ref().is_none_or(|secret| secret.namespace == "tenant"),
            || format!("it reads {secret:?}"),
        )?;
        let of_cluster = spec.secret(None);
        Ok(format!(
            "{} {}",
            secret.is_some_and(|secret| secret.key.is_some()),
            of_cluster.is_some()
        ))
    },
};

/// One value of a Secret, a variable or a file.
pub(super) const CREDENTIALS: Target = Target {
    name: "credentials",
    about: "the value of a key of a Secret: an object by its names, all else as one value to the byte; none of it is shown by Debug",
    words: &["accessKeyId", "secretAccessKey", "token"],
    judge: |input| {
        let credentials = credentials_of_value("key", input);
        let bytes: usize = credentials
            .0
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        in_proportion("the credentials", bytes, input, 8)?;
        let is_object = matches!(serde_json::from_slice(input), Ok(serde_json::Value::Object(_)));
        ensure(
            is_object || credentials.0.get("key").is_some_and(|value| value == input),
            || "a value that is no object is changed".to_owned(),
        )?;
        let shown = format!("{credentials:?}");
        let told = credentials
            .0
            .values()
            .filter_map(|value| std::str::from_utf8(value).ok())
            .find(|value| {
                value.len() >= 12
                    && shown.contains(value)
                    && !credentials.0.keys().any(|name| name.contains(value))
            });
        ensure(told.is_none(), || format!("Debug shows {told:?}: {shown}"))?;
        Ok(format!("{is_object} {}", credentials.0.len().min(4)))
    },
};

/// What takes the identity of the machine or the process.
const ELSEWHERE: &str = "\n[default]\ncredential_source = Environment\n";

/// An AWS credentials file.
pub(super) const AWS_CREDENTIALS_FILE: Target = Target {
    name: "aws-credentials-file",
    about: "keys are taken as they stand on a line of their own; the file is rejected as soon as a profile default leads elsewhere, before or after",
    words: &[
        "[default]",
        "[profile default]",
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        " = ",
        "credential_process",
        "role_arn",
        "#",
        ";",
        "\r\n",
        "\t",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        let keys = match credentials_file::keys(&text) {
            Ok(keys) => keys,
            Err(failure) => return rejected(&failure.to_string()),
        };
        for value in [keys.access_key_id(), keys.secret_access_key()] {
            ensure(
                !value.is_empty() && value.trim() == value && !value.contains('\n'),
                || format!("a key is {value:?}"),
            )?;
        }
        for led_away in [format!("{text}{ELSEWHERE}"), format!("{ELSEWHERE}{text}")] {
            ensure(credentials_file::keys(&led_away).is_err(), || {
                format!("accepted: {led_away:?}")
            })?;
        }
        let plain = format!(
            "[default]\naws_access_key_id={}\naws_secret_access_key={}\n",
            keys.access_key_id(),
            keys.secret_access_key()
        );
        let again = credentials_file::keys(&plain).ok();
        let same = again.as_ref().is_some_and(|again| {
            (again.access_key_id(), again.secret_access_key())
                == (keys.access_key_id(), keys.secret_access_key())
        });
        ensure(same, || format!("other keys are read of {plain:?}"))?;
        Ok(format!("keys: {}", keys.session_token().is_some()))
    },
};
