//! The name of a claim's composite resource: derived from the claim's uid, so that a repeat makes no second one.

use sha2::{Digest as _, Sha256};

use super::{bond::Bond, names, object::Claim};
use crate::composite::{LiveObject, ObjectState};

/// Names that are tried.
const ATTEMPTS: u8 = 10;

/// Letters of a generated name that follow its prefix.
const SUFFIX: usize = 5;

/// The longest generated name: it is the value of labels.
const LONGEST: usize = 63;

/// Those that Kubernetes generates names of.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Names of the composite resource of a claim, in the order in which they are tried: the one that it names, else those that are made for it. One
/// that was made for it gives way to the next as long as the claim has never been bound.
pub fn candidates(claim: &Claim) -> Vec<String> {
    let mut derived: Vec<String> = (0..ATTEMPTS).map(|attempt| derived(claim, attempt)).collect();
    let Some(named) = claim.composite() else {
        return derived;
    };
    let was_bound = !claim.status()["conditions"].is_null();
    match derived.iter().position(|one| one == named) {
        Some(nth) if !was_bound => derived.split_off(nth),
        _ => vec![named.to_owned()],
    }
}

/// The composite resource among these that the claim bound and does not name (any more): its reference was edited or taken off. A second one
/// beside it would be nobody's once the claim is gone. Of several the first by name.
pub fn bound_elsewhere<'a>(claim: &Claim, xrs: impl IntoIterator<Item = &'a LiveObject>) -> Option<String> {
    let is_bound = |xr: &&LiveObject| {
        xr.annotation(names::CLAIM_UID) == Some(claim.uid()) && Bond::of(claim, xr) == Bond::Ours
    };
    let bound = xrs.into_iter().filter(is_bound);
    bound.map(|xr| xr.name().to_owned()).min()
}

/// Somebody else has the name.
pub fn is_taken(claim: &Claim, name: &str, state: &ObjectState) -> bool {
    let ObjectState::Exists(xr) = state else {
        return false;
    };
    match Bond::of(claim, xr) {
        Bond::Ours | Bond::Former => false,
        // Of a name that the claim has a person may have made it, to be bound.
        Bond::None => claim.composite() != Some(name),
        Bond::Others(_) => true,
    }
}

fn derived(claim: &Claim, attempt: u8) -> String {
    let digest = Sha256::new()
        .chain_update(claim.uid())
        .chain_update([attempt])
        .finalize();
    let mut name = format!("{}-", claim.name());
    name.truncate(name.floor_char_boundary(LONGEST - SUFFIX));
    let letters = digest.iter().take(SUFFIX);
    name.extend(letters.map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])));
    name
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        claim::sample::{claim, xr},
        composite::is_valid_name,
        watch_plan::GroupKind,
    };

    #[test]
    fn a_name_is_the_claims_and_five_letters_of_its_uid() {
        let names = candidates(&claim());
        assert_eq!((names.len(), names[0].as_str()), (10, "shop-8x5fk"));
        assert_eq!(names, candidates(&claim()));
        let mut other = claim();
        other.object["metadata"]["uid"] = json!("another");
        assert!(candidates(&other).iter().all(|name| !names.contains(name)));
    }

    #[test]
    fn a_long_name_is_cut_to_what_fits_a_label() {
        let mut long = claim();
        long.object["metadata"]["name"] = json!("a".repeat(63));
        for name in candidates(&long) {
            assert_eq!(name.len(), 63);
            assert!(is_valid_name(&GroupKind::new("g.example", "K"), &name), "{name}");
        }
    }

    #[test]
    fn a_name_that_a_person_chose_is_the_only_one() {
        let mut named = claim();
        named.object["spec"]["resourceRef"] = json!({"name": "mine"});
        assert_eq!(candidates(&named), ["mine"]);
    }

    #[test]
    fn a_made_name_gives_way_until_the_claim_was_bound() {
        let all = candidates(&claim());
        let mut named = claim();
        named.object["spec"]["resourceRef"] = json!({"name": all[1]});
        assert_eq!(candidates(&named), all[1..]);
        named.object["status"] = json!({"conditions": []});
        assert_eq!(candidates(&named), all[1..2]);
    }

    #[test]
    fn what_a_claim_bound_is_found_whatever_it_names() {
        let named = |name: &str| {
            let mut one = xr();
            one.object_mut()["metadata"]["name"] = json!(name);
            one
        };
        let (mut other, mut former, mut adopted) = (named("a"), named("b"), named("c"));
        other.object_mut()["spec"]["claimRef"]["name"] = json!("other");
        former.object_mut()["metadata"]["annotations"] = json!({names::CLAIM_UID: "former"});
        adopted.object_mut()["metadata"]["annotations"] = json!({});
        let strangers = [other, former, adopted];
        assert_eq!(bound_elsewhere(&claim(), &strangers), None);
        let (second, first) = (named("e"), named("d"));
        let all = strangers.iter().chain([&second, &first]);
        assert_eq!(bound_elsewhere(&claim(), all), Some("d".to_owned()));
    }

    #[test]
    fn what_another_claim_has_is_taken() {
        let (mine, name) = (claim(), "shop-8x5fk");
        let mut other = xr();
        other.object_mut()["spec"]["claimRef"]["name"] = json!("other");
        let mut unbound = xr();
        unbound.object_mut()["spec"] = json!({});
        let state = |xr| ObjectState::Exists(Arc::new(xr));
        assert!(!is_taken(&mine, name, &state(xr())));
        assert!(is_taken(&mine, name, &state(other)));
        assert!(is_taken(&mine, name, &state(unbound.clone())));
        let mut named = claim();
        named.object["spec"]["resourceRef"] = json!({"name": name});
        assert!(!is_taken(&named, name, &state(unbound)));
        assert!(!is_taken(&mine, name, &ObjectState::Absent));
    }
}
