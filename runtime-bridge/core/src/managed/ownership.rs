//! Which object of this process has which external resource: two objects must not act upon one.
//!
//! Claims are kept by canonical id. Beside them stands, for each name, who said first that it is about to create something of that name: of two that
//! begin at once each could find that the other has recorded nothing yet (trace 45).

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    external::{Config, Document},
    watch_plan::GroupKind,
};

use super::{
    last_observation::ObservedState,
    reconcile_memory::ReconcileMemory,
    record::{ConfigIdentity, Stored},
    rules::{self, OwnershipClaim},
    snapshot::{Managed, Problem, Snapshot},
};

/// Another object of the same kind, as this process knows it.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// For people: kind, namespace and name.
    pub title: String,
    /// The object.
    pub managed: Managed,
    /// Its parameters without secrets.
    pub parameters: Document,
    /// Its spec refers to the same config as the object that asks.
    pub same_config: bool,
}

/// The other objects of a kind, looked up in whatever stores them.
pub trait Neighbours {
    /// Those whose annotation or record has this external name.
    fn with_external_name(&self, name: &str) -> Vec<Neighbour>;
    /// The one of this namespace (empty for cluster-scoped kinds) and name; `None`: it is gone.
    fn get(&self, namespace: &str, name: &str) -> Option<Neighbour>;
}

/// Of the kinds of one plugin: one claim for each canonical id, and one canonical id for each object. Kept by those alone who have a right to it, or a
/// restart would give it to the first that observes.
#[derive(Debug, Clone, Default)]
pub struct OwnershipClaims {
    by_id: BTreeMap<String, Claim>,
    by_uid: BTreeMap<String, String>,
    /// Those about to create something of this kind and name, in the order in which they came; and the other direction, by uid.
    creators: BTreeMap<(GroupKind, String), Vec<Creator>>,
    creates: BTreeMap<String, (GroupKind, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Creator {
    uid: String,
    namespace: String,
    name: String,
}

impl Creator {
    fn of(managed: &Managed) -> Self {
        Self {
            uid: managed.uid.clone(),
            namespace: managed.namespace.clone(),
            name: managed.name.clone(),
        }
    }
}

#[derive(Debug, Clone)]
struct Claim {
    uid: String,
    title: String,
    right: OwnershipClaim,
}

impl OwnershipClaims {
    /// Another object that has what this one observed, or is creating something of the name that this one is about to create. What this object
    /// has a right to is claimed for it.
    pub fn conflicting_object(
        &mut self,
        snapshot: &Snapshot,
        config: &Result<Arc<Config>, Problem>,
        memory: &ReconcileMemory,
        title: &str,
        neighbours: &impl Neighbours,
    ) -> Option<String> {
        let uid = &snapshot.managed.uid;
        let ObservedState::Exists(observation) = memory.observed.last_state()? else {
            return self.conflicting_creator(snapshot, config, memory, neighbours);
        };
        self.end_creating(uid);
        let right = rules::ownership_claim(snapshot, observation);
        // Of which no observation of this process has shown yet what it has.
        let unclaimed = |other: &Neighbour| !self.by_uid.contains_key(&other.managed.uid);
        let name = &observation.external_name;
        let found = Some(&observation.parameters);
        if let Some(recorded) =
            recorded_by_another(snapshot, config, (name, found), right, neighbours, unclaimed)
        {
            return Some(recorded);
        }
        self.claim(&observation.canonical_id, uid, title, right)
    }

    /// The object is gone.
    pub fn release(&mut self, uid: &str) {
        self.release_claim(uid);
        self.end_creating(uid);
    }

    fn conflicting_creator(
        &mut self,
        snapshot: &Snapshot,
        config: &Result<Arc<Config>, Problem>,
        memory: &ReconcileMemory,
        neighbours: &impl Neighbours,
    ) -> Option<String> {
        let Some(name) = rules::name_to_create(snapshot, memory) else {
            // Its record says so from now on, or it wants another, or none.
            self.end_creating(&snapshot.managed.uid);
            return None;
        };
        if let Some(recorded) =
            recorded_by_another(snapshot, config, (&name, None), None, neighbours, |_| true)
        {
            return Some(recorded);
        }
        let resource = &snapshot.kind.resource_type;
        let key = (GroupKind::new(&resource.group, &resource.kind), name);
        let before = self.begin_creating(&Creator::of(&snapshot.managed), &key);
        let mut others = before
            .iter()
            .filter_map(|other| neighbours.get(&other.namespace, &other.name));
        let other = others.find(|other| is_same_scope(snapshot, config, None, other))?;
        Some(other.title)
    }

    /// Claims it for the object, if it has a right; the answer is the other object that has it by no lesser right.
    fn claim(
        &mut self,
        canonical_id: &str,
        uid: &str,
        title: &str,
        wanted: Option<OwnershipClaim>,
    ) -> Option<String> {
        if canonical_id.is_empty() {
            return None;
        }
        let other = self.by_id.get(canonical_id).filter(|claim| claim.uid != uid);
        if let Some(other) = other.filter(|other| wanted.is_none_or(|wanted| wanted <= other.right)) {
            return Some(other.title.clone());
        }
        let wanted = wanted?;
        if self.by_uid.get(uid).is_none_or(|former| former != canonical_id) {
            self.release_claim(uid);
        }
        let claim = Claim {
            uid: uid.to_owned(),
            title: title.to_owned(),
            right: wanted,
        };
        if let Some(loser) = self.by_id.insert(canonical_id.to_owned(), claim)
            && loser.uid != uid
        {
            self.by_uid.remove(&loser.uid);
        }
        self.by_uid.insert(uid.to_owned(), canonical_id.to_owned());
        None
    }

    fn release_claim(&mut self, uid: &str) {
        if let Some(id) = self.by_uid.remove(uid) {
            self.by_id.remove(&id);
        }
    }

    /// The object is about to create something of this kind and name. The answer are those that said so before.
    fn begin_creating(&mut self, creator: &Creator, key: &(GroupKind, String)) -> Vec<Creator> {
        if self.creates.get(&creator.uid) != Some(key) {
            self.end_creating(&creator.uid);
            self.creates.insert(creator.uid.clone(), key.clone());
            self.creators
                .entry(key.clone())
                .or_default()
                .push(creator.clone());
        }
        let creators = self.creators.get(key).into_iter().flatten();
        creators
            .take_while(|other| other.uid != creator.uid)
            .cloned()
            .collect()
    }

    fn end_creating(&mut self, uid: &str) {
        let Some(key) = self.creates.remove(uid) else {
            return;
        };
        if let Some(creators) = self.creators.get_mut(&key) {
            creators.retain(|creator| creator.uid != uid);
            if creators.is_empty() {
                self.creators.remove(&key);
            }
        }
    }
}

fn recorded_by_another(
    snapshot: &Snapshot,
    config: &Result<Arc<Config>, Problem>,
    (name, found): (&str, Option<&Document>),
    wanted: Option<OwnershipClaim>,
    neighbours: &impl Neighbours,
    counts: impl Fn(&Neighbour) -> bool,
) -> Option<String> {
    let others = neighbours.with_external_name(name).into_iter();
    others
        .filter(|other| other.managed.uid != snapshot.managed.uid && counts(other))
        .find(|other| {
            rules::is_conflicting(&other.managed, name, wanted)
                && is_same_scope(snapshot, config, found, other)
        })
        .map(|other| other.title)
}

/// The other object's names mean the same as this one's, or what was found under this one's is what the other asks for.
fn is_same_scope(
    snapshot: &Snapshot,
    config: &Result<Arc<Config>, Problem>,
    found: Option<&Document>,
    other: &Neighbour,
) -> bool {
    let config = match (config, &*other.managed.record()) {
        (Ok(ours), Stored::Owned(record)) => record.config.shares_names_with(&ConfigIdentity::of(ours)),
        // What has not begun, or cannot be read, is known by the config that its spec names.
        (Ok(_), Stored::None | Stored::Unreadable(_)) => other.same_config,
        (Err(_), _) => false,
    };
    let (kind, ours) = (&snapshot.kind, &snapshot.bare);
    let is_found = |found| rules::is_found_of_other(kind, ours, &other.parameters, found);
    config && (rules::denote_same_resource(kind, ours, &other.parameters) || found.is_some_and(is_found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_by_right_keeps_the_claim_until_it_goes() {
        let (mut claims, record) = (OwnershipClaims::default(), Some(OwnershipClaim::Record));
        assert_eq!(claims.claim("arn", "1", "a", record), None);
        assert_eq!(claims.claim("arn", "1", "a", record), None);
        assert_eq!(claims.claim("arn", "2", "b", record), Some("a".to_owned()));
        assert_eq!(claims.claim("", "2", "b", record), None);
        claims.release("1");
        assert_eq!(claims.claim("arn", "2", "b", record), None);
    }

    #[test]
    fn observing_without_a_right_claims_nothing() {
        let mut claims = OwnershipClaims::default();
        assert_eq!(claims.claim("arn", "2", "b", None), None);
        assert_eq!(claims.claim("arn", "1", "a", Some(OwnershipClaim::Record)), None);
        assert_eq!(claims.claim("arn", "2", "b", None), Some("a".to_owned()));
    }

    #[test]
    fn a_greater_right_takes_the_claim() {
        let mut claims = OwnershipClaims::default();
        assert_eq!(claims.claim("arn", "1", "a", Some(OwnershipClaim::Intent)), None);
        assert_eq!(claims.claim("arn", "2", "b", Some(OwnershipClaim::Marker)), None);
        let record = Some(OwnershipClaim::Record);
        assert_eq!(claims.claim("arn", "1", "a", record), Some("b".to_owned()));
        assert!(!claims.by_uid.contains_key("1"));
    }

    #[test]
    fn first_creator_of_a_name_goes_first_until_it_wants_another() {
        let creator = |name: &str| Creator {
            uid: format!("uid-{name}"),
            namespace: "default".to_owned(),
            name: name.to_owned(),
        };
        let key = |name: &str| (GroupKind::new("example.org", "Thing"), name.to_owned());
        let (mut claims, one, other) = (OwnershipClaims::default(), creator("one"), creator("other"));
        assert_eq!(claims.begin_creating(&one, &key("x")), []);
        assert_eq!(
            claims.begin_creating(&other, &key("x")),
            std::slice::from_ref(&one)
        );
        assert_eq!(claims.begin_creating(&one, &key("x")), []);
        assert_eq!(claims.begin_creating(&one, &key("y")), []);
        assert_eq!(claims.begin_creating(&other, &key("x")), []);
        assert_eq!(
            claims.begin_creating(&one, &key("x")),
            std::slice::from_ref(&other)
        );
        claims.end_creating(&other.uid);
        assert_eq!(claims.begin_creating(&one, &key("x")), []);
        claims.release(&one.uid);
        assert_eq!(claims.begin_creating(&other, &key("x")), []);
    }

    #[test]
    fn a_new_canonical_id_frees_the_former_one() {
        let (mut claims, record) = (OwnershipClaims::default(), Some(OwnershipClaim::Record));
        assert_eq!(claims.claim("former", "1", "a", record), None);
        assert_eq!(claims.claim("present", "1", "a", record), None);
        assert_eq!(claims.claim("former", "2", "b", record), None);
        claims.release("1");
        assert_eq!(claims.claim("present", "3", "c", record), None);
    }
}
