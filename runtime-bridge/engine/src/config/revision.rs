//! Digests of settings and credentials.

use bridge_core::external::{Document, Secrets};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Drawn at each start: no digest of a credential can be compared with guesses.
#[derive(Clone)]
pub(super) struct RevisionKey([u8; 32]);

impl RevisionKey {
    pub(super) fn draw() -> Self {
        Self(rand::random())
    }

    /// Changes whenever settings or credentials do.
    pub(super) fn revision(&self, settings: Option<&Document>, credentials: &Secrets) -> String {
        // A key of 32 bytes is never refused.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        let mut part = |bytes: &[u8]| {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        };
        part(canonical(settings).as_bytes());
        for (name, value) in &credentials.0 {
            part(name.as_bytes());
            part(value);
        }
        hex(&mac.finalize().into_bytes()[..16])
    }
}

/// Of settings alone, the same at each start.
pub(super) fn settings_digest(settings: Option<&Document>) -> String {
    hex(&Sha256::digest(canonical(settings).as_bytes())[..16])
}

/// With its keys in order.
fn canonical(settings: Option<&Document>) -> String {
    let mut value = settings.map_or(Value::Null, |settings| Value::Object(settings.clone()));
    value.sort_all_objects();
    value.to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
