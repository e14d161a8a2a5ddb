//! Right by construction: owners, etags, and what a token stands for.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Call, Create, Delete, Update};
use crate::Failure;

impl Call {
    /// Rejects a resource that this object does not own, by the marker found on it, as the contract has it for the call at hand: another owner's
    /// marker always; none where the call is Delete or a poll and the kind is [recovered by marker](crate::Kind::recover_by_marker). An update
    /// accepts one without a marker: it adopts it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn ensure_owned(&self, found_marker: &str) -> Result<(), Failure> {
        if self.target.is_ours(found_marker) || (found_marker.is_empty() && !self.requires_marker) {
            return Ok(());
        }
        let owner = if found_marker.is_empty() {
            "no owner's: it has no ownership marker"
        } else {
            "another owner's"
        };
        let name = &self.target.external_name;
        Err(Failure::not_found(format!("{name:?} is {owner}")).reason("NotOwned"))
    }
}

fn ensure_etag(sent: &str, current: &str) -> Result<(), Failure> {
    if sent.is_empty() || sent == current {
        return Ok(());
    }
    Err(Failure::conflict("the resource was changed since it was observed").reason("EtagChanged"))
}

impl<P> Update<P> {
    /// Rejects what was changed since the bridge observed it.
    ///
    /// # Errors
    /// `CONFLICT`.
    pub fn ensure_etag(&self, current: &str) -> Result<(), Failure> {
        ensure_etag(&self.etag, current)
    }
}

impl<P> Delete<P> {
    /// Rejects what was changed since the bridge observed it.
    ///
    /// # Errors
    /// `CONFLICT`.
    pub fn ensure_etag(&self, current: &str) -> Result<(), Failure> {
        ensure_etag(&self.etag, current)
    }
}

impl<P> Create<P> {
    /// A name that the same token always gives: the prefix, and so many hexadecimal digits, at most 64.
    pub fn name_of_token(&self, prefix: &str, digits: usize) -> String {
        let digest = hex_digest(&self.client_request_token.to_lowercase());
        format!("{prefix}{}", &digest[..digits.min(digest.len())])
    }

    /// A digest of all that makes two requests the same, for upstreams that keep no more than the token: type, config, name, marker and
    /// parameters. Sensitive values are no part of it: the bridge repeats a creation with those of today.
    pub fn digest(&self, call: &Call) -> String {
        let target = &call.target;
        let mut text = [
            call.resource_type.as_str(),
            call.config.id(),
            &target.external_name,
            &target.ownership_marker,
        ]
        .map(|part| Value::from(part).to_string())
        .join(",");
        let parameters: BTreeMap<_, _> = self.desired.json.iter().collect();
        write_members(parameters, &mut text);
        hex_digest(&text)
    }

    /// Rejects another request that came under the same token, by the [digest](Self::digest) that was stored with it.
    ///
    /// # Errors
    /// `TOKEN_REUSED`.
    pub fn ensure_same_request(&self, call: &Call, stored_digest: &str) -> Result<(), Failure> {
        if stored_digest == self.digest(call) {
            return Ok(());
        }
        Err(Failure::token_reused(
            "another request came earlier under this token",
        ))
    }
}

/// Members in the order of their names, however they came and whatever holds them.
fn write_members(members: BTreeMap<&String, &Value>, text: &mut String) {
    text.push('{');
    for (name, value) in members {
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        write_value(value, text);
        text.push(',');
    }
    text.push('}');
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => write_members(object.iter().collect(), text),
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_value(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn hex_digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        // Into a String: never fails.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, sync::OnceLock, time::Duration};

    use crossbridge_types::{self as types, Secrets};
    use serde_json::json;

    use super::{super::Target, *};
    use crate::{Config, Deadline, Desired, FailureCode};

    fn call(requires_marker: bool) -> Call {
        let config = types::Config {
            id: "c-1".to_owned(),
            revision: "1".to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: None,
            credentials: Secrets::default(),
            credentials_expire: None,
        };
        Call {
            target: Target {
                external_name: "a".to_owned(),
                ownership_marker: "ours".to_owned(),
                former_marker: String::new(),
                provider_state: String::new(),
                owner_namespace: String::new(),
                owner_name: "one".to_owned(),
                owner_uid: "1".to_owned(),
                owner_generation: 1,
            },
            config: Config(Arc::new(config)),
            deadline: Deadline::after(Duration::from_secs(1)),
            id: String::new(),
            resource_type: "Thing.things.example.org/v1".to_owned(),
            requires_marker,
            recorded_name: OnceLock::new(),
        }
    }

    fn create(parameters: Value) -> Create<()> {
        let Value::Object(json) = parameters else {
            panic!("an object")
        };
        Create {
            desired: Desired {
                parameters: (),
                json,
                sensitive: Secrets::default(),
            },
            client_request_token: "123E4567-e89b-12d3-a456-426614174000".to_owned(),
            outcome_unknown: false,
        }
    }

    #[test]
    fn what_another_owns_is_not_found() {
        let code = |requires, marker| {
            call(requires)
                .ensure_owned(marker)
                .err()
                .and_then(|failure| failure.code())
        };
        for (requires, marker) in [(false, "ours"), (true, "ours"), (false, "")] {
            assert_eq!(code(requires, marker), None, "{marker}");
        }
        for (requires, marker) in [(false, "theirs"), (true, "theirs"), (true, "")] {
            assert_eq!(code(requires, marker), Some(FailureCode::NotFound), "{marker}");
        }
    }

    #[test]
    fn an_etag_that_holds_no_longer_is_a_conflict() {
        ensure_etag("", "2").expect("none was sent");
        ensure_etag("2", "2").expect("it holds");
        let failure = ensure_etag("1", "2").expect_err("it does not");
        assert_eq!(failure.code(), Some(FailureCode::Conflict));
    }

    #[test]
    fn a_token_stands_for_one_request() {
        let asked = call(false);
        let stored =
            create(json!({"size": 9_007_199_254_740_993_u64, "of": [{"b": 1, "a": 2}]})).digest(&asked);
        let same = create(json!({"of": [{"a": 2, "b": 1}], "size": 9_007_199_254_740_993_u64}));
        same.ensure_same_request(&asked, &stored).expect("the same");
        let mut named = call(false);
        named.target.external_name = "b".to_owned();
        for (call, other) in [
            (&named, same.clone()),
            (
                &asked,
                create(json!({"size": 9_007_199_254_740_992_u64, "of": [{"b": 1, "a": 2}]})),
            ),
            (&asked, create(json!({}))),
        ] {
            let failure = other.ensure_same_request(call, &stored).expect_err("another");
            assert_eq!(failure.code(), Some(FailureCode::TokenReused));
        }
        // That of Go and TypeScript, too.
        assert_eq!(same.name_of_token("db-", 16), "db-986c0dc956dc822b");
    }
}
