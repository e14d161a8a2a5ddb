//! Who has which external resource, by its canonical id: two objects must not fight over one.

use std::collections::HashMap;

use bridge_core::{managed::rules::Right, watch_plan::GroupKind};
use parking_lot::Mutex;

use crate::object::{Key, Object};

/// One claim for each canonical id, and one canonical id for each object. Kept by those alone who have a right to it, or a restart would give
/// it to whoever looks first.
#[derive(Debug, Default)]
pub struct Claims(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<String, Claim>,
    by_uid: HashMap<String, String>,
    /// Who is about to make something of this kind and name, in the order in which they came, and its other side.
    makers: HashMap<(GroupKind, String), Vec<(String, Key)>>,
    makes: HashMap<String, (GroupKind, String)>,
}

#[derive(Debug)]
struct Claim {
    uid: String,
    name: String,
    right: Right,
}

impl Claims {
    /// Claims it for the object, if it has a right; the answer is the other object that has it by no lesser right.
    pub(super) fn claim(
        &self,
        canonical_id: &str,
        uid: &str,
        name: &str,
        right: Option<Right>,
    ) -> Option<String> {
        if canonical_id.is_empty() {
            return None;
        }
        let mut claims = self.0.lock();
        let other = claims.by_id.get(canonical_id).filter(|claim| claim.uid != uid);
        if let Some(other) = other.filter(|other| right.is_none_or(|right| right <= other.right)) {
            return Some(other.name.clone());
        }
        if let Some(right) = right {
            claims.give(canonical_id, uid, name, right);
        }
        None
    }

    /// Whether this object has claimed something.
    pub(super) fn has_claimed(&self, uid: &str) -> bool {
        self.0.lock().by_uid.contains_key(uid)
    }

    /// The object is about to make something of this name. The answer are those that said so before: of two that begin at once each could find
    /// that the other has recorded nothing yet.
    pub(super) fn begin(&self, name: &str, object: &Object) -> Vec<Key> {
        let (mut claims, key) = (self.0.lock(), object.key());
        let place = (key.kind().clone(), name.to_owned());
        if claims.makes.get(object.uid()) != Some(&place) {
            claims.end(object.uid());
            claims.makes.insert(object.uid().to_owned(), place.clone());
            let makers = claims.makers.entry(place.clone());
            makers.or_default().push((object.uid().to_owned(), key.clone()));
        }
        let makers = claims.makers.get(&place);
        let before = makers
            .into_iter()
            .flatten()
            .take_while(|(uid, _)| uid != object.uid());
        before.map(|(_, key)| key.clone()).collect()
    }

    /// The object is not about to make anything any more.
    pub(super) fn end(&self, uid: &str) {
        self.0.lock().end(uid);
    }

    /// The object is gone.
    pub(super) fn release(&self, uid: &str) {
        let mut claims = self.0.lock();
        claims.release(uid);
        claims.end(uid);
    }
}

impl Inner {
    fn give(&mut self, canonical_id: &str, uid: &str, name: &str, right: Right) {
        if self.by_uid.get(uid).is_none_or(|former| former != canonical_id) {
            self.release(uid);
        }
        let claim = Claim {
            uid: uid.to_owned(),
            name: name.to_owned(),
            right,
        };
        if let Some(loser) = self.by_id.insert(canonical_id.to_owned(), claim)
            && loser.uid != uid
        {
            self.by_uid.remove(&loser.uid);
        }
        self.by_uid.insert(uid.to_owned(), canonical_id.to_owned());
    }

    fn release(&mut self, uid: &str) {
        if let Some(id) = self.by_uid.remove(uid) {
            self.by_id.remove(&id);
        }
    }

    fn end(&mut self, uid: &str) {
        let Some(place) = self.makes.remove(uid) else {
            return;
        };
        if let Some(makers) = self.makers.get_mut(&place) {
            makers.retain(|(maker, _)| maker != uid);
            if makers.is_empty() {
                self.makers.remove(&place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_right_keeps_it_until_it_goes() {
        let (claims, record) = (Claims::default(), Some(Right::Record));
        assert_eq!(claims.claim("arn", "1", "a", record), None);
        assert_eq!(claims.claim("arn", "1", "a", record), None);
        assert_eq!(claims.claim("arn", "2", "b", record), Some("a".to_owned()));
        assert_eq!(claims.claim("", "2", "b", record), None);
        claims.release("1");
        assert_eq!(claims.claim("arn", "2", "b", record), None);
    }

    #[test]
    fn looking_is_no_claim() {
        let claims = Claims::default();
        assert_eq!(claims.claim("arn", "2", "b", None), None);
        assert_eq!(claims.claim("arn", "1", "a", Some(Right::Record)), None);
        assert_eq!(claims.claim("arn", "2", "b", None), Some("a".to_owned()));
    }

    #[test]
    fn a_greater_right_goes_first() {
        let claims = Claims::default();
        assert_eq!(claims.claim("arn", "1", "a", Some(Right::Intent)), None);
        assert_eq!(claims.claim("arn", "2", "b", Some(Right::Marker)), None);
        assert_eq!(
            claims.claim("arn", "1", "a", Some(Right::Record)),
            Some("b".to_owned())
        );
        assert!(!claims.has_claimed("1"));
    }

    #[test]
    fn who_said_first_that_it_makes_a_name_goes_first_until_it_wants_another() {
        let object = |name: &str| {
            let resource = bridge_core::kind::ResourceType {
                group: "example.org".to_owned(),
                version: "v1".to_owned(),
                kind: "Thing".to_owned(),
            };
            let api = std::sync::Arc::new(crate::object::ApiType::new(&resource, "things", true));
            let metadata = serde_json::json!({
                "name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": "1"
            });
            let text = serde_json::json!({ "metadata": metadata }).to_string();
            Object::decode(&api, &text).unwrap()
        };
        let (claims, one, other) = (Claims::default(), object("one"), object("other"));
        assert_eq!(claims.begin("x", &one), []);
        assert_eq!(claims.begin("x", &other), [one.key()]);
        assert_eq!(claims.begin("x", &one), []);
        assert_eq!(claims.begin("y", &one), []);
        assert_eq!(claims.begin("x", &other), []);
        assert_eq!(claims.begin("x", &one), [other.key()]);
        claims.end(other.uid());
        assert_eq!(claims.begin("x", &one), []);
        claims.release(one.uid());
        assert_eq!(claims.begin("x", &other), []);
    }

    #[test]
    fn an_object_has_one_id_and_its_former_one_is_free() {
        let (claims, record) = (Claims::default(), Some(Right::Record));
        assert_eq!(claims.claim("former", "1", "a", record), None);
        assert_eq!(claims.claim("present", "1", "a", record), None);
        assert_eq!(claims.claim("former", "2", "b", record), None);
        claims.release("1");
        assert_eq!(claims.claim("present", "3", "c", record), None);
    }
}
