//! Keyed digests of sensitive values: the record must tell that a secret changed, and must not tell the secret.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_core::external::Secrets;
use hmac::{Hmac, KeyInit, Mac};
use http::{Method, Request, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    api_error::ApiError,
    client::ApiClient,
    digest::{feed, hex},
    random,
};

/// Name of the Secret that holds the key, in the bridge's own namespace. Shared by its replicas.
pub const DIGEST_KEY_SECRET: &str = "crossbridge-digest-key";
const FIELD: &str = "key";

/// Makes keyed digests.
#[derive(Clone)]
pub struct Digester {
    key: Vec<u8>,
    id: String,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum DigestKeyError {
    /// The API server.
    #[error("cannot read or make the Secret {namespace}/{DIGEST_KEY_SECRET}: {source}")]
    Api {
        /// The bridge's own.
        namespace: String,
        /// Why.
        source: ApiError,
    },
    /// Somebody changed the Secret.
    #[error(
        "the Secret {namespace}/{DIGEST_KEY_SECRET} holds no key of 32 bytes under {FIELD:?}; delete it to have a new one made"
    )]
    Unusable {
        /// The bridge's own.
        namespace: String,
    },
}

impl Digester {
    /// With this key.
    pub fn new(key: Vec<u8>) -> Self {
        let id = hex(&Sha256::digest(&key)[..4]);
        Self { key, id }
    }

    /// Reads the key; makes one if there is none. Two replicas that begin at once end with the same one.
    pub async fn load(client: &ApiClient, namespace: &str) -> Result<Self, DigestKeyError> {
        let failed = |source| DigestKeyError::Api {
            namespace: namespace.to_owned(),
            source,
        };
        match read(client, namespace).await {
            Ok(secret) => return Self::from_secret(&secret, namespace),
            Err(ApiError::NotFound(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        match make(client, namespace).await {
            Ok(secret) => Self::from_secret(&secret, namespace),
            Err(ApiError::AlreadyExists(_)) => {
                Self::from_secret(&read(client, namespace).await.map_err(failed)?, namespace)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn from_secret(secret: &Value, namespace: &str) -> Result<Self, DigestKeyError> {
        let text = secret
            .pointer("/data/key")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match STANDARD.decode(text) {
            Ok(key) if key.len() == 32 => Ok(Self::new(key)),
            _ => Err(DigestKeyError::Unusable {
                namespace: namespace.to_owned(),
            }),
        }
    }

    /// `<key id>:<digest>`; empty where there are no values.
    pub fn of(&self, values: &Secrets) -> String {
        if values.0.is_empty() {
            return String::new();
        }
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else {
            return String::new();
        };
        feed(values, |part| mac.update(part));
        format!("{}:{}", self.id, hex(&mac.finalize().into_bytes()[..16]))
    }
}

/// Digest of what is no secret.
pub(super) fn plain(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..16])
}

async fn read(client: &ApiClient, namespace: &str) -> Result<Value, ApiError> {
    let path = format!("/api/v1/namespaces/{namespace}/secrets/{DIGEST_KEY_SECRET}");
    client
        .call("get", "secrets", request(Method::GET, &path, Vec::new())?)
        .await
}

async fn make(client: &ApiClient, namespace: &str) -> Result<Value, ApiError> {
    let key = random::key();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": DIGEST_KEY_SECRET, "namespace": namespace},
        "type": "crossbridge.dev/digest-key",
        "data": {FIELD: STANDARD.encode(key)},
    });
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    client
        .call(
            "create",
            "secrets",
            request(Method::POST, &path, secret.to_string().into_bytes())?,
        )
        .await
}

fn request(method: Method, path: &str, body: Vec<u8>) -> Result<Request<Vec<u8>>, ApiError> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|error| ApiError::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Secrets {
        Secrets(
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
                .collect(),
        )
    }

    #[test]
    fn a_digest_shows_changes_without_values() {
        let digester = Digester::new(vec![1; 32]);
        let one = digester.of(&values(&[("/password", "canary")]));
        assert_ne!(one, digester.of(&values(&[("/password", "other")])));
        assert_ne!(
            digester.of(&values(&[("/ab", "c")])),
            digester.of(&values(&[("/a", "bc")]))
        );
        assert_eq!(digester.of(&values(&[])), "");
        let other_key = Digester::new(vec![2; 32]).of(&values(&[("/password", "canary")]));
        assert_ne!(one.split(':').next(), other_key.split(':').next());
        assert!(!one.contains("canary"));
    }
}
