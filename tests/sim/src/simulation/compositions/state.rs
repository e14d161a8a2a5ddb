//! What the API server holds of compositions.

use fake_kube::state::{ClusterState, Commit, EventKind};
use serde_json::Value;

use super::{
    manifests::{GROUP, Kind},
    secrets,
};
use crate::simulation::invariants::{annotation, text};

/// What may be composed: plural and group.
pub(super) const COMPOSED: [(&str, &str); 5] = [
    ("tables", "fake.example.org"),
    ("configmaps", ""),
    ("usages", "protection.crossplane.io"),
    ("secrets", ""),
    ("orders", GROUP),
];

/// Composite resources, by plural and kind: those of seeds and of scenarios.
const COMPOSITES: [(&str, &str); 4] = [
    ("orders", "Order"),
    ("xpurchases", "XPurchase"),
    ("chains", "Chain"),
    ("shops", "Shop"),
];

/// The owner that controls an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// A composite resource of this uid.
pub(super) fn composite<'a>(state: &'a ClusterState, uid: &str) -> Option<&'a Value> {
    let mut all = composites(state);
    all.find(|composite| text(composite, "/metadata/uid") == uid)
}

/// All composite resources.
pub(super) fn composites(state: &ClusterState) -> impl Iterator<Item = &Value> {
    COMPOSITES
        .into_iter()
        .flat_map(|(plural, _)| state.all(plural, GROUP))
}

/// Plural of its kind.
pub(super) fn composite_plural(composite: &Value) -> &'static str {
    let mut all = COMPOSITES.into_iter();
    all.find(|(_, kind)| composite["kind"] == *kind)
        .map_or("", |(plural, _)| plural)
}

/// Where requests find an object.
pub(super) fn path(plural: &str, group: &str, object: &Value) -> String {
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let (version, name) = (text(object, "/apiVersion"), text(object, "/metadata/name"));
    match text(object, "/metadata/namespace") {
        "" => format!("{root}/{version}/{plural}/{name}"),
        namespace => format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
    }
}

/// The group of what names an apiVersion; empty: the core group.
fn group(of: &Value) -> &str {
    let version = of["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a composite resource's kind is named by an owner.
pub(super) fn is_composite_kind(owner: &Value) -> bool {
    group(owner) == GROUP && COMPOSITES.iter().any(|(_, kind)| owner["kind"] == *kind)
}

/// Whether a composite resource is of this kind.
pub(super) fn is_composite(kind: &str) -> bool {
    COMPOSITES.iter().any(|(_, one)| *one == kind)
}

/// Whether a claim's kind is named by an owner.
pub(super) fn is_claim_kind(owner: &Value) -> bool {
    owner["kind"] == "Purchase"
        && owner["apiVersion"]
            .as_str()
            .is_some_and(|version| version.starts_with(GROUP))
}

/// The uid of the claim that has bound a composite resource.
pub(super) fn claim_of(composite: &Value) -> Option<&str> {
    let uid = text(composite, "/metadata/annotations/crossbridge.dev~1claim");
    Some(uid).filter(|uid| !uid.is_empty())
}

/// Objects of all kinds that may be composed, by plural.
pub(super) fn all_composed(state: &ClusterState) -> impl Iterator<Item = (&'static str, &Value)> {
    COMPOSED
        .into_iter()
        .flat_map(|(plural, group)| state.all(plural, group).map(move |object| (plural, object)))
}

/// An object, and its kind.
pub(super) struct Found<'a> {
    pub(super) kind: &'a str,
    pub(super) object: &'a Value,
}

/// What has this uid, of all that is composed or composes.
pub(super) fn object_of<'a>(state: &'a ClusterState, uid: &str) -> Option<Found<'a>> {
    let composed = all_composed(state).map(|(_, object)| object);
    let mut all = composed.chain(composites(state));
    let object = all.find(|object| text(object, "/metadata/uid") == uid)?;
    Some(Found {
        kind: text(object, "/kind"),
        object,
    })
}

/// All usages.
pub(super) fn usages(state: &ClusterState) -> impl Iterator<Item = &Value> {
    state.all("usages", "protection.crossplane.io")
}

/// The uid of what a usage is about, as it keeps it itself; empty: it is not resolved yet.
pub(super) fn used(usage: &Value) -> String {
    let record = annotation(usage, "crossbridge.dev/usage");
    let record: Value = serde_json::from_str(record).unwrap_or_default();
    text(&record, "/of/uid").to_owned()
}

/// Whether a usage of the same composite resource may be about it.
pub(super) fn has_usage(state: &ClusterState, object: &Value) -> bool {
    let owner = |object: &Value| controller(object).map(|owner| owner["uid"].clone());
    usages(state).any(|usage| usage["spec"]["of"]["kind"] == object["kind"] && owner(usage) == owner(object))
}

/// What has this uid, as it was when its deletion began.
pub(super) fn as_deletion_began<'a>(state: &'a ClusterState, uid: &str) -> Option<&'a Value> {
    let revision = deletion_began(state, uid)?;
    let mut commits = state.history.iter();
    commits
        .find(|commit| commit.revision == revision)
        .map(|commit| &commit.new)
}

/// The revision of the commit that began to delete what has this uid.
pub(super) fn deletion_began(state: &ClusterState, uid: &str) -> Option<u64> {
    let mut commits = state.history.iter().rev();
    let began = commits.find(|commit| {
        let ends = commit.happened == EventKind::Deleted || is_deleting(&commit.new);
        ends && !is_deleting(&commit.old) && text(&commit.new, "/metadata/uid") == uid
    });
    began.map(|commit| commit.revision)
}

/// The revision of the commit by which a person orphans what the composite resource of this uid has composed.
pub(super) fn orphaning_began(state: &ClusterState, uid: &str) -> Option<u64> {
    let mut commits = state.history.iter().rev();
    let began = commits.find(|commit| {
        is_orphaning(&commit.new) && !is_orphaning(&commit.old) && text(&commit.new, "/metadata/uid") == uid
    });
    began.map(|commit| commit.revision)
}

/// Whether a person orphaned this together with what else its composite resource had composed.
pub(super) fn was_orphaned(state: &ClusterState, object: &Value) -> bool {
    let uid = text(object, "/metadata/uid");
    let mut of_it = state
        .history
        .iter()
        .filter(|commit| text(&commit.new, "/metadata/uid") == uid);
    of_it.any(|commit| {
        let owner = controller(&commit.old).and_then(|owner| owner["uid"].as_str());
        owner.is_some_and(|owner| orphaning_began(state, owner).is_some())
    })
}

/// Whether an object was once among the references of the composite resource of this uid.
pub(super) fn was_listed(state: &ClusterState, composite: &str, object: &Value) -> bool {
    let mut of_it = state
        .history
        .iter()
        .filter(|commit| text(&commit.new, "/metadata/uid") == composite);
    of_it.any(|commit| lists(&commit.new, object))
}

/// Whether an object of this name was created for the same owner after this revision, and before this commit creates it.
pub(super) fn existed_since(state: &ClusterState, sent: u64, created: &Commit) -> bool {
    owners_since(state, sent, created).any(|owner| owner == owner_uid(created))
}

/// Likewise, for another owner, or none.
pub(super) fn was_taken_since(state: &ClusterState, sent: u64, created: &Commit) -> bool {
    owners_since(state, sent, created).any(|owner| owner != owner_uid(created))
}

/// For whom objects of this name were created.
fn owners_since<'a>(
    state: &'a ClusterState,
    sent: u64,
    created: &'a Commit,
) -> impl Iterator<Item = Option<&'a Value>> {
    let name = |object| {
        (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        )
    };
    let former = state.history.iter().filter(move |commit| {
        (sent + 1..created.revision).contains(&commit.revision)
            && commit.happened == EventKind::Added
            && commit.resource == created.resource
            && name(&commit.new) == name(&created.new)
    });
    former.map(owner_uid)
}

fn owner_uid(commit: &Commit) -> Option<&Value> {
    controller(&commit.new).map(|owner| &owner["uid"])
}

/// Whether an object bore the mark of what is in use at this revision, and a usage of it has begun to go since.
pub(super) fn was_released_after(state: &ClusterState, revision: u64, object: &Value) -> bool {
    let uid = text(object, "/metadata/uid");
    let mut of_it = state
        .history
        .iter()
        .rev()
        .filter(|commit| commit.revision <= revision && text(&commit.new, "/metadata/uid") == uid);
    let was_in_use = of_it.next().is_some_and(|commit| is_in_use(&commit.new));
    let mut since = state.history.iter().filter(|commit| commit.revision > revision);
    was_in_use
        && since.any(|commit| {
            commit.resource.0 == "usages"
                && used(&commit.new) == uid
                && (is_deleting(&commit.new) || commit.happened == EventKind::Deleted)
        })
}

/// The revision of the commit that created what has this uid.
pub(super) fn created(state: &ClusterState, uid: &str) -> Option<u64> {
    let mut commits = state.history.iter();
    let created = commits
        .find(|commit| commit.happened == EventKind::Added && text(&commit.new, "/metadata/uid") == uid);
    created.map(|commit| commit.revision)
}

/// Whether the composition of a composite resource asks for this resource whatever the composite resource is like.
pub(super) fn is_always_desired(state: &ClusterState, composite: &Value, name: &str) -> bool {
    let mut compositions = state.all("compositions", "apiextensions.crossplane.io");
    compositions.any(|composition| {
        let step = &composition["spec"]["pipeline"][0]["input"]["resources"][name];
        composition["spec"]["compositeTypeRef"]["kind"] == composite["kind"]
            && step.is_object()
            && step["when"].is_null()
    })
}

/// Whether nobody but who takes the mark off can delete it.
pub(super) fn is_in_use(object: &Value) -> bool {
    object["metadata"]["labels"]["crossplane.io/in-use"] == "true"
}

/// Whether it bore that mark at any time.
pub(super) fn was_in_use(state: &ClusterState, object: &Value) -> bool {
    let mut commits = state.history.iter().rev();
    commits.any(|commit| commit.new["metadata"]["uid"] == object["metadata"]["uid"] && is_in_use(&commit.new))
}

/// Whether it is deleted so that what it composed stays.
pub(super) fn is_orphaning(composite: &Value) -> bool {
    let finalizers = composite["metadata"]["finalizers"].as_array();
    is_deleting(composite) && finalizers.is_some_and(|all| all.iter().any(|one| one == "orphan"))
}

/// Whether an object is composed, and not the Secret in which who controls it publishes.
pub(super) fn is_composed(object: &Value) -> bool {
    !secrets::is_connection(object)
}

/// All that is composed, and the composite resource that controls it, by its uid.
pub(super) fn composed(state: &ClusterState) -> impl Iterator<Item = (&Value, &str)> {
    COMPOSED
        .into_iter()
        .flat_map(|(plural, group)| state.all(plural, group))
        .filter(|object| is_composed(object))
        .filter_map(|object| {
            let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
            Some((object, owner["uid"].as_str()?))
        })
}

/// Its references to what it composed.
pub(super) fn references(composite: &Value) -> &[Value] {
    let modern = composite.pointer("/spec/crossplane/resourceRefs");
    let refs = modern.or_else(|| composite.pointer("/spec/resourceRefs"));
    refs.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether its references name an object.
pub(super) fn lists(composite: &Value, object: &Value) -> bool {
    let mut references = references(composite).iter();
    references.any(|reference| names(composite, reference, object))
}

/// Whether a reference of a composite resource is to this object.
pub(super) fn names(composite: &Value, reference: &Value, object: &Value) -> bool {
    let namespace = reference["namespace"].as_str();
    let namespace = namespace.unwrap_or_else(|| text(composite, "/metadata/namespace"));
    group(reference) == group(object)
        && reference["kind"] == object["kind"]
        && reference["name"] == object["metadata"]["name"]
        && namespace == text(object, "/metadata/namespace")
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether the definition of composite resources or claims of this plural is being deleted.
pub(super) fn is_definition_deleting(state: &ClusterState, plural: &str) -> bool {
    let composites = if plural == Kind::Purchase.plural() {
        Kind::Purchase.composite_plural()
    } else {
        plural
    };
    let name = format!("{composites}.{GROUP}");
    let definition = state.object(
        "compositeresourcedefinitions",
        "apiextensions.crossplane.io",
        "",
        &name,
    );
    definition.is_some_and(is_deleting)
}

/// Status and reason of a condition.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    condition
        .map(|condition| (text(condition, "/status"), text(condition, "/reason")))
        .unwrap_or_default()
}
