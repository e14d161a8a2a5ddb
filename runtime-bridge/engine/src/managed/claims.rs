//! Who has which external resource, by its canonical id: two objects must not fight over one.

use std::collections::HashMap;

use parking_lot::Mutex;

/// One claim for each canonical id: the first object that found it.
#[derive(Debug, Default)]
pub struct Claims(Mutex<HashMap<String, Claim>>);

#[derive(Debug)]
struct Claim {
    uid: String,
    name: String,
}

impl Claims {
    /// Claims it for the object; the answer is the other object that has it already.
    pub(super) fn claim(&self, canonical_id: &str, uid: &str, name: &str) -> Option<String> {
        if canonical_id.is_empty() {
            return None;
        }
        let mut claims = self.0.lock();
        let claim = claims.entry(canonical_id.to_owned()).or_insert_with(|| Claim {
            uid: uid.to_owned(),
            name: name.to_owned(),
        });
        (claim.uid != uid).then(|| claim.name.clone())
    }

    /// The object is gone.
    pub(super) fn release(&self, uid: &str) {
        self.0.lock().retain(|_, claim| claim.uid != uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keeps_it_until_it_goes() {
        let claims = Claims::default();
        assert_eq!(claims.claim("arn", "1", "a"), None);
        assert_eq!(claims.claim("arn", "1", "a"), None);
        assert_eq!(claims.claim("arn", "2", "b"), Some("a".to_owned()));
        assert_eq!(claims.claim("", "2", "b"), None);
        claims.release("1");
        assert_eq!(claims.claim("arn", "2", "b"), None);
    }
}
