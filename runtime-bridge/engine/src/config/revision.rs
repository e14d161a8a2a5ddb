//! Digests of settings and credentials.

use bridge_core::external::{Document, Secrets};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    digest::{feed, feed_part, hex},
    random,
};

/// Drawn at each start: no digest of a credential can be compared with guesses.
#[derive(Clone)]
pub(super) struct RevisionKey([u8; 32]);

impl RevisionKey {
    pub(super) fn draw() -> Self {
        Self(random::key())
    }

    /// Changes whenever settings or credentials do.
    pub(super) fn revision(&self, settings: Option<&Document>, credentials: &Secrets) -> String {
        // A key of 32 bytes is never refused.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        feed_part(canonical(settings).as_bytes(), |part| mac.update(part));
        feed(credentials, |part| mac.update(part));
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
